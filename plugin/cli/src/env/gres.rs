//! slurmctld's list of a job's generic resources on a node, read.

use berth_host::job_files::Gres;

/// `gpu:a100:2(IDX:0,3),nic:1(CNT:1)`; only IDX has numbers of devices.
pub(super) fn read(list: &str) -> Vec<Gres> {
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
pub(super) fn text(all: &[Gres]) -> String {
    let shown = all.iter().map(|gres| {
        let numbers = match gres.indices.is_empty() {
            true => &gres.count,
            false => &gres.indices,
        };
        format!("{}:{}:{numbers}", gres.name, gres.kind)
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{read, text};

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
}
