//! What a job can never have is refused by its own command, and `berth plan` and `berth check` say so; where the job
//! may get more than it requests, nothing is refused.

#[allow(dead_code, reason = "lines alone are planned here")]
use crate::plan_common::berth;
use std::fs;
use std::path::Path;

use crate::check_common::{check, rules};

const MACHINE: &str = "--machine=pack:2 core:4 pu:2";

/// A cluster of such nodes; its slurm.conf.
fn cluster(folder: &Path) -> String {
    let path = folder.join("slurm.conf");
    let text = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
                NodeName=n[1-4] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=64000\n\
                PartitionName=plain Nodes=n[1-4] Default=YES\n\
                PartitionName=whole Nodes=n[1-4] OverSubscribe=EXCLUSIVE\n\
                PartitionName=memory Nodes=n[1-4] MaxMemPerCPU=1000\n";
    fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

/// How `berth plan` ends for a line, and what it says.
fn planned(words: &[&str]) -> (i32, String) {
    let all = [&["plan", MACHINE, "--slurm=24.11"], words].concat();
    let done = berth(&all, "");
    (done.code, done.stderr)
}

#[test]
fn a_partition_that_gives_more_refuses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let conf = cluster(folder.path());
    let on = format!("--cluster={conf}");
    for (partition, refused) in [
        ("", true),
        ("-p plain", true),
        ("-p whole", false),
        ("-p memory", false),
    ] {
        let line = format!("srun {partition} -n2 --binding=linear:4 ./a");
        let (code, stderr) = planned(&[&on, &line]);
        assert_eq!(code, i32::from(refused), "{line}: {stderr}");
        assert_eq!(
            stderr.contains("srun refuses the line: --binding=linear:4 asks for 2 tasks × 4 cores"),
            refused,
            "{line}: {stderr}"
        );
        for text in [
            line.clone(),
            format!("#SBATCH {partition} -n2 --binding=linear:4\nsrun ./a\n"),
            format!("sbatch {partition} -n2 --binding=linear:4 --wrap=true\n"),
            format!("#SBATCH {partition} -n2\nsrun --binding=linear:4 ./a\n"),
            format!("srun {partition} -n2 --map-by=slot:pe=4 ./a"),
        ] {
            let (found, _) = rules(&["--slurm=24.11", &on, "-"], &text);
            let never = |rule: &String| rule.ends_with("never-fits");
            assert_eq!(found.iter().any(never), refused, "{text}: {found:?}");
        }
    }
    // Of another cluster and of an unknown partition nothing is known.
    for line in [
        "srun -M other -n2 --binding=linear:4 ./a",
        "P=$X\nsrun -p $P -n2 --binding=linear:4 ./a",
        "SLURM_PARTITION=whole srun -n2 --binding=linear:4 ./a",
    ] {
        let (found, _) = rules(&["--slurm=24.11", &on, "-"], line);
        let never = |rule: &String| rule.ends_with("never-fits");
        assert!(!found.iter().any(never), "{line}: {found:?}");
    }
}

#[test]
fn a_plan_refuses_what_its_command_refuses() {
    for (words, says) in [
        (
            &["-n", "4", "--binding=linear:4"][..],
            "srun refuses the line: --binding=linear:4",
        ),
        (
            &["srun -n4 --binding=linear:4 ./a"],
            "use -n1 -c4 for one process with 4 threads",
        ),
        (
            &["sbatch -n4 --binding=linear:4 --wrap=true"],
            "sbatch refuses the line: --binding=linear:4",
        ),
        (
            &["salloc -n4 --binding=linear:4"],
            "salloc refuses the line: --binding=linear:4",
        ),
        (
            &["BERTH_BINDING=linear:4 srun -n4 ./a"],
            "srun refuses the line: BERTH_BINDING: --binding=linear:4",
        ),
        (
            &["-n", "2", "--map-by=slot:pe=4"],
            "--map-by=slot:pe=4 asks for 2 tasks × 4 CPUs",
        ),
        (
            &["-N", "2", "-n", "2", "--exclusive", "--cpuset=MAX_RADIUS=1"],
            "MAX_RADIUS means one node",
        ),
        (
            &["--job=salloc -n4", "srun -n4 --binding=linear:4 ./a"],
            "this allocation has 4 CPUs",
        ),
    ] {
        let (code, stderr) = planned(words);
        assert_eq!(code, 1, "{words:?}: {stderr}");
        assert!(stderr.contains(says), "{words:?}: {stderr}");
    }
}

#[test]
fn a_plan_takes_what_its_command_takes() {
    for words in [
        &["--cores=all", "-n", "4", "--binding=linear:4"][..],
        &["--cores=0-3", "-n", "4", "--binding=linear:4"],
        &["-n", "4", "--exclusive", "--binding=linear:2"],
        &["-n", "4", "--select=CR_Socket", "--binding=linear:4"],
        &["-n", "4", "--binding=linear:4", "--cpu-bind=none"],
        &["-n", "4", "-c", "4", "--binding=linear:2"],
        &[
            "--job=salloc -N2 -n8",
            "srun -N1 -n2 --binding=linear:2 ./a",
        ],
        &[
            "--job=salloc -n4 --exclusive",
            "srun -n4 --binding=linear:4 ./a",
        ],
    ] {
        let (code, stderr) = planned(words);
        assert_eq!(code, 0, "{words:?}: {stderr}");
    }
}

/// A correction that stays unbound is none.
#[test]
fn tasks_that_stay_unbound_ask_for_nothing() {
    let line = "srun -n4 --binding=linear:4 --cpu-bind=none ./a";
    let (found, code) = rules(&["--slurm=24.11", "-"], line);
    assert_eq!((found, code), (vec!["binding-and-none?".into()], Some(0)));
    let done = check(&["--slurm=24.11", "--format=script", "-"], line.as_bytes());
    assert_eq!(String::from_utf8_lossy(&done.stdout), line);
}

/// The variable by which srun finds the CPUs of its job counts the threads of a core that the job uses.
#[test]
fn a_job_of_one_thread_per_core_has_fewer_cpus() {
    for (cores, code) in [("--threads-per-core=1", 1), ("-c2", 0)] {
        let job = format!("sbatch -N1 -n4 {cores} --wrap=true");
        let job = [
            "plan",
            "--machine=pack:4 core:2 pu:2",
            "--slurm=22.05",
            "--job",
            &job,
        ];
        let done = berth(
            &[&job[..], &["srun -n3 --binding=linear:2 ./app"]].concat(),
            "",
        );
        assert_eq!(done.code, code, "{cores}: {}", done.stderr);
    }
}

/// The variables of its job say one task, which srun counts before --ntasks-per-node; random lines have found it.
#[test]
fn the_tasks_of_the_job_come_before_those_of_a_node() {
    let job = "--job=sbatch --ntasks-per-node=1 -N1";
    for release in ["--slurm=22.05", "--slurm=26.05"] {
        let line = "srun --map-by=slot:pe=2 -c2 --ntasks-per-node=2 ./a";
        let place = ["plan", "--machine=pack:1 core:2 pu:1", "--site=exclusive"];
        let words = [&place[..], &[release, "--format=cpus", job, line]].concat();
        let done = berth(&words, "");
        assert_eq!(done.stdout, "0-1\n", "{release}: {}", done.stderr);
    }
}
