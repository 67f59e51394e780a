//! Proves on a real cluster that a confined task cannot leave its CPUs, and that nothing of it is left
//! behind, in each way in which a site can have cgroups.

mod observer;
pub mod own;
mod settings;
pub mod task;
pub mod v1;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use nix::unistd::{Uid, chown};

use crate::facts::wait_for_machine;
use crate::hostile::USER;
use crate::output::Done;
use crate::srun_lines::release;
use crate::{Cluster, process};
pub use observer::{cgroups, remove_empty};
pub use settings::settings;

use observer::{Member, members};

/// How a site has its cgroups.
#[derive(Debug)]
pub struct Site {
    /// For the report.
    pub name: &'static str,
    task_plugin: &'static str,
    proctrack: &'static str,
    jobacct: &'static str,
    cgroup_conf: &'static str,
    /// Whether it is a site with cgroups of version 1.
    pub is_v1: bool,
    /// Whether Slurm finds a daemon by its cgroup, and ends it.
    finds_daemons: bool,
    /// Whether the cgroup of a task is ours.
    ours: Ours,
}

/// On which releases the cgroup of a task is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ours {
    Never,
    /// Later releases make one for each task.
    In2205,
    Always,
}

const CORES: &str = "ConstrainCores=yes\n";
const BOTH: &str = "task/cgroup,task/berth";

const fn site(name: &'static str, task_plugin: &'static str, proctrack: &'static str) -> Site {
    Site {
        name,
        task_plugin,
        proctrack,
        jobacct: "jobacct_gather/none",
        cgroup_conf: "",
        is_v1: false,
        finds_daemons: true,
        ours: Ours::Never,
    }
}

/// The sites that are played.
pub const SITES: [Site; 7] = [
    Site {
        cgroup_conf: CORES,
        ..site("v2: task/cgroup", BOTH, "proctrack/cgroup")
    },
    Site {
        cgroup_conf: CORES,
        jobacct: "jobacct_gather/cgroup",
        ..site(
            "v2: task/cgroup, jobacct_gather/cgroup",
            BOTH,
            "proctrack/cgroup",
        )
    },
    site(
        "v2: proctrack/cgroup alone",
        "task/berth",
        "proctrack/cgroup",
    ),
    Site {
        jobacct: "jobacct_gather/cgroup",
        ..site(
            "v2: proctrack/cgroup, jobacct_gather/cgroup",
            "task/berth",
            "proctrack/cgroup",
        )
    },
    Site {
        finds_daemons: false,
        ours: Ours::Always,
        ..site(
            "v2: proctrack/linuxproc",
            "task/berth",
            "proctrack/linuxproc",
        )
    },
    Site {
        cgroup_conf: CORES,
        ours: Ours::In2205,
        is_v1: true,
        ..site("v1: task/cgroup", BOTH, "proctrack/cgroup")
    },
    Site {
        finds_daemons: false,
        ours: Ours::Always,
        is_v1: true,
        ..site(
            "v1: proctrack/linuxproc",
            "task/berth",
            "proctrack/linuxproc",
        )
    },
];

impl Site {
    fn is_ours(&self, cluster: &Cluster) -> bool {
        let is_2205 = || release(cluster).name() == "22.05";
        self.ours == Ours::Always || self.ours == Ours::In2205 && is_2205()
    }

    /// The site's cluster, with these settings of berth's.
    #[track_caller]
    fn cluster(&self, settings: &str) -> Cluster {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("cgroup.conf");
        let plugin = if self.is_v1 { v1::CONF } else { "" };
        fs::write(&file, format!("{plugin}{}", self.cgroup_conf)).expect("cgroup.conf");
        Cluster::builder()
            .task_plugin(self.task_plugin)
            .plugstack(Some(settings))
            .file(&file)
            .set(&format!("ProctrackType={}", self.proctrack))
            .set(&format!("JobAcctGatherType={}", self.jobacct))
            .set("SlurmdDebug=debug")
            .up()
    }
}

