//! Jobs where cgroups confine them, and where Slurm has its accounting.

use berth_tests::{Builder, Cluster, accounting, cgroup_cpusets};

use crate::Outcome;

/// What cgroups need where nobody hands their folders out.
pub fn with_cgroups() -> Result<Builder, String> {
    if !cgroup_cpusets() {
        return Err("there are no cgroups with cpusets".into());
    }
    Ok(Cluster::builder().example("cgroup").plugstack(Some("")))
}

/// Pools by account, QOS and reservation, of users whom slurmctld compares with what slurmdbd has of them.
pub fn accounts() -> Outcome {
    if !accounting::can_be_had() {
        return Err("slurmdbd or mariadbd is not installed".into());
    }
    accounting::play();
    Ok(())
}
