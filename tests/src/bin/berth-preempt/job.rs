//! A job whose script says where it is.

use std::fs;

use berth_placement::CpuSet;
use berth_tests::Cluster;

/// What a script says of itself: its CPUs by the kernel, and what it is told.
const LOOK: &str =
    "echo \"$(sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status) $BERTH_CPUSET_INFO\"";

/// A job of a script that says where it is, each time that it begins.
pub struct Job<'a> {
    cluster: &'a Cluster,
    pub id: String,
}

impl<'a> Job<'a> {
    pub fn submit(cluster: &'a Cluster, partition: &str, options: &[&str]) -> Self {
        let log = cluster.folder().join("log");
        let script = format!(
            "--wrap={LOOK} >> {}/$SLURM_JOB_ID.said; sleep 600",
            log.display()
        );
        let partition = format!("--partition={partition}");
        let own = [
            "--parsable",
            "--requeue",
            "--output=/dev/null",
            &partition,
            &script,
        ];
        let id = cluster.run("sbatch", &[options, &own].concat()).expect_ok();
        Self {
            cluster,
            id: id.trim().to_owned(),
        }
    }

    /// What it said when it began for the n-th time, from 1.
    pub fn said(&self, times: usize) -> (CpuSet, String) {
        let file = self.cluster.folder().join(format!("log/{}.said", self.id));
        let line = self
            .cluster
            .wait_for(&format!("job {} to begin", self.id), || {
                let text = fs::read_to_string(&file).ok()?;
                text.lines().nth(times - 1).map(String::from)
            });
        let (cpus, told) = line.split_once(' ').unwrap_or((&line, ""));
        (
            CpuSet::from_list(cpus).expect("a list of CPUs"),
            told.to_owned(),
        )
    }

    pub fn state(&self) -> String {
        let shown = self
            .cluster
            .run("squeue", &["-h", "-o", "%T", "-j", &self.id]);
        shown.stdout.trim().to_owned()
    }

    pub fn wait(&self, state: &str) {
        self.cluster
            .wait_for(&format!("job {} to be {state}", self.id), || {
                (self.state() == state).then_some(())
            });
    }

    pub fn cancel(&self) {
        self.cluster
            .run("scancel", &["--full", &self.id])
            .expect_ok();
    }
}
