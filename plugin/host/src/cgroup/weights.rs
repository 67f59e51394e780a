//! The weights of the jobs of a node: which of them go before others, and one of these like others again.
//! In: the cgroup below which Slurm keeps the jobs of a node, in the unified hierarchy. Out: jobs, and `cpu.weight` written.

use super::job::{USUAL, WEIGHT, put};
use super::{FenceError, Folder, Place, Version, Written};

/// The most folders that are looked at.
const MOST: usize = 20_000;
/// The name of a job's folder begins so.
const JOB: &str = "job_";

/// A job that goes before others.
#[derive(Debug)]
pub struct Heavy {
    /// Its number.
    pub job: u32,
    folder: Folder,
}

/// The jobs whose weight is more than the kernel's own.
///
/// # Errors
/// [`FenceError`]: the folder cannot be read.
pub fn going_first(scope: &Place) -> Result<Vec<Heavy>, FenceError> {
    let folder = scope.open()?;
    match folder.is_roots() && scope.version == Version::V2 {
        true => Ok(heavy(&folder)),
        false => Ok(Vec::new()),
    }
}

fn heavy(scope: &Folder) -> Vec<Heavy> {
    let names = scope.children(MOST).into_iter();
    let jobs = names.filter_map(|name| {
        let job = name.strip_prefix(JOB)?.parse().ok()?;
        let folder = scope.child(&name).ok()?;
        Some(Heavy { job, folder })
    });
    jobs.filter(|one| one.weight() > number(USUAL)).collect()
}

impl Heavy {
    fn weight(&self) -> Option<u32> {
        number(&self.folder.read(WEIGHT).ok()?)
    }

    /// Gives it another weight.
    ///
    /// # Errors
    /// [`FenceError`]: it has ended, or the kernel has another weight.
    pub fn set_weight(&self, weight: u32) -> Result<Written, FenceError> {
        put(&self.folder, WEIGHT, weight.to_string())
    }
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::folder::Kind;
    use super::*;

    #[test]
    fn what_is_heavier_than_the_kernels_own_weight_goes_first() {
        let dir = tempfile::tempdir().unwrap();
        for (name, weight) in [
            ("job_1", "100"),
            ("job_2", "101"),
            ("job_3", "9"),
            ("x_4", "9999"),
        ] {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join(WEIGHT), format!("{weight}\n")).unwrap();
        }
        fs::create_dir(dir.path().join("job_5")).unwrap();
        let place = Place {
            version: Version::V2,
            point: dir.path().into(),
            folders: Vec::new(),
        };
        let folder = Folder::open_as(&place, Kind::Any).unwrap();
        let found = heavy(&folder);
        assert_eq!(found.iter().map(|one| one.job).collect::<Vec<_>>(), [2]);
        found[0].set_weight(100).unwrap();
        assert!(heavy(&folder).is_empty());
    }
}
