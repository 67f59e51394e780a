//! `PartitionName` lines of slurm.conf, scontrol's lines of partitions, and whether jobs may get more cores than their
//! tasks and `-c` ask for, by the partition that they go to.
//! In: a line and the defaults before it. Out: a partition's name, nodes and rules; yes or no, and yes where the
//! configuration does not say. Source: `_parse_partitionname`.

use berth_placement::CpuBind;
use berth_placement::controller::select::{Memory, Partition, SlurmLine, Unit};

use super::text::{ConfError, Line, Place};
use super::{Config, binds};

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub name: String,
    pub place: Place,
    /// `Nodes` as it is written.
    pub nodes: String,
    pub is_default: bool,
    /// `OverSubscribe=FORCE:N`: its jobs may get cores that jobs of other partitions have, and N of its own jobs may
    /// share a core.
    pub forced: Option<u32>,
    /// `PriorityTier`.
    pub tier: u32,
    pub rules: Partition,
    /// `MaxMemPerCPU`: a job that asks for more memory gets more CPUs.
    pub limits_memory: bool,
    /// `DefCpuPerGPU`: a job gets CPUs for its GPUs.
    pub cpus_per_gpu: Option<String>,
    /// `Alternate`: the partition for its jobs while it takes none.
    pub alternate: Option<String>,
    /// The default binding of its jobs' steps.
    pub cpu_bind: Option<CpuBind>,
    /// Another unit than the cluster's, and whether memory is handed out.
    pub select: Option<(Unit, bool)>,
    /// Settings that change an answer and are not modelled.
    pub unmodelled: Vec<String>,
}

/// The memory that a job gets where it asks for none. The value for a node overrides that for a CPU.
pub(super) fn memory(line: &Line) -> Result<Option<Memory>, ConfError> {
    let of_node = line
        .number("defmempernode", u64::MAX)?
        .filter(|memory| *memory > 0);
    let of_cpu = line
        .number("defmempercpu", u64::MAX)?
        .filter(|memory| *memory > 0);
    Ok(of_node.map(Memory::PerNode).or(of_cpu.map(Memory::PerCpu)))
}

/// Whether each CPU has a limit of memory, if the line says it.
pub(super) fn limits_memory(line: &Line) -> Option<bool> {
    let text = line.value("maxmempercpu")?;
    let none = ["0", "unlimited", "infinite", "n/a"];
    Some(!none.iter().any(|word| text.eq_ignore_ascii_case(word)))
}

/// The CPUs that a job gets for each of its GPUs, if the line says it; scontrol shows it among other defaults.
pub(super) fn cpus_per_gpu(line: &Line) -> Option<String> {
    let shown = line.value("jobdefaults").unwrap_or_default();
    let pairs = shown.split(',').filter_map(|pair| pair.split_once('='));
    let mut pairs = pairs.filter(|(key, _)| key.eq_ignore_ascii_case("DefCpuPerGPU"));
    let shown = || Some(pairs.next()?.1);
    let text = line.value("defcpupergpu").or_else(shown)?;
    Some(text.into()).filter(|text| text != "0")
}

/// Reads a line.
pub(super) fn read(own: &Line, default: Option<&Line>) -> Result<Part, ConfError> {
    let line = &own.after(default);
    let whole = |key| line.number(key, u32::MAX.into());
    Ok(Part {
        name: line.value("partitionname").unwrap_or_default().into(),
        place: line.place.clone(),
        nodes: line.value("nodes").unwrap_or_default().into(),
        is_default: line.yes("default")?,
        forced: forced(&shared(line)),
        tier: whole("prioritytier")?.unwrap_or(1) as u32,
        rules: Partition {
            whole_nodes: is_exclusive(line)?,
            min_nodes: whole("minnodes")?.unwrap_or(0) as u32,
            max_nodes: whole("maxnodes")?.map(|most| most as u32),
            max_cpus_per_node: whole("maxcpuspernode")?.map(|most| most as u32),
            default_memory: memory(line)?,
        },
        limits_memory: limits_memory(line).unwrap_or(false),
        cpus_per_gpu: cpus_per_gpu(line),
        alternate: line
            .value("alternate")
            .filter(|name| !name.eq_ignore_ascii_case("(null)"))
            .map(String::from),
        cpu_bind: binds::read(line)?,
        select: select(own)?,
        unmodelled: unmodelled(line),
    })
}

/// Its word on cores that jobs share, in small letters.
fn shared(line: &Line) -> String {
    let text = line.value("oversubscribe").or_else(|| line.value("shared"));
    text.unwrap_or("no").to_ascii_lowercase()
}

