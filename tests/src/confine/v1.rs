//! Changes a machine of `ci/vm` over to cgroups of version 1, one hierarchy for each controller, and
//! back.

use std::process::Command;

/// What `cgroup.conf` needs to have for them.
pub const CONF: &str = "CgroupPlugin=cgroup/v1\n";

const TO_V1: &str = r#"
    grep -qw cpuset /proc/cgroups || { echo 'this kernel has no cpusets' >&2; exit 1; }
    cd /sys/fs/cgroup || exit
    for folder in system.slice .; do echo '-cpuset -cpu -memory -pids' > $folder/cgroup.subtree_control; done
    cd / && rmdir /sys/fs/cgroup/system.slice && umount /sys/fs/cgroup && mount -t tmpfs cgroup /sys/fs/cgroup || exit
    for one in cpuset freezer devices cpuacct "$@"; do
        mkdir /sys/fs/cgroup/$one || exit
        for try in 1 2 3 4 5 6 7 8 9 10; do
            mount -t cgroup -o $one cgroup /sys/fs/cgroup/$one && continue 2
            sync; echo 3 > /proc/sys/vm/drop_caches; sleep 1
        done
        exit 1
    done
    mkdir /sys/fs/cgroup/systemd && mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd"#;

/// As the machine had it when it came up. A hierarchy lives a little longer than its last group; one that had such a group
/// when it was unmounted stays until it is unmounted again, and slurmd refuses a machine that has both versions.
const TO_V2: &str = r#"
    umount /sys/fs/cgroup/* 2> /dev/null
    for try in 1 2 3 4 5 6 7 8 9 10; do
        left=$(sed -n 's/^[1-9][0-9]*:\([^:]*\):.*/\1/p' /proc/self/cgroup)
        [ -n "$left" ] || break
        sleep 1
        for one in $left; do
            case $one in name=*) one=none,$one ;; esac
            mount -t cgroup -o "$one" cgroup /sys/fs/cgroup/cpuset && umount /sys/fs/cgroup/cpuset
        done
    done
    umount /sys/fs/cgroup && mount -t cgroup2 cgroup /sys/fs/cgroup || exit
    mkdir -p /sys/fs/cgroup/system.slice
    for folder in . system.slice; do
        for try in 1 2 3 4 5 6 7 8 9 10; do
            echo '+cpuset +cpu +memory +pids' > /sys/fs/cgroup/$folder/cgroup.subtree_control && continue 2
            sleep 1
        done
        exit 1
    done"#;

fn change(script: &str, controllers: &[&str]) -> Result<(), String> {
    let mut shell = Command::new("sh");
    let done = shell.args(["-c", script, "sh"]).args(controllers).output();
    let done = done.map_err(|why| why.to_string())?;
    let said = String::from_utf8_lossy(&done.stderr);
    done.status
        .success()
        .then_some(())
        .ok_or_else(|| said.trim().to_owned())
}

/// To version 1; where that fails, version 2 is back.
///
/// # Errors
/// What the kernel does not have.
pub fn enter() -> Result<(), String> {
    enter_with(&[])
}

/// The same with more controllers. The last pages of a group hold that of memory long after the group's end, so the
/// machine drops what it can; it may still not get it for the other version.
///
/// # Errors
/// What the kernel does not have.
pub fn enter_with(controllers: &[&str]) -> Result<(), String> {
    change(TO_V1, controllers).map_err(|why| match change(TO_V2, &[]) {
        Ok(()) => why,
        Err(worse) => format!("{why}; and not back: {worse}"),
    })
}

/// Back to version 2.
///
/// # Errors
/// What the machine said.
pub fn leave() -> Result<(), String> {
    change(TO_V2, &[])
}
