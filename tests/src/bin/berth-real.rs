//! `berth-real REQUESTS`: on the machine it runs on, asks the same requests of task/affinity, of
//! task/berth and of `berth plan`, and compares what the kernel says of every task.
//! Meant for the virtual machines of `ci/vm`, where root, Slurm and the build tree are there.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use berth_tests::srun_lines::release;
use berth_tests::{Cluster, command};

/// One allocation, every request a step of it.
const STEPS: &str = r#"number=0
while read -r request; do
    set -f; set -- $request
    srun "$@" "$probe" probe > "$out/$number.out" 2> "$out/$number.err" < /dev/null
    number=$((number + 1))
done < "$out/requests""#;

/// What became of a request.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Answer {
    /// CPUs and memory policy by task; empty if nothing started.
    tasks: BTreeMap<u32, (String, String)>,
    step: String,
    said: String,
}

impl Answer {
    fn same(&self, other: &Self) -> bool {
        self.tasks == other.tasks
    }

    fn show(&self) -> String {
        if self.tasks.is_empty() {
            let why = self.said.lines().rfind(|line| line.contains("error: "));
            return format!("refused: {}", why.unwrap_or_default());
        }
        let tasks = self.tasks.values();
        tasks
            .map(|(cpus, policy)| format!("{cpus}/{policy}"))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

#[allow(clippy::too_many_lines, reason = "the program from top to bottom")]
fn main() -> ExitCode {
    let Some(list) = std::env::args().nth(1) else {
        eprintln!("usage: berth-real REQUESTS");
        return ExitCode::from(2);
    };
    if list == "probe" {
        return probe();
    }
    let text = fs::read_to_string(&list).unwrap_or_else(|why| panic!("{list}: {why}"));
    let requests: Vec<&str> = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let out = std::env::var_os("BERTH_VM_OUT").map_or_else(std::env::temp_dir, PathBuf::from);
    let topology = out.join("topology.xml");
    lstopo(&topology);

    let answers = ask(
        &Cluster::builder()
            .task_plugin("task/affinity")
            .plugstack(None)
            .up(),
        &requests,
    );
    let theirs = killed_is_refused(&requests, answers);
    let cluster = Cluster::builder().plugstack(Some("compat=affinity")).up();
    let ours = ask(&cluster, &requests);
    let log = cluster.slurmd_log();
    let line = release(&cluster).name();
    drop(cluster);
    let cluster = Cluster::builder().plugstack(Some("compat=berth")).up();
    let by_default = ask(&cluster, &requests);
    let default_log = cluster.slurmd_log();
    drop(cluster);

    let mut wrong = 0;
    wrong += report(
        "task/affinity",
        "task/berth compat=affinity",
        &requests,
        &theirs,
        &ours,
    );
    let planned = plans(&topology, ("affinity", line), &requests, &ours, &log);
    wrong += report_plans("compat=affinity", &requests, &ours, &planned);
    let planned = plans(
        &topology,
        ("berth", line),
        &requests,
        &by_default,
        &default_log,
    );
    wrong += report_plans("compat=berth", &requests, &by_default, &planned);
    // Not wrong: what the named fixes change shows that a difference would be seen.
    let fixed = requests.iter().zip(&theirs).zip(&by_default);
    let fixed: Vec<_> = fixed.filter(|((_, one), two)| !one.same(two)).collect();
    for ((request, one), two) in &fixed {
        println!(
            "by a fix: srun {request}\n  task/affinity: {}\n  task/berth: {}",
            one.show(),
            two.show()
        );
    }
    let refused = ours.iter().filter(|answer| answer.tasks.is_empty()).count();
    println!(
        "{} requests, {refused} of them refused, {} otherwise by a named fix: {wrong} differences",
        requests.len(),
        fixed.len()
    );
    ExitCode::from(u8::from(wrong > 0))
}

/// What each task prints: its number, its step, its CPUs and its memory policy as the kernel has
/// them. A shell would take a system call for every letter, which emulation makes felt.
fn probe() -> ExitCode {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let cpus = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap_or_default();
    let maps = fs::read_to_string("/proc/self/numa_maps").unwrap_or_default();
    let policy = maps.split(' ').nth(1).unwrap_or_default();
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (task, step) = (variable("SLURM_PROCID"), variable("SLURM_STEP_ID"));
    println!("{task} {step} {} {policy}", cpus.trim());
    ExitCode::SUCCESS
}

fn lstopo(file: &Path) {
    let program = ["lstopo-no-graphics", "lstopo"];
    let done = program.iter().any(|program| {
        let status = Command::new(program)
            .args(["--of", "xml", "--force"])
            .arg(file)
            .status();
        status.is_ok_and(|status| status.success())
    });
    assert!(done, "lstopo wrote no {}", file.display());
}

/// Runs every request in one allocation of the whole node.
fn ask(cluster: &Cluster, requests: &[&str]) -> Vec<Answer> {
    let out = tempfile::tempdir().expect("a temporary folder");
    fs::write(out.path().join("requests"), requests.join("\n") + "\n").expect("requests");
    let status = cluster
        .program("salloc")
        .args(["-Q", "-N1", "--exclusive", "bash", "-c", STEPS])
        .env("out", out.path())
        .env("probe", std::env::current_exe().expect("this program"))
        .status();
    assert!(status.is_ok_and(|status| status.success()), "salloc failed");
    let read = |number: usize, kind: &str| {
        fs::read_to_string(out.path().join(format!("{number}.{kind}"))).unwrap_or_default()
    };
    (0..requests.len())
        .map(|number| answer(&read(number, "out"), read(number, "err")))
        .collect()
}

/// Where task/affinity kills some tasks of a step, berth starts none: refused alike. Only task/affinity's
/// answers are taken so; a step that berth starts by halves stays a difference.
fn killed_is_refused(requests: &[&str], mut answers: Vec<Answer>) -> Vec<Answer> {
    for (request, answer) in requests.iter().zip(&mut answers) {
        if answer.tasks.len() < tasks_of(request) {
            answer.tasks.clear();
        }
    }
    answers
}

/// `-n4 …` asks for four.
fn tasks_of(request: &str) -> usize {
    let first = request.split(' ').next().unwrap_or_default();
    let count = first.strip_prefix("-n").map(str::parse);
    count
        .and_then(Result::ok)
        .unwrap_or_else(|| panic!("no -n at the start of {request:?}"))
}

fn answer(printed: &str, said: String) -> Answer {
    let mut answer = Answer {
        said,
        ..Answer::default()
    };
    for line in printed.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [task, step, cpus, policy] = words[..] else {
            panic!("a task printed {line:?}");
        };
        answer.step = step.into();
        let task = task.parse().expect("a task's number");
        answer.tasks.insert(task, (cpus.into(), policy.into()));
    }
    answer
}

/// Compares two answers to each request. With a hole in the CPU numbers task/affinity reads `ldoms`
/// beyond the end of its table (`slurm_get_numa_node`), so its answer there is what lay behind it.
fn report(name: &str, other: &str, requests: &[&str], one: &[Answer], two: &[Answer]) -> u32 {
    let mut wrong = 0;
    let holes = has_holes();
    for ((request, one), two) in requests.iter().zip(one).zip(two) {
        if !one.same(two) {
            let known = holes && request.contains("=ldoms");
            wrong += u32::from(!known);
            println!(
                "{} srun {request}\n  {name}: {}\n  {other}: {}",
                if known { "known:" } else { "DIFFERENT" },
                one.show(),
                two.show()
            );
        }
    }
    wrong
}

/// Whether a CPU is offline below the last one that is not.
fn has_holes() -> bool {
    online().contains(',')
}

fn report_plans(name: &str, requests: &[&str], kernel: &[Answer], planned: &[String]) -> u32 {
    let mut wrong = 0;
    let everything = online();
    for ((request, kernel), planned) in requests.iter().zip(kernel).zip(planned) {
        let plan = planned.split(" # ").next().unwrap_or_default().trim();
        let have: Vec<&str> = kernel
            .tasks
            .values()
            .map(|(cpus, _)| cpus.as_str())
            .collect();
        let same = match plan {
            _ if plan.starts_with("error:") => have.is_empty(),
            // Nothing bound: what every process here may use.
            "none" => have.iter().all(|cpus| *cpus == everything) && !have.is_empty(),
            _ => plan.split(' ').eq(have.iter().copied()),
        };
        if !same {
            wrong += 1;
            println!(
                "DIFFERENT {name} srun {request}\n  kernel: {}\n  berth plan: {planned}",
                kernel.show()
            );
        }
    }
    wrong
}

fn online() -> String {
    let text = fs::read_to_string("/sys/devices/system/cpu/online");
    text.unwrap_or_default().trim().into()
}

/// What `berth plan` says, from the machine's XML and the cores that each step got.
fn plans(
    machine: &Path,
    (compat, line): (&str, &str),
    requests: &[&str],
    steps: &[Answer],
    log: &str,
) -> Vec<String> {
    let mut child = Command::new(command())
        .args([
            "plan", "--format", "cpus", "--compat", compat, "--slurm", line,
        ])
        .arg("--machine")
        .arg(machine)
        .args(["--batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("berth plan starts");
    let mut lines = String::new();
    // A refused step leaves no line; its cores were those of the first step, the whole job's.
    let all = cores_of("0", log);
    for (request, step) in requests.iter().zip(steps) {
        let own = cores_of(&step.step, log).or_else(|| all.clone());
        let cores = own.map_or(String::new(), |cores| format!(" --cores {cores}"));
        lines.push_str(&format!("{request}{cores}\n"));
    }
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("berth plan ends");
    writer
        .join()
        .expect("the writer ends")
        .expect("berth plan reads");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let answers: Vec<String> = text.lines().map(String::from).collect();
    assert_eq!(answers.len(), requests.len(), "one answer a request");
    answers
}

/// The cores that Slurm gave a step, from the line that berth leaves of it.
fn cores_of(step: &str, log: &str) -> Option<String> {
    let marker = format!(".{step} tasks=");
    let line = log
        .lines()
        .find(|line| line.contains("berth: step=") && line.contains(&marker))?;
    let (_, rest) = line.split_once(" cores=")?;
    rest.split(' ').next().map(String::from)
}
