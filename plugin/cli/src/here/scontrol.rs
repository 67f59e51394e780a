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
    /// Its GPUs there.
    pub gpus: GpusOfJob,
}

/// A job's GPUs on a node, as slurmctld numbers them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GpusOfJob {
    /// It has none.
    None,
    /// Ascending numbers.
    Known(Vec<u32>),
    /// Some, or parts of some, without numbers.
    Unknown,
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
    let mut group = 0;
    for word in text.split_whitespace() {
        if let Some(list) = word.strip_prefix("Nodes=") {
            named = expand(list, Most::COMMAND_LINE).unwrap_or_default();
        } else if let Some(ids) = word.strip_prefix("CPU_IDs=")
            && let Ok(cpus) = CpuSet::from_list(ids)
        {
            group = nodes.len();
            let with_cpus = named.drain(..).map(|name| OnNode {
                name,
                cpus: cpus.clone(),
                gpus: GpusOfJob::None,
            });
            nodes.extend(with_cpus);
        } else if let Some(list) = word.strip_prefix("GRES=") {
            let gpus = gpus(list);
            nodes
                .iter_mut()
                .skip(group)
                .for_each(|node| node.gpus = gpus.clone());
        }
    }
    nodes
}

/// `gpu:a100:2(IDX:0,3),gpu:h100:1(IDX:4),nic:1(CNT:1)`
fn gpus(list: &str) -> GpusOfJob {
    let mut all = CpuSet::new();
    let mut found = GpusOfJob::None;
    for one in list.split(')') {
        let one = one.trim_start_matches(',');
        let name = one.split([':', '(']).next().unwrap_or_default();
        match name {
            "gpu" => {}
            "shard" | "mps" => return GpusOfJob::Unknown,
            _ => continue,
        }
        let indices = one.split_once("(IDX:").map(|(_, indices)| indices);
        let Some(Ok(indices)) = indices.map(CpuSet::from_list) else {
            return GpusOfJob::Unknown;
        };
        all.insert_all(&indices);
        found = GpusOfJob::Known(all.iter().map(|index| index.0).collect());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::GpusOfJob::{Known, None, Unknown};
    use super::{gpus, nodes};

    #[test]
    fn gpus_are_read_where_slurm_numbers_them() {
        for (list, found) in [
            ("", None),
            ("gpu:2(IDX:0-1)", Known(vec![0, 1])),
            ("gpu:a:2(IDX:0,3),gpu:b:1(IDX:2)", Known(vec![0, 2, 3])),
            ("nic:1(IDX:1),gpu:x:1(IDX:0),lic:3(CNT:3)", Known(vec![0])),
            ("nic:1(IDX:1)", None),
            ("gpu:2(CNT:2)", Unknown),
            ("gpu:2", Unknown),
            ("gpu:2(IDX:0-99999999)", Unknown),
            ("gpu:1(IDX:x)", Unknown),
            ("shard:2(1/4,1/4)", Unknown),
        ] {
            assert_eq!(gpus(list), found, "{list}");
        }
        let text = "Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:1) Nodes=n3 CPU_IDs=4 Mem=0 GRES=";
        let shown: Vec<_> = nodes(text).into_iter().map(|node| node.gpus).collect();
        assert_eq!(shown, [Known(vec![1]), Known(vec![1]), None]);
    }

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
