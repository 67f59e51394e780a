//! What slurm.conf says of berth's state directory: the place of plugstack.conf, and `state_dir=` in it.

use std::path::{Path, PathBuf};

pub(crate) use berth_host::plugstack::line;
use berth_host::plugstack::read;

/// `state_dir=` of the line for task_berth.so; `None` without such a line or word.
pub(crate) fn state_dir(slurm_conf: &Path) -> Option<PathBuf> {
    let conf = read(slurm_conf)?;
    let named = value(&conf, "PlugStackConfig").map(PathBuf::from);
    let line = line(&place(named.as_deref(), slurm_conf.parent()?))?;
    let mut words = line.words.iter().rev();
    let last = words.find_map(|word| word.strip_prefix("state_dir="));
    last.map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The plugstack.conf of a slurm.conf in a folder: the one that it names, or the one beside it.
pub(crate) fn place(named: Option<&Path>, folder: &Path) -> PathBuf {
    folder.join(named.unwrap_or(Path::new("plugstack.conf")))
}

/// The last value of a word of slurm.conf that has a line of its own.
fn value<'a>(conf: &'a str, name: &str) -> Option<&'a str> {
    let lines = conf
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let pairs = lines.filter_map(|line| line.split_once('='));
    let mut named = pairs.filter(|(word, _)| word.trim().eq_ignore_ascii_case(name));
    named.next_back().map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_two_words_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let conf = at("slurm.conf");
        fs::write(&conf, "ClusterName=a\n").unwrap();
        assert_eq!(state_dir(&conf), None);
        fs::write(
            at("plugstack.conf"),
            "# optional task_berth.so state_dir=/no\noptional other.so state_dir=/other\n\
             optional /usr/lib/task_berth.so compat=berth state_dir=/var/lib/berth # a comment\n",
        )
        .unwrap();
        assert_eq!(state_dir(&conf), Some("/var/lib/berth".into()));
        let other = at("other.conf");
        fs::write(&other, "required task_berth.so state_dir=relative\n").unwrap();
        let text = format!("plugstackconfig = {} # here\n", other.display());
        fs::write(&conf, text).unwrap();
        assert_eq!(state_dir(&conf), None);
        fs::write(&other, "required task_berth.so state_dir=/run/b\n").unwrap();
        assert_eq!(state_dir(&conf), Some("/run/b".into()));
    }
}
