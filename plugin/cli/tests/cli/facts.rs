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
#[path = "../../../../tests/src/facts/text.rs"]
mod text;

use std::os::unix::fs::symlink;
use std::path::Path;

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
    let wrong = differences(name, &text, folder.path());
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The answers of a text that are others, with the files of the text in a folder.
fn differences(name: &str, text: &str, folder: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for step in text::parse(text, &[], &[]) {
        match step {
            Step::Use => {}
            Step::Setting { kind, text } => panic!("{kind} {text}: no such line"),
            Step::File { name, text } => text::write(&folder.join(name), &text),
            Step::Request(case) => wrong.extend(case.differences(name, folder)),
        }
    }
    wrong
}

/// A request and its right answers, and answers each of which alone would be wrong.
const WRONG: [(&str, &str, &[&str]); 4] = [
    (
        "use plan --machine pu:4 --cores=all --cpu-bind=cores\n$ -n2",
        "row 1 0 0 1 1 0x2\nno GPU",
        &[
            "=",
            "stderr x",
            "out x0",
            "err note",
            "row 1 0",
            "once 0",
            "no cores",
            "exit 1",
            "refused berth",
        ],
    ),
    (
        "use plan --machine pu:4 --cores=all --cpu-bind=cores --format=json\n$ -n2",
        "json /tasks/*/cpus 0 1\njson /tasks/2 absent",
        &[
            "json /tasks/*/cpus 0",
            "json /tasks absent",
            "has /tasks GPU",
            "lacks /machine pu:4",
        ],
    ),
    (
        "use plan --machine pu:4\n$ -n2 --cpu-bind=map_cpu:9",
        "refused CPU 9",
        &[
            "refused CPU 8",
            "wrong CPU 9",
            "json /tasks absent",
            "exit 0",
        ],
    ),
    (
        "use check --slurm=24.11 -\n< srun -n4 --cpu-bind=kores ./a",
        "finds wrong-value\n> srun -n4 --cpu-bind=cores ./a",
        &[
            "finds",
            "finds wrong-value?",
            "finds hint",
            "kept",
            "> srun -n4 ./a",
            "leaves hint",
        ],
    ),
];

#[test]
fn a_wrong_answer_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let found = |text: &str| differences("here", text, folder.path());
    for (request, right, wrong) in WRONG {
        assert_eq!(found(&format!("{request}\n{right}\n")), [""; 0]);
        for answer in wrong {
            // It stands behind the right ones, and counts instead of one of its kind.
            let found = found(&format!("{request}\n{right}\n{answer}\n"));
            let is_named = found.iter().all(|text| text.starts_with("here:2: berth "));
            assert!(
                !found.is_empty() && is_named,
                "{request} {answer}: {found:?}"
            );
        }
    }
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
