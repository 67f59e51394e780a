//! slurmctld's list of a job's generic resources on a node, read.

use berth_answer::world::GpusOfJob;
use berth_host::job_files::Gres;
use berth_placement::CpuSet;

/// `gpu:a100:2(IDX:0,3),nic:1(CNT:1)`; only IDX has numbers of devices.
pub(crate) fn read(list: &str) -> Vec<Gres> {
    let mut depth = 0_u32;
    let items = list.split(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    items.filter(|item| !item.is_empty()).map(one).collect()
}

fn one(item: &str) -> Gres {
    let (what, details) = item.split_once('(').unwrap_or((item, ""));
    let (name, rest) = what.split_once(':').unwrap_or((what, ""));
    // The count stands last.
    let (kind, count) = rest.rsplit_once(':').unwrap_or(("", rest));
    let indices = details.strip_prefix("IDX:").unwrap_or_default();
    Gres {
        name: name.into(),
        kind: kind.into(),
        indices: indices.trim_end_matches(')').into(),
        count: count.into(),
    }
}

/// `gpu:a100:0,3 mic::1`: what has no files in gres.conf has no numbers, and its count stands there.
pub(crate) fn text(all: &[Gres]) -> String {
    let shown = all.iter().map(|gres| {
        let numbers = match gres.indices.is_empty() {
            true => &gres.count,
            false => &gres.indices,
        };
        format!("{}:{}:{numbers}", gres.name, gres.kind)
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The GPUs among them, by their numbers.
pub(super) fn gpus(list: &str) -> GpusOfJob {
    let mut all = CpuSet::new();
    for one in read(list) {
        match (one.name.as_str(), CpuSet::from_list(&one.indices)) {
            ("gpu", Ok(indices)) if !indices.is_empty() => all.insert_all(&indices),
            ("gpu" | "shard" | "mps", _) => return GpusOfJob::Unknown,
            _ => {}
        }
    }
    match all.is_empty() {
        true => GpusOfJob::None,
        false => GpusOfJob::Known(all.iter().map(|index| index.0).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::GpusOfJob::{Known, None, Unknown};
    use super::{gpus, read, text};

    #[test]
    fn lists_of_slurmctld() {
        for (list, expected) in [
            ("", ""),
            ("gpu:2(IDX:0-1)", "gpu::0-1"),
            ("gpu:a100:2(IDX:0,3),nic:1(CNT:1)", "gpu:a100:0,3 nic::1"),
            (
                "gpu:a:1(IDX:0),gpu:b:1(IDX:2),lic:4",
                "gpu:a:0 gpu:b:2 lic::4",
            ),
            ("mic:1,shard:2(1/4,1/4)", "mic::1 shard::2"),
            ("gpu:it's:1(IDX:0)", "gpu:it's:0"),
        ] {
            assert_eq!(text(&read(list)), expected, "{list}");
        }
    }

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
