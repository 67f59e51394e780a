//! A typed `--cpu-bind` beside options of berth's own: a level gives way to them, `none` overrides them, and
//! `berth plan` and `berth check` say so.
use crate::check_common::rules;
use crate::plan_common::berth;

/// The notes of a plan that give way to something.
fn notes(words: &[&str]) -> Vec<String> {
    let machine = ["plan", "--machine=pack:2 core:4 pu:2", "--cores=all", "-n3"];
    let done = berth(&[&machine[..], words].concat(), "");
    assert_eq!(done.code, 0, "{words:?}: {}", done.stderr);
    let lines = done.stderr.lines().filter(|line| line.contains(" way to "));
    lines.map(String::from).collect()
}

#[test]
fn a_plan_notes_what_gives_way() {
    for (words, says) in [
        (
            &["--binding=linear:2", "--cpu-bind=none"][..],
            "--cpu-bind=none leaves the tasks unbound, and --binding=linear:2 gives way to it",
        ),
        (
            &["--map-by=package", "--cpu-bind=none"],
            "and --map-by=package gives way to it",
        ),
        (
            &["--near=gpu", "--cpu-bind=v,none"],
            "and --near=gpu gives way to it",
        ),
        (
            &["--near=gpu", "--binding=auto", "--cpu-bind=none"],
            "and --binding=auto and --near=gpu give way to it",
        ),
        (
            &["--map-by=package", "--cpu-bind=cores"],
            "--map-by=package chooses the cores, and --cpu-bind=cores gives way to it",
        ),
        (
            &["--binding=linear:2", "--cpu-bind=threads"],
            "--binding=linear:2 chooses the cores, and --cpu-bind=threads gives way to it",
        ),
        (
            &["--near=gpu", "--cpu-bind=cores"],
            "--near=gpu chooses the cores, and --cpu-bind=cores gives way to it",
        ),
    ] {
        let found = notes(words);
        assert!(
            found.len() == 1 && found[0].contains(says),
            "{words:?}: {found:?}"
        );
    }
    for words in [
        &["--cpu-bind=none"][..],
        &["--binding=none", "--cpu-bind=none"],
        &["--binding=none", "--cpu-bind=cores"],
        &["--binding=linear:2", "--cpu-bind=verbose"],
        // Nobody typed these.
        &["--binding=linear:2", "-B2:2:1"],
        &["--map-by=package", "--hint=nomultithread"],
        // It says what -c counts.
        &["--near=gpu", "--cpu-bind=threads"],
    ] {
        assert_eq!(notes(words), [""; 0], "{words:?}");
    }
}

/// What a job requests is for its other steps too, and mpirun starts its daemons with `none`.
#[test]
fn an_inherited_request_is_not_noted() {
    let line = "srun -n1 --cpu-bind=none ./a";
    let words = [
        "plan",
        "--machine=pack:2 core:4 pu:2",
        "--job=salloc -n2 -c2 --binding=linear:1",
        line,
    ];
    let done = berth(&words, "");
    assert!(
        done.code == 0 && !done.stderr.contains(" way to "),
        "{}",
        done.stderr
    );
}

#[test]
fn a_check_hints_at_what_gives_way() {
    for (line, rule) in [
        (
            "srun -n2 -c2 --binding=linear:1 --cpu-bind=none ./a",
            "binding-and-none?",
        ),
        (
            "srun -n2 --map-by=package --cpu-bind=none ./a",
            "mapping-and-none?",
        ),
        ("srun -n2 --near=gpu --cpu-bind=none ./a", "near-and-none?"),
        (
            "srun -n2 -c2 --binding=linear:1 --cpu-bind=sockets ./a",
            "binding-and-level?",
        ),
        (
            "srun -n2 --map-by=package --cpu-bind=cores ./a",
            "mapping-and-level?",
        ),
        (
            "srun -n2 --near=gpu --cpu-bind=sockets ./a",
            "near-and-level?",
        ),
        (
            "srun --map-by=core --binding=linear:1 --cpu-bind=none ./a",
            "binding-and-none?",
        ),
        (
            "#SBATCH -n2 --map-by=core\nsrun --cpu-bind=cores ./a",
            "mapping-and-level?",
        ),
    ] {
        let (found, code) = rules(&["--slurm=24.11", "-"], line);
        assert_eq!((found, code), (vec![rule.to_string()], Some(0)), "{line}");
    }
    for line in [
        "srun -n2 --near=gpu --cpu-bind=threads ./a",
        "srun -n2 --near=none --cpu-bind=none ./a",
        "srun -n2 --binding=none --cpu-bind=cores ./a",
        "srun -n2 --map-by=core -B 1:2:1 ./a",
        "#SBATCH -n2 --map-by=core\nsrun --cpu-bind=none ./a",
    ] {
        let (found, code) = rules(&["--slurm=24.11", "-"], line);
        assert_eq!((found, code), (vec![], Some(0)), "{line}");
    }
}
