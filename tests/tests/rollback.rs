//! From berth back to task/affinity, and the other way, while a job runs: as the README's paragraph says, but for the
//! removal of the files, which the packages' drills play.

use std::path::Path;
use std::process::Child;

use berth_tests::Cluster;

const ONE_CORE: [&str; 3] = ["-n1", "-c1", "--cpu-bind=cores"];

fn replace_in(file: &Path, old: &str, new: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(old), "{old:?} in {text}");
    std::fs::write(file, text.replace(old, new)).unwrap();
}

/// A job that runs until told, and says its mask before and after.
fn running_job(cluster: &Cluster) -> (Child, impl Fn() -> String + use<>) {
    let (go, output) = (
        cluster.folder().join("go"),
        cluster.folder().join("job.out"),
    );
    let script = format!(
        "grep Cpus_allowed: /proc/self/status; until [ -e {} ]; do sleep 0.1; done; \
         grep Cpus_allowed: /proc/self/status",
        go.display()
    );
    let job = cluster
        .program("srun")
        .args(ONE_CORE)
        .arg("-u")
        .arg("-o")
        .arg(&output)
        .args(["/bin/sh", "-c", &script])
        .spawn()
        .unwrap();
    let said = move || std::fs::read_to_string(&output).unwrap_or_default();
    cluster.wait_for("the job", || said().contains("Cpus_allowed").then_some(()));
    (job, said)
}

/// Tells the job to end: it must have kept its mask, and end well.
fn end(cluster: &Cluster, mut job: Child, said: impl Fn() -> String) {
    std::fs::write(cluster.folder().join("go"), "").unwrap();
    assert!(job.wait().unwrap().success(), "the job failed: {}", said());
    let masks: Vec<String> = said().lines().map(str::to_string).collect();
    assert_eq!(masks.len(), 2, "{masks:?}");
    assert_eq!(masks[0], masks[1], "the mask changed under the running job");
    cluster.wait_idle();
}

#[test]
fn back_to_task_affinity_with_a_job_running() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder().plugstack(Some("")).up();
    let (job, said) = running_job(&cluster);
    // At once: without a restart.
    let switch = cluster.folder().join("run/berth/off");
    std::fs::write(&switch, "").unwrap();
    assert_ne!(
        cluster.task_masks(&ONE_CORE),
        ["0x2"],
        "all that it may have"
    );
    std::fs::remove_file(&switch).unwrap();
    assert_eq!(cluster.task_masks(&ONE_CORE), ["0x2"], "the other core");

    // For good.
    let (conf, plugstack) = (
        cluster.folder().join("etc/slurm.conf"),
        cluster.folder().join("etc/plugstack.conf"),
    );
    replace_in(&conf, "TaskPlugin=task/berth", "TaskPlugin=task/affinity");
    std::fs::write(plugstack, "").unwrap();
    // In the order of the page: configless nodes get what slurmctld read last.
    cluster.restart_slurmctld();
    cluster.restart_slurmd();

    let lines = || cluster.slurmd_log().matches("berth: step=").count();
    let before = lines();
    assert_eq!(cluster.task_masks(&ONE_CORE), ["0x2"], "the other core");
    assert_eq!(lines(), before, "berth had no part in it");
    end(&cluster, job, said);
}

#[test]
fn from_task_affinity_to_berth_with_a_job_running() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .plugstack(Some("compat=affinity"))
        .task_plugin("task/affinity")
        .up();
    let (job, said) = running_job(&cluster);
    let conf = cluster.folder().join("etc/slurm.conf");
    replace_in(&conf, "TaskPlugin=task/affinity", "TaskPlugin=task/berth");
    // In the order of the page: configless nodes get what slurmctld read last.
    cluster.restart_slurmctld();
    cluster.restart_slurmd();
    assert_eq!(cluster.task_masks(&ONE_CORE), ["0x2"], "the other core");
    assert!(
        cluster
            .slurmd_log()
            .contains("rule=cores:cyclic masks=0x2 bound=1/1")
    );
    end(&cluster, job, said);
}

/// Nodes that share slurm.conf have the lines before their slurmds are restarted.
#[test]
fn the_lines_before_the_restart() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .plugstack(Some("compat=affinity"))
        .task_plugin("task/affinity")
        .up();
    let (conf, plugstack) = (
        cluster.folder().join("etc/slurm.conf"),
        cluster.folder().join("etc/plugstack.conf"),
    );
    let lines = std::fs::read_to_string(&plugstack).unwrap();
    std::fs::write(&plugstack, "").unwrap();
    cluster.restart_slurmd();
    // As on a node that never had berth.
    std::fs::remove_dir_all(cluster.folder().join("run/berth")).unwrap();
    assert_eq!(cluster.task_masks(&ONE_CORE), ["0x1"]);

    std::fs::write(&plugstack, lines).unwrap();
    replace_in(&conf, "TaskPlugin=task/affinity", "TaskPlugin=task/berth");
    assert_eq!(
        cluster.task_masks(&ONE_CORE),
        ["0x1"],
        "the step's own CPUs"
    );
    let says = "slurmstepd cannot trust slurmd's plan: there is no handover";
    let reads_itself = berth_tests::srun_lines::release(&cluster).name() == "22.05";
    assert_eq!(cluster.slurmd_log().contains(says), reads_itself);
    let done = cluster.srun(&["-n1", "-c1", "--binding=linear:1", "true"]);
    let says = match reads_itself {
        true => "--binding=linear:1: not applied, since this step could not be planned",
        false => "--binding=linear:1 is not honoured on this node",
    };
    assert!(done.ok() && done.stderr.contains(says), "{done:#?}");

    cluster.restart_slurmctld();
    cluster.restart_slurmd();
    let done = cluster.srun(&["-n1", "-c1", "--binding=linear:1", "true"]);
    assert!(done.ok() && done.stderr.is_empty(), "{done:#?}");
    assert!(cluster.slurmd_log().contains("rule=binding:linear:1"));
}
