//! A job as slurmctld shows it: its own fields, its part of each node, and its generic resources there.

use berth_answer::world::GpusOfJob;
use berth_host::job_files::Gres;
use berth_placement::CpuSet;
use berth_srun::node_lists::{Most, expand};
use serde::{Deserialize, Serialize};

/// A job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Job {
    pub id: u32,
    /// The number of its array and its own in it.
    pub array: Option<(u32, u32)>,
    /// The number of its heterogeneous job and its own in it.
    pub component: Option<(u32, u32)>,
    pub name: String,
    pub user: String,
    pub uid: u32,
    pub account: String,
    pub qos: String,
    pub partition: String,
    pub reservation: String,
    /// `TimeLimit=`
    pub time_limit: String,
    pub tasks: Option<u32>,
    pub cpus_per_task: Option<u32>,
    pub tasks_per_node: Option<u32>,
    /// Its part of each group of equal nodes, in order.
    pub parts: Vec<Part>,
}

/// A job's part of some nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Part {
    /// A host list.
    pub nodes: String,
    /// Its CPUs, as slurmctld numbers them: core × threads per core + thread.
    pub cpus: String,
    /// MiB of memory; 0 if Slurm counts none.
    pub memory: u64,
    /// `gpu:a100:2(IDX:0,3)`
    pub gres: String,
}

impl Job {
    /// Reads the lines of a record.
    pub(super) fn read(lines: &[String]) -> Option<Self> {
        let line = |head: &str| lines.iter().find(|line| line.starts_with(head));
        let head = line("JobId=")?;
        let (numbers, name) = head.split_once(" JobName=")?;
        let number = |key: &str| word(numbers, key)?.parse().ok();
        let pair = |one: &str, two: &str| Some((number(one)?, number(two)?));
        let owner = line("UserId=").and_then(|line| line.strip_prefix("UserId="))?;
        let (user, owner) = owner.split_once('(')?;
        let within = |head: &str, from: &str, to: &str| {
            let text = between(line(head)?, from, to)?;
            (text != "(null)").then(|| text.to_owned())
        };
        let count = |head: &str, key: &str| word(line(head)?, key)?.parse().ok();
        let per_node = line("Socks/Node=").and_then(|line| word(line, "NtasksPerN:B:S:C="));
        let per_node = per_node.and_then(|text| text.split(':').next()?.parse().ok());
        Some(Self {
            id: number("JobId=")?,
            array: pair("ArrayJobId=", "ArrayTaskId="),
            component: pair("HetJobId=", "HetJobOffset="),
            name: name.to_owned(),
            user: user.to_owned(),
            uid: owner.split(')').next()?.parse().ok()?,
            account: within("Priority=", " Account=", " QOS=").unwrap_or_default(),
            qos: within("Priority=", " QOS=", " WCKey=").unwrap_or_default(),
            partition: within("Partition=", "Partition=", " AllocNode:Sid=").unwrap_or_default(),
            reservation: within("Reservation=", "Reservation=", "\n").unwrap_or_default(),
            time_limit: within("RunTime=", " TimeLimit=", " ").unwrap_or_default(),
            tasks: count("NumNodes=", "NumTasks="),
            cpus_per_task: count("NumNodes=", "CPUs/Task="),
            tasks_per_node: per_node.filter(|tasks| *tasks > 0),
            parts: lines.iter().filter_map(|line| Part::read(line)).collect(),
        })
    }

    /// Its time limit in seconds, if it has one.
    pub(crate) fn most_seconds(&self) -> Option<u64> {
        seconds(&self.time_limit)
    }

    /// Its hosts with their parts, in order.
    pub(crate) fn hosts(&self) -> Vec<(String, &Part)> {
        let of_part = |part| {
            let names = Part::names(part).into_iter();
            names.map(move |name| (name, part))
        };
        self.parts.iter().flat_map(of_part).collect()
    }
}

impl Part {
    /// `  Nodes=n[1-2] CPU_IDs=0-3 Mem=200 GRES=gpu:x:1(IDX:0)`
    fn read(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("  Nodes=")?;
        let (nodes, rest) = rest.split_once(" CPU_IDs=")?;
        let (cpus, rest) = rest.split_once(" Mem=")?;
        let (memory, gres) = rest.split_once(" GRES=")?;
        Some(Self {
            nodes: nodes.into(),
            cpus: cpus.into(),
            memory: memory.parse().ok()?,
            gres: gres.trim().into(),
        })
    }

    /// Its CPUs by slurmctld's numbers.
    pub(crate) fn cpus(&self) -> CpuSet {
        CpuSet::from_list(&self.cpus).unwrap_or_default()
    }

    /// The nodes' names.
    pub(crate) fn names(&self) -> Vec<String> {
        expand(&self.nodes, Most::COMMAND_LINE).unwrap_or_default()
    }
}

/// The value behind a key among words with blanks between them.
fn word<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split(' ').find_map(|word| word.strip_prefix(key))
}

/// The text between two others; to the end where the second is missing.
fn between<'a>(line: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(from)?;
    rest.split(to).next()
}

