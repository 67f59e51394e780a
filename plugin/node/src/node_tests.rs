//! A served node whose CPUs go offline and come back, without a kernel's cgroups and without tasks: cpusets in the ledger,
//! a machine file, and looks of the service. A task's mask is the one in its entry.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use berth_host::ledger::{Cpuset, Entry, OwnEntry, StepKey, Task, TaskCgroup};
use berth_host::{Ledger, MachineFile, Proof, StateDir, machine_file};
use berth_placement::{CpuId, Numbering};

use super::*;

const SCOPE: &str = "cgroups/system.slice/n1_slurmstepd.scope";

fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

/// A host that serves its node `n1`.
struct Host {
    folder: tempfile::TempDir,
    node: ServedNode,
    mover: Mover,
    steps: Vec<OwnEntry>,
    machines: u64,
}

impl Host {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(SCOPE)).unwrap();
        let dir = StateDir::new(&folder.path().join("state"), "n1").unwrap();
        dir.prepare().unwrap();
        let top = Place::made_up(&folder.path().join("cgroups"));
        let node = ServedNode::serve(dir, "n1", vec![top]).unwrap().unwrap();
        Self {
            node,
            folder,
            mover: Mover::start().unwrap(),
            steps: Vec::new(),
            machines: 0,
        }
    }

    fn dir(&self) -> &StateDir {
        &self.node.dir
    }

    /// slurmd has discovered this machine.
    fn finds(&mut self, machine: Machine) {
        let proof = Proof {
            boot_id: "1".into(),
            online: machine.cpus().to_string(),
        };
        let file = MachineFile::new(machine, true, "a test".into(), proof);
        // Each is newer than the one before, however fast the test is.
        self.machines += 1;
        let path = self.dir().machine_path();
        machine_file::write(path, &file).unwrap();
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(self.machines);
        File::open(path).unwrap().set_modified(time).unwrap();
    }

    /// A step in the cpuset of its job, with tasks that have these masks.
    fn step(&mut self, job: u32, cpus: &str, masks: &[&str]) {
        let cgroup = self.folder.path().join(format!("{SCOPE}/job_{job}/step_0"));
        let leaf = |(task, mask): (usize, &&str)| {
            let name = format!("task_{task}");
            let leaf = cgroup.join("user").join(&name);
            fs::create_dir_all(&leaf).unwrap();
            for (file, text) in [("cpuset.cpus", cpus), ("cgroup.procs", "")] {
                fs::write(leaf.join(file), text).unwrap();
            }
            TaskCgroup {
                name,
                cpus: set(mask),
                fence: set(cpus),
                has_own_memory: false,
            }
        };
        let leaves = masks.iter().enumerate().map(leaf).collect();
        fs::write(cgroup.join("cgroup.events"), "populated 1\nfrozen 0\n").unwrap();
        fs::write(cgroup.join("user/cpuset.cpus.effective"), "0-63").unwrap();
        let entry = Entry {
            step: StepKey {
                job,
                step: 0,
                component: u32::MAX,
            },
            cpuset: Some(Cpuset {
                of_job: true,
                ..Cpuset::default()
            }),
            task: Some(Task::of(std::process::id() as i32)),
            leaves,
            request: "CPUSET[]".into(),
            job_cpus: set("0-63"),
            cpus: set(cpus),
            ..Entry::default()
        };
        let ledger = Ledger::open(self.dir()).unwrap();
        let mut session = ledger.session(PATIENCE).unwrap();
        self.steps.push(session.hold(entry).unwrap());
        drop(session);
        let mut session = ledger.session(PATIENCE).unwrap();
        let before = session.cpuset_of(job, 0, &CpuSet::new()).unwrap();
        let after = Entry {
            cgroup: Some(cgroup),
            ..before.clone()
        };
        session.change(&before, &after).unwrap();
    }

    /// The service looks at everything.
    fn look(&mut self, online: &str) {
        let now = set(online);
        let around = Around {
            online: &now,
            mover: &self.mover,
        };
        self.node.pass(around);
    }

    /// Another service serves the node from now on.
    fn restarted(self) -> Self {
        let (dir, tops) = (self.dir().clone(), self.node.cgroups.tops.clone());
        drop(self.node);
        let node = ServedNode::serve(dir, "n1", tops).unwrap().unwrap();
        Self { node, ..self }
    }

    /// The masks of a job's tasks.
    fn masks(&self, job: u32) -> Vec<String> {
        let entry = self.entry(job);
        let masks = entry.leaves.iter().map(|leaf| leaf.cpus.to_string());
        masks.collect()
    }

    fn entry(&self, job: u32) -> Entry {
        let ledger = Ledger::open(self.dir()).unwrap();
        let session = ledger.read().unwrap();
        session.cpuset_of(job, 0, &CpuSet::new()).unwrap()
    }

    /// Whether slurmd has been asked to discover the machine again, since the last time.
    fn is_asked_to_reload(&self) -> bool {
        fs::remove_file(self.dir().reload_path()).is_ok()
    }
}

/// The machine as it is discovered while CPUs are offline.
fn without(machine: &Machine, offline: &str) -> Machine {
    let mut parts = machine.parts().clone();
    let is_online = |cpu: &CpuId| !set(offline).contains(*cpu);
    for core in parts.packages.iter_mut().flat_map(|one| &mut one.cores) {
        core.pus.retain(is_online);
    }
    Machine::new(parts).unwrap()
}

