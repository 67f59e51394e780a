//! Option lines as the real srun reads them, beside our own reading of the same lines.
//! In: a file of lines, and an srun with a slurmctld behind it. Out: each difference.

mod file;
mod ours;
mod random;
mod table;
mod theirs;

use std::collections::BTreeMap;
use std::path::Path;

use berth_srun::Release;

use crate::{Cluster, Done};

pub use file::Case;
pub use table::table_differences;

/// What a line was understood to ask for, by the name of a fact; empty if it was refused.
pub type Told = BTreeMap<&'static str, String>;

/// Two readings of one line.
#[derive(Debug)]
pub struct Compared {
    /// The line.
    pub case: Case,
    /// The real srun's reading, or its refusal.
    pub theirs: Result<Told, String>,
    /// Ours.
    pub ours: Result<Told, String>,
}

impl Compared {
    /// What differs, in words; `None` if nothing does. A fact that one of the two does not tell is
    /// not compared.
    pub fn difference(&self) -> Option<String> {
        match (&self.theirs, &self.ours) {
            (Err(_), Err(_)) => None,
            (Ok(_), Err(why)) => Some(format!("srun takes it, we refuse it: {why}")),
            (Err(why), Ok(_)) => Some(format!("srun refuses it, we take it: {why}")),
            (Ok(theirs), Ok(ours)) => {
                let differs = theirs.iter().filter_map(|(name, theirs)| {
                    let ours = ours.get(name)?;
                    (ours != theirs).then(|| format!("{name}: srun {theirs}, we {ours}"))
                });
                let all: Vec<_> = differs.collect();
                (!all.is_empty()).then(|| all.join("; "))
            }
        }
    }
}

/// The lines of a file, and so many more made from its pieces with a seed.
pub fn cases(path: &Path, more: usize, seed: u64) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{path:?}: {why}"));
    let (mut cases, pieces) = file::read(&text);
    cases.extend(random::cases(&pieces, more, seed));
    cases
}

/// A cluster for it: two nodes on which nearly every line fits, and no plugin that binds.
pub fn cluster() -> Cluster {
    Cluster::builder()
        .plugstack(None)
        .task_plugin("task/none")
        .nodes(2)
        .env("HWLOC_SYNTHETIC", "pack:4 core:8 pu:4")
        .set("SlurmctldDebug=debug3")
        .set("LogTimeFormat=thread_id")
        .set("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:16")
        .up()
}

/// The release line of the srun that is installed.
pub fn release(cluster: &Cluster) -> Release {
    let said = cluster.run("srun", &["--version"]).expect_ok();
    let version = said.split_whitespace().last().unwrap_or_default();
    version.parse().unwrap_or_else(|why| panic!("{why}"))
}

/// Both readings of every line, some lines at once; ours by the rules of a release.
pub fn compare(cluster: &Cluster, cases: Vec<Case>, release: Release) -> Vec<Compared> {
    let said = theirs::run(cluster, &cases);
    let told = theirs::read(cluster, &said);
    let pairs = cases.into_iter().zip(told);
    pairs
        .map(|(case, theirs)| Compared {
            ours: ours::read(&case, release),
            theirs,
            case,
        })
        .collect()
}

/// What srun said of one line, and the name of its job.
struct Said {
    job: String,
    done: Done,
}
