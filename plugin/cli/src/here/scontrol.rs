//! slurmctld's word on a job: the cores that it has on each of its nodes (`scontrol show job -d`).

use berth_placement::CpuSet;
use berth_srun::host_list::{Most, expand};

use super::child;

/// A job of ten thousand unlike nodes has far less.
const MOST: u64 = 4 << 20;

/// A job's CPUs on one node, as slurmctld numbers them: core × threads per core + thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnNode {
    pub name: String,
    pub cpus: CpuSet,
}

/// Asks for a job.
///
/// # Errors
/// Why slurmctld gave no answer, or none about cores.
pub(super) fn job(id: u32) -> Result<Vec<OnNode>, String> {
    let id = id.to_string();
    let text = child::output("scontrol", &["-o", "-d", "show", "job", &id], MOST)?;
    let nodes = nodes(&text);
    match nodes.is_empty() {
        true => Err(format!("scontrol names no cores of job {id}")),
        false => Ok(nodes),
    }
}

/// `… Nodes=n[1-2] CPU_IDs=0-3 Mem=0 GRES= Nodes=n3 CPU_IDs=4 …`
fn nodes(text: &str) -> Vec<OnNode> {
    let mut nodes = Vec::new();
    let mut named = Vec::new();
    for word in text.split_whitespace() {
        if let Some(list) = word.strip_prefix("Nodes=") {
            named = expand(list, Most::COMMAND_LINE).unwrap_or_default();
        } else if let Some(ids) = word.strip_prefix("CPU_IDs=")
            && let Ok(cpus) = CpuSet::from_list(ids)
        {
            let with_cpus = named.drain(..).map(|name| OnNode {
                name,
                cpus: cpus.clone(),
            });
            nodes.extend(with_cpus);
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::nodes;

    #[test]
    fn each_node_has_its_cpus() {
        let text =
            "JobId=7 JobName=x Nodes=n[1-2] CPU_IDs=0-3 Mem=0 GRES= Nodes=n3 CPU_IDs=4,6 Mem=0";
        let shown: Vec<_> = nodes(text)
            .iter()
            .map(|node| format!("{} {}", node.name, node.cpus))
            .collect();
        assert_eq!(shown, ["n1 0-3", "n2 0-3", "n3 4,6"]);
        assert!(nodes("JobId=7 JobState=PENDING NodeList=").is_empty());
        assert!(nodes("CPU_IDs=1 Nodes=n[ CPU_IDs=0").is_empty());
    }
}
