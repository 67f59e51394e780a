//! The line for task_berth.so of a plugstack.conf, with the files that it includes, and the place of
//! berth's state directory in it.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// More than any configuration has; the rest is not read.
const MOST: u64 = 16 << 20;
/// Files that one plugstack.conf includes.
const MOST_FILES: usize = 64;
/// Further stars of one name.
const MOST_STARS: usize = 3;

/// berth's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlugstackLine {
    /// The file in which it stands.
    pub path: PathBuf,
    /// The words behind the object.
    pub words: Vec<String>,
}

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

/// The line for task_berth.so; `None` without one, and where the file cannot be read.
pub(crate) fn line(plugstack: &Path) -> Option<PlugstackLine> {
    let mut left = MOST_FILES;
    line_in(plugstack, &mut left)
}

fn line_in(path: &Path, left: &mut usize) -> Option<PlugstackLine> {
    *left = left.checked_sub(1)?;
    let text = read(path)?;
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    for line in lines {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("include"), Some(name)) => {
                let mut all = included(path, name).into_iter();
                if let Some(found) = all.find_map(|path| line_in(&path, left)) {
                    return Some(found);
                }
            }
            (Some(_), Some(object)) if object.contains("task_berth") => {
                return Some(PlugstackLine {
                    path: path.into(),
                    words: words.map(String::from).collect(),
                });
            }
            _ => {}
        }
    }
    None
}

/// The files of an `include`, whose last part may have stars, in the order of their names.
fn included(from: &Path, name: &str) -> Vec<PathBuf> {
    let path = from.parent().unwrap_or(Path::new("")).join(name);
    let last = path.file_name().and_then(|name| name.to_str());
    let Some(pattern) = last.filter(|name| name.contains('*')) else {
        return vec![path];
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let fits = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| !name.starts_with('.') && is_like(name, pattern))
    };
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(fits).collect();
    found.sort();
    found
}

/// Whether a name fits a pattern in which a star stands for any letters.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return name == pattern;
    };
    if rest.matches('*').count() > MOST_STARS {
        return false;
    }
    let Some(behind) = name.strip_prefix(first) else {
        return false;
    };
    let mut ends = behind
        .char_indices()
        .map(|(at, _)| at)
        .chain([behind.len()]);
    ends.any(|at| behind.get(at..).is_some_and(|end| is_like(end, rest)))
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

    #[test]
    fn included_files_are_read_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("more.d")).unwrap();
        fs::write(at("plugstack.conf"), "include more.d/*.conf\n").unwrap();
        fs::write(at("more.d/1.conf"), "optional other.so\n").unwrap();
        fs::write(
            at("more.d/2.conf"),
            "optional task_berth.so compat=affinity notes=off\n",
        )
        .unwrap();
        fs::write(at("more.d/3.conf"), "optional task_berth.so compat=berth\n").unwrap();
        fs::write(at("more.d/0.txt"), "optional task_berth.so\n").unwrap();
        let found = line(&place(None, folder.path())).unwrap();
        assert_eq!(found.words, ["compat=affinity", "notes=off"]);
        assert!(found.path.ends_with("more.d/2.conf"));
        fs::write(at("self.conf"), "include self.conf\n").unwrap();
        assert_eq!(
            line(&place(Some(Path::new("self.conf")), folder.path())),
            None
        );
        for (name, pattern, fits) in [
            ("a.conf", "*.conf", true),
            ("a.conf", "a*", true),
            ("a.conf", "*b*", false),
            ("a.conf", "*a*c*f", true),
            ("a.conf", "*******", false),
        ] {
            assert_eq!(is_like(name, pattern), fits, "{name} {pattern}");
        }
    }
}
