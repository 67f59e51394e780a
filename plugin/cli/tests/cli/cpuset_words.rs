//! The words that a partition adds to a `--cpuset`: `berth plan` merges them as slurmd does, and says where
//! each word comes from. The cpuset is the job's, also where the plan is for a step of it.

use crate::plan_json::plan;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const SITE: &str = "name=MYSET cpus=0-3 mems=0 partitions=plain
partition=low default='CPUSET[CPU_LIST=0-7]'
partition=high default='CPUSET[CPU_LIST=0-7]' mandatory='CPUSET[MAX_RADIUS=1;CPU_LIST=]'
partition=empty mandatory='CPUSET[CPU_LIST=]'
";

/// A cluster with this file of cpusets; its slurm.conf.
fn cluster(folder: &Path, site: &str) -> String {
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write(
        "slurm.conf",
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nTaskPlugin=task/berth\n\
         NodeName=n1 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n\
         PartitionName=low Nodes=n1 Default=YES\nPartitionName=high Nodes=n1\n\
         PartitionName=plain Nodes=n1\nPartitionName=empty Nodes=n1\n",
    );
    let path = folder.join("cpusets.conf");
    let line = format!("optional task_berth.so cpusets={}\n", path.display());
    write("plugstack.conf", &line);
    write("cpusets.conf", site);
    folder.join("slurm.conf").to_string_lossy().into_owned()
}

fn words<'a>(conf: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let all = ["--machine=pack:2 numa:1 core:4 pu:2", "--slurm=24.11"];
    [&all[..], &["--explain", "--cluster", conf], more].concat()
}

/// The lines of the explanation that name sources.
fn sources(plan: &Value) -> Vec<String> {
    let lines = plan["explanation"].as_array().into_iter().flatten();
    let lines = lines.filter_map(|line| line.as_str()?.strip_prefix("word        "));
    lines.map(String::from).collect()
}

/// Options, the CPUs of the cpuset, and where its words come from.
type Case = (Vec<&'static str>, &'static str, Vec<String>);

fn cases(file: &Path) -> Vec<Case> {
    let place = |line: u32| format!("({}, line {line})", file.display());
    let (low, high) = (place(2), place(3));
    let exclusive = |more: &[&'static str]| [&["-n2", "--exclusive"], more].concat();
    vec![
        (
            exclusive(&[]),
            "0-1",
            vec![
                "NCPUS=2: the number of tasks on each node times -c".into(),
                format!("CPU_LIST=0-7: the default of the partition low {low}"),
            ],
        ),
        (
            vec![
                "--job=sbatch -n2 --exclusive --cpuset=CPU_LIST=8-15 --wrap=true",
                "-n2",
            ],
            "8-9",
            vec![
                "NCPUS=2: the number of tasks on each node times -c".into(),
                format!(
                    "CPU_LIST=8-15: --cpuset, over CPU_LIST=0-7 of the default of the partition low"
                ),
            ],
        ),
        (
            exclusive(&["-p", "high", "--cpuset=MAX_RADIUS=2;NCPUS=4"]),
            "0-3",
            vec![
                "NCPUS=4: --cpuset".into(),
                format!(
                    "CPU_LIST is taken away: mandatory in the partition high {high}, over CPU_LIST=0-7 of the \
                     default of the partition high"
                ),
                format!(
                    "MAX_RADIUS=1: mandatory in the partition high {high}, over MAX_RADIUS=2 of --cpuset"
                ),
            ],
        ),
        (
            exclusive(&["--cpuset=CPU_LIST=;NCPUS=16"]),
            "0-15",
            vec![
                "NCPUS=16: --cpuset".into(),
                "CPU_LIST is taken away: --cpuset, over CPU_LIST=0-7 of the default of the partition low".into(),
            ],
        ),
    ]
}

/// A partition that the site's file does not name adds no words.
fn plain_cases() -> Vec<Case> {
    let plain = |cpuset| vec!["-n2", "--exclusive", "-p", "plain", cpuset];
    let cpusets = ["--cpuset=NCPUS=4", "--cpuset=CPUSET_NAME=MYSET"];
    cpusets.map(|cpuset| (plain(cpuset), "0-3", vec![])).into()
}

#[test]
fn each_word_says_where_it_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    let conf = cluster(folder.path(), SITE);
    for (requested, cpus, says) in
        [cases(&folder.path().join("cpusets.conf")), plain_cases()].concat()
    {
        let found = plan(&words(&conf, &requested), &[]);
        let sets = found["cpusets"]
            .as_object()
            .unwrap_or_else(|| panic!("{requested:?}: {found:#}"));
        let set = sets.values().next().unwrap();
        assert_eq!(set["cpus"], cpus, "{requested:?}: {found:#}");
        assert_eq!(sources(&found), says, "{requested:?}");
    }
    // A partition whose words request nothing gives no cpuset.
    let found = plan(&words(&conf, &["-n2", "-p", "empty"]), &[]);
    assert!(
        found["cpusets"]
            .as_object()
            .is_none_or(|sets| sets.is_empty()),
        "{found:#}"
    );
}

