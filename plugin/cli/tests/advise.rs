//! `berth advise` beside `berth plan`, on random machines and requests: each line that is shown has exactly
//! the figures of its plan, and no line that somebody would try by hand is better in every stated point. Advice for GPUs always has
//! the best line with `--near`.
//! The seed is printed, and `BERTH_SEED` repeats a run.

mod advise_common;
mod plan_common;
mod random;

use std::path::{Path, PathBuf};

use advise_common::{count, figures, value};
use berth_placement::CpuSet;
use plan_common::{Done, berth};
use random::Random;
use serde_json::Value;

/// How many requests are tried, unless `PROPTEST_CASES` says otherwise.
const REQUESTS: u64 = 60;

const SYNTHETIC: &[&str] = &[
    "pack:2 core:4 pu:2",
    "pack:2 numa:2 l3:2 core:2 pu:2",
    "pack:1 l3:3 core:3 pu:1",
    "pack:4 numa:1 core:6 pu:4",
];

const GOALS: [&str; 4] = ["mpi", "openmp", "memory", "gpu"];

/// Options that somebody would try by hand.
const BY_HAND: &[&str] = &[
    "",
    "-m block:block",
    "--cpu-bind=threads",
    "--cpu-bind=cores",
    "--cpu-bind=cores -m block:block",
    "--cpu-bind=sockets",
    "--cpu-bind=ldoms",
    "--hint=nomultithread",
    "--binding=auto",
    "--binding=auto:smt=1",
    "--map-by=core",
    "--map-by=numa",
    "--map-by=l3cache",
    "--map-by=l3cache:pe=1",
    "--map-by=package:pe=1",
];

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The files of machines in the tree, and in the developer's folder.
fn machines() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let mut folders = vec![root.join("topologies"), root.join("machines")];
    folders.extend(std::env::var("BERTH_TOPOLOGIES").ok().map(PathBuf::from));
    let entries = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.extension().is_some_and(|kind| kind == "xml"));
    let mut found: Vec<_> = files.map(|path| path.display().to_string()).collect();
    found.sort();
    found.extend(SYNTHETIC.iter().map(ToString::to_string));
    found
}

fn advise(machine: &str, options: &str) -> Done {
    let mut words = vec!["advise", "--machine", machine];
    words.extend(options.split_whitespace());
    berth(&words, "")
}

fn advice(machine: &str, options: &str) -> Option<Value> {
    let done = advise(machine, &format!("{options} --format json --lines 50"));
    assert!(
        matches!(done.code, 0 | 1),
        "{machine} {options}: {}",
        done.stderr
    );
    (done.code == 0).then(|| serde_json::from_str(&done.stdout).unwrap())
}

/// The plans of lines, none where a line is refused.
fn plans(asked: &Request, lines: &[String]) -> Vec<Option<Value>> {
    let mut words = vec!["plan", "--machine", &asked.machine];
    words.extend(asked.place.split_whitespace());
    words.extend(["--format", "json", "--batch", "-"]);
    let done = berth(&words, &(lines.join("\n") + "\n"));
    let answers: Vec<_> = done.stdout.lines().collect();
    assert_eq!(answers.len(), lines.len(), "{lines:?}: {}", done.stderr);
    let answers = answers.into_iter();
    answers
        .map(|text| serde_json::from_str(text).unwrap())
        .map(|plan: Value| plan["error"].is_null().then_some(plan))
        .collect()
}

/// A line as `berth plan --batch` takes it, for every release: its options alone.
fn options_of(line: &str) -> String {
    let words = line
        .strip_prefix("srun ")
        .and_then(|line| line.strip_suffix("./app"));
    words.unwrap().trim().to_string()
}

/// Whether every task has its CPUs.
fn serves(plan: &Value, each: u64) -> bool {
    let mut tasks = plan["tasks"].as_array().unwrap().iter();
    plan["bound"] == true && tasks.all(|task| count(&task["cpus"]) >= each)
}

/// Whether a line asks for cores next to devices.
fn is_near(line: &Value) -> bool {
    line.as_str().unwrap().contains("--near=")
}

struct Request {
    machine: String,
    options: String,
    goal: &'static str,
    place: &'static str,
    each: u64,
}

