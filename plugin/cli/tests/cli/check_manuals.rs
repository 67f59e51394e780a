//! Lines and scripts from the manuals of computing centres: no alarm where there is no trap, and each
//! trap is named, under the release lines that they may run on. `berth plan` plans them, and refuses none that
//! Slurm would take.

use crate::run::{berth, rules};
use std::collections::BTreeSet;
use std::fs;

/// One of the collection.
struct Entry {
    name: &'static str,
    whole: bool,
    /// A release line and the rules that hold there, in alphabetical order.
    expected: [(&'static str, Vec<&'static str>); 2],
    text: String,
}

fn entries() -> Vec<Entry> {
    let all = include_str!("../../../../tests/check-manuals.txt");
    let entry = |part: &'static str| {
        let (head, text) = part.split_once('\n').unwrap();
        let fields: Vec<_> = head.split(" | ").collect();
        let [name, newer, older] = fields[..] else {
            panic!("{head}: three fields are expected")
        };
        let rules = |field: &'static str| match field {
            "clean" => Vec::new(),
            field => field.split(' ').collect(),
        };
        Entry {
            name: name.split(' ').next().unwrap(),
            whole: name.ends_with(" whole"),
            expected: [("24.11", rules(newer)), ("22.05", rules(older))],
            text: text.into(),
        }
    };
    all.split("\n== ").skip(1).map(entry).collect()
}

#[test]
fn each_trap_is_named_and_nothing_else() {
    let entries = entries();
    assert!(entries.len() >= 100, "{} lines and scripts", entries.len());
    let mut wrong = Vec::new();
    for entry in &entries {
        for (release, expected) in &entry.expected {
            let slurm = format!("--slurm={release}");
            let mut words = vec![slurm.as_str()];
            words.extend(entry.whole.then_some("--site=exclusive"));
            words.push("-");
            let (mut found, _) = rules(&words, &entry.text);
            found.sort();
            if found != *expected {
                wrong.push(format!(
                    "{} {release}: {found:?}, not {expected:?}",
                    entry.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_collection_has_clean_ones_and_many_traps() {
    let entries = entries();
    let clean = entries
        .iter()
        .filter(|entry| entry.expected[0].1.is_empty())
        .count();
    let all = entries
        .iter()
        .flat_map(|entry| &entry.expected)
        .flat_map(|(_, rules)| rules);
    let traps: BTreeSet<_> = all.collect();
    assert!(clean >= 100 && traps.len() >= 10, "{clean} {traps:?}");
}

/// Rules whose finding is that a command refuses its line.
const REFUSED: [&str; 3] = ["misspelt-option", "wrong-value", "other-command"];

/// What is no refusal: a line that stands alone has no job whose variables it could read, and slurmctld may choose
/// the CPUs that a list names because they are next to a GPU.
const UNSURE: [&str; 2] = [
    "only the shell of the job knows",
    "not modelled: --gpus=1: slurmctld may choose other cores",
];

/// A cluster of whole nodes with room for each of them, in every partition that they name.
fn roomy(entries: &[Entry]) -> String {
    let words = entries.iter().flat_map(|entry| {
        let words = entry.text.split_whitespace();
        words.clone().zip(words.skip(1))
    });
    let named = words.filter_map(|(word, next)| match word {
        "-p" | "--partition" => Some(next),
        word => word.strip_prefix("--partition="),
    });
    let partition = |name| format!("PartitionName={name} Nodes=ALL OverSubscribe=EXCLUSIVE\n");
    let partitions: BTreeSet<_> = named.map(partition).collect();
    let partitions: String = partitions.into_iter().collect();
    format!(
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
         NodeName=nid[001001-002100] Sockets=2 CoresPerSocket=192 ThreadsPerCore=2 RealMemory=4000000\n\
         PartitionName=default Nodes=ALL Default=YES OverSubscribe=EXCLUSIVE\n{partitions}"
    )
}

/// A script, or each line that stands alone.
fn requests(entry: &Entry) -> Vec<String> {
    if entry.text.contains("#SBATCH") {
        return vec![entry.text.clone()];
    }
    let joined = entry.text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim);
    let launches = |line: &&str| {
        ["srun ", "sbatch ", "salloc "]
            .iter()
            .any(|word| line.starts_with(word))
    };
    lines.filter(launches).map(String::from).collect()
}

#[test]
fn each_is_planned_unless_slurm_refuses_it() {
    let entries = entries();
    let folder = tempfile::tempdir().unwrap();
    let [conf, job] = ["slurm.conf", "job.sh"].map(|name| folder.path().join(name));
    fs::write(&conf, roomy(&entries)).unwrap();
    let cluster = format!("--cluster={}", conf.display());
    let mut wrong = Vec::new();
    for entry in &entries {
        // An older release is asked where it has other rules.
        let releases = 1 + usize::from(entry.expected[0].1 != entry.expected[1].1);
        for (release, expected) in &entry.expected[..releases] {
            let slurm = format!("--slurm={release}");
            let refused = |request: &String| {
                // A part of a script is planned as a whole one.
                let program = if request.starts_with("#!") {
                    ""
                } else {
                    "#!/bin/bash\n"
                };
                fs::write(&job, format!("{program}{request}")).unwrap();
                let is_script = request.contains("#SBATCH");
                let requested = if is_script {
                    job.to_str().unwrap()
                } else {
                    request
                };
                let done = berth(
                    &[
                        "plan",
                        "--machine=pack:2 core:192 pu:2",
                        &cluster,
                        &slurm,
                        "--format=json",
                        requested,
                    ],
                    "",
                );
                let is_sure = !UNSURE.iter().any(|unsure| done.stderr.contains(unsure));
                assert_eq!(
                    done.code < 2,
                    done.code == 1 || done.stdout.starts_with('{')
                );
                (done.code != 0 && is_sure).then_some(done.stderr)
            };
            let all: Vec<_> = requests(entry).iter().filter_map(refused).collect();
            if all.is_empty() == expected.iter().any(|rule| REFUSED.contains(rule)) {
                wrong.push(format!("{} {release}: {all:?}", entry.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
