//! A request as one line of text, in srun's words where it has them: a case that a test reports can be pasted into
//! another test.
//!
//! ```text
//! -n4 -c1 -m block:block --cpu-bind=cores --cores=0,2/4 --taken=0-1
//! ```

use std::fmt::{self, Display};
use std::str::FromStr;

use berth_placement::request::cpuset::{CpusetRequest, ExistingCpuset, StepCpuset};
use berth_placement::request::mapping::MappingTexts;
use berth_placement::{
    Allocation, Claims, CoreIdx, CoreSpec, CpuBind, CpuId, CpuSet, CpusetFail, Fix, Fixes, Gres,
    Mapping, NodeSet, NumaId, Request,
};
use berth_srun::{Release, spelling};

use super::ask::{Ask, choosing};

/// Words whose value may be the next word.
const VALUED: [&str; 6] = ["-n", "-c", "-m", "--map-by", "--rank-by", "--bind-to"];

impl Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = &self.request;
        write!(
            f,
            "-n{} -c{} -m {}",
            request.tasks, request.cpus_per_task, request.distribution
        )?;
        write_binding(f, request)?;
        option(f, "threads-per-core", request.threads_per_core)?;
        option(f, "ntasks-per-core", request.ntasks_per_core)?;
        option(f, "ntasks-per-socket", request.ntasks_per_socket)?;
        word(f, "-O", request.overcommit)?;
        if let CoreSpec::Threads(count) = request.core_spec {
            write!(f, " --thread-spec={count}")?;
        }
        option(f, "binding", request.binding.as_ref())?;
        option(f, "near", request.near.as_ref())?;
        if let Some(mapping) = &request.mapping {
            write!(f, " {mapping}")?;
        }
        let memory = request.mem_bind.policy.is_some();
        option(f, "mem-bind", memory.then_some(&request.mem_bind))?;
        option(f, "cpuset", request.cpuset.as_ref())?;
        match &request.allocation {
            Allocation::Whole => {}
            Allocation::Cores { cores, configured } => {
                let cores: CpuSet = cores.iter().map(|core| CpuId(core.0)).collect();
                write!(f, " --cores={cores}/{configured}")?;
            }
            Allocation::Cpus(cpus) => write!(f, " --cpus={cpus}")?,
        }
        list(f, "reserved", &request.reserved)?;
        write_claims(f, &self.claims)?;
        word(f, "--constrain-cores", self.rules.constrain_cores)?;
        word(f, "--first-fit", self.rules.cpuset_first_fit)?;
        write_fixes(f, self.rules.fixes)
    }
}

fn option<T: Display>(f: &mut fmt::Formatter<'_>, name: &str, value: Option<T>) -> fmt::Result {
    value.map_or(Ok(()), |value| write!(f, " --{name}={value}"))
}

fn word(f: &mut fmt::Formatter<'_>, word: &str, is_there: bool) -> fmt::Result {
    if is_there {
        write!(f, " {word}")
    } else {
        Ok(())
    }
}

fn list(f: &mut fmt::Formatter<'_>, name: &str, cpus: &CpuSet) -> fmt::Result {
    option(f, name, (!cpus.is_empty()).then_some(cpus))
}

fn write_binding(f: &mut fmt::Formatter<'_>, request: &Request) -> fmt::Result {
    let bind = &request.cpu_bind;
    option(f, "cpu-bind", bind.level.filter(|_| bind.mode.is_none()))?;
    option(f, "cpu-bind", bind.mode.as_ref())?;
    word(f, "--one-thread", bind.one_thread)
}

/// As words of which each changes the set before it.
fn write_fixes(f: &mut fmt::Formatter<'_>, fixes: Fixes) -> fmt::Result {
    if fixes == Fixes::ALL {
        return Ok(());
    }
    f.write_str(" --fixes=none")?;
    let mut on = Fix::table().filter(|(fix, _, _)| fixes.has(*fix));
    on.try_for_each(|(_, name, _)| write!(f, " --fixes=+{name}"))
}

fn write_claims(f: &mut fmt::Formatter<'_>, claims: &Claims) -> fmt::Result {
    for (name, cpus) in [
        ("taken", &claims.taken),
        ("shared", &claims.shared),
        ("pools", &claims.pools),
        ("bindings", &claims.bindings),
        ("cpusets", &claims.cpusets),
    ] {
        list(f, name, cpus)?;
    }
    for cpus in &claims.pools_again {
        list(f, "pools-again", cpus)?;
    }
    for cpus in &claims.bindings_again {
        list(f, "bindings-again", cpus)?;
    }
    Ok(())
}

impl FromStr for Ask {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut ask = Self::default();
        let mut mapping = MappingTexts::default();
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some(parts) => parts,
                None if VALUED.contains(&word) => (word, words.next().unwrap_or_default()),
                None if word.starts_with("--") || word.len() < 3 => (word, ""),
                None => word.split_at(2),
            };
            match name {
                "--map-by" => mapping.map = Some(value),
                "--rank-by" => mapping.rank = Some(value),
                "--bind-to" => mapping.bind = Some(value),
                _ => ask.take(name, value)?,
            }
        }
        ask.request.mapping = Mapping::read(mapping).map_err(|why| why.to_string())?;
        Ok(ask)
    }
}

fn read<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|why: T::Err| why.to_string())
}

fn cpus(text: &str) -> Result<CpuSet, String> {
    CpuSet::from_list(text).map_err(|why| why.to_string())
}

/// Numbers of memory nodes.
fn mems(text: &str) -> Result<NodeSet, String> {
    Ok(cpus(text)?.iter().map(|node| NumaId(node.0)).collect())
}

