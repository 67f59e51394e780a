//! Who this process is among the others: from Slurm's environment, or from the mpirun that
//! started it.

use std::env::var;

use berth_host::kernel_text;
use berth_srun::node_lists::each_node;

use crate::world::job::number;

/// A task among the tasks of its node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Number in the step, or in MPI_COMM_WORLD.
    pub task: u32,
    /// Number on the node.
    pub local: u32,
    /// The number of tasks on the node.
    pub local_count: u32,
    /// Name of the node, its position in the step, and how many there are.
    pub host: String,
    pub node: u32,
    pub node_count: u32,
    /// The mark that the tasks of one launch on one node have in common, and no others.
    pub meeting: String,
    /// Launched by Slurm itself: then berth's plan in the environment is this task's.
    pub is_slurms: bool,
}

impl Identity {
    /// From the environment; a process on its own is the only task.
    pub(crate) fn of_this_task() -> Self {
        let known = from_mpirun().or_else(from_slurm).or_else(from_script);
        known.unwrap_or_else(|| {
            let meeting = format!("alone-{}", std::process::id());
            Self::alone(host(), meeting, false)
        })
    }

    /// The only task.
    fn alone(host: String, meeting: String, is_slurms: bool) -> Self {
        Self {
            task: 0,
            local: 0,
            local_count: 1,
            host,
            node: 0,
            node_count: 1,
            meeting,
            is_slurms,
        }
    }
}

/// An mpirun's own variables come first: inside a step it passes Slurm's on as they are.
fn from_mpirun() -> Option<Identity> {
    let numbers = [
        // Open MPI; MPICH's hydra.
        [
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_LOCAL_RANK",
            "OMPI_COMM_WORLD_LOCAL_SIZE",
            "OMPI_COMM_WORLD_SIZE",
        ],
        ["PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_SIZE"],
    ];
    let (task, local, local_count, all) =
        numbers.iter().find_map(|[rank, local, count, all]| {
            let here = (number(rank)?, number(local)?, number(count)?);
            Some((here.0, here.1, here.2, number(all)))
        })?;
    // It gives the number of ranks, but not of nodes: if there are more ranks than here, there are other nodes.
    let is_elsewhere = all.unwrap_or(task + 1) > local_count;
    Some(Identity {
        task,
        local,
        local_count,
        host: launchers_node().unwrap_or_else(host),
        node: number("SLURM_NODEID").unwrap_or(0),
        node_count: if is_elsewhere { 2 } else { 1 },
        meeting: format!("mpi-{}", nix::unistd::getppid()),
        is_slurms: false,
    })
}

/// Slurm's name of this node, for a process of an mpirun's. Some pass the environment of the first
/// node on to all ranks, but what started the rank here was itself started by this node's slurmstepd.
fn launchers_node() -> Option<String> {
    let path = format!("/proc/{}/environ", nix::unistd::getppid());
    let environment = kernel_text::read(path).ok()?;
    let mut entries = environment.split('\0');
    let value = entries.find_map(|entry| entry.strip_prefix("SLURMD_NODENAME="))?;
    Some(value.into())
}

/// A batch script of Slurm's, or what it runs without srun: the only task, with the script's plan.
fn from_script() -> Option<Identity> {
    let job = number("SLURM_JOB_ID")?;
    let host = var("SLURMD_NODENAME").ok()?;
    // An srun's tasks have a number of their step, and the shell of salloc has no plan.
    let is_script = var("SLURM_STEP_ID").is_err() && var("BERTH_BOUND").is_ok();
    let meeting = format!("{job}.batch-{host}");
    Some(Identity::alone(host, meeting, is_script))
}

fn from_slurm() -> Option<Identity> {
    let (job, step) = (number("SLURM_JOB_ID")?, var("SLURM_STEP_ID").ok()?);
    let node = number("SLURM_NODEID").unwrap_or(0);
    let counts = var("SLURM_STEP_TASKS_PER_NODE").ok()?;
    // Two slurmds of one host, and two components of a job, have meetings of their own:
    // components count their nodes on.
    let host = var("SLURMD_NODENAME").unwrap_or_else(|_| host());
    Some(Identity {
        task: number("SLURM_PROCID")?,
        local: number("SLURM_LOCALID")?,
        local_count: of_node(&counts, node)?,
        meeting: format!("{job}.{step}-{host}-{node}"),
        host,
        node,
        node_count: number("SLURM_STEP_NUM_NODES").unwrap_or(1),
        is_slurms: true,
    })
}

fn host() -> String {
    let name = nix::unistd::gethostname().ok();
    name.and_then(|name| name.into_string().ok())
        .unwrap_or_else(|| "localhost".into())
}

/// One node's number of a list such as `4(x2),3`.
fn of_node(counts: &str, node: u32) -> Option<u32> {
    each_node(counts)?.each().nth(node as usize)
}

#[cfg(test)]
mod tests {
    use super::of_node;

    #[test]
    fn counts_of_nodes() {
        let each = |node| of_node("4(x2),3,1(x3)", node);
        assert_eq!(
            (0..7).map(each).collect::<Vec<_>>(),
            [Some(4), Some(4), Some(3), Some(1), Some(1), Some(1), None]
        );
        assert_eq!(of_node("2", 0), Some(2));
        assert_eq!(of_node("", 0), None);
    }
}