/// A node of 16 cores with two threads, and one of 16 with one: a cpuset with the first four, and the masks of its tasks.
fn nodes() -> [(Machine, &'static str, [&'static str; 3]); 2] {
    let node = |threads| Machine::regular(1, 16, threads, Numbering::ThreadsLast).unwrap();
    [
        (node(2), "0-3,16-19", ["1,17", "2-3,18", "0,16"]),
        (node(1), "0-3", ["0-1", "1", "2-3"]),
    ]
}

#[test]
fn masks_are_what_they_were_when_cpus_are_back() {
    for (machine, cpus, masks) in nodes() {
        let all = machine.cpus().to_string();
        for offline in ["1", "1,17", "1-2,17-18", "0-3,16-19", "17"] {
            let online = machine.cpus().difference(&set(offline)).to_string();
            // slurmd discovers the machine before the service looks, while the CPUs are offline, or not at all.
            for discovered in ["before", "while", "never"] {
                let mut host = Host::new();
                host.finds(machine.clone());
                host.step(1, cpus, &masks);
                host.look(&all);
                if discovered == "before" {
                    host.finds(without(&machine, offline));
                }
                host.look(&online);
                let is_away = host.entry(1).cpus != set(cpus);
                assert_eq!(is_away, set(offline).intersects(&set(cpus)), "{offline}");
                if discovered == "while" {
                    host.finds(without(&machine, offline));
                    host.look(&online);
                }
                host.look(&all);
                assert_eq!(host.masks(1), masks, "{offline} {discovered}");
                assert_eq!(host.entry(1).cpus, set(cpus));
            }
        }
    }
}

/// Another service, which has seen the machine only without the CPUs, does not know to which cores they belong.
#[test]
fn a_cpuset_goes_back_when_the_cores_of_its_cpus_are_known() {
    for (machine, cpus, masks) in nodes() {
        let all = machine.cpus().to_string();
        let online = machine.cpus().difference(&set("1-2,17-18")).to_string();
        let mut host = Host::new();
        host.finds(machine.clone());
        host.step(1, cpus, &masks);
        host.look(&all);
        host.look(&online);
        host.finds(without(&machine, "1-2,17-18"));
        let mut host = host.restarted();
        let away = host.entry(1);
        for online in [&online, &all] {
            host.look(online);
            assert_eq!(host.entry(1), away);
        }
        host.finds(machine);
        host.look(&all);
        assert_eq!(host.masks(1), masks);
    }
}

fn six_cores() -> Machine {
    Machine::regular(1, 6, 1, Numbering::Block).unwrap()
}

#[test]
fn a_change_that_could_not_be_followed_is_followed_at_a_later_look() {
    let mut host = Host::new();
    host.step(1, "0-3", &["0-1", "2-3"]);
    host.look("0-5");
    // slurmd has not found the machine yet.
    host.look("0,2-5");
    assert_eq!(host.entry(1).cpus, set("0-3"));
    assert!(host.is_asked_to_reload());
    host.finds(six_cores());
    let ledger = Ledger::open(host.dir()).unwrap();
    let others = ledger.session(PATIENCE).unwrap();
    host.look("0,2-5");
    assert_eq!(host.entry(1).cpus, set("0-3"), "the ledger was locked");
    drop(others);
    host.look("0,2-5");
    assert_eq!(host.entry(1).cpus, set("0,2-4"));
    // Once is enough.
    host.step(2, "0", &["0"]);
    host.look("0,2-5");
    assert!(!host.is_asked_to_reload());
    assert_eq!(host.entry(1).generation, 1);
}

#[test]
fn a_second_cpu_that_goes_offline_is_replaced_too() {
    let mut host = Host::new();
    host.finds(six_cores());
    host.step(1, "0-1", &["0", "1"]);
    host.look("0-5");
    host.look("0,2-5");
    let away = host.entry(1).cpus;
    let second = away.difference(&set("0")).to_string();
    let online = set("0,2-5").difference(&set(&second));
    host.look(&online.to_string());
    assert!(host.entry(1).cpus.is_subset(&online), "{second}");
    host.look("0-5");
    assert_eq!(host.masks(1), ["0", "1"]);
}

/// The file system has room for all files of the ledger but one.
#[test]
fn a_cpuset_that_cannot_be_written_keeps_no_other_one_from_its_cpus() {
    const MOST: u64 = 1 << 20;
    let mut host = Host::new();
    host.finds(Machine::regular(1, 16, 1, Numbering::Block).unwrap());
    let jobs = 1..=7;
    jobs.clone().for_each(|job| host.step(job, "1", &["1"]));
    host.look("0-15");
    let failing = host.entry(4);
    let text = fs::read(failing.file.as_ref().unwrap()).unwrap();
    let file = File::options().write(true).open(failing.file.unwrap());
    let file = file.unwrap();
    file.set_len(MOST).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &text, MOST - text.len() as u64).unwrap();
    limit_files(&MOST.to_string());
    host.look("0,2-15");
    limit_files("unlimited");
    let moved = |job: &u32| host.entry(*job).cpus != set("1");
    let all: Vec<_> = jobs.clone().filter(moved).collect();
    assert_eq!(all, [1, 2, 3, 5, 6, 7]);
    // There is room again.
    host.look("0,2-15");
    assert!(host.entry(4).cpus != set("1"));
}

/// From now on this process cannot write files that are longer. The signal that the kernel sends then stays pending.
fn limit_files(most: &str) {
    let signals: nix::sys::signal::SigSet =
        [nix::sys::signal::Signal::SIGXFSZ].into_iter().collect();
    signals.thread_block().unwrap();
    let own = std::process::id().to_string();
    let limit = format!("--fsize={most}:");
    let done = std::process::Command::new("prlimit")
        .args(["--pid", &own, &limit])
        .status();
    assert!(done.unwrap().success());
}
