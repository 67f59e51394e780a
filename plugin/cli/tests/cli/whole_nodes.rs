//! The words for whole nodes: `--exclusive` and `--site` are about the job, `--exact` and `--whole` are
//! srun's words for steps, and `--cores` says what a step owns. Every face gives the same answer.

use crate::check_common::rules;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::plan_common::{berth, plan};
use serde_json::Value;

const MACHINE: [&str; 3] = ["--slurm=25.05", "--machine", "pack:2 core:64 pu:2"];

/// The cores of the job and of the step on the first node.
fn cores(words: &[&str]) -> String {
    let done = berth(
        &[&["plan", "--format=json"], &MACHINE[..], words].concat(),
        "",
    );
    assert_eq!(done.code, 0, "{words:?}: {}", done.stderr);
    let plan: Value = serde_json::from_str(&done.stdout).unwrap();
    let field = |name: &str| plan["nodes"][0][name].as_str().unwrap().to_string();
    format!("{} {}", field("cores"), field("step_cores"))
}

#[test]
fn each_word_has_one_meaning() {
    // The node is empty for the job, and the step takes its cores in turns over the sockets.
    let (requested, own) = ("0-31", "0-15,64-79");
    for (words, expected) in [
        // srun's own words for steps change nothing in the step of a new job.
        (&["srun -n8 -c8 ./a"][..], [requested, requested]),
        (&["--whole", "srun -n8 -c8 ./a"], [requested, requested]),
        (&["srun --whole -n8 -c8 ./a"], [requested, requested]),
        // The job has the node, and its step gets what srun gives it there.
        (&["--exclusive", "srun -n8 -c8 ./a"], ["0-127", own]),
        (&["srun --exclusive -n8 -c8 ./a"], ["0-127", own]),
        (&["--site=exclusive", "srun -n8 -c8 ./a"], ["0-127", own]),
        (&["--site=exclusive", "srun -n8 ./a"], ["0-127", "0-127"]),
        (
            &["--site=exclusive", "--whole", "srun -n8 -c8 ./a"],
            ["0-127", own],
        ),
        (
            &["--site=shared", "srun -n8 -c8 ./a"],
            [requested, requested],
        ),
        (&["--cores", "all", "srun -n8 -c8 ./a"], ["0-127", "0-127"]),
        // In a step of a job it is a word for the step.
        (
            &["--job", "salloc -n16 -c8", "--exclusive", "srun -n8 ./a"],
            ["0-63", "0-31"],
        ),
        (
            &["--exclusive", "salloc -n8 -c8 srun --whole ./a"],
            ["0-127", own],
        ),
    ] {
        let [job, step] = expected;
        assert_eq!(cores(words), format!("{job} {step}"), "{words:?}");
    }
    let done = berth(
        &[
            &["plan", "--format=json", "--exclusive"],
            &MACHINE[..],
            &["sbatch -n1 --wrap=true"],
        ]
        .concat(),
        "",
    );
    let found: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(found["job"]["nodes"][0]["cores"], "0-127");
}

#[test]
fn every_face_gives_the_same_answer() {
    let line = "srun -n8 -c8 --cpu-bind=cores ./a";
    for option in [
        "--whole",
        "--exclusive",
        "--site=exclusive",
        "--site=shared",
        "--cores=all",
    ] {
        let words = [&["plan", "--format=cpus", option], &MACHINE[..]].concat();
        let one = berth(&[&words[..], &[line]].concat(), "");
        let options = "-n8 -c8 --cpu-bind=cores";
        let apart = berth(
            &[&words[..], &options.split(' ').collect::<Vec<_>>()].concat(),
            "",
        );
        let batch = berth(&[&words[..], &["--batch", "-"]].concat(), line);
        assert_eq!(one.stdout, apart.stdout, "{option}");
        let tasks: Vec<_> = one.stdout.lines().collect();
        assert_eq!(
            batch.stdout.split(" # ").next().unwrap().trim(),
            tasks.join(" "),
            "{option}"
        );
    }
}

