//! What berth and Slurm say of the node: the ledger, the command, the counters, and lines of slurmd's log.

use std::fs;

use berth_host::StateDir;
use berth_host::ledger::{self, Entry};

use crate::Here;
use crate::thread::list;

/// What `berth status --pools` says of the one pool.
#[derive(Debug)]
pub(crate) struct Status {
    pub owned: u64,
    pub jobs: usize,
    pub suspended: usize,
    /// CPUs that its jobs have kept busy so far.
    pub delivered: Option<f64>,
    /// How long a job outside of it waits for a CPU, in per cent.
    pub others_waited: Option<f64>,
}

/// What an ended pool job had, by its line in slurmd's log.
#[derive(Debug)]
pub(crate) struct Accounted {
    pub asked: f64,
    pub delivered: f64,
    pub run_share: f64,
}

impl Here {
    /// The node's name.
    pub(crate) fn node(&self) -> String {
        let nodes = self.cluster.run("sinfo", &["-hN", "-o%N"]).stdout;
        let first = nodes.split_whitespace().next();
        first.unwrap_or_default().to_owned()
    }

    fn state_dir(&self) -> StateDir {
        let base = self.cluster.folder().join("run/berth");
        StateDir::new(&base, &self.node()).expect("the state directory")
    }

    /// Every entry of the node's ledger.
    pub(crate) fn ledger(&self) -> Result<Vec<Entry>, String> {
        ledger::look(&self.state_dir()).map_err(|why| why.to_string())
    }

    /// The pool, as root sees it.
    pub(crate) fn status(&self) -> Result<Status, String> {
        let base = self.cluster.folder().join("run/berth");
        let words = ["status", "--pools", "--format", "json", "--state-dir"];
        let words = [&words[..], &[base.to_str().expect("a path")]].concat();
        let done = self
            .cluster
            .run(&berth_tests::command().to_string_lossy(), &words);
        let read = || {
            let told: serde_json::Value = serde_json::from_str(&done.stdout).ok()?;
            let pool = told.get("pools")?.get(0)?;
            Some(Status {
                owned: pool.get("owned")?.as_u64()?,
                jobs: pool.get("jobs")?.as_array()?.len(),
                suspended: pool.get("suspended")?.as_array()?.len(),
                delivered: pool.get("delivered")?.as_f64(),
                others_waited: pool.get("others_waited")?.as_f64(),
            })
        };
        read().ok_or_else(|| format!("berth status --pools: {done:#?}"))
    }

    /// How many jobs of the pool have ended, by the counters.
    pub(crate) fn counted(&self) -> u64 {
        let jobs = self.count("berth-pools.prom", "berth_pool_jobs_total{");
        jobs as u64
    }

    /// How many seconds ended steps outside of the pool waited, by the counters.
    pub(crate) fn others_waited(&self) -> f64 {
        self.count("berth.prom", "berth_pool_others_waited_seconds_total{")
    }

    /// 0 where the file has no such line.
    fn count(&self, file: &str, begins: &str) -> f64 {
        let text = fs::read_to_string(self.state_dir().path().join(file)).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(begins));
        let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
        value.unwrap_or_default()
    }

    /// The line of an ended pool job; none yet if the last step has not ended.
    ///
    /// # Errors
    /// A number is missing, as in `unknown`, or there are two lines.
    pub(crate) fn accounted(&self, job: &str) -> Result<Option<Accounted>, String> {
        let log = self.cluster.slurmd_log();
        let begins = format!("job={job} pool=multi8 cpus-asked=");
        let mut lines = log.lines().filter(|line| line.contains(&begins));
        let Some(line) = lines.next() else {
            return Ok(None);
        };
        if let Some(other) = lines.next() {
            return Err(format!("one job, two lines: {line}, {other}"));
        }
        let number = |name: &str| {
            let word = line
                .split_whitespace()
                .find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            word.and_then(|text| text.parse::<f64>().ok())
                .ok_or_else(|| format!("{name} is no number: {line}"))
        };
        Ok(Some(Accounted {
            asked: number("cpus-asked")?,
            delivered: number("cpus-delivered")?,
            run_share: number("run-share")?,
        }))
    }

    /// The CPUs of a job, as Slurm has them recorded.
    pub(crate) fn recorded_cpus(&self, job: &str) -> Vec<u32> {
        let shown = self.cluster.scontrol(&["-d", "-o", "show", "job", job]);
        let shown = shown.expect_ok();
        let cpus = shown
            .split_whitespace()
            .find_map(|word| word.strip_prefix("CPU_IDs="));
        list(cpus.unwrap_or_default())
    }
}