/// Cores of a credential, and the number of cores that it knows.
fn cores(text: &str) -> Result<Allocation, String> {
    let (cores, configured) = text.split_once('/').unwrap_or((text, "4294967295"));
    let cores = cpus(cores)?.iter().map(|core| CoreIdx(core.0)).collect();
    let configured = read(configured)?;
    Ok(Allocation::Cores { cores, configured })
}

/// A binding to CPUs. Later Slurms have no `rank`.
fn cpu_bind(text: &str) -> Result<CpuBind, String> {
    spelling::cpu_bind(text, Release::V22_05).map_err(|why| why.to_string())
}

impl Ask {
    fn take(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "-n" => self.request.tasks = read(value)?,
            "-c" => self.request.cpus_per_task = read(value)?,
            "-O" => self.request.overcommit = true,
            "--threads-per-core" => self.request.threads_per_core = Some(read(value)?),
            "--ntasks-per-core" => self.request.ntasks_per_core = Some(read(value)?),
            "--ntasks-per-socket" => self.request.ntasks_per_socket = Some(read(value)?),
            "--thread-spec" => self.request.core_spec = CoreSpec::Threads(read(value)?),
            "--cores" => self.request.allocation = cores(value)?,
            "--cpus" => self.request.allocation = Allocation::Cpus(cpus(value)?),
            "--whole-job" => self.request.job_allocation = Some(Allocation::Whole),
            "--job-cpus" => self.request.job_cpus = Some(read(value)?),
            "--reserved" => self.request.reserved = cpus(value)?,
            _ if self.take_chosen(name, value)? || self.take_rule(name, value)? => {}
            _ => self.take_claim(name, value)?,
        }
        Ok(())
    }

    /// The options that choose CPUs, memory and devices.
    fn take_chosen(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let request = &mut self.request;
        match name {
            "-m" => {
                let read = spelling::distribution(value);
                request.distribution = read.map_err(|why| why.to_string())?;
            }
            "--one-thread" => request.cpu_bind.one_thread = true,
            "--cpu-bind" => {
                let one_thread = request.cpu_bind.one_thread;
                request.cpu_bind = cpu_bind(value)?;
                request.cpu_bind.one_thread |= one_thread;
            }
            "--mem-bind" => {
                let read = spelling::mem_bind(value, Release::V22_05);
                request.mem_bind = read.map_err(|why| why.to_string())?;
            }
            "--binding" => request.binding = Some(read(value)?),
            "--core-kind" => request.core_kind = read(value)?,
            "--near" => request.near = Some(read(value)?),
            "--near-by-default" => {
                request.near = Some(read(value)?);
                request.near_by_default = true;
            }
            "--gres" => request.gres = Some(gres(value).ok_or("a wrong --gres")?),
            "--cpuset" => request.cpuset = Some(choosing(value)),
            "--existing-cpuset" => request.cpuset = Some(existing(value)?),
            "--job-nodes" => {
                if let Some(StepCpuset::Choose(choice)) = &mut request.cpuset {
                    choice.job_nodes = read(value)?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What the site and the node say.
    fn take_rule(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let rules = &mut self.rules;
        match name {
            "--batch" => self.is_script = true,
            "--counts-cores" => self.counts_cores = true,
            "--constrain-cores" => rules.constrain_cores = true,
            "--first-fit" => rules.cpuset_first_fit = true,
            "--refuse-failed-binding" => rules.refuse_failed_binding = true,
            "--autobind" => rules.autobind = cpu_bind(value)?.level,
            "--cpuset-fail" => rules.cpuset_fail = read::<CpusetFail>(value)?,
            "--fixes" => {
                let fixes = rules.fixes.apply(value);
                rules.fixes = fixes.map_err(|why| why.to_string())?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What others hold.
    fn take_claim(&mut self, name: &str, value: &str) -> Result<(), String> {
        let claims = &mut self.claims;
        match name {
            "--taken" => claims.taken = cpus(value)?,
            "--shared" => claims.shared = cpus(value)?,
            "--pools" => claims.pools = cpus(value)?,
            "--pools-again" => claims.pools_again.push(cpus(value)?),
            "--bindings" => claims.bindings = cpus(value)?,
            "--bindings-again" => claims.bindings_again.push(cpus(value)?),
            "--cpusets" => claims.cpusets = cpus(value)?,
            "--claimed-memory" => claims.memory = mems(value)?,
            other => panic!("{other} is no word of a request"),
        }
        Ok(())
    }
}

/// A cpuset that exists: the request that led to it, its CPUs, and its memory nodes, parted by slashes.
fn existing(text: &str) -> Result<StepCpuset, String> {
    let parts: Vec<_> = text.split('/').collect();
    Ok(StepCpuset::Given(ExistingCpuset {
        requested: read::<CpusetRequest>(parts[0])?,
        cpus: cpus(parts[1])?,
        mems: parts.get(2).map(|nodes| mems(nodes)).transpose()?,
        attributes: Default::default(),
    }))
}

/// A step's GPUs: the number on the node, the step's, and each task's, as in `8:2,4,5:4;5;2,4`.
fn gres(text: &str) -> Option<Gres> {
    let indices = |list: &str| -> Option<Vec<u32>> {
        let all = list.split(',').filter(|_| !list.is_empty());
        all.map(|index| index.parse().ok()).collect()
    };
    let mut parts = text.split(':');
    Some(Gres {
        on_node: parts.next()?.parse().ok()?,
        step: indices(parts.next()?)?,
        tasks: match parts.next() {
            Some(tasks) => tasks.split(';').map(indices).collect::<Option<_>>()?,
            None => Vec::new(),
        },
    })
}
