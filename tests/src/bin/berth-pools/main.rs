//! `berth-pools [WORD…]`: the experiment of the paper on multi-CPU pools, for the virtual machines of `ci/vm` without
//! hardware threads, for each class of pool. A pool has half of the CPUs. Pool jobs meet one wide normal job, or a
//! serial one with two busy threads on each CPU; the kernel's accounting of each job's tasks says who got what. Then
//! come what a class promises beside that: fences, wake-ups, `scancel`, full pools, ends, killed daemons. It is also
//! the jobs' program.
//!
//! `berth-pools --list` prints the names of all lines, each behind its class. A WORD chooses lines: a whole name, with
//! or without its class, chooses that line alone (`berth-pools 'realtime scancel'`), any other word all lines that have
//! it (`berth-pools idle`).
//!
//! `berth-pools --draw FILE…` draws a picture of the figures that such runs have left in `$BERTH_VM_OUT/pools.txt`.
//!
//! The virtual CPUs are emulated and get only a part of the host's. The guest's kernel does not know of that and
//! charges all of its time to the thread that runs, so shares among contending threads hold; how late a timer is, is
//! mostly the host's doing and only compared.

mod bare;
mod cancel;
mod changed;
mod crowd;
mod daemons;
mod ended;
mod fences;
mod figures;
mod full;
mod hidden;
mod host;
mod job;
mod killed;
mod left;
mod measured;
mod picture;
mod program;
mod scenes;
mod shares;
mod state;
mod steps;
mod thread;
mod wakes;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use berth_tests::Cluster;

use crate::host::Host;
use crate::scenes::Count;

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
    host: Host,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = program::run(&words).or_else(|| picture::run(&words)) {
        return code;
    }
    if words.first().is_some_and(|word| word == "--list") {
        scenes::list();
        return ExitCode::SUCCESS;
    }
    let mut count = match Count::of(&words) {
        Ok(count) => count,
        Err(word) => {
            eprintln!("berth-pools: no line has {word:?}; --list shows them all");
            return ExitCode::from(2);
        }
    };
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!("berth-pools: only inside a machine of ci/vm");
        return ExitCode::from(2);
    }
    let cpus = std::thread::available_parallelism().expect("CPUs").get() as u32;
    let mut here = Here {
        cluster: Cluster::builder().example("pools").up(),
        class: "weight",
        cpus,
        pool: cpus / 2,
        host: Host::measured(cpus),
    };
    figures::begin();
    for class in CLASSES {
        if count.has(class) {
            here.put(class);
            count.play(&here);
        }
    }
    println!("{} lines as expected, {} not", count.passed, count.failed);
    match (count.passed, count.failed) {
        (1.., 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

impl Here {
    /// Gives the pool another class, as a site does: by its file, which slurmd reads again.
    fn put(&mut self, class: &'static str) {
        if self.reads() == 0 {
            // The example's pool may be larger than this machine.
            fs::write(self.file(), self.line(self.pool)).expect("the file of pools");
        }
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
        [": 0 pools of this node", ": 1 pool of this node"]
            .map(|text| log.matches(text).count())
            .iter()
            .sum()
    }

    /// The pool may have so many CPUs from now on.
    fn write(&self, cpus: u32) {
        self.write_line(&self.line(cpus));
    }

    fn line(&self, cpus: u32) -> String {
        line_of(self.class, cpus)
    }

    fn file(&self) -> PathBuf {
        self.cluster.folder().join("etc/pools.conf")
    }

    /// The node has no pools from now on.
    fn write_nothing(&self) {
        self.write_line("# no pools\n");
    }

    fn write_line(&self, line: &str) {
        let before = self.reads();
        fs::write(self.file(), line).expect("the file of pools");
        self.cluster.wait_for("the changed pools", || {
            (self.reads() > before).then_some(())
        });
    }

    /// Stops slurmd and starts it again, and waits until it has read its file.
    fn restart(&self) {
        let before = self.reads();
        self.cluster.restart_slurmd();
        daemons::is_back(&self.cluster);
        self.cluster.srun(&["-pnormal", "true"]).expect_ok();
        self.cluster
            .wait_for("the pools", || (self.reads() > before).then_some(()));
    }

    /// The weight of a pool job with so many CPUs.
    fn weight_of(&self, cpus: u32) -> u32 {
        HIGHEST * cpus / self.pool
    }

    /// The scheduling policy of its tasks.
    fn policy(&self) -> u32 {
        match self.class {
            "realtime" => cancel::RR,
            _ => 0,
        }
    }

    /// The weight of other jobs.
    fn others(&self) -> u32 {
        others_of(self.pool)
    }
}

/// The pool's line in the site's file.
fn line_of(class: &str, cpus: u32) -> String {
    format!("name=multi8 partition=multi8 cpus={cpus} class={class} export=NCPUS\n")
}

/// The weight of jobs outside of a pool of so many CPUs.
fn others_of(pool: u32) -> u32 {
    (f64::from(HIGHEST) / f64::from(pool) / 33.0).round() as u32
}
