//! The files of `--binding=pe:` where each job has a private /tmp. `requests/binding_files.txt` has the rest of them.

use std::fs;
use std::path::{Path, PathBuf};

use berth_tests::Cluster;

/// As a task plugin and beside another one: both write the same files.
const BESIDE: [&str; 2] = ["task/berth", "task/none"];

/// Whether jobs can have a root of their own: the kernel lists what is mounted by its place.
fn root_is_a_mount_point() -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("what is mounted");
    mounts
        .lines()
        .any(|mount| mount.split(' ').nth(4) == Some("/"))
}

/// A private /tmp for each job: the task finds its files in it, and nobody else sees them.
#[test]
fn in_a_job_container_they_are_inside() {
    let plugin = "/usr/lib/x86_64-linux-gnu/slurm-wlm/job_container_tmpfs.so";
    if !Path::new(plugin).exists() {
        println!("skipped: Slurm's job_container/tmpfs is not installed ({plugin})");
        return;
    }
    if !root_is_a_mount_point() {
        berth_tests::skip(
            "job_container/tmpfs: the root directory is no mount point, as in a chroot",
        );
        return;
    }
    for beside in BESIDE {
        let base = PathBuf::from(format!("/var/tmp/berth-files.{}", std::process::id()));
        let cluster = Cluster::builder().task_plugin(beside).plugstack(Some(""));
        let cluster = cluster.set("PrologFlags=Contain").up();
        let etc = cluster.folder().join("etc");
        fs::write(
            etc.join("job_container.conf"),
            format!("AutoBasePath=true\nBasePath={}\n", base.display()),
        )
        .unwrap();
        let conf = fs::read_to_string(etc.join("slurm.conf")).unwrap();
        fs::write(
            etc.join("slurm.conf"),
            conf + "JobContainerType=job_container/tmpfs\n",
        )
        .unwrap();
        cluster.restart_slurmd();
        cluster.wait_idle();
        let script = "echo \"$PE_HOSTFILE\"; ls /tmp | wc -l; cat \"$BERTH_RANKFILE\"";
        let asked = ["-n1", "--binding=pe:linear:1", "/bin/sh", "-c", script];
        let done = cluster.run_with("srun", &asked, &[("TMPDIR", "/tmp")]);
        let lines: Vec<_> = done.stdout.lines().collect();
        assert!(done.ok() && lines.len() == 3, "{done:#?}");
        assert!(
            lines[0].starts_with("/tmp/berth.") && lines[1] == "1",
            "{done:#?}"
        );
        assert!(lines[2].ends_with(" slot=0"), "{done:#?}");
        assert!(
            !Path::new(lines[0]).exists(),
            "it is outside too: {done:#?}"
        );
        cluster.wait_idle();
        drop(cluster);
        let _ = fs::remove_dir_all(&base);
    }
}
