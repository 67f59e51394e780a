//! `berth-pools [WORD…]`: the experiment of the paper on multi-CPU pools, for the virtual machines of `ci/vm` without
//! hardware threads, for each class of pool. A pool has half of the CPUs. Pool jobs meet one wide normal job, or a
//! serial one with two busy threads on each CPU; the kernel's accounting of each job's cgroup says who got what. Then
//! come what a class promises beside that: fences, wake-ups, `scancel`, full pools, killed daemons.
//! Words choose lines. It is also the jobs' program.
//!
//! `berth-pools --draw FILE…` draws a picture of the figures that such runs have left in `$BERTH_VM_OUT/pools.txt`.
//!
//! The virtual CPUs are emulated and get only a part of the host's. The guest's kernel does not know of that and
//! charges all of its time to the thread that runs, so shares among contending threads hold; latency is only
//! compared.

mod fences;
mod figures;
mod job;
mod killed;
mod picture;
mod program;
mod promises;
mod shares;

use std::fs;
use std::process::ExitCode;
use std::thread;

use berth_tests::Cluster;

/// The classes.
const CLASSES: [&str; 3] = ["weight", "idle", "realtime"];
/// The weight of all of a pool's CPUs together.
const HIGHEST: u32 = 10_000;

/// What a line came to.
type Told = Result<(), String>;

/// The cluster, its pool's class, and the CPUs of the machine.
struct Here {
    cluster: Cluster,
    class: &'static str,
    cpus: u32,
    /// `cpus=` of the pool, from which its weights follow.
    pool: u32,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = program::run(&words).or_else(|| picture::run(&words)) {
        return code;
    }
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!("berth-pools: only inside a machine of ci/vm");
        return ExitCode::from(2);
    }
    let cpus = thread::available_parallelism().expect("CPUs").get() as u32;
    let mut here = Here {
        cluster: Cluster::builder().example("pools").up(),
        class: "weight",
        cpus,
        pool: cpus / 2,
    };
    figures::begin();
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
        let told = told.and(undrained(&here.cluster));
        match told {
            Ok(()) => self.passed += 1,
            Err(why) => {
                self.failed += 1;
                println!("FAIL {line}: {why}");
            }
        }
    }
}

/// No node is drained; one that is tells why, and serves the next line again.
fn undrained(cluster: &Cluster) -> Told {
    let state = cluster.sinfo_state();
    if !state.contains("drain") {
        return Ok(());
    }
    let reason = cluster.run("sinfo", &["-hR", "-o%E"]).stdout;
    let log = cluster.slurmd_log();
    let says = |line: &&str| line.contains("error") || line.contains("unkillable");
    let lines: Vec<_> = log.lines().filter(says).collect();
    for line in lines.iter().rev().take(20).rev() {
        println!("  {line}");
    }
    let nodes = cluster.run("sinfo", &["-hN", "-o%N"]).stdout;
    let node = format!(
        "NodeName={}",
        nodes.split_whitespace().next().unwrap_or_default()
    );
    cluster
        .scontrol(&["update", &node, "State=RESUME"])
        .expect_ok();
    Err(format!("the node is {state}: {}", reason.trim()))
}

impl Here {
    /// Gives the pool another class, as a site does: by its file, which slurmd reads again.
    fn put(&mut self, class: &'static str) {
        // The first hook starts the thread that looks.
        self.cluster.srun(&["-pnormal", "true"]).expect_ok();
        self.cluster
            .wait_for("the pools", || (self.reads() > 0).then_some(()));
        self.class = class;
        self.write(self.pool);
        let log = self.cluster.slurmd_log();
        let refused = log
            .lines()
            .find(|line| line.contains("cannot be had on this node"));
        if let Some(refused) = refused {
            println!("{refused}");
        }
    }

    /// How often slurmd has read its file.
    fn reads(&self) -> usize {
        let log = self.cluster.slurmd_log();
        log.matches(": 1 pool of this node").count()
    }

    /// The pool may have so many CPUs from now on.
    fn write(&self, cpus: u32) {
        let before = self.reads();
        let class = self.class;
        let line = format!("name=multi8 partition=multi8 cpus={cpus} class={class} export=NCPUS\n");
        let file = self.cluster.folder().join("etc/pools.conf");
        fs::write(&file, line).expect("the file of pools");
        self.cluster.wait_for("the changed pools", || {
            (self.reads() > before).then_some(())
        });
    }

    /// The weight of a pool job with so many CPUs.
    fn weight_of(&self, cpus: u32) -> u32 {
        HIGHEST * cpus / self.pool
    }

    /// That of other jobs.
    fn others(&self) -> u32 {
        others_of(self.pool)
    }
}

/// The weight of jobs outside of a pool of so many CPUs.
fn others_of(pool: u32) -> u32 {
    (f64::from(HIGHEST) / f64::from(pool) / 33.0).round() as u32
}
