//! An input that cannot be read is a wrong usage in every command: exit code 2, and nothing on stdout.
use crate::plan_common::berth;

#[test]
fn an_input_that_cannot_be_read_is_usage() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let xml = format!("{place}/bad.xml");
    std::fs::write(&xml, "no XML").unwrap();
    let (missing, script) = (format!("{place}/none"), format!("sbatch {place}"));
    for words in [
        &["plan", "-n1", "--machine", &xml][..],
        &["plan", "-n1", "--machine", place],
        &["plan", "--batch", &missing],
        &["plan", "--batch", place],
        &["plan", "-n1", "--cluster", &missing],
        &["plan", "-n1", "--cluster", place],
        &["plan", "--machine=pu:4", &script],
        &["plan", "--machine=pu:4", "--job=sbatch --ntask=1", "-n1"],
        &[
            "plan",
            "--machine=pu:4",
            "--cores=all",
            "-n1",
            "-w",
            "/no/hosts",
        ],
        &["tune", "--dry-run", "--machine", &xml, "srun -n2 a"],
        &["tune", "--dry-run", "--cluster", &missing, "srun -n2 a"],
        &["check", &missing],
        &["check", place],
        &["check", "--machine", &xml, "srun -n1 a"],
        &["check", "--cluster", &missing, "srun -n1 a"],
        &["topo", "--machine", &xml],
        &["discover", "--machine", &missing],
        &["report", "--merge", &missing],
        &["report", "--merge", place],
        &["report", "--merge", &xml],
    ] {
        let done = berth(words, "");
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (2, ""),
            "{words:?}: {}",
            done.stderr
        );
    }
}

/// A request for more than the node has says what the node has.
#[test]
fn a_node_that_is_too_small_says_its_size() {
    for (line, says) in [
        (
            "srun -n4 ./a",
            "a second node: one node like this, with 2 CPUs on 1 core, is too small",
        ),
        (
            "srun -N1 -n4 ./a",
            "; a node like this has 2 CPUs on 1 core",
        ),
        (
            "sbatch -n4 --wrap=true",
            "one node like this, with 2 CPUs on 1 core, is too small",
        ),
    ] {
        let done = berth(&["plan", "--machine=core:1 pu:2", line], "");
        assert_eq!(done.code, 1, "{line}");
        assert!(done.stderr.contains(says), "{line}: {}", done.stderr);
    }
}