/// The word and the number of jobs behind it. Slurm takes a number that it cannot read for NO, and complains in its log.
fn word_and_jobs(text: &str) -> (&str, u32) {
    match text.split_once(':') {
        None => (text, 4),
        Some((word, jobs)) => (word, jobs.parse::<u16>().unwrap_or(0).into()),
    }
}

/// How many jobs of the partition may share a core, where each core may be shared without being asked for.
fn forced(text: &str) -> Option<u32> {
    let (word, jobs) = word_and_jobs(text);
    (word == "force" && jobs > 0).then_some(jobs)
}

fn is_exclusive(line: &Line) -> Result<bool, ConfError> {
    let text = shared(line);
    match word_and_jobs(&text).0 {
        "no" | "yes" | "force" => Ok(false),
        "exclusive" => Ok(true),
        _ => {
            let why =
                format!("OverSubscribe={text} is none of NO, YES, FORCE, EXCLUSIVE; write one");
            Err(line.place.error(&why))
        }
    }
}

/// The default line's value does not count here.
fn select(line: &Line) -> Result<Option<(Unit, bool)>, ConfError> {
    let Some(text) = line.value("selecttypeparameters") else {
        return Ok(None);
    };
    let lower = text.to_ascii_lowercase();
    Ok(match lower.as_str() {
        "none" => None,
        _ if lower.starts_with("cr_core_memory") => Some((Unit::Core, true)),
        _ if lower.starts_with("cr_core") => Some((Unit::Core, false)),
        _ if lower.starts_with("cr_socket_memory") => Some((Unit::Socket, true)),
        _ if lower.starts_with("cr_socket") => Some((Unit::Socket, false)),
        _ => {
            let why = format!(
                "SelectTypeParameters={text} is not for a partition; write CR_Core or CR_Socket"
            );
            return Err(line.place.error(&why));
        }
    })
}

fn unmodelled(line: &Line) -> Vec<String> {
    let given = |key: &str, harmless: &[&str]| {
        let text = line.value(key)?;
        let is_harmless = harmless.iter().any(|word| text.eq_ignore_ascii_case(word));
        (!is_harmless).then(|| format!("{key}={text}"))
    };
    let all = [
        given("exclusiveuser", &["NO"]),
        given("exclusivetopo", &["NO"]),
        given("maxcpuspersocket", &["UNLIMITED", "INFINITE"]),
        given("state", &["UP"]),
    ];
    all.into_iter().flatten().collect()
}

impl Config {
    /// Whether a job may get more cores than it asks for, in one of these partitions, as `-p a,b` names them, or in
    /// the default one: whole sockets or nodes, CPUs for its GPUs, or as many CPUs as its memory needs where each CPU
    /// has a limit of memory. Of a partition that is not there it is not known.
    /// Source: `_valid_pn_min_mem`, which also counts the memory of a job that asks for none (`DefMemPerNode`).
    #[must_use]
    pub fn may_give_more(&self, partitions: Option<&str>, line: SlurmLine) -> bool {
        if self.changes_partitions {
            return true;
        }
        let is_one = |name: Option<&str>| {
            let part = self.part(name);
            part.map_or(true, |part| self.is_larger(part, line))
        };
        // Where a partition takes no jobs, they go to its other one.
        let is_larger = |name: Option<&str>| {
            let other = self.part(name).ok().and_then(|part| part.alternate.clone());
            is_one(name) || other.is_some_and(|other| is_one(Some(&other)))
        };
        match partitions {
            None => is_larger(None),
            Some(names) => names.split(',').any(|name| is_larger(Some(name))),
        }
    }

    /// Whether a job may get more CPUs for its memory in a partition, or in the default one; also where it is not
    /// there.
    #[must_use]
    pub fn counts_memory(&self, partition: Option<&str>) -> bool {
        let part = self.part(partition);
        part.map_or(true, |part| part.limits_memory || self.limits_memory)
    }

    /// `DefCpuPerGPU` of a partition, or of the default one, else of the cluster.
    #[must_use]
    pub fn cpus_per_gpu(&self, partition: Option<&str>) -> Option<&str> {
        let part = self.part(partition).ok();
        let of_part = part.and_then(|part| part.cpus_per_gpu.as_deref());
        of_part.or(self.cpus_per_gpu.as_deref())
    }

    fn is_larger(&self, part: &Part, line: SlurmLine) -> bool {
        let of_all = self.words.select(line, &part.place);
        let unit = match (of_all, part.select) {
            (Err(_), _) => return true,
            (Ok(all), Some((unit, _))) if all.unit != Unit::Node => unit,
            (Ok(all), _) => all.unit,
        };
        matches!(unit, Unit::Socket | Unit::Node)
            || part.rules.whole_nodes
            || part.limits_memory
            || self.limits_memory
            || part.cpus_per_gpu.is_some()
            || self.cpus_per_gpu.is_some()
    }
}
