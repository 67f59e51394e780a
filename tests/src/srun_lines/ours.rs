//! Our reading of a line, in the words of the comparison.

use berth_placement::{CoreSpec, Distribution, Level, MemPolicy, Mode};
use berth_srun::options::{Command, variables};
use berth_srun::reading::{NodeRange, SrunRequest, read as asked};
use berth_srun::{LineOption, Release, line};

use super::Told;
use super::file::Case;

/// Reads it as srun of that release.
pub(super) fn read(case: &Case, release: Release) -> Result<Told, String> {
    let line = line::read(&case.words, Command::Srun, Some(release));
    let env = |variable: &str| {
        let found = case
            .variables
            .iter()
            .rev()
            .find(|(name, _)| name == variable);
        found.map(|(_, value)| value.as_str())
    };
    let from_env = variables(Command::Srun, release).filter_map(|(variable, name)| {
        Some(LineOption::by_variable(variable, name, env(variable)?))
    });
    let from_env: Vec<_> = from_env.collect();
    asked(from_env.iter().chain(&line.options), release)
        .map(|asked| told(&asked))
        .map_err(|why| why.to_string())
}

fn told(asked: &SrunRequest) -> Told {
    let number = |number: Option<u32>| number.map_or("-".into(), |number| number.to_string());
    let mut told = Told::from([
        ("tasks", asked.tasks().to_string()),
        ("ntasks", number(asked.ntasks)),
        ("sockets", number(asked.node[0])),
        ("cores", number(asked.node[1])),
        ("threads", number(asked.threads_per_core)),
        ("ntasks-per-node", number(asked.ntasks_per_node)),
        ("ntasks-per-core", number(asked.ntasks_per_core)),
        ("ntasks-per-socket", number(asked.ntasks_per_socket)),
        ("cpus-per-task", number(asked.cpus_per_task)),
        (
            "overcommit",
            if asked.overcommit { "1" } else { "-" }.into(),
        ),
        ("cpu-bind", cpu_bind(asked)),
        ("mem-bind", mem_bind(asked)),
        ("spec", spec(asked.core_spec)),
        (
            "distribution",
            asked
                .distribution
                .map_or("-".into(), |one| distribution(&one)),
        ),
    ]);
    let fixed = |nodes: NodeRange| nodes.most == Some(nodes.least);
    let nodes = asked.nodes.is_some_and(fixed) || asked.nodelist.is_some();
    // The number of tasks then follows from what slurmctld gives (`_set_ntasks`).
    if asked.ntasks.is_none() && (asked.cpus_per_task.is_some() || !nodes) {
        told.remove("tasks");
    }
    if let Some(list) = list(asked) {
        told.insert("list", list);
    }
    told
}

fn distribution(asked: &Distribution) -> String {
    asked.to_string().to_ascii_lowercase()
}

/// As `slurm_sprint_cpu_bind_type` has it.
fn cpu_bind(asked: &SrunRequest) -> String {
    let mut words = Vec::new();
    if asked.cpu_bind.verbose {
        words.push("verbose".to_string());
    }
    words.extend(asked.levels.all().map(|level: Level| level.to_string()));
    words.extend(
        asked
            .cpu_bind
            .mode
            .as_ref()
            .map(|mode| mode.word().to_string()),
    );
    if asked.cpu_bind.one_thread {
        words.push("one_thread".into());
    }
    match words.is_empty() {
        true => "(null type)".into(),
        false => words.join(","),
    }
}

fn list(asked: &SrunRequest) -> Option<String> {
    let text = match asked.cpu_bind.mode.as_ref()? {
        Mode::MapCpu(list) => joined(list.iter()),
        Mode::MapLdom(list) => joined(list.iter()),
        Mode::MaskCpu(list) | Mode::MaskLdom(list) => {
            joined(list.iter().map(|mask| mask.to_hex(1)))
        }
        Mode::Free | Mode::Rank | Mode::RankLdom => return None,
    };
    Some(plain(&text))
}

fn joined(values: impl Iterator<Item = impl ToString>) -> String {
    values
        .map(|value| value.to_string())
        .collect::<Vec<_>>()
        .join(",")
}

/// A list without what leaves its numbers as they are: `0x`, zeros before, case.
pub(super) fn plain(list: &str) -> String {
    let part = |part: &str| {
        let lower = part.to_ascii_lowercase();
        let digits = lower.trim_start_matches("0x").trim_start_matches('0');
        if digits.is_empty() {
            "0".into()
        } else {
            digits.to_string()
        }
    };
    list.split(',').map(part).collect::<Vec<_>>().join(",")
}

/// The bits of `mem_bind_type`, and the list.
fn mem_bind(asked: &SrunRequest) -> String {
    let bind = &asked.mem_bind;
    let (bits, list) = match &bind.policy {
        None => (0, String::new()),
        Some(MemPolicy::Rank) => (0x4, String::new()),
        Some(MemPolicy::Map(list)) => (0x8, joined(list.iter().map(|node| node.0))),
        Some(MemPolicy::Mask(list)) => (0x10, joined(list.iter().map(|mask| mask.to_short_hex()))),
        Some(MemPolicy::Local) => (0x20, String::new()),
    };
    let switches = [(bind.verbose, 0x1), (bind.sort, 0x40), (bind.prefer, 0x80)];
    let on = switches.iter().filter(|(is, _)| *is);
    let bits = on.fold(bits, |bits, (_, bit)| bits | bit);
    match list.as_str() {
        "" => format!("{bits}:"),
        list => format!("{bits}:{}", plain(list)),
    }
}

fn spec(spec: CoreSpec) -> String {
    match spec {
        CoreSpec::None => "core=-1".into(),
        CoreSpec::Cores(count) => format!("core={count}"),
        CoreSpec::Threads(count) => format!("thread={count}"),
    }
}
