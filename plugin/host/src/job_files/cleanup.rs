//! Files of jobs that are over. No hook of Slurm's sees a job's end on a node before its epilog has run,
//! so each step holds a lock while it lives ([`super::step_lock`]), and a job without a living step is over once
//! nothing of it has changed for a while. The number of a user's jobs with files has a bound.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::folder::{self, JobFilesError};
use super::step_lock::JobLocks;
use crate::atomic_file::is_older;
use crate::state::StateDir;

/// An epilog begins well before that.
const AGE: Duration = Duration::from_secs(600);
/// With more jobs of a user than this those that are over are looked for.
const MANY: usize = 64;
/// No more jobs of a user than this have files.
const MOST: usize = 512;
/// Files of a folder that are looked at in one go.
const MOST_FILES: usize = 1 << 16;

/// The files of one job.
#[derive(Default)]
struct OfJob {
    files: Vec<PathBuf>,
    /// Whether one of them has changed of late, or does not say when it has.
    is_young: bool,
}

/// Removes the files of jobs that are over, and the folders of users that have none left.
pub fn tidy(dir: &StateDir) {
    let living = JobLocks::of(dir);
    for folder in folder::all(dir) {
        tidy_folder(&folder, &living);
        if folder != folder::path(dir) {
            // It stays as long as there is a file in it.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn tidy_folder(folder: &Path, living: &JobLocks) {
    for (job, of_job) in jobs(folder) {
        if !of_job.is_young && !living.lives(job) {
            for path in &of_job.files {
                // A file that is gone already needs nothing.
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Removes the files of jobs that are over from a user's folder, if many jobs have files there.
pub(super) fn make_room(dir: &StateDir, folder: &Path) -> Result<(), JobFilesError> {
    if count(folder) <= MANY {
        return Ok(());
    }
    tidy_folder(folder, &JobLocks::of(dir));
    match count(folder) < MOST {
        true => Ok(()),
        false => Err(JobFilesError::Full {
            path: folder.into(),
            most: MOST,
        }),
    }
}

/// The number of jobs that have files; this looks at names alone.
fn count(folder: &Path) -> usize {
    let jobs: BTreeSet<u32> = entries(folder)
        .filter_map(|entry| job_of(&entry.file_name()))
        .collect();
    jobs.len()
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.flatten().take(MOST_FILES)
}

/// The job of a file: `7.node`, or `.7.node.1.2` of a writer that has died.
fn job_of(name: &OsStr) -> Option<u32> {
    let name = name.to_str()?;
    let (job, _) = name.trim_start_matches('.').split_once('.')?;
    job.parse().ok()
}

/// The files by job; those of a writer that has died count, and names of another kind do not.
fn jobs(folder: &Path) -> BTreeMap<u32, OfJob> {
    let mut jobs: BTreeMap<u32, OfJob> = BTreeMap::new();
    for entry in entries(folder) {
        let Some(job) = job_of(&entry.file_name()) else {
            continue;
        };
        let job = jobs.entry(job).or_default();
        job.files.push(entry.path());
        let changed = entry.metadata().and_then(|found| found.modified());
        job.is_young |= !changed.is_ok_and(|changed| is_older(changed, AGE));
    }
    jobs
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;
    use crate::job_files::{Kind, NodeFacts, begin_step, prepare, put, read, renew};
    use std::os::unix::fs::PermissionsExt;

    fn dir(base: &tempfile::TempDir) -> StateDir {
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        prepare(&dir).unwrap();
        dir
    }

    /// The files of root's own jobs, and the file of locks.
    fn names(dir: &StateDir) -> Vec<String> {
        let (own, outer) = (folder::of_user(dir, 0), folder::path(dir));
        let all = entries(&own).chain(entries(&outer));
        let names = all.map(|entry| entry.file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "0").collect();
        names.sort();
        names
    }

    /// Tidies after the end of a step. A child that another test forks has the step's lock too, until it runs its program.
    fn tidy_to(dir: &StateDir, left: &[&str]) {
        for _ in 0..500 {
            tidy(dir);
            if names(dir) == left {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(names(dir), left);
    }

    /// Makes a job's files older than any epilog waits.
    fn age(dir: &StateDir, job: u32) {
        let old = SystemTime::now() - AGE - Duration::from_secs(1);
        set_changed(dir, &format!("{job}."), old);
    }

    fn set_changed(dir: &StateDir, which: &str, then: SystemTime) {
        for name in names(dir) {
            if name.starts_with(which) {
                let path = folder::of_user(dir, 0).join(name);
                let file = File::options().append(true).open(path).unwrap();
                file.set_modified(then).unwrap();
            }
        }
    }

    #[test]
    fn a_jobs_files_stay_while_a_step_lives_and_until_its_epilog_is_over() {
        let base = tempfile::tempdir().unwrap();
        let dir = dir(&base);
        for (kind, text) in [(Kind::Node, "node"), (Kind::Answer, "answer")] {
            put(&dir, (7, kind), 0, text.as_bytes()).unwrap();
            assert_eq!(read(&dir, 7, kind).unwrap(), text.as_bytes());
        }
        let steps = [begin_step(&dir, 7).unwrap(), begin_step(&dir, 7).unwrap()];
        let other = begin_step(&dir, 8).unwrap();
        age(&dir, 7);
        tidy(&dir);
        assert_eq!(names(&dir), ["7.answer", "7.node", "living"]);
        // The last step ends: the epilog comes now.
        let [first, last] = steps;
        drop(first);
        tidy(&dir);
        assert_eq!(names(&dir).len(), 3, "the other step lives");
        renew(&dir, 0, 7);
        drop(last);
        tidy(&dir);
        assert_eq!(names(&dir), ["7.answer", "7.node", "living"]);
        age(&dir, 7);
        renew(&dir, 0, 7);
        tidy(&dir);
        assert_eq!(names(&dir).len(), 3);
        age(&dir, 7);
        tidy_to(&dir, &["living"]);
        drop(other);
        assert!(read(&dir, 7, Kind::Node).is_err());
    }

    /// Their times are in the future then, and they would be young for ever.
    #[test]
    fn files_of_jobs_that_are_over_go_also_where_the_clock_has_gone_back() {
        let base = tempfile::tempdir().unwrap();
        let dir = dir(&base);
        for job in 1..=4 {
            put(&dir, (job, Kind::Answer), 0, b"x").unwrap();
            put(&dir, (job, Kind::Node), 0, b"x").unwrap();
        }
        let future = SystemTime::now() + Duration::from_secs(3600);
        for which in ["1.", "2.", "3.answer"] {
            set_changed(&dir, which, future);
        }
        let soon = SystemTime::now() + Duration::from_secs(30);
        set_changed(&dir, "4.", soon);
        let step = begin_step(&dir, 2).unwrap();
        tidy(&dir);
        let stay = ["2.answer", "2.node", "3.answer", "3.node"];
        let and = ["4.answer", "4.node", "living"];
        assert_eq!(names(&dir), [&stay[..], &and].concat());
        drop(step);
        tidy_to(&dir, &[&stay[2..], &and].concat());
    }

    #[test]
    fn the_number_of_jobs_has_a_bound_and_what_is_over_makes_room() {
        let base = tempfile::tempdir().unwrap();
        let dir = dir(&base);
        for job in 0..MOST as u32 {
            put(&dir, (job, Kind::Node), 0, b"x").unwrap();
        }
        let full = put(&dir, (1 << 20, Kind::Node), 0, b"x").unwrap_err();
        assert!(matches!(full, JobFilesError::Full { .. }), "{full}");
        put(&dir, (3, Kind::Node), 0, b"again").unwrap();
        age(&dir, 4);
        put(&dir, (1 << 20, Kind::Node), 0, b"x").unwrap();
        assert!(read(&dir, 4, Kind::Node).is_err());
        // Another user has room of his own.
        let full = put(&dir, (1 << 21, Kind::Node), 0, b"x").unwrap_err();
        assert!(matches!(full, JobFilesError::Full { .. }), "{full}");
        put(&dir, (1 << 21, Kind::Node), 65_534, b"x").unwrap();
        let large = vec![b'x'; (1 << 20) + 1];
        let told = put(&dir, (3, Kind::Node), 0, &large).unwrap_err();
        assert!(matches!(told, JobFilesError::TooLarge { .. }), "{told}");
    }

    #[test]
    fn nothing_is_read_that_others_could_have_written() {
        let base = tempfile::tempdir().unwrap();
        let dir = dir(&base);
        let path = folder::path(&dir);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&path), 0o711);
        put(&dir, (7, Kind::Node), 65_534, b"x").unwrap();
        assert!(read(&dir, 7, Kind::Node).is_ok());
        let users = folder::of_user(&dir, 65_534);
        assert_eq!(
            mode(&users) & 0o067,
            0,
            "only its user may pass, by the list"
        );
        let file = users.join("7.node");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(read(&dir, 7, Kind::Node).is_err());
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
        assert!(read(&dir, 7, Kind::Node).is_err());
        fs::remove_file(&file).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(put(&dir, (7, Kind::Node), 65_534, b"x").is_err());
    }

    /// A user finds the facts of his own job by its number, and learns nothing of others' jobs.
    #[test]
    fn only_its_owner_passes_to_a_job_s_files() {
        if !nix::unistd::Uid::effective().is_root() {
            return;
        }
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let dir = dir(&base);
        // Its maker was killed before it let the user pass.
        fs::create_dir(folder::of_user(&dir, 65_533)).unwrap();
        for (job, owner) in [(7, 65_533), (8, 65_534)] {
            put(&dir, (job, Kind::Node), owner, b"x").unwrap();
        }
        let file = |job: u32, owner| folder::of_user(&dir, owner).join(format!("{job}.node"));
        let sees = |user: u32, file: PathBuf| {
            let mut stat = std::process::Command::new("stat");
            let stat = std::os::unix::process::CommandExt::uid(&mut stat, user);
            stat.arg(file).output().unwrap().status.success()
        };
        assert!(sees(65_533, file(7, 65_533)) && sees(65_534, file(8, 65_534)));
        assert!(!sees(65_533, file(8, 65_534)) && !sees(65_534, file(7, 65_533)));
        // A folder goes with its last file.
        fs::remove_file(file(8, 65_534)).unwrap();
        tidy(&dir);
        assert!(!folder::of_user(&dir, 65_534).exists() && file(7, 65_533).exists());
    }

    #[test]
    fn facts_are_read_again_only_for_their_job_and_node() {
        let facts = NodeFacts {
            berth_job: 1,
            job: 7,
            node: "n1".into(),
            memory: Some(5),
            ..NodeFacts::default()
        };
        let text = facts.text();
        assert_eq!(
            NodeFacts::read(text.as_bytes(), 7, "n1"),
            Some(facts.clone())
        );
        assert_eq!(NodeFacts::read(text.as_bytes(), 8, "n1"), None);
        assert_eq!(NodeFacts::read(text.as_bytes(), 7, "n2"), None);
        let later = text.replace("\"berth_job\":1", "\"berth_job\":2");
        assert_eq!(NodeFacts::read(later.as_bytes(), 7, "n1"), None);
        assert_eq!(NodeFacts::read(b"x", 7, "n1"), None);
        let other = NodeFacts {
            cores: "1".into(),
            ..facts.clone()
        };
        assert!(facts.is_same_allocation(&facts) && !facts.is_same_allocation(&other));
    }
}
