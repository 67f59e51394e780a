//! The real slurmctld and the model get the same random lines: random idle clusters, and
//! first steps. Each run has a new seed, which is printed; `BERTH_SELECT_SEED` repeats it and
//! `BERTH_SELECT_LINES` asks for more lines.

use std::env;

use berth_srun::Release;
use berth_tests::hostile;
use berth_tests::select_truth::{
    Compared, Known, Tally, ask, compare, record, release, through_the_command,
};

/// Lines of a run.
const LINES: usize = 250;

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable}={text} is no number")),
    )
}

#[test]
fn the_model_gives_what_slurmctld_gives() {
    let lines = number("BERTH_SELECT_LINES").map_or(LINES, |lines| lines as usize);
    let seed = number("BERTH_SELECT_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("BERTH_SELECT_SEED={seed}");
    let release = release();
    let (mut tally, known) = (Tally::default(), Known::listed());
    let records = ask(seed, lines);
    assert!(
        records.len() * 10 >= lines * 9,
        "{} lines of {lines}",
        records.len()
    );
    for record in &records {
        // What a file of records would hold is the same record.
        let read = record::read(&record.to_string());
        assert_eq!(read.as_deref(), Ok(std::slice::from_ref(record)));
        tally.add(record, &compare(record, release), &known);
    }
    let summary = format!("Slurm {release}, seed {seed}: {}", tally.summary());
    println!("{}", tally.report);
    hostile::say(&summary);
    // Lines that are all refused would agree as well.
    let share = |count: usize, percent: usize| count * 100 >= records.len() * percent;
    assert!(
        share(tally.granted.equal, 40) && share(tally.steps.equal, 20),
        "{summary}"
    );
    assert!(tally.is_good(release), "{}{summary}", tally.report);
    the_command_says_the_same(&records, release);
}

/// The command answers as the model does: its readers, its options and its JSON are in between.
fn the_command_says_the_same(records: &[record::Record], release: Release) {
    let told = records
        .iter()
        .filter_map(|record| Some((record, through_the_command(record, release)?)));
    let (mut tally, known) = (Tally::default(), Known::listed());
    for (record, job) in told {
        let (cpus, step) = (None, None);
        tally.add(record, &Compared { job, cpus, step }, &known);
    }
    let count = tally.jobs;
    let summary = format!(
        "berth plan --cluster: {} of {} equal",
        count.equal,
        count.equal + count.differ
    );
    hostile::say(&summary);
    assert!(
        count.equal * 10 >= records.len(),
        "{summary} of {} records",
        records.len()
    );
    assert!(count.is_equal(98), "{}{summary}", tally.report);
}

/// A model with other rules is noticed: each record of the file was given by another slurmctld
/// than the one whose rules are used.
#[test]
fn other_rules_are_noticed() {
    let text = "line salloc -n7 --ntasks-per-node=4 -N2\nconf SelectType=select/cons_tres\n\
                conf SelectTypeParameters=CR_Core\nconf PartitionName=main Nodes=ALL Default=YES\n\
                conf NodeName=n1 CoresPerSocket=8\nconf NodeName=n2 CoresPerSocket=8\n\
                job granted cpus=8 n1=0-3:4 n2=0-3:4\n";
    let verdict = |text: &str| {
        let records = record::read(text).unwrap();
        compare(&records[0], "22.05".parse().unwrap()).job
    };
    assert_eq!(verdict(text), berth_tests::select_truth::Verdict::Equal);
    let other = text.replace("n2=0-3:4", "n2=0-2:3");
    assert_ne!(verdict(&other), berth_tests::select_truth::Verdict::Equal);
}
