//! `berth-pools [WORD…]`: what the weights of pools give, on the virtual machines of `ci/vm` without hardware threads. A
//! pool has half of the CPUs. Its jobs meet one wide normal job, or a serial one with two busy threads on each CPU, and
//! the kernel's accounting of each job's tasks says who got what. A WORD chooses the lines whose names have it. It is
//! also the jobs' program.
//!
//! The virtual CPUs are emulated and get only a part of the host's. The guest's kernel does not know of that and
//! charges all of its time to the thread that runs, so shares among contending threads hold.

mod cancel;
mod files;
mod job;
mod shares;

use std::fs;
use std::process::ExitCode;

use berth_tests::Cluster;
use berth_tests::verdicts::Verdicts;

/// The weight of all of a pool's CPUs together.
const HIGHEST: u32 = 10_000;

/// A line of the experiment: its name, and how it is played.
type Line = (&'static str, fn(&Here));

const LINES: &[Line] = &[
    ("a quiet node", shares::quiet),
    ("beside serial jobs", shares::serial),
    ("beside a wide job", shares::wide),
    ("scancel", cancel::cancelled),
    ("another size", files::another_size),
    ("class=realtime", |here| files::old_class(here, "realtime")),
    ("class=idle", |here| files::old_class(here, "idle")),
];

/// The cluster, and its pool.
struct Here {
    cluster: Cluster,
    /// The CPUs of the machine.
    cpus: u32,
    /// `cpus=` of the pool, from which its weights follow.
    pool: u32,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if job::spins(&words) {
        return ExitCode::SUCCESS;
    }
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!("berth-pools: only inside a machine of ci/vm");
        return ExitCode::from(2);
    }
    let cpus = std::thread::available_parallelism().expect("CPUs").get() as u32;
    let here = Here {
        cluster: Cluster::builder().example("pools").up(),
        cpus,
        pool: cpus / 2,
    };
    here.write(&here.line(""));
    let mut counts = Verdicts::default();
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    for (name, play) in LINES.iter().filter(|(name, _)| is_chosen(name)) {
        counts.judge(name, || {
            play(&here);
            None
        });
        job::end_all(&here.cluster);
    }
    counts.end("lines")
}

impl Here {
    /// The pool's line in the site's file, with more words.
    fn line(&self, more: &str) -> String {
        line_of(self.pool, more)
    }

    /// Writes the site's file, and has slurmd read it. Returns where its log ended before.
    fn write(&self, line: &str) -> usize {
        let before = self.cluster.slurmd_log().len();
        let file = self.cluster.folder().join("etc/pools.conf");
        fs::write(file, line).expect("the file of pools");
        self.cluster.berth(&["reload"]).expect_ok();
        self.cluster.srun(&["-pnormal", "true"]).expect_ok();
        self.cluster.wait_for("the changed pools", || {
            let has_read = self.log_since(before).contains(": 1 pool of this node");
            has_read.then_some(())
        });
        before
    }

    /// What slurmd has logged behind a place.
    fn log_since(&self, place: usize) -> String {
        let log = self.cluster.slurmd_log();
        log.get(place..).unwrap_or_default().to_owned()
    }

    /// The weight of a pool job with so many CPUs.
    fn weight_of(&self, cpus: u32) -> u32 {
        HIGHEST * cpus / self.pool
    }

    /// The weight of other jobs.
    fn others(&self) -> u32 {
        (f64::from(HIGHEST) / f64::from(self.pool) / 33.0).round() as u32
    }
}

/// The line of a pool of so many CPUs.
fn line_of(cpus: u32, more: &str) -> String {
    format!("name=multi8 partition=multi8 cpus={cpus} export=NCPUS {more}\n")
}
