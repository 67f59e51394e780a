//! Grid Engine's core binding: on two sockets with hardware threads, between jobs, without the task
//! plugin. Core K has the CPUs 2K and 2K+1.

use std::process::{Child, Stdio};

use berth_tests::Cluster;

use crate::tools::{all_cpus, in_allocation, lists, me, tasks, wait_for_machine_file, whole_node};
use crate::{Outcome, berth};

const SHARED: &str = "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8";

/// Every strategy, read from the kernel.
pub fn strategies() -> Outcome {
    let cluster = berth();
    for (request, cpus) in [
        ("-n2 --binding=linear:2", &["0-3", "4-7"][..]),
        ("-n2 --binding=linear:3", &["0-5", "8-13"]),
        ("-n1 --binding=linear:2:0,3", &["6-9"]),
        ("-n2 --binding=striding:2:4", &["0-1,8-9", "2-3,10-11"]),
        ("-n1 --binding=striding:3:2:0,1", &["2-3,6-7,10-11"]),
        (
            "-n2 --binding=explicit:1,3:0,0",
            &["0-1,14-15", "0-1,14-15"],
        ),
        ("-n2 --binding=host:linear:4", &["0-7", "0-7"]),
        ("-n1 --threads-per-core=1 --binding=linear:2", &["0,2"]),
        ("-n1 --export=NONE --binding=linear:1", &["0-1"]),
        ("-n1 --binding=env:linear:1", &["0-15"]),
        ("-n1 --cpu-bind=none --binding=linear:1", &["0-15"]),
    ] {
        let tasks = whole_node(&cluster, &[], request);
        assert_eq!(all_cpus(&tasks), lists(cpus), "{request}");
    }
    let never = cluster.run("sbatch", &["-n4", "--binding=linear:4", "--wrap=true"]);
    assert!(
        never.stderr.contains("use -n1 -c4 for one process"),
        "{never:#?}"
    );
    Ok(())
}

/// `#SBATCH -n1 -c8` is four cores here: the script and an srun in it are bound to the same.
pub fn default_line() -> Outcome {
    let cluster = berth();
    let script = format!("{me} probe\nsrun {me} probe\nsrun /bin/true\n", me = me());
    let job = cluster.sbatch(&["-n1", "-c8", "--binding=linear:4"], &script);
    let found = tasks(&job.output);
    assert_eq!(all_cpus(&found), lists(&["0-7", "0-7"]), "{job:#?}");
    assert!(!job.output.contains("note"), "{job:#?}");
    // What slurmd wrote is confirmed by both slurmstepds, and gone with them.
    let state = cluster.folder().join("run/berth");
    let berth = berth_tests::command();
    let status = format!("{} status --state-dir={}", berth.display(), state.display());
    let job = cluster.sbatch(
        &["-n1", "-c8", "--binding=linear:4"],
        &format!("srun {status}"),
    );
    for kind in [".0 ", ".batch "] {
        let line = job.output.lines().find(|line| line.contains(kind));
        assert!(
            line.is_some_and(|line| line.ends_with("running")),
            "{kind}: {job:#?}"
        );
    }
    let after = cluster.run("sh", &["-c", &status]).expect_ok();
    assert!(after.contains("no step is bound"), "{after}");
    // Where there is a choice, the step's is not its script's.
    let asked = ["-n1", "-c8", "--export=NONE", "--binding=linear:1"];
    let alone = cluster.sbatch(&asked, &script);
    let found = tasks(&alone.output);
    assert_eq!(all_cpus(&found), lists(&["0-1", "2-3"]), "{alone:#?}");
    let inherited = cluster.run_with(
        "srun",
        &["-n1", "-c8", &me(), "probe"],
        &[("BERTH_BINDING", "linear:2")],
    );
    assert_eq!(
        all_cpus(&tasks(&inherited.stdout)),
        lists(&["0-3"]),
        "{inherited:#?}"
    );
    Ok(())
}

