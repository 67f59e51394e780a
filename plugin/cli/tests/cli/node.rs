//! `berth node` on a made-up cgroup tree, without Slurm: real processes, real masks, and files that look like the kernel's.
//! The ledger's entries are those that slurmstepds would have left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use berth_host::ledger::{Cpuset, Entry, StepKey, Task, TaskCgroup};
use berth_host::{affinity_of, set_affinity};
use berth_placement::CpuSet;

const BERTH: &str = env!("CARGO_BIN_EXE_berth");
const SCOPE: &str = "cgroups/system.slice/n1_slurmstepd.scope";
/// A service that lost a thaw would look again after 4 s, and one that waits for others 5 s.
const PATIENCE: Duration = Duration::from_secs(20);
const ORIG: &str = "CPUSET[RESUME_OPTION=ORIG_CPUS]";
const ANY: &str = "CPUSET[]";

/// A process that ends with the test.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A host with one node, `n1`, and what berth and Slurm would keep of it.
struct Host(tempfile::TempDir);

impl Host {
    /// None where this machine has too few CPUs.
    fn new() -> Option<Self> {
        let has_two =
            affinity_of(0).is_ok_and(|own| CpuSet::from_list("0-1").unwrap().is_subset(&own));
        if !has_two {
            eprintln!("skipped: CPUs 0 and 1 are not both here");
            return None;
        }
        let host = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(host.path("state/n1/steps")).unwrap();
        fs::create_dir_all(host.path(SCOPE)).unwrap();
        let machine = host.path("state/n1/machine.json");
        let done = Command::new(BERTH)
            .args(["discover", "--devices", "off", "--output"])
            .arg(machine)
            .status();
        assert!(done.unwrap().success());
        Some(host)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn berth(&self, words: &[&str]) -> Command {
        let mut command = Command::new(BERTH);
        command.args(words);
        command.arg("--state-dir").arg(self.path("state"));
        command
    }

    fn serve(&self) -> Process {
        let mut command = self.berth(&["node", "--verbose"]);
        command.arg("--cgroups").arg(self.path("cgroups"));
        let service = Process(command.spawn().unwrap());
        until("the service", || {
            self.doctor().contains("berth node runs").then_some(())
        });
        service
    }

    fn doctor(&self) -> String {
        let done = self.berth(&["doctor", "--node", "n1"]).output().unwrap();
        let text = String::from_utf8(done.stdout).unwrap();
        text.lines()
            .filter(|line| line.contains("berth node"))
            .collect()
    }

    /// A step in its job's cpuset, with one task.
    fn step(&self, (job, step): (u32, u32), request: &str, (cpu, own): (u32, &str)) -> Step {
        let task = Process(Command::new("sleep").arg("600").spawn().unwrap());
        set_affinity(
            task.0.id() as i32,
            &CpuSet::from_list(&cpu.to_string()).unwrap(),
        )
        .unwrap();
        let cgroup = self.path(&format!("{SCOPE}/job_{job}/step_{step}"));
        make_cgroup(&cgroup, task.0.id(), (cpu, own));
        let record = self.path(&format!("state/n1/steps/{job}.{step}.cpuset"));
        let set = |list: &str| CpuSet::from_list(list.trim()).unwrap();
        let cpus = set(&cpu.to_string());
        let entry = Entry {
            step: StepKey {
                job,
                step,
                component: u32::MAX,
            },
            cpuset: Some(Cpuset {
                of_job: true,
                ..Cpuset::default()
            }),
            made: u64::from(step) + 1,
            task: Some(Task::of(task.0.id() as i32)),
            leaves: vec![TaskCgroup {
                name: "task_0".into(),
                cpus: cpus.clone(),
                fence: cpus.clone(),
                has_own_memory: false,
            }],
            request: request.into(),
            job_cpus: set(own),
            cgroup: Some(cgroup.clone()),
            cpus,
            ..Entry::default()
        };
        write_entry(&record, &entry);
        Step {
            task,
            cgroup,
            record,
        }
    }

    /// Another job that runs on a CPU, as its cgroup says.
    fn other(&self, cpu: u32) -> PathBuf {
        let job = self.path(&format!("{SCOPE}/job_9"));
        let leaf = job.join("step_0/user/task_0");
        fs::create_dir_all(&leaf).unwrap();
        fs::write(job.join("cgroup.events"), "populated 1\nfrozen 0\n").unwrap();
        fs::write(job.join("cpuset.cpus"), format!("{cpu}\n")).unwrap();
        fs::write(leaf.join("cgroup.events"), "populated 1\nfrozen 0\n").unwrap();
        job
    }
}

/// A step in a cpuset.
struct Step {
    task: Process,
    cgroup: PathBuf,
    record: PathBuf,
}

/// Where a step is: its task's mask, its task's cgroup, and whether that is frozen; and its entry's CPUs, generation, and
/// whether it waits.
type Seen = (String, String, bool, String, u32, bool);

impl Step {
    fn seen(&self) -> Seen {
        let leaf =
            |file: &str| fs::read_to_string(self.cgroup.join("user/task_0").join(file)).unwrap();
        let mask = affinity_of(self.task.0.id() as i32).unwrap().to_string();
        let entry = read_entry(&self.record);
        (
            mask,
            leaf("cpuset.cpus").trim().to_owned(),
            leaf("cgroup.freeze").trim() == "1",
            entry.cpus.to_string(),
            entry.generation,
            entry.waits,
        )
    }

