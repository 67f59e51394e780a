//! `berth check` and `berth plan` ask one model: over random lines, on machines and on clusters, what the
//! one calls refused, not bound or not modelled is what the other answers. The seed is printed, and
//! `BERTH_SEED` repeats a run.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::random::{Random, seed};
use crate::run::{Done, berth, command};

use serde_json::Value;

/// The number of lines that are tried, unless `PROPTEST_CASES` says otherwise.
const LINES: u64 = 150;

const MACHINES: &[&str] = &[
    "pack:2 core:4 pu:2",
    "pack:2 core:4 pu:1",
    "pack:1 core:6 pu:1",
    "pack:4 core:2 pu:2",
];

/// Options of a step, and of a job.
const OPTIONS: &[&str] = &[
    "-n1",
    "-n2",
    "-n3",
    "-n4",
    "-n5",
    "-n8",
    "-n12",
    "-n40",
    "-c2",
    "-c3",
    "-N1",
    "-N2",
    "--ntasks-per-node=2",
    "--ntasks-per-core=1",
    "--threads-per-core=1",
    "--hint=nomultithread",
    "--hint=multithread",
    "--exclusive",
    "-O",
    "-m block:block",
    "-m cyclic",
    "-B 1",
    "--mem=1",
    "--gres=gpu:1",
    "-p whole",
    "-p small",
];

/// Options of a step alone.
const OF_STEP: &[&str] = &[
    "--exact",
    "--overlap",
    "--cpu-bind=cores",
    "--cpu-bind=threads",
    "--cpu-bind=sockets",
    "--cpu-bind=none",
    "--cpu-bind=verbose",
    "--binding=linear:2",
    "--binding=linear:1:1,1",
];

const CONF: &str = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
    NodeName=a[1-3] Sockets=2 CoresPerSocket=3 ThreadsPerCore=2\n\
    NodeName=b1 Sockets=1 CoresPerSocket=2 ThreadsPerCore=1\n\
    PartitionName=all Nodes=a[1-3] Default=YES\n\
    PartitionName=whole Nodes=a[1-3] OverSubscribe=EXCLUSIVE\n\
    PartitionName=small Nodes=b1\n";

/// Some of these options, at most `most` of them.
fn options(random: &mut Random, most: u64, all: &[&str]) -> String {
    let count = random.below(most + 1);
    let words = (0..count).map(|_| format!(" {}", random.one_of(all)));
    words.collect()
}

/// The answer of `berth plan`, and its document if there is one.
struct Plan {
    done: Done,
    answer: Option<Value>,
}

fn plan(place: &[&str], job: Option<&str>, line: &str) -> Plan {
    let job: Vec<_> = job.iter().flat_map(|job| ["--job", job]).collect();
    let done = berth(
        &[&["plan"], place, &job, &["--format=json", line]].concat(),
        "",
    );
    Plan {
        answer: serde_json::from_str(&done.stdout).ok(),
        done,
    }
}

/// The rules that the other found, each with its text.
fn found(place: &[&str], text: &str) -> Vec<(String, String)> {
    let done = berth(&[&["check", "--format=json"], place, &["-"]].concat(), text);
    let document: Value = serde_json::from_str(&done.stdout)
        .unwrap_or_else(|why| panic!("{why}: {}\n{text}", done.stderr));
    let field = |one: &Value, name: &str| one[name].as_str().unwrap().to_string();
    let all = document["findings"].as_array().unwrap().iter();
    all.map(|one| (field(one, "rule"), field(one, "found")))
        .collect()
}

/// Why the two do not agree.
fn difference(of_plan: &Plan, found: &[(String, String)], in_job: bool) -> Option<String> {
    let says = |rule: &str| found.iter().any(|(known, _)| known == rule);
    let plan = &of_plan.done;
    let planned = ["refused", "not-planned", "nothing-bound", "not-as-asked"];
    let wrong = |what: &str| Some(format!("{what}: plan {:?} {}", plan.code, plan.stderr));
    match (plan.code, &of_plan.answer) {
        (0, Some(answer)) => {
            // Of each node: those with as many tasks may own other cores.
            let nodes = answer["nodes"].as_array().unwrap();
            let is_free = nodes.iter().any(|node| node["rule"] == "auto:own-cpus");
            let notes = answer["notes"].as_array().unwrap();
            let is_noted = |text: &String| notes.iter().any(|note| note == text);
            let mut others = found.iter().filter(|(rule, _)| rule == "not-as-asked");
            if says("refused") || says("not-planned") {
                wrong("check has no plan")
            } else if says("binding-per-task") || says("binding-never-fits") {
                wrong("only check says that the command refuses it")
            } else if is_free != says("nothing-bound") {
                wrong("only one of them says that nothing is bound")
            } else if others.any(|(_, text)| !is_noted(text)) {
                wrong("another note")
            } else {
                None
            }
        }
        (1, _) if plan.stderr.contains("not modelled") => {
            // A job that would not start is known, although its step is not modelled.
            (!says("not-planned") && !says("refused") && !in_job).then(|| plan.stderr.clone())
        }
        (1, _) => {
            let refuses = |rule: &str| {
                let at_submission = ["binding-per-task", "binding-never-fits"];
                rule == "refused" || at_submission.contains(&rule)
            };
            let is_same = |(rule, text): &(String, String)| {
                refuses(rule) && (in_job || plan.stderr.contains(text.as_str()))
            };
            (!found.iter().any(is_same)).then(|| plan.stderr.clone())
        }
        (2, _) => {
            // A job that would not start may stand above a line that no srun takes.
            let of_job = |rule: &str| in_job && rule == "refused";
            let is_planned = planned.iter().any(|rule| says(rule) && !of_job(rule));
            let unsaid = found.iter().all(|(rule, _)| of_job(rule));
            (is_planned || unsaid).then(|| plan.stderr.clone())
        }
        _ => wrong("an exit code"),
    }
}

