//! Facts about the command: each file of `facts/` has requests, and below each what is answered. A line begins with a word:
//!
//! | line | meaning |
//! |---|---|
//! | `# TEXT` | a comment |
//! | `use WORDS` | the words of the command that stand before those of each request below |
//! | `file NAME` | a file in the folder where the commands run; its lines follow, each behind `\|` |
//! | `$ WORDS` | a request, in the words of a shell; variables may stand in front |
//! | `< LINE` | a line on stdin; without a `$` it begins a request of its own |
//! | `= TEXT`, `stderr TEXT` | stdout or stderr as a whole, its lines with a blank between them, also on several lines |
//! | `out TEXT`, `err TEXT` | stdout has this text, stderr has it |
//! | `row TEXT` | stdout has this line, whatever the widths of its columns |
//! | `once TEXT` | the two have this text once |
//! | `no TEXT` | neither of the two has this text |
//! | `exit CODE` | the exit code, if it is not 0 |
//! | `refused TEXT`, `wrong TEXT` | exit code 1, or 2; nothing on stdout, and stderr has this text |
//! | `json POINTER TEXT` | a value of the document on stdout: a string, or its JSON; a `*` stands for each value of a list |
//! | `has POINTER TEXT`, `lacks POINTER TEXT` | the value has this text, or has it not |
//! | `finds RULES` | what `berth check` finds, a hint with a question mark; the exit code goes with it |
//! | `> LINE` | a line of the text as `berth check` corrects it |
//! | `leaves RULES` | what `berth check` finds in the corrected text, if anything |
//! | `kept` | `berth check` has no correction |
//!
//! A `{}` in the words of `use` stands for a request as one word, and FOLDER for the folder where the commands run. In that,
//! `tests` and `plugin` are the source tree's folders of these names.

mod case;
mod text;

use std::os::unix::fs::symlink;

use crate::run::root;
use text::Step;

/// Whether every request of a file has its answer.
fn hold(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    for link in ["tests", "plugin"] {
        symlink(root().join(link), folder.path().join(link)).unwrap();
    }
    let path = root().join("plugin/cli/tests/cli/facts").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.replace("FOLDER", folder.path().to_str().unwrap());
    let mut wrong = Vec::new();
    for step in &text::parse(&text) {
        match step {
            Step::Use => {}
            Step::File { name, text } => text::write(&folder.path().join(name), text),
            Step::Request(case) => wrong.extend(case.differences(name, folder.path())),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// One test for each file.
macro_rules! files {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                hold(concat!(stringify!($name), ".txt"));
            }
        )*

        #[test]
        fn every_file_is_a_test() {
            let mut names = vec![$(concat!(stringify!($name), ".txt")),*];
            let folder = std::fs::read_dir(root().join("plugin/cli/tests/cli/facts")).unwrap();
            let found = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut found: Vec<_> = found.filter(|name| name.ends_with(".txt")).collect();
            found.sort();
            names.sort_unstable();
            assert_eq!(found, names);
        }
    };
}

files! {
    check
    check_mappings
    check_scripts
    check_traps
    check_within
    cluster_settings
    controller
    cpuset_words
    defaults
    gives_way
    gpus
    job_lines
    job_steps
    lines
    near
    near_refused
    never_fits
    nodes
    plan
    rankfile
    reserved
    shared
    site_rules
    srun_options
    topo
    unreadable
    whole_nodes
}
