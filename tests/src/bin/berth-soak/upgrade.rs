//! An upgrade while steps run: the object's file is replaced by another build of it, by renaming, as packages do. Until
//! slurmd starts again, the old slurmd launches steps whose slurmstepds load the new object.

use std::fs;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::counts::count;
use crate::work::Soak;

/// Puts the other build into place, waits a moment, and restarts slurmd.
pub fn one(soak: &Soak, random: &mut fastrand::Rng) {
    let Some(builds) = &soak.builds else { return };
    let done = soak.counts.upgraded.load(Ordering::Relaxed);
    let next = if done.is_multiple_of(2) {
        &builds.other
    } else {
        &builds.first
    };
    if let Err(why) = put(soak, next) {
        eprintln!("berth-soak: the object was not replaced: {why}");
        return;
    }
    count(&soak.counts.upgraded);
    std::thread::sleep(Duration::from_millis(random.u64(0..3000)));
    soak.cluster.restart_slurmd();
}

/// Whoever has the old file mapped keeps it.
fn put(soak: &Soak, object: &[u8]) -> io::Result<()> {
    let plugins = soak.cluster.folder().join("plugins");
    fs::write(plugins.join(".new"), object)?;
    fs::rename(plugins.join(".new"), plugins.join("task_berth.so"))
}

/// Both builds' bytes.
pub struct Builds {
    first: Vec<u8>,
    other: Vec<u8>,
}

impl Builds {
    /// The one in the cluster, and another.
    ///
    /// # Errors
    /// A file that cannot be read, or two that are equal.
    pub fn read(soak: &berth_tests::Cluster, other: &std::path::Path) -> io::Result<Self> {
        let first = fs::read(soak.folder().join("plugins/task_berth.so"))?;
        let other = fs::read(other)?;
        match first == other {
            true => Err(io::Error::other("both builds are the same file")),
            false => Ok(Self { first, other }),
        }
    }
}
