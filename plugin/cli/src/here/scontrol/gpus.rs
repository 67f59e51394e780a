//! A job's GPUs on a node, out of slurmctld's list of its generic resources there.

use berth_answer::world::GpusOfJob;
use berth_placement::CpuSet;

/// `gpu:a100:2(IDX:0,3),gpu:h100:1(IDX:4),nic:1(CNT:1)`
pub(super) fn gpus(list: &str) -> GpusOfJob {
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
    use super::gpus;

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
    }
}