/// The tasks' program where every user can run it.
fn program(cluster: &Cluster, me: &Path) -> (PathBuf, String) {
    let folder = cluster.folder().join("user");
    fs::create_dir(&folder).expect("a folder for the user");
    let program = folder.join("confine");
    fs::copy(me, &program).expect("a copy of the program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    chown(&folder, Some(Uid::from_raw(USER)), None).expect("the user's folder");
    let text = program.to_string_lossy().into_owned();
    (folder, text)
}

/// A program of the user's, who is not root.
fn as_user(cluster: &Cluster, folder: &Path, name: &str, words: &[&str]) -> Command {
    let mut command = cluster.program("timeout");
    command.args(["--kill-after=5", "120", name]).args(words);
    command.current_dir(folder).uid(USER).gid(USER);
    command
}

/// Plays everything on one site.
#[track_caller]
pub fn play(site: &Site, me: &Path) {
    let cluster = site.cluster("confine=task");
    // What an earlier cluster has left whose daemons were killed.
    remove_empty(&cluster, "/job_");
    let (folder, program) = program(&cluster, me);
    tasks_stay_inside(site, &cluster, (&folder, &program));
    killed_slurmstepd(site, &cluster, (&folder, &program));
    memory(&cluster);
    let log = cluster.slurmd_log();
    assert!(!log.contains("not confined"), "{log}");
    cluster.wait_idle();
    assert_eq!(cgroups(&cluster), Vec::<String>::new());
}

/// Two tasks with one CPU each: nothing that they start leaves it, nothing stays when they are gone.
fn tasks_stay_inside(site: &Site, cluster: &Cluster, (folder, program): (&Path, &str)) {
    let mark = folder.join("escaped").to_string_lossy().into_owned();
    // Nothing of the cgroups' paths comes from names that a user chooses.
    let name = "-Jberth_../..%20\t:0/$(x)";
    let words = [
        "-n2",
        "--cpu-bind=map_cpu:0,1",
        name,
        program,
        "escape",
        &mark,
    ];
    let mut srun = as_user(cluster, folder, "srun", &words)
        .spawn()
        .expect("srun starts");
    // A child, a daemon, and the task's new program, each with two threads.
    let all = cluster.wait_for("the tasks' processes", || {
        let found = members("confine", &mark);
        (found.len() == 6 && found.iter().all(Member::has_threads)).then_some(found)
    });
    what_tasks_found(site, &mark);
    what_root_sees(site, cluster, &all);
    cluster
        .run("scancel", &["--state=RUNNING", "--user=65534"])
        .expect_ok();
    srun.wait().expect("srun ends");
    cluster.wait_idle();
    let left = cluster.wait_for("the processes' end", || {
        let left = members("confine", &mark);
        let is_end = left.is_empty() || !site.finds_daemons && left.len() == 2;
        is_end.then_some(left)
    });
    // A daemon that Slurm loses stays in its fence, which the next launch removes after it.
    for member in &left {
        assert_eq!(member.allowed(), member.task.to_string(), "{member:?}");
        process::signal(member.pid, Signal::SIGKILL);
    }
    cluster.wait_for("the daemons' end", || {
        members("confine", &mark).is_empty().then_some(())
    });
    look(cluster, folder, program);
    assert_eq!(cgroups(cluster), Vec::<String>::new(), "{}", site.name);
}

/// The tasks had one CPU each from their first instruction on, whatever they tried.
#[track_caller]
fn what_tasks_found(site: &Site, mark: &str) {
    for task in 0..2 {
        let file = fs::read_to_string(format!("{mark}.{task}")).expect("the task's file");
        let cpu = 1 << task;
        let expected = format!("first={cpu:#x} widened={cpu:#x} thread={cpu:#x} cgroup=kept\n");
        assert_eq!(file, expected, "task {task} of {}", site.name);
    }
}

/// Every thread of every process is on its task's CPU, and root's own attempt changes nothing.
#[track_caller]
fn what_root_sees(site: &Site, cluster: &Cluster, all: &[Member]) {
    for member in all {
        let cpu = member.task.to_string();
        for _ in 0..5 {
            for (allowed, last) in member.threads() {
                assert_eq!(
                    (allowed.as_str(), last.as_str()),
                    (cpu.as_str(), cpu.as_str()),
                    "{member:?}"
                );
            }
        }
        // Root itself moves none of them out of the fence by its affinity.
        member.widen();
        assert_eq!(member.allowed(), cpu, "{member:?}");
        let is_ours = member.path.contains("berth_");
        assert_eq!(is_ours, site.is_ours(cluster), "{member:?}");
    }
}

/// A step whose tasks ask for every CPU have what the plan says and no more, from the first instruction on.
#[track_caller]
fn look(cluster: &Cluster, folder: &Path, program: &str) {
    let output = as_user(cluster, folder, "srun", &["-n2", program, "look"]).output();
    let text = Done::from(output.expect("srun runs")).expect_ok();
    assert_eq!(text.lines().count(), 2, "{text}");
    for line in text.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let [_, first, widened, told] = words.as_slice() else {
            panic!("{line}");
        };
        assert_eq!((first, *first), (widened, mask(told).as_str()), "{line}");
    }
    cluster.wait_idle();
}

