//! What slurmstepd does to the cgroups of confined tasks, on a real cluster: each write is a debug line of its log,
//! with the value read back, and strace sees no other file operation than those that a fence needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use berth_tests::{Cluster, process, program, skip, two_cpus};

/// Where each task lives, as the kernel says it.
const WHERE: &str =
    "sed -n -e 's/^[0-9]*:[a-z,]*cpuset[a-z,]*:/v1 /p' -e 's/^0::/v2 /p' /proc/self/cgroup";

fn cluster() -> Option<Cluster> {
    let v1 = Path::new("/sys/fs/cgroup/cpuset/cpuset.cpus").exists();
    let v2 = fs::read_to_string("/sys/fs/cgroup/cgroup.subtree_control").unwrap_or_default();
    if !v1 && !v2.split_whitespace().any(|one| one == "cpuset") {
        skip("there are no cpusets of cgroups here");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cgroup.conf");
    let plugin = if v1 { "cgroup/v1" } else { "cgroup/v2" };
    fs::write(
        &file,
        format!("CgroupPlugin={plugin}\nConstrainCores=yes\n"),
    )
    .expect("cgroup.conf");
    let builder = Cluster::builder().example("cgroup").file(&file);
    let builder = builder.plugstack(Some("")).set("SlurmdDebug=debug3");
    Some(builder.up())
}

/// A line of the log about a write.
#[derive(Debug, PartialEq, Eq)]
struct Write {
    file: String,
    value: String,
    /// What the kernel said afterwards.
    now: String,
}

impl Write {
    fn of(line: &str) -> Option<Self> {
        let (_, rest) = line.split_once(": wrote \"")?;
        let (value, rest) = rest.split_once("\" to ")?;
        let (file, now) = rest.split_once(", which has \"")?;
        Some(Self {
            file: file.into(),
            value: value.into(),
            now: now.trim_end().trim_end_matches('"').into(),
        })
    }
}

/// The writes of one step, in their order.
fn writes(cluster: &Cluster, step: &str) -> Vec<Write> {
    let log = cluster.slurmd_log();
    let of_step = log.lines().filter(|line| line.contains(step));
    of_step.filter_map(Write::of).collect()
}

#[test]
fn each_write_is_a_line_with_its_value_read_back() {
    if !two_cpus() {
        return;
    }
    let Some(cluster) = cluster() else {
        return;
    };
    let both = ["-n2", "--confine=task", "--cpu-bind=map_cpu:0,1"];
    let set = ["-n1", "--mincpus=2", "--cpuset=CPU_LIST=1;NCPUS=1"];
    for (job, options, cpus) in [(1, both, &["0", "1"][..]), (2, set, &["1"])] {
        let words = ["-l", "/bin/sh", "-c", WHERE];
        let done = cluster.srun(&[&options[..], &words].concat());
        let all = writes(&cluster, &format!("step={job}.0"));
        for (task, cpus) in (0..).zip(cpus) {
            let label = format!("{task}: v");
            let lives = done.stdout.lines().find(|line| line.starts_with(&label));
            let lives = lives.and_then(|line| line.rsplit(' ').next());
            let lives = lives.unwrap_or_else(|| panic!("task {task}: {done:#?}"));
            let file = format!("{lives}/cpuset.cpus");
            let last = all.iter().rfind(|write| write.file.ends_with(&file));
            let last = last.unwrap_or_else(|| panic!("no line for {file}: {all:#?}"));
            assert!(last.file.starts_with("/sys/fs/cgroup/"), "{last:?}");
            assert_eq!(
                (last.value.as_str(), last.now.as_str()),
                (*cpus, *cpus),
                "{last:?}"
            );
        }
    }
}

/// strace of a slurmd and of all that it starts.
struct Strace {
    strace: Child,
    file: PathBuf,
}

impl Strace {
    fn begin(cluster: &Cluster) -> Self {
        let pids = fs::read_dir(cluster.folder().join("run")).expect("the daemons' folder");
        let names = pids.flatten().map(|entry| entry.path());
        let is_slurmd = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("slurmd-") && name.ends_with(".pid")
        };
        let file = names.into_iter().find(is_slurmd).expect("slurmd's number");
        let pid = fs::read_to_string(file).expect("a number");
        let file = cluster.folder().join("log/strace");
        let calls = "trace=openat,mkdirat,unlinkat";
        let said = file.with_extension("said");
        let strace = Command::new("strace")
            .args(["-f", "-y", "-e", calls, "-p", pid.trim(), "-o"])
            .arg(&file)
            .stderr(fs::File::create(&said).expect("a file"))
            .spawn()
            .expect("strace starts");
        cluster.wait_for("strace", || {
            let said = fs::read_to_string(&said).ok()?;
            said.contains("attached").then_some(())
        });
        Self { strace, file }
    }

    /// How many processes it traces.
    fn traced(&self) -> usize {
        let own = self.strace.id().to_string();
        let all = fs::read_dir("/proc").expect("the processes").flatten();
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|&pid| process::status(pid, "TracerPid").is_some_and(|by| by == own))
            .count()
    }

    /// Ends strace once it traces slurmd alone. One that is ended while a slurmstepd ends may wait for ever, as 6.1 has
    /// done: for the first thread, of which the kernel says nothing before strace has asked for the others.
    fn end(mut self, cluster: &Cluster) -> String {
        cluster.wait_for("the end of what slurmd has started", || {
            (self.traced() == 1).then_some(())
        });
        process::end(&mut self.strace);
        fs::read_to_string(self.file).expect("the trace")
    }
}