/// A step in the background that is bound and lasts.
fn lasting(cluster: &Cluster, binding: &str) -> (Child, String) {
    let mark = cluster
        .folder()
        .join(format!("log/{}", binding.replace([':', ','], "-")));
    let script = format!(
        "echo $SLURM_JOB_ID > {0}.new; mv {0}.new {0}; exec sleep 600",
        mark.display()
    );
    let mut srun = cluster.program("srun");
    srun.args([
        "-n1",
        "-c16",
        &format!("--binding={binding}"),
        "/bin/sh",
        "-c",
        &script,
    ]);
    let srun = srun.stdout(Stdio::null()).stderr(Stdio::null());
    let child = srun.spawn().expect("srun can be run");
    let job = cluster.wait_for("the step's start", || std::fs::read_to_string(&mark).ok());
    (child, job.trim().to_owned())
}

/// Jobs on the same CPUs: cores of their own, an empty socket first; a suspended job takes nothing.
pub fn shared_node() -> Outcome {
    let cluster = Cluster::builder().plugstack(Some("")).set(SHARED).up();
    let (mut first, job) = lasting(&cluster, "linear:2");
    let step = |binding: &str| {
        let binding = format!("--binding={binding}");
        let done = cluster.srun(&["-n1", "-c16", &binding, &me(), "probe"]);
        (all_cpus(&tasks(&done.stdout)), done.stderr)
    };
    assert_eq!(step("linear:2").0, lists(&["8-11"]));
    assert_eq!(step("linear:6").0, lists(&["4-15"]));
    assert_eq!(step("striding:2:4").0, lists(&["4-5,12-13"]));
    let (cpus, said) = step("explicit:0,1");
    assert_eq!(cpus, lists(&["0-15"]));
    assert!(said.contains("another step is bound to core 0,1"), "{said}");
    cluster.run("scontrol", &["suspend", &job]).expect_ok();
    assert_eq!(step("linear:8"), (lists(&["0-15"]), String::new()));
    cluster.run("scontrol", &["resume", &job]).expect_ok();
    cluster.wait_for("the resumed job", || {
        (step("explicit:0,1").0 == lists(&["0-15"])).then_some(())
    });
    cluster.run("scancel", &[&job]).expect_ok();
    let _ = first.wait();
    assert_eq!(step("explicit:0,1").0, lists(&["2-3"]));
    Ok(())
}

/// Steps of one job that share everything: `--overlap` takes nothing from them.
pub fn overlapping() -> Outcome {
    let cluster = berth();
    let script = "srun --overlap -n1 -c16 --binding=linear:8 $probe 12 & sleep 6\n\
        srun --overlap -n1 -c16 --binding=linear:8 $probe; wait";
    let found = tasks(&in_allocation(&cluster, &["--exclusive"], script));
    assert_eq!(all_cpus(&found), lists(&["0-15", "0-15"]), "{found:#?}");
    let script = "srun --exact -n1 -c4 --binding=linear:1 $probe 12 & sleep 6\n\
        srun --overlap -n1 -c16 --binding=linear:1 $probe; wait";
    let found = tasks(&in_allocation(&cluster, &["--exclusive"], script));
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].cpus.is_disjoint(&found[1].cpus), "{found:#?}");
    Ok(())
}

/// With the plugstack line alone.
pub fn without_task_plugin() -> Outcome {
    for beside in ["task/affinity", "task/none"] {
        let cluster = Cluster::builder()
            .task_plugin(beside)
            .plugstack(Some(""))
            .up();
        wait_for_machine_file(&cluster);
        for (request, cpus) in [
            ("-n2 --binding=linear:3", &["0-5", "8-13"][..]),
            ("-n1 --binding=striding:2:4:0,1", &["2-3,10-11"]),
            ("-n1 --cpu-bind=none --binding=linear:1", &["0-15"]),
        ] {
            let tasks = whole_node(&cluster, &[], request);
            assert_eq!(all_cpus(&tasks), lists(cpus), "{beside}: {request}");
        }
        let job = cluster.sbatch(
            &["-n1", "-c8", "--binding=linear:2"],
            &format!("{} probe", me()),
        );
        assert_eq!(
            all_cpus(&tasks(&job.output)),
            lists(&["0-3"]),
            "{beside}: {job:#?}"
        );
    }
    Ok(())
}
