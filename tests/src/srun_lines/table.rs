//! The table of options beside what getopt says in the real commands: which names there are, and
//! which take a value. Every call is one that getopt or the option itself refuses.

use std::collections::BTreeSet;

use berth_srun::Release;
use berth_srun::options::{Command, Lookup, Takes, long, of};

use crate::Cluster;

/// What no command of Slurm has without berth.
const OWN: [&str; 9] = [
    "binding",
    "map-by",
    "rank-by",
    "bind-to",
    "core-kind",
    "near",
    "cpuset",
    "confine",
    "pool",
];
/// A word that is no option of any command.
const WRONG: &str = "--no-option-of-any-command";

/// Each difference, in words.
pub fn table_differences(cluster: &Cluster, release: Release) -> Vec<String> {
    let commands = [
        ("srun", Command::Srun),
        ("sbatch", Command::Sbatch),
        ("salloc", Command::Salloc),
    ];
    let names: BTreeSet<&str> = Release::ALL
        .iter()
        .flat_map(|release| commands.map(|(_, command)| (command, *release)))
        .flat_map(|(command, release)| of(command, Some(release)))
        .map(|row| row.typed)
        .filter(|name| !OWN.contains(&name.strip_prefix("berth-").unwrap_or(name)))
        .collect();
    let mut wrong = Vec::new();
    for (program, command) in commands {
        let says = |words: &[&str]| cluster.run(program, words).stderr;
        for name in &names {
            // A name of another command or line may abbreviate one of this.
            let row = match long(command, Some(release), name) {
                Lookup::Option(row) => Some(row.takes),
                Lookup::Ambiguous(_) | Lookup::Unknown => None,
            };
            let found = takes(&says, name);
            if found != row {
                wrong.push(format!(
                    "{program} --{name}: {found:?}, and the table has {row:?}"
                ));
            }
        }
        for letter in ('a'..='z').chain('A'..='Z') {
            let row = of(command, Some(release)).find(|row| row.short == Some(letter));
            let short = format!("-{letter}");
            let is_as_told = match row.map(|row| row.takes) {
                Some(Takes::Value) => says(&[&short]).contains("requires an argument"),
                // The letter itself is taken, and the next word refused.
                Some(_) => {
                    let said = says(&[&short, WRONG]);
                    !said.contains("invalid option") && !said.contains("requires an argument")
                }
                None => says(&[&short, WRONG]).contains("invalid option"),
            };
            if !is_as_told {
                wrong.push(format!("{program} {short}: the table has {row:?}"));
            }
        }
    }
    wrong
}

/// What getopt says of a long name.
fn takes(says: &impl Fn(&[&str]) -> String, name: &str) -> Option<Takes> {
    let long = format!("--{name}");
    let said = says(&[&format!("{long}=x"), WRONG]);
    let unknown = said.contains(&format!("unrecognized option '{long}"));
    if unknown || said.contains("is ambiguous") {
        return None;
    }
    if said.contains("doesn't allow an argument") {
        return Some(Takes::Nothing);
    }
    let needs = says(&[&long]).contains("requires an argument");
    Some(if needs { Takes::Value } else { Takes::Attached })
}
