//! The real srun reads option lines, and we read the same ones: nothing differs that the file of
//! lines does not explain. The random lines come from a fixed seed.

use std::path::Path;

use berth_srun::Release;
use berth_tests::srun_lines::{Compared, cases, cluster, compare, release, table_differences};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/srun-lines.txt");
const RANDOM: usize = 100;
const SEED: u64 = 1;

fn differences(compared: &[Compared]) -> Vec<String> {
    let wrong = compared.iter().filter(|one| one.case.differs.is_none());
    wrong
        .filter_map(|one| Some(format!("srun {}: {}", one.case.text, one.difference()?)))
        .collect()
}

#[test]
fn srun_and_we_read_the_same() {
    let cluster = cluster();
    let line = release(&cluster);
    let all = cases(Path::new(FILE), RANDOM, SEED);
    let compared = compare(&cluster, all.clone(), line);
    let wrong = differences(&compared);
    let shown = wrong.join("\n");
    assert!(wrong.is_empty(), "srun {line}, seed {SEED}:\n{shown}");

    let wrong = table_differences(&cluster, line);
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The table of another line differs in some of its options.
    let other = match line {
        Release::V22_05 => Release::NEWEST,
        _ => Release::V22_05,
    };
    assert!(table_differences(&cluster, other).len() > 5);

    // Lines that nothing understands would agree as well.
    let told = |fact| {
        let told = |one: &&Compared| {
            one.theirs
                .as_ref()
                .is_ok_and(|told| told.contains_key(fact))
        };
        compared.iter().filter(told).count()
    };
    let refused = compared.iter().filter(|one| one.theirs.is_err()).count();
    assert!(told("cpu-bind") >= 200 && told("distribution") >= 200 && refused >= 100);

    // The rules of another line are noticed, so a wrong rule would be.
    let telling = ["--ntasks-per-core=2", "--exclusive=topo", "-N 1,2"];
    let some: Vec<_> = all
        .into_iter()
        .filter(|case| telling.contains(&case.text.as_str()))
        .collect();
    assert_eq!(some.len(), telling.len());
    let wrong = differences(&compare(&cluster, some, other));
    assert_eq!(wrong.len(), telling.len(), "{wrong:#?}");
}