/// `0-1,3` as `0xb`.
fn mask(list: &str) -> String {
    let cpus = berth_placement::CpuSet::from_list(list).expect("a list of CPUs");
    let bits: u64 = cpus.iter().map(|cpu| 1 << cpu.0).sum();
    format!("{bits:#x}")
}

/// slurmstepd is killed, and cannot tidy up: the next launch does, or slurmd when it starts again.
fn killed_slurmstepd(site: &Site, cluster: &Cluster, (folder, program): (&Path, &str)) {
    for restarts in [false, true] {
        let mark = folder.join(format!("killed-{restarts}"));
        let mark = mark.to_string_lossy().into_owned();
        let words = ["-n1", "--cpu-bind=map_cpu:0", program, "stay", &mark];
        let mut srun = as_user(cluster, folder, "srun", &words)
            .spawn()
            .expect("srun starts");
        let member = cluster.wait_for("the task", || members("confine", &mark).pop());
        process::signal(observer::parent(member.pid), Signal::SIGKILL);
        process::signal(member.pid, Signal::SIGKILL);
        cluster.wait_for("the task's end", || {
            members("confine", &mark).is_empty().then_some(())
        });
        cluster.run("scancel", &["--user=65534"]).expect_ok();
        // srun does not learn that its slurmstepd is gone.
        process::signal(srun.id().try_into().expect("a number"), Signal::SIGTERM);
        srun.wait().expect("srun ends");
        if site.is_ours(cluster) {
            assert!(!cgroups(cluster).is_empty(), "nobody has removed it yet");
        }
        cluster.wait_idle();
        if restarts {
            cluster.restart_slurmd();
            cluster.wait_idle();
        } else {
            look(cluster, folder, program);
        }
        let ours: Vec<_> = cgroups(cluster)
            .into_iter()
            .filter(|path| path.contains("berth_"))
            .collect();
        assert_eq!(ours, Vec::<String>::new(), "{} {restarts}", site.name);
    }
    // What Slurm itself leaves of a killed slurmstepd is Slurm's.
    observer::remove_empty(cluster, "");
}

/// Memory that is bound strictly stays on its nodes.
fn memory(cluster: &Cluster) {
    if !Path::new("/sys/devices/system/node/node1").exists() {
        return;
    }
    wait_for_machine(cluster);
    let show = ["grep", "Mems_allowed_list", "/proc/self/status"];
    for (options, nodes) in [
        (&["-n1", "--mem-bind=map_mem:1"][..], "1"),
        (&["-n1", "--mem-bind=prefer,map_mem:1"], "0-1"),
        (&["-n1"], "0-1"),
    ] {
        let text = cluster.srun(&[options, &show].concat()).expect_ok();
        let found = text.split_whitespace().last();
        assert_eq!(found, Some(nodes), "{options:?}");
    }
}