    /// It is on a CPU, by a choice of a generation, and runs.
    #[track_caller]
    fn runs_on(&self, cpu: &str, generation: u32) {
        let expected = (
            cpu.to_owned(),
            cpu.to_owned(),
            false,
            cpu.to_owned(),
            generation,
            false,
        );
        let end = Instant::now() + PATIENCE;
        while self.seen() != expected && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(self.seen(), expected);
    }

    #[track_caller]
    fn is_held(&self) {
        until("the frozen task", || {
            let (_, _, is_frozen, _, _, waits) = self.seen();
            (is_frozen && waits).then_some(())
        });
    }

    /// Slurm freezes it, or thaws it. A change of the ledger wakes the service at once.
    fn freeze(&self, freezes: bool) {
        let text = format!("populated 1\nfrozen {}\n", u32::from(freezes));
        fs::write(self.cgroup.join("user/cgroup.events"), text).unwrap();
        fs::write(self.record.with_file_name(".wakes"), "").unwrap();
        std::thread::sleep(Duration::from_millis(300));
    }

    fn is_suspended_and_resumed(&self, meanwhile: impl FnOnce()) {
        self.freeze(true);
        meanwhile();
        self.freeze(false);
    }
}

/// The cgroup of a step with one task, as Slurm and the kernel have it.
fn make_cgroup(cgroup: &Path, task: u32, (cpu, own): (u32, &str)) {
    let leaf = cgroup.join("user/task_0");
    fs::create_dir_all(&leaf).unwrap();
    let write = |file: PathBuf, text: &str| fs::write(file, text).unwrap();
    write(cgroup.join("cgroup.events"), "populated 1\nfrozen 0\n");
    write(cgroup.join("user/cgroup.events"), "populated 1\nfrozen 0\n");
    write(cgroup.join("user/cpuset.cpus.effective"), "0-1\n");
    write(cgroup.join("../cgroup.events"), "populated 1\nfrozen 0\n");
    write(cgroup.join("../cpuset.cpus"), own);
    write(leaf.join("cgroup.procs"), &format!("{}\n", task));
    write(leaf.join("cgroup.events"), "populated 1\nfrozen 0\n");
    write(leaf.join("cgroup.freeze"), "0\n");
    write(leaf.join("cpuset.cpus"), &format!("{cpu}\n"));
    // The kernel gives what was written.
    fs::hard_link(leaf.join("cpuset.cpus"), leaf.join("cpuset.cpus.effective")).unwrap();
}

fn read_entry(record: &Path) -> Entry {
    let text = fs::read_to_string(record).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

/// It appears whole, as a slurmstepd writes it: one without a line is taken for a dead writer's.
fn write_entry(record: &Path, entry: &Entry) {
    let line = serde_json::to_string(entry).unwrap();
    let unfinished = record.ancestors().nth(2).unwrap().join("unfinished");
    fs::write(&unfinished, line + "\n").unwrap();
    fs::rename(unfinished, record).unwrap();
}

#[track_caller]
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn remove(folder: &Path) {
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_resumed_job_goes_where_there_is_room() {
    let Some(host) = Host::new() else { return };
    let first = host.step((1, 0), ANY, (0, "0-1\n"));
    let _service = host.serve();
    first.is_suspended_and_resumed(|| {});
    first.runs_on("0", 0);
    first.is_suspended_and_resumed(|| drop(host.other(0)));
    first.runs_on("1", 1);
    // A step that was decided before that, and begins now.
    let second = host.step((1, 1), ANY, (0, "0-1\n"));
    second.runs_on("1", 1);
}

#[test]
fn a_job_that_wants_its_own_cpus_waits_for_them() {
    let Some(host) = Host::new() else { return };
    let step = host.step((1, 0), ORIG, (0, "0\n"));
    let service = host.serve();
    let other = host.other(0);
    step.is_suspended_and_resumed(|| {});
    step.is_held();
    assert!(
        host.doctor()
            .contains("these jobs wait for CPUs of their cpusets: 1")
    );
    // A step of it that begins meanwhile waits too.
    let late = host.step((1, 1), ORIG, (0, "0\n"));
    late.is_held();
    remove(&other);
    step.runs_on("0", 0);
    late.runs_on("0", 0);
    // The service ends: nothing stays frozen.
    host.other(0);
    for freezes in [true, false] {
        step.freeze(freezes);
        late.freeze(freezes);
    }
    step.is_held();
    let pid = nix::unistd::Pid::from_raw(service.0.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    step.runs_on("0", 0);
    late.runs_on("0", 0);
}

#[test]
fn what_a_killed_service_has_frozen_is_named_and_let_go() {
    let Some(host) = Host::new() else { return };
    let step = host.step((1, 0), ORIG, (0, "0\n"));
    let other = host.other(0);
    for lets_go in ["release", "next"] {
        let service = host.serve();
        step.is_suspended_and_resumed(|| {});
        step.is_held();
        let refused = host.berth(&["node", "--release"]).output().unwrap();
        let says = String::from_utf8_lossy(&refused.stderr);
        assert!(
            !refused.status.success() && says.contains("serves n1 already"),
            "{says}"
        );
        drop(service);
        step.is_held();
        let says = host.doctor();
        assert!(
            says.contains("left tasks of these jobs frozen: 1; run berth node --release"),
            "{says}"
        );
        if lets_go == "release" {
            let mut command = host.berth(&["node", "--release"]);
            command.arg("--cgroups").arg(host.path("cgroups"));
            assert!(command.status().unwrap().success());
            step.runs_on("0", 0);
        } else {
            let _service = host.serve();
            step.runs_on("0", 0);
        }
    }
    remove(&other);
}

/// A service that was killed between its entry and the kernel's files: the next one puts them where the entry says.
#[test]
fn the_kernel_is_given_what_the_ledger_says() {
    let Some(host) = Host::new() else { return };
    let step = host.step((1, 0), ANY, (0, "0-1\n"));
    let mut moved = read_entry(&step.record);
    let there = CpuSet::from_list("1").unwrap();
    (moved.cpus, moved.leaves[0].fence, moved.leaves[0].cpus) =
        (there.clone(), there.clone(), there);
    write_entry(&step.record, &moved);
    let _service = host.serve();
    step.runs_on("1", 0);
}

/// What its user has written into it hurts nobody: bytes that are no text, numbers of processes elsewhere.
#[test]
fn hostile_files_are_passed_over() {
    let Some(host) = Host::new() else { return };
    let steps = host.path("state/n1/steps");
    for (name, bytes) in [
        ("2.0", &b"\xff\xfe\n"[..]),
        ("3.0", b"{}\n"),
        ("4.0", b"[[[[\n"),
    ] {
        fs::write(steps.join(name), bytes).unwrap();
    }
    std::os::unix::fs::symlink("/etc/passwd", steps.join("5.0")).unwrap();
    // Another node's folder that anybody may write into.
    let other = host.path("state/n0");
    fs::create_dir_all(&other).unwrap();
    fs::copy(
        host.path("state/n1/machine.json"),
        other.join("machine.json"),
    )
    .unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o777)).unwrap();
    let step = host.step((1, 0), ANY, (0, "0-1\n"));
    fs::write(
        step.cgroup.join("user/task_0/cgroup.procs"),
        b"\xff\n-1\n99999999999999\n",
    )
    .unwrap();
    let _service = host.serve();
    step.is_suspended_and_resumed(|| drop(host.other(0)));
    until("the move", || (step.seen().3 == "1").then_some(()));
    assert_eq!(
        step.seen().0,
        "0",
        "a process that is not in it keeps its mask"
    );
}