/// A list of CPUs fits where the job has the node.
#[test]
fn check_knows_the_same_words() {
    let line = "srun -n2 --cpu-bind=map_cpu:0,200 ./a";
    for (option, found) in [
        ("--exclusive", vec![]),
        ("--site=exclusive", vec![]),
        ("--site=shared", vec!["list-on-part-of-a-node?".to_string()]),
    ] {
        let words = [&MACHINE[1..], &[option, "-"]].concat();
        let script = format!("#!/bin/sh\n#SBATCH -n2\n{line}\n");
        assert_eq!(rules(&words, &script).0, found, "{option}");
    }
    let done = berth(&["check", "--whole", line], "");
    assert_eq!(done.code, 2);
}

#[test]
fn a_site_says_it_once() {
    let stdout = |command: &mut Command| {
        let done = command.env("BERTH_SITE", "exclusive").output().unwrap();
        String::from_utf8(done.stdout).unwrap()
    };
    let berth = || Command::new(env!("CARGO_BIN_EXE_berth"));
    let words = [&["plan", "-n1"], &MACHINE[..]].concat();
    let table = stdout(berth().args(&words));
    assert!(table.contains("cores 0-127"), "{table}");
    assert!(table.contains("--site exclusive"), "{table}");
    let table = stdout(berth().args(&words).arg("--site=shared"));
    assert!(table.contains("cores 0 "), "{table}");
    let line = "srun -n2 --cpu-bind=map_cpu:0,200 ./a";
    let found = stdout(berth().arg("check").args(&MACHINE[1..]).arg(line));
    assert!(found.contains("no trap"), "{found}");
}

#[test]
fn a_word_that_changes_nothing_is_said() {
    for (options, part) in [
        ("--whole -n2", "--cores all plans with the whole node"),
        ("--whole -n2 -c2", "srun ignores --whole beside -c"),
    ] {
        let done = plan(&format!("--machine pu:4 {options}"));
        assert!(done.stderr.contains(part), "{options}: {}", done.stderr);
    }
    let conf = tempfile::NamedTempFile::new().unwrap();
    let text = "NodeName=n1 CPUs=4\nPartitionName=p Nodes=n1 Default=YES\n";
    std::fs::write(conf.path(), text).unwrap();
    let cluster = conf.path().to_str().unwrap();
    let stderr = plan(&format!(
        "--cluster {cluster} --machine pu:4 --site=exclusive -n1"
    ))
    .stderr;
    assert!(stderr.contains("--site is not used"), "{stderr}");
}

#[test]
fn the_conflict_of_srun_names_the_way_out() {
    let stderr = plan("--machine pu:4 -n1 --exact --whole").stderr;
    for part in ["leave out --whole", "--exclusive includes --exact"] {
        assert!(stderr.contains(part), "{stderr}");
    }
}

/// scontrol of a cluster whose jobs have whole nodes.
const SCONTROL: &str = "#!/bin/sh
case \"$*\" in
*config) echo 'SelectType = select/linear' ;;
*nodes) echo 'NodeName=n1 CPUTot=8 Sockets=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=1' ;;
*partition) echo 'PartitionName=p Default=YES Nodes=n1' ;;
esac
";

#[test]
fn check_asks_the_cluster_for_every_option_that_needs_whole_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("scontrol");
    std::fs::write(&program, SCONTROL).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    for options in [
        "--cpu-bind=map_cpu:0,1",
        "--binding=linear:2",
        "--map-by=slot:pe=2",
        "--cpuset=CPU_LIST=0-1",
    ] {
        let done = Command::new(env!("CARGO_BIN_EXE_berth"))
            .args(["check", &format!("srun -n2 {options} ./a")])
            .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
            .output()
            .unwrap();
        let found = String::from_utf8_lossy(&done.stdout);
        assert!(found.contains("no trap was found"), "{options}: {found}");
    }
}