fn request(random: &mut Random, machines: &[String]) -> Request {
    let most = *random.one_of(&[9, 9, 9, 64]);
    let tasks = 1 + random.below(most);
    let each = 1 + random.below(6);
    let mut options = format!("-n {tasks}");
    if each > 1 {
        options += &format!(" -c {each}");
    }
    options += *random.one_of(&[
        "",
        "",
        "",
        " -m block:cyclic",
        " --threads-per-core=1",
        " -O",
    ]);
    options += *random.one_of(&["", "", " -N 2"]);
    let place = *random.one_of(&["--cores=all", "--cores=all", ""]);
    Request {
        machine: random.one_of(machines).clone(),
        goal: random.one_of::<&str>(&GOALS),
        options,
        place,
        each,
    }
}

/// What berth advise shows for a request, and how it is asked again.
struct Shown<'a> {
    asked: &'a Request,
    told: String,
    criteria: Vec<String>,
    lines: Vec<Value>,
    /// The same tasks with their GPUs, if the advice is for them.
    near: Option<Value>,
}

impl<'a> Shown<'a> {
    /// None if the request is refused.
    fn of(asked: &'a Request) -> Option<Self> {
        let Request {
            options,
            place,
            goal,
            ..
        } = asked;
        let words = format!("{options} {place} --for {goal}");
        let advice = advice(&asked.machine, &words)?;
        let near = || plans(asked, &[format!("{options} --near=gpu")]).remove(0);
        let criteria = advice["criteria"].as_array().unwrap().iter();
        let criteria = criteria.map(|one| one["name"].as_str().unwrap().to_string());
        let lines = advice["lines"].as_array().unwrap().clone();
        assert!(!lines.is_empty(), "{} {words}", asked.machine);
        Some(Self {
            asked,
            told: format!("{} {words}", asked.machine),
            criteria: criteria.collect(),
            lines,
            near: (*goal == "gpu").then(near).flatten(),
        })
    }

    /// The figures by which lines are compared.
    fn values(&self, figures: &Value) -> Vec<u64> {
        let names = self.criteria.iter();
        names.map(|name| value(figures, name)).collect()
    }

    /// Each line has the figures of its plan and what it asks for, and no two give the same.
    fn is_what_berth_plan_answers(&self) {
        let lines = self.lines.iter();
        let lines = lines.map(|line| options_of(line["line"].as_str().unwrap()));
        let planned = plans(self.asked, &lines.collect::<Vec<_>>());
        let mut seen = Vec::new();
        for (line, plan) in self.lines.iter().zip(&planned) {
            let told = format!("{}: {}", self.told, line["line"]);
            let plan = plan.as_ref().unwrap_or_else(|| panic!("{told} is refused"));
            let expected = figures(plan, self.near.as_ref());
            for (name, expected) in expected.as_object().unwrap() {
                assert_eq!(&line["figures"][name], expected, "{told}: {name}");
            }
            let is_served = serves(plan, self.asked.each) || plan["bound"] == false;
            assert!(is_served, "{told} gives too few CPUs");
            // A line with --near gives devices as well.
            let gives = (&plan["nodes"], is_near(&line["line"]));
            assert!(!seen.contains(&gives), "{told} is shown twice");
            seen.push(gives);
        }
    }

    /// The lines that somebody would try by hand and that are served, with their figures.
    fn by_hand(&self) -> Vec<(String, Vec<u64>)> {
        let options = &self.asked.options;
        // What the line has already is not changed.
        let is_open = |more: &&&str| {
            let is_ordered = options.contains("-m ") && more.contains("-m ");
            let has_threads = options.contains("--threads");
            let is_threads = has_threads && (more.contains("hint") || more.contains("smt"));
            !is_ordered && !is_threads
        };
        let lines = BY_HAND.iter().filter(is_open);
        let lines: Vec<_> = lines.map(|more| format!("{options} {more}")).collect();
        let planned = plans(self.asked, &lines).into_iter();
        let planned = lines.into_iter().zip(planned);
        let served = planned.filter_map(|(line, plan)| {
            let plan = plan.filter(|plan| serves(plan, self.asked.each))?;
            Some((line, self.values(&figures(&plan, self.near.as_ref()))))
        });
        served.collect()
    }

