//! A real slurmd's system calls while steps are launched one after the other.

use std::collections::BTreeMap;
use std::fs;

use berth_tests::{Builder, Cluster};

use crate::calls::names::name;
use crate::calls::tracer::{attach, detach, follow};

/// Calls by name.
pub type Calls = BTreeMap<String, u64>;

/// Counts the calls of slurmd's threads over so many launches in a cluster of its own.
///
/// # Errors
/// A cluster that does not come up, or steps that fail.
pub fn count(builder: Builder, launches: u32) -> Result<Calls, String> {
    let cluster = builder.try_up().map_err(|done| done.stderr)?;
    let slurmd = slurmd_of(&cluster).ok_or("the cluster's slurmd is not found")?;
    let steps = |count| {
        format!("i=0; while [ $i -lt {count} ]; do srun -n1 true || exit; i=$((i + 1)); done")
    };
    // A few that nobody counts: what is read once is not a launch's.
    let done = cluster.run("salloc", &["-n1", "-Q", "sh", "-c", &steps(3)]);
    if !done.ok() {
        return Err(format!("the first steps failed: {done:?}"));
    }
    // It is the tracer that hears of children, so a file says that these have ended.
    let end = cluster.folder().join("steps-ended");
    let script = format!(
        "({}) && echo well > {1}; echo >> {1}",
        steps(launches),
        end.display()
    );
    let started = cluster
        .program("salloc")
        .args(["-n1", "-Q", "sh", "-c", &script])
        .spawn();
    attach(slurmd).map_err(|why| format!("slurmd cannot be followed: {why}"))?;
    started.map_err(|why| why.to_string())?;
    let mut calls = Calls::new();
    // slurmd always makes another call, so that the end is seen at one.
    let done = follow(|call| {
        *calls.entry(name(call.number)).or_default() += 1;
        !end.exists()
    });
    done.and_then(|()| detach(slurmd))
        .map_err(|why| why.to_string())?;
    let ended = fs::read_to_string(&end).unwrap_or_default();
    if !ended.starts_with("well") {
        return Err("the steps failed".into());
    }
    Ok(calls)
}

/// The slurmd whose program was started for this cluster.
fn slurmd_of(cluster: &Cluster) -> Option<i32> {
    let folder = cluster.folder().to_string_lossy().into_owned();
    let processes = fs::read_dir("/proc").ok()?;
    processes.flatten().find_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let named = fs::read_to_string(entry.path().join("comm")).ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let of_cluster = [environment, line]
            .iter()
            .any(|text| String::from_utf8_lossy(text).contains(&folder));
        (named.trim() == "slurmd" && of_cluster).then_some(pid)
    })
}