/// `1-02:03:04`, `02:03:04`; none for UNLIMITED and Partition_Limit.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let parts = clock.split(':').map(str::parse::<u64>);
    let seconds = parts
        .map(Result::ok)
        .try_fold(0, |sum: u64, part| sum.checked_mul(60)?.checked_add(part?))?;
    days.parse::<u64>()
        .ok()?
        .checked_mul(86_400)?
        .checked_add(seconds)
}

/// `gpu:a100:2(IDX:0,3),nic:1(CNT:1)`; only IDX has numbers of devices.
pub(crate) fn read_gres(list: &str) -> Vec<Gres> {
    let mut depth = 0_u32;
    let items = list.split(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    items.filter(|item| !item.is_empty()).map(gres).collect()
}

fn gres(item: &str) -> Gres {
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
pub(crate) fn gres_text(all: &[Gres]) -> String {
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
pub(super) fn gpus_of(list: &str) -> GpusOfJob {
    let mut all = CpuSet::new();
    for one in read_gres(list) {
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
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split('|').map(String::from).collect()
    }

    #[test]
    fn a_record_is_read() {
        let job = Job::read(&lines(
            "JobId=9 ArrayJobId=7 ArrayTaskId=2 JobName=a JobId=1 b|UserId=al(1000) \
             GroupId=al(1000) MCS_label=N/A|Priority=1 Nice=0 Account=phys ics QOS=long \
             WCKey=*|RunTime=00:00:01 TimeLimit=1-00:01:00 TimeMin=N/A|Partition=main \
             AllocNode:Sid=x AllocNode:Sid=y:1|NumNodes=3 NumCPUs=12 NumTasks=6 CPUs/Task=2 \
             ReqB:S:C:T=0:0:*:*|Socks/Node=* NtasksPerN:B:S:C=2:0:*:* CoreSpec=*|JOB_GRES=gpu:3|  \
             Nodes=n[1-2] CPU_IDs=0-3 Mem=200 GRES=gpu:a:1(IDX:1)|  Nodes=n3 CPU_IDs=4,6 Mem=0 \
             GRES=|MinCPUsNode=1|Reservation=night|Comment=  Nodes=n4 CPU_IDs=0 Mem=0 GRES=",
        ))
        .unwrap();
        assert_eq!((job.id, job.array), (9, Some((7, 2))));
        assert_eq!(job.name, "a JobId=1 b");
        assert_eq!((&*job.user, job.uid), ("al", 1000));
        assert_eq!((&*job.account, &*job.qos), ("phys ics", "long"));
        assert_eq!((&*job.partition, &*job.reservation), ("main", "night"));
        assert_eq!(job.most_seconds(), Some(86_460));
        assert_eq!((job.tasks, job.cpus_per_task), (Some(6), Some(2)));
        assert_eq!(job.tasks_per_node, Some(2));
        let hosts = job.hosts();
        let shown = hosts
            .iter()
            .map(|(name, part)| format!("{name} {} {} {}", part.cpus, part.memory, part.gres));
        let expected = [
            "n1 0-3 200 gpu:a:1(IDX:1)",
            "n2 0-3 200 gpu:a:1(IDX:1)",
            "n3 4,6 0 ",
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_a_job_does_not_have_is_empty() {
        let text = "JobId=9 JobName=|UserId=root(0) GroupId=|Priority=1 Nice=0 Account=(null) \
                    QOS=(null)|RunTime=0 TimeLimit=UNLIMITED TimeMin=N/A|Partition=p \
                    AllocNode:Sid=|NumNodes=1 NumCPUs=1 NumTasks=N/A CPUs/Task=N/A|Socks/Node=* \
                    NtasksPerN:B:S:C=0:0:*:1 CoreSpec=*";
        let job = Job::read(&lines(text)).unwrap();
        let expected = Job {
            id: 9,
            user: "root".into(),
            partition: "p".into(),
            time_limit: "UNLIMITED".into(),
            ..Job::default()
        };
        assert_eq!((job.most_seconds(), job), (None, expected));
        assert!(Job::read(&lines("UserId=root(0)")).is_none());
        assert!(Job::read(&lines("JobId=9 JobName=x|UserId=root(x)")).is_none());
    }

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
            assert_eq!(gres_text(&read_gres(list)), expected, "{list}");
        }
    }

    #[test]
    fn gpus_are_read_where_slurm_numbers_them() {
        for (list, found) in [
            ("", GpusOfJob::None),
            ("gpu:2(IDX:0-1)", GpusOfJob::Known(vec![0, 1])),
            (
                "gpu:a:2(IDX:0,3),gpu:b:1(IDX:2)",
                GpusOfJob::Known(vec![0, 2, 3]),
            ),
            (
                "nic:1(IDX:1),gpu:x:1(IDX:0),lic:3(CNT:3)",
                GpusOfJob::Known(vec![0]),
            ),
            ("nic:1(IDX:1)", GpusOfJob::None),
            ("gpu:2(CNT:2)", GpusOfJob::Unknown),
            ("gpu:2", GpusOfJob::Unknown),
            ("gpu:2(IDX:0-99999999)", GpusOfJob::Unknown),
            ("gpu:1(IDX:x)", GpusOfJob::Unknown),
            ("shard:2(1/4,1/4)", GpusOfJob::Unknown),
        ] {
            assert_eq!(gpus_of(list), found, "{list}");
        }
    }
}
