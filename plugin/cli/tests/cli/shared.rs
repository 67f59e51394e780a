//! Tasks that share CPUs although each could have its own: one note with the option that cures it, and a
//! banner in pictures.

use crate::plan_common::{berth, plan};

/// The notes about CPUs that tasks share.
fn notes(options: &str) -> Vec<String> {
    let mut words = vec!["plan", "--machine", "pack:2 core:4 pu:2", "--cores=all"];
    words.extend(options.split(' '));
    let done = berth(&words, "");
    assert_eq!(done.code, 0, "{options}");
    let lines = done.stderr.lines().filter(|line| line.contains("share"));
    lines.map(String::from).collect()
}

#[test]
fn one_note_names_the_cure() {
    for (options, cure) in [
        ("-n3", "--cpu-bind=cores"),
        ("-n12", "--cpu-bind=threads"),
        ("-n3 --default-cpu-bind=none", "--cpu-bind=cores"),
    ] {
        let found = notes(options);
        assert_eq!(found.len(), 1, "{options}: {found:?}");
        assert!(found[0].contains(cure), "{options}: {found:?}");
    }
    let batch = berth(
        &["plan", "--machine=pu:4", "--cores=all", "--batch", "-"],
        "-n3",
    );
    assert!(
        batch.stdout.contains(" # 3 tasks share"),
        "{}",
        batch.stdout
    );
}

/// A step of few CPUs per task has a part of the node's L3 caches, and a mapping goes round those alone.
#[test]
fn a_mapping_over_too_few_objects_names_the_cpus_that_spread_it() {
    let line = "srun -n 8 -c 4 --map-by=l3cache ./app";
    let words = ["plan", "--machine=lumi-g", "--site=exclusive"];
    let few = berth(&[&words[..], &[line]].concat(), "");
    assert!(few.stderr.contains("share CPUs"), "{}", few.stderr);
    assert!(few.stderr.contains("-c 16"), "{}", few.stderr);
    let cured = line.replace("-c 4", "-c 16");
    let cured = berth(&[&words[..], &[&cured]].concat(), "");
    assert_eq!(cured.stderr, "");
    let check = berth(&["check", "--machine=lumi-g", "--site=exclusive", line], "");
    assert!(
        check.stdout.contains("[mapped-together]"),
        "{}",
        check.stdout
    );
}

#[test]
fn no_note_without_a_cure_or_against_a_wish() {
    for options in [
        "-n1",
        "-n8",
        "-n3 --cpu-bind=cores",
        "-n3 --cpu-bind=none",
        "-n4 --cpu-bind=sockets",
        "-n17 -O",
        "-n3 -O",
    ] {
        assert_eq!(notes(options), [] as [String; 0], "{options}");
    }
    let alone = plan("--machine pu:4 -N2 -n2 --cores all");
    assert!(!alone.stderr.contains("share"), "{}", alone.stderr);
}

#[test]
fn pictures_have_a_banner() {
    let tree = plan("--machine pu:4 --cores all -n3 --format=tree").stdout;
    assert!(tree.contains("shared      "), "{tree}");
    let svg = plan("--machine pu:4 --cores all -n3 --format=svg").stdout;
    assert!(svg.contains(">shared: "), "{svg}");
    assert!(!svg.contains("did not fit"), "{svg}");
    for format in ["tree", "svg"] {
        let own = plan(&format!(
            "--machine pu:4 --cores all -n3 --cpu-bind=cores --format={format}"
        ));
        assert!(!own.stdout.contains("shared"), "{}", own.stdout);
    }
}
