//! The place of berth's state directory as slurm.conf and plugstack.conf give it. Only the two words
//! that lead there are read.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// More than any configuration has; the rest is not read.
const MOST: u64 = 16 << 20;

/// `state_dir=` of the line for task_berth.so; `None` without such a line or word.
pub(crate) fn state_dir(slurm_conf: &Path) -> Option<PathBuf> {
    of_plugstack(&plugstack(slurm_conf)?)
}

fn plugstack(slurm_conf: &Path) -> Option<String> {
    let conf = read(slurm_conf)?;
    let plugstack = value(&conf, "PlugStackConfig").map(PathBuf::from);
    let plugstack = plugstack.or_else(|| Some(slurm_conf.parent()?.join("plugstack.conf")))?;
    read(&plugstack)
}

fn of_plugstack(text: &str) -> Option<PathBuf> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let mut ours = lines.filter(|line| {
        let object = line.split_whitespace().nth(1).unwrap_or_default();
        object.contains("task_berth")
    });
    let mut words = ours.next()?.split_whitespace().rev();
    let last = words.find_map(|word| word.strip_prefix("state_dir="));
    last.map(PathBuf::from).filter(|path| path.is_absolute())
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

fn read(path: &Path) -> Option<String> {
    fs::metadata(path).ok().filter(|found| found.is_file())?;
    let mut bytes = Vec::new();
    File::open(path)
        .ok()?
        .take(MOST)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
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