    /// No line is worse in one point and better in none than another one. The best line with `--near`
    /// may be: it is shown because its devices do not depend on Slurm's order.
    fn is_beaten_by_none(&self) {
        let own = self.lines.iter().filter(|line| !is_near(&line["line"]));
        let own = own.map(|line| (line["line"].to_string(), self.values(&line["figures"])));
        let own: Vec<_> = own.collect();
        let by_hand = self.by_hand();
        for (line, values) in &own {
            for (other, theirs) in by_hand.iter().chain(&own) {
                let nowhere_worse = theirs.iter().zip(values).all(|(theirs, own)| theirs <= own);
                let is_better = nowhere_worse && theirs != values;
                let told = &self.told;
                assert!(
                    !is_better,
                    "{told}: {other} {theirs:?} beats {line} {values:?}"
                );
            }
        }
    }

    /// Advice for GPUs has a line with `--near` if it can be planned, and each other line that fits at
    /// all says on what condition.
    fn has_near_and_conditions(&self) {
        let Some(near) = self.near.as_ref().filter(|plan| self.gives_devices(plan)) else {
            return;
        };
        let has_near = self.lines.iter().any(|line| is_near(&line["line"]));
        assert!(has_near, "{} has no --near", self.told);
        let tasks = near["tasks"].as_array().unwrap().len() as u64;
        for line in &self.lines {
            let fits = line["figures"]["off_gpu"].as_u64() < Some(tasks);
            let depends = fits && !is_near(&line["line"]);
            assert_eq!(line["condition"].is_string(), depends, "{line}");
        }
    }

    /// Whether every task of one node has a device, and CPUs that no other task has.
    fn gives_devices(&self, plan: &Value) -> bool {
        let tasks = plan["tasks"].as_array().unwrap().iter();
        let has = |task: &Value| {
            task["devices"]
                .as_array()
                .is_some_and(|all| !all.is_empty())
        };
        let lists: Vec<_> = tasks
            .clone()
            .filter_map(|task| task["cpus"].as_str())
            .collect();
        let all = CpuSet::from_list(&lists.join(",")).unwrap().count() as u64;
        let is_alone = tasks.clone().map(|task| count(&task["cpus"])).sum::<u64>() == all;
        let nodes = plan["nodes"].as_array().unwrap().len();
        serves(plan, self.asked.each) && tasks.clone().all(has) && nodes == 1 && is_alone
    }

    /// For memory the best line spans no more NUMA nodes than an even share.
    fn spans_no_more_than_a_share(&self) {
        let line = format!("{} --binding=auto", self.asked.options);
        let share = plans(self.asked, &[line]).remove(0);
        let Some(share) = share.filter(|_| self.asked.goal == "memory") else {
            return;
        };
        let best = &self.lines[0]["figures"]["spanning_numa"];
        let shares = &figures(&share, None)["spanning_numa"];
        assert!(best.as_u64() <= shares.as_u64(), "{}", self.told);
    }
}

#[test]
fn figures_are_those_of_the_plan_and_nothing_is_better_in_every_point() {
    let seed = number("BERTH_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.unwrap().as_nanos() as u64
    });
    println!("BERTH_SEED={seed}");
    let mut random = Random(seed);
    let machines = machines();
    let mut answered = 0;
    // Here a line without --near puts four tasks on the first node, and --near three.
    let uneven = Request {
        machine: machines
            .iter()
            .find(|machine| machine.ends_with("coral-lassen.xml"))
            .expect("a machine file")
            .clone(),
        goal: "gpu",
        options: "-n 5 -N 2".into(),
        place: "",
        each: 1,
    };
    Shown::of(&uneven)
        .expect("advice")
        .is_what_berth_plan_answers();
    for _ in 0..number("PROPTEST_CASES").unwrap_or(REQUESTS) {
        let asked = request(&mut random, &machines);
        let Some(shown) = Shown::of(&asked) else {
            continue;
        };
        answered += 1;
        shown.is_what_berth_plan_answers();
        shown.is_beaten_by_none();
        shown.has_near_and_conditions();
        shown.spans_no_more_than_a_share();
    }
    assert!(answered > 0, "every request was refused");
}
