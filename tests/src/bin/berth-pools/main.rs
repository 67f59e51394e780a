//! `berth-pools [WORD…]`: the experiment of the paper on multi-CPU pools, for the virtual machines of `ci/vm` (eight
//! CPUs without hardware threads), for each class of pool. Pool jobs meet one wide normal job, or a serial one with
//! two busy threads on each CPU; the kernel's accounting of each job's cgroup says who got what. Then come what a
//! class promises beside that: fences, wake-ups, `scancel`, full pools, killed daemons.
//! Words choose lines. It is also the jobs' program.
//!
//! The virtual CPUs are emulated and get only a part of the host's. The guest's kernel does not know of that and
//! charges all of its time to the thread that runs, so shares among contending threads hold; latency is only
//! compared.

mod job;
mod killed;
mod program;
mod promises;
mod shares;

use std::fs;
use std::process::ExitCode;
use std::thread;

use berth_tests::Cluster;

/// The classes.
const CLASSES: [&str; 3] = ["weight", "idle", "realtime"];
/// `cpus=` of the pool, from which its weights follow.
const POOL: u32 = 8;
const OTHERS: u32 = 10_000 / POOL / 25;

/// What a line came to.
type Told = Result<(), String>;

/// The cluster, its pool's class, and the CPUs of the machine.
struct Here {
    cluster: Cluster,
    class: &'static str,
    cpus: u32,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = program::run(&words) {
        return code;
    }
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!("berth-pools: only inside a machine of ci/vm with eight CPUs");
        return ExitCode::from(2);
    }
    let mut here = Here {
        cluster: Cluster::builder().example("pools").up(),
        class: "weight",
        cpus: thread::available_parallelism().expect("CPUs").get() as u32,
    };
    let mut count = Count {
        words,
        passed: 0,
        failed: 0,
    };
    for class in CLASSES {
        if !count.words.is_empty() && !count.words.iter().any(|word| is_of(word, class)) {
            continue;
        }
        here.put(class);
        shares::all(&here, &mut count);
        promises::all(&here, &mut count);
        killed::all(&here, &mut count);
    }
    println!("{} lines as expected, {} not", count.passed, count.failed);
    match (count.passed, count.failed) {
        (1.., 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Whether a word can choose a line of this class.
fn is_of(word: &str, class: &str) -> bool {
    let first = word.split(' ').next().unwrap_or_default();
    first == class || !CLASSES.contains(&first)
}

/// What was played, and what came of it.
struct Count {
    words: Vec<String>,
    passed: u32,
    failed: u32,
}

impl Count {
    /// Plays a line, if the words have it, and ends every job.
    fn play(&mut self, here: &Here, line: &str, play: impl FnOnce() -> Told) {
        let line = format!("{} {line}", here.class);
        if !self.words.is_empty() && !self.words.iter().any(|word| line.contains(word.as_str())) {
            return;
        }
        println!("{line}");
        let told = play();
        job::end_all(&here.cluster);
        let state = here.cluster.sinfo_state();
        let told = told.and_then(|()| match state.contains("drain") {
            true => Err(format!("the node is {state}")),
            false => Ok(()),
        });
        match told {
            Ok(()) => self.passed += 1,
            Err(why) => {
                self.failed += 1;
                println!("FAIL {line}: {why}");
            }
        }
    }
}

impl Here {
    /// Gives the pool another class, as a site does: by its file, which slurmd reads again.
    fn put(&mut self, class: &'static str) {
        let file = self.cluster.folder().join("etc/pools.conf");
        let line = format!("name=multi8 partition=multi8 cpus={POOL} class={class} export=NCPUS\n");
        let reads = || {
            self.cluster
                .slurmd_log()
                .matches(": 1 pool of this node")
                .count()
        };
        // The first hook starts the thread that looks.
        self.cluster.srun(&["-pnormal", "true"]).expect_ok();
        self.cluster
            .wait_for("the pools", || (reads() > 0).then_some(()));
        let before = reads();
        fs::write(&file, line).expect("the file of pools");
        self.cluster
            .wait_for("the changed pools", || (reads() > before).then_some(()));
        let log = self.cluster.slurmd_log();
        let refused = log
            .lines()
            .find(|line| line.contains("cannot be had on this node"));
        if let Some(refused) = refused {
            println!("{refused}");
        }
        self.class = class;
    }
}
