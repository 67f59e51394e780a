//! From task/affinity to berth where nodes share slurm.conf: they have the lines before their slurmds are restarted.
//! `requests/rollback.txt` has the way in the order of the README.

use berth_tests::Cluster;

const ONE_CORE: [&str; 3] = ["-n1", "-c1", "--cpu-bind=cores"];

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
    let text = std::fs::read_to_string(&conf).unwrap();
    let text = text.replace("TaskPlugin=task/affinity", "TaskPlugin=task/berth");
    std::fs::write(&conf, text).unwrap();
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
