//! A slurmstepd that needs long: another step that begins meanwhile gets the cores, and the late one is decided beside it.

use std::fs;
use std::process::Stdio;

use berth_tests::{Cluster, spank_plugin};

/// Another maker's SPANK plugin: where a file is, one slurmstepd takes it and waits for another file.
const PLUGIN: &str = r#"
#include <slurm/spank.h>
#include <stdio.h>
#include <unistd.h>
SPANK_PLUGIN(slow, 1);
int slurm_spank_init(spank_t spank, int count, char **arguments) {
    char hold[4096], held[4096], go[4096];
    if (spank_remote(spank) != 1 || count < 1)
        return 0;
    snprintf(hold, sizeof hold, "%s/hold", arguments[0]);
    snprintf(held, sizeof held, "%s/held", arguments[0]);
    snprintf(go, sizeof go, "%s/go", arguments[0]);
    if (rename(hold, held))
        return 0;
    while (access(go, F_OK))
        usleep(10000);
    return 0;
}
"#;

/// Prints the task's CPUs.
const SHOW: &str = "grep Cpus_allowed_list /proc/self/status | cut -f2";

/// A cluster with the other plugin, whose files are in its log folder.
fn cluster() -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let object = spank_plugin(folder.path(), "slow", PLUGIN)?;
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .file(&object)
        .set("PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8")
        .up();
    let etc = cluster.folder().join("etc");
    let line = format!(
        "required {} {}\n",
        etc.join("slow.so").display(),
        cluster.folder().join("log").display()
    );
    let file = etc.join("plugstack.conf");
    let before = fs::read_to_string(&file).expect("plugstack.conf");
    fs::write(&file, before + &line).expect("plugstack.conf can be written");
    cluster.restart_slurmd();
    Some(cluster)
}

#[test]
fn a_late_step_takes_no_core_that_another_got_meanwhile() {
    let Some(cluster) = cluster() else {
        return;
    };
    let log = cluster.folder().join("log");
    fs::write(log.join("hold"), "").expect("a file");
    let step = ["-n1", "-c2", "--binding=linear:1", "/bin/sh", "-c"];
    let late = cluster
        .program("srun")
        .args(step)
        .arg(SHOW)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("srun");
    cluster.wait_for("the late slurmstepd", || {
        log.join("held").exists().then_some(())
    });
    let shown = log.join("second");
    let script = format!(
        "{SHOW} > {0}.new; mv {0}.new {0}; sleep 300",
        shown.display()
    );
    let mut second = cluster
        .program("srun")
        .args(step)
        .arg(script)
        .spawn()
        .expect("srun");
    let others = cluster.wait_for("the second step", || fs::read_to_string(&shown).ok());
    fs::write(log.join("go"), "").expect("a file");
    let done = late.wait_with_output().expect("srun");
    let own = String::from_utf8_lossy(&done.stdout).into_owned();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    cluster.run("scancel", &["-u", "root"]);
    let _ = second.wait();
    assert!(done.status.success(), "{said}");
    let masks = (others.trim(), own.trim());
    assert_eq!(masks.0, "0", "{}", cluster.slurmd_log());
    assert_eq!(masks.1, "1", "{said}{}", cluster.slurmd_log());
}
