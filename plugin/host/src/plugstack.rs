//! The line for task_berth.so of a plugstack.conf, with the files that it includes. Of several lines the last one is in
//! force, because Slurm reads them in their order.
//! In: a path. Out: the line. Source: `_spank_stack_load` and `_spank_stack_process_line` of src/common/plugstack.c (spank.c
//! from 23.02 on).

use std::fs;
use std::path::{Path, PathBuf};

use berth_site::read_settings::PlugstackLine;

use crate::script_file;

/// The object's name.
pub const NAME: &str = "task_berth";
/// More bytes than any configuration has.
const MOST: u64 = 16 << 20;
/// Files that one plugstack.conf includes.
const MOST_FILES: usize = 64;
/// Further stars of one name.
const MOST_STARS: usize = 3;

/// The line for task_berth.so; `None` without one, and where the file cannot be read.
#[must_use]
pub fn line(plugstack: &Path) -> Option<PlugstackLine> {
    line_of(plugstack, &[NAME])
}

/// The line for an object with one of these names; `None` without one, and where the file cannot be read.
#[must_use]
pub fn line_of(plugstack: &Path, names: &[&str]) -> Option<PlugstackLine> {
    let mut left = MOST_FILES;
    line_in(plugstack, names, &mut left)
}

fn line_in(path: &Path, names: &[&str], left: &mut usize) -> Option<PlugstackLine> {
    *left = left.checked_sub(1)?;
    let text = read(path)?;
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(""));
    let mut found = None;
    for line in lines {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("include"), Some(name)) => {
                for path in included(path, name) {
                    found = line_in(&path, names, left).or(found);
                }
            }
            (Some(_), Some(object)) if names.iter().any(|name| object.contains(name)) => {
                found = Some(PlugstackLine {
                    path: path.into(),
                    words: words.map(String::from).collect(),
                });
            }
            _ => {}
        }
    }
    found
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

/// The text of a configuration file; `None` where it cannot be read, or is no regular file.
#[must_use]
pub fn read(path: &Path) -> Option<String> {
    script_file::text(path, MOST).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_and_included_files_are_read_in_the_order_of_their_names() {
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
        let found = line(&at("plugstack.conf")).unwrap();
        assert_eq!(found.words, ["compat=berth"]);
        assert!(found.path.ends_with("more.d/3.conf"));
        fs::write(at("self.conf"), "include self.conf\n").unwrap();
        assert_eq!(line(&at("self.conf")), None);
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