#[test]
fn what_slurmd_would_refuse_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let conf = cluster(folder.path(), SITE);
    for (requested, says) in [
        (
            &["-p", "high", "--cpuset=CPUSET_TYPE=none"][..],
            "CPUSET_TYPE=none and MAX_RADIUS do not go together",
        ),
        (
            &["-p", "high", "--cpuset=CPUSET_NAME=MYSET"],
            "do not go together; leave one of the two out; the partition high adds words to --cpuset",
        ),
        (
            &["-p", "plain", "--cpuset=CPUSET_NAME=OTHER"],
            "this node has no static cpuset OTHER; it has MYSET",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_berth"))
            .arg("plan")
            .args(words(&conf, &[&["-n1"], requested].concat()))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{requested:?}: {stderr}");
        assert!(stderr.contains(says), "{requested:?}: {stderr}");
    }
}

/// A job has one cpuset, and its steps run inside it.
#[test]
fn a_step_with_another_cpuset_than_its_job_is_refused() {
    let job = "--job=salloc -n4 --exclusive --cpuset=NCPUS=4";
    for (own, refused) in [
        ("NCPUS=2", true),
        ("CPUSET_TYPE=none", true),
        ("'CPUSET[NCPUS=4;]'", false),
    ] {
        let step = format!("srun -n2 --cpuset={own} ./a");
        let output = Command::new(env!("CARGO_BIN_EXE_berth"))
            .args(["plan", "--machine=pack:2 core:4 pu:2", job, &step])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(refused.into()),
            "{own}: {stderr}"
        );
        let says = "this job has the cpuset NCPUS=4, and its steps run inside it";
        assert_eq!(stderr.contains(says), refused, "{own}: {stderr}");

        let text = format!("#SBATCH -n4 --exclusive --cpuset=NCPUS=4\n{step}\n");
        let script = |text: &str| {
            let output = Command::new(env!("CARGO_BIN_EXE_berth"))
                .args(["check", "--slurm=24.11", text])
                .output()
                .unwrap();
            let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
            (stdout.contains(says), output.status.code(), stdout)
        };
        let (is_found, code, stdout) = script(&text);
        assert_eq!(
            (is_found, code),
            (refused, Some(refused.into())),
            "{stdout}"
        );
        if refused {
            assert!(
                stdout.contains("srun -n2 ./a"),
                "without the option: {stdout}"
            );
        }
    }
}

#[test]
fn a_file_that_slurmd_cannot_read_is_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let conf = cluster(folder.path(), "partition=low defaul='CPU_LIST=0'\n");
    let found = plan(&words(&conf, &["-n2"]), &[]);
    let notes = found["notes"].to_string();
    let says = "this plan is without the site's cpusets";
    assert!(notes.contains("line 1") && notes.contains(says), "{notes}");
}

/// From 23.11 on srun takes the job's `-c` from its variables, and a `-c` makes a step exact.
#[test]
fn a_plain_step_runs_in_its_job_s_cpuset_on_every_line() {
    for slurm in ["22.05", "23.11", "24.11", "26.05"] {
        let line = format!("--slurm={slurm}");
        for job in [
            "--job=sbatch --exclusive -N1 -n1 -c2 --cpuset=CPU_LIST=2-3",
            // The number of nodes is open, and the job gets one.
            "--job=sbatch --exclusive -n1 -c2 --cpuset=CPU_LIST=2-3",
            // The cpuset has half of the job's own CPUs.
            "--job=sbatch -n1 -c4 --cpuset=NCPUS=2;CPU_LIST=2-3",
        ] {
            let plan = plan(&["--machine=pack:1 core:4 pu:1", &line, job], &[]);
            assert_eq!(plan["tasks"][0]["cpus"], "2-3", "{slurm} {job}: {plan}");
            assert_eq!(plan["nodes"][0]["cpus_per_task"], 1, "{slurm} {job}");
        }
    }
}

/// A cpuset with all of the job's CPUs takes no `-c` away.
#[test]
fn a_cpuset_as_large_as_its_job_leaves_the_job_s_number_of_cpus() {
    let job = "--job=sbatch --exclusive -N1 -n1 -c2 --cpuset=NCPUS=4";
    let requested = ["--machine=pack:1 core:4 pu:1", "--slurm=26.05", job];
    let plan = plan(&requested, &[]);
    assert_eq!(plan["nodes"][0]["cpus_per_task"], 2, "{plan}");
}

/// The step has two of the job's sixteen CPUs; the cpuset is chosen from all of them.
#[test]
fn the_cpuset_is_the_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let conf = cluster(folder.path(), "");
    let job = "--job=sbatch -n4 --exclusive --cpuset=CPU_LIST=0-1,8-15 --wrap=true";
    for (step, cpus) in [
        (&["-n4"][..], "8-11"),
        (&["-n2", "--cpuset=NCPUS=8"], "0-7"),
    ] {
        let mut requested = step.to_vec();
        if cpus == "8-11" {
            requested.insert(0, job);
        } else {
            requested.insert(0, "--exclusive");
        }
        let found = plan(&words(&conf, &requested), &[]);
        let sets = found["cpusets"]
            .as_object()
            .unwrap_or_else(|| panic!("{found:#}"));
        assert_eq!(sets.values().next().unwrap()["cpus"], cpus, "{found:#}");
    }
}