/// What was done to the cgroups of single tasks, in the order of the calls. berth opens each file in the descriptor of
/// its folder, and Slurm by its path.
fn operations(trace: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let (call, rest) = line.split_once('(')?;
        let (folder, rest) = rest.split_once('<')?.1.split_once(">, \"")?;
        let (name, flags) = rest.split_once('"')?;
        let folder = Path::new(folder).file_name()?.to_str()?;
        let is_own = |name: &str| name.starts_with("berth_") || name.starts_with("task_");
        let way = match call.rsplit(' ').next()? {
            "mkdirat" if is_own(name) => return Some("make".into()),
            "unlinkat" if is_own(name) => return Some("remove".into()),
            "openat" if flags.contains("O_WRONLY") => "write",
            "openat" if !flags.contains("O_DIRECTORY") => "read",
            _ => return None,
        };
        match (is_own(folder), folder.starts_with("step_")) {
            (true, _) => Some(format!("{way} {name}")),
            (_, true) if !name.starts_with('/') => Some(format!("{way} above {name}")),
            _ => None,
        }
    };
    trace.lines().filter_map(of_line).collect()
}

/// What is done for one task in a cgroup that Slurm made for it.
const IN_SLURMS: &[&str] = &["write cpuset.cpus", "read cpuset.cpus.effective"];
/// The same in one of ours, which has to be made, in version 1 of cgroups.
const IN_OURS: &[&str] = &[
    "make",
    // A new folder is empty, and nobody could enter it.
    "read above cpuset.mems",
    "write cpuset.mems",
    "read cpuset.mems",
    "read above cpuset.cpus",
    "write cpuset.cpus",
    "read cpuset.cpus",
    "write cpuset.cpus",
    "read cpuset.cpus",
    "write cgroup.procs",
];

#[test]
fn a_fence_needs_no_other_file_operation() {
    if !two_cpus() || !program("strace", "strace") {
        return;
    }
    let Some(cluster) = cluster() else {
        return;
    };
    let strace = Strace::begin(&cluster);
    let words = ["-n2", "--confine=task", "--cpu-bind=map_cpu:0,1"];
    let done = cluster.srun(&[&words[..], &["sleep", "0.5"]].concat());
    assert!(done.ok(), "{done:#?}");
    cluster.wait_idle();
    let trace = strace.end(&cluster);
    let found = operations(&trace);
    let is_ours = found.iter().any(|one| one == "make");
    let each = if is_ours { IN_OURS } else { IN_SLURMS };
    let removed = if is_ours {
        &["remove", "remove"][..]
    } else {
        &[]
    };
    assert_eq!(found, [each, each, removed].concat(), "{trace}");
    // Each write among them is a line of the log.
    let written = found.iter().filter_map(|one| one.strip_prefix("write "));
    let logged = writes(&cluster, "step=1.0");
    let logged = logged.iter().filter_map(|one| one.file.rsplit('/').next());
    assert!(written.eq(logged), "{found:#?} {:#?}", cluster.slurmd_log());
}