/// The script of a job's and a step's options, and what the two say about it.
fn requested(
    place: &[&str],
    job: Option<&str>,
    own: &str,
) -> (String, Plan, Vec<(String, String)>) {
    let line = format!("srun{own} ./app");
    let text = job.map_or(line.clone(), |options| format!("#SBATCH{options}\n{line}"));
    let submit = job.map(|options| format!("sbatch{options}"));
    let planned = plan(place, submit.as_deref(), &line);
    let found = found(place, &text);
    (text, planned, found)
}

/// What once was no answer of this test: a job too large above a line that no srun takes.
#[test]
fn a_job_that_never_starts_hides_no_wrong_line() {
    let place = ["--slurm=24.11", "--machine", "pack:1 core:6 pu:1"];
    let own = " --exclusive -m cyclic --exclusive --overlap";
    let (_, planned, found) = requested(&place, Some(" -n8"), own);
    assert_eq!(planned.done.code, 2);
    assert_eq!(difference(&planned, &found, true), None, "{found:?}");
    let rules: Vec<_> = found.iter().map(|(rule, _)| rule.as_str()).collect();
    assert_eq!(rules, ["refused", "wrong-value"]);
}

/// What once was no answer of it either: two nodes with one task each, and only one of them is bound.
#[test]
fn nodes_with_as_many_tasks_differ() {
    let place = ["--slurm=24.11", "--machine", "pack:2 core:4 pu:1"];
    let (_, planned, found) = requested(&place, Some(" -N2 -n5"), " -O -n2");
    assert_eq!(difference(&planned, &found, true), None, "{found:?}");
    let answer = planned.answer.unwrap();
    let rules = ["auto:own-cpus", "auto:cores:cyclic"];
    assert_eq!([0, 1].map(|node| &answer["nodes"][node]["rule"]), rules);
}

#[test]
fn check_and_plan_agree() {
    let count = std::env::var("PROPTEST_CASES").ok();
    let count = count.map(|text| text.parse().unwrap());
    let seed = seed();
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("slurm.conf");
    std::fs::write(&conf, CONF).unwrap();
    let conf = conf.to_string_lossy();
    let (mut wrong, mut bound, mut free, mut refused) = (Vec::new(), 0, 0, 0);
    for number in 0..count.unwrap_or(LINES) {
        let mut random = Random(seed.wrapping_add(number << 32));
        let release = *random.one_of(&["--slurm=22.05", "--slurm=24.11", "--slurm=26.05"]);
        let machine = *random.one_of(MACHINES);
        let mut place = match random.below(3) {
            0 => vec![release, "--cluster", &conf],
            _ => vec![release, "--machine", machine],
        };
        let job = (random.below(2) == 0).then(|| options(&mut random, 3, OPTIONS));
        match random.below(4) {
            0 => place.push("--site=exclusive"),
            // Beside a step of a job it is an option of that step.
            1 if job.is_none() => place.push("--exclusive"),
            _ => {}
        }
        let own = options(&mut random, 4, OPTIONS) + &options(&mut random, 1, OF_STEP);
        let (text, planned, found) = requested(&place, job.as_deref(), &own);
        bound += usize::from(planned.done.code == 0);
        free += usize::from(found.iter().any(|(rule, _)| rule == "nothing-bound"));
        refused += usize::from(planned.done.code == 1);
        if let Some(why) = difference(&planned, &found, job.is_some()) {
            wrong.push(format!("{number} {place:?}\n{text}\n{why}\n{found:?}\n"));
        }
    }
    println!("{bound} planned, {free} not bound, {refused} refused");
    assert!(wrong.is_empty(), "BERTH_SEED={seed}\n{}", wrong.join("\n"));
    let all_met = bound > 0 && free > 0 && refused > 0;
    assert!(all_met || count.is_some());
}

/// Without an option both take the rules of the Slurm that is installed on the host, and for another machine those of the
/// newest.
#[test]
fn both_have_the_rules_of_one_release() {
    let folder = tempfile::tempdir().unwrap();
    let srun = folder.path().join("srun");
    fs::write(&srun, "#!/bin/sh\necho slurm 23.02.1\n").unwrap();
    fs::set_permissions(&srun, fs::Permissions::from_mode(0o755)).unwrap();
    let document = |words: &[&str]| -> Value {
        let mut berth = command();
        berth.env("PATH", folder.path());
        berth.env("HWLOC_SYNTHETIC", "pack:2 core:4 pu:2");
        let done = berth.args(words).output().unwrap();
        serde_json::from_slice(&done.stdout).unwrap()
    };
    for (place, release) in [(&[][..], "23.02"), (&["--machine=core:4 pu:2"], "26.05")] {
        let checked = document(&[&["check", "--format=json"], place, &["srun -n2 ./a"]].concat());
        assert_eq!(checked["slurm"], release);
        let planned = document(&[&["plan", "--format=json"], place, &["srun -n2 ./a"]].concat());
        let assumed = planned["assumed"].as_array().unwrap().iter();
        let values = assumed.filter_map(|one| one["value"].as_str());
        let has_it = |value: &str| value.ends_with(&format!("Slurm {release}"));
        assert!(values.into_iter().any(has_it), "{planned}");
    }
}
