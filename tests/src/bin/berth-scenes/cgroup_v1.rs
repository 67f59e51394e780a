//! task/cgroup on a node whose cgroups are of version 1, one hierarchy a controller, as many sites
//! have it. The whole machine changes over for this scene, and back.

use std::process::Command;

use crate::{Outcome, jobs};

const TO_V1: &str = "
    cd /sys/fs/cgroup || exit
    for folder in system.slice .; do echo '-cpuset -cpu -memory -pids' > $folder/cgroup.subtree_control; done
    cd / && rmdir /sys/fs/cgroup/system.slice && umount /sys/fs/cgroup && mount -t tmpfs cgroup /sys/fs/cgroup || exit
    for one in cpuset freezer devices cpuacct; do
        mkdir /sys/fs/cgroup/$one && mount -t cgroup -o $one cgroup /sys/fs/cgroup/$one || exit
    done
    mkdir /sys/fs/cgroup/systemd && mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd";

/// As the machine had it when it came up. A hierarchy lives a little longer than its last group.
const TO_V2: &str = "
    umount /sys/fs/cgroup/* /sys/fs/cgroup && mount -t cgroup2 cgroup /sys/fs/cgroup || exit
    mkdir -p /sys/fs/cgroup/system.slice
    for folder in . system.slice; do
        for try in 1 2 3 4 5 6 7 8 9 10; do
            echo '+cpuset +cpu +memory +pids' > /sys/fs/cgroup/$folder/cgroup.subtree_control && continue 2
            sleep 1
        done
        exit 1
    done";

fn change(script: &str) -> Result<(), String> {
    let done = Command::new("sh").args(["-c", script]).output();
    let done = done.map_err(|why| why.to_string())?;
    let said = String::from_utf8_lossy(&done.stderr);
    done.status
        .success()
        .then_some(())
        .ok_or_else(|| said.into_owned())
}

pub fn confined() -> Outcome {
    change(TO_V1).expect("version 1");
    let seen = std::panic::catch_unwind(jobs::confined);
    change(TO_V2).expect("version 2 again");
    seen.unwrap_or_else(|why| std::panic::resume_unwind(why))
}
