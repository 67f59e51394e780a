//! Reads a line of srun, salloc or sbatch for the tests of the selection: only spellings that the tests use.
//! In: a line. Out: its options. A spelling that it does not know fails the test.

use berth_placement::controller::select::{Client, Hint, LineOptions, Memory, NodesAsked, Sharing};
use berth_placement::{AcrossHosts, CoreSpec, Distribution, Order};

/// The command and the options of a line.
pub fn read(line: &str) -> (Client, LineOptions) {
    let mut words = line.split_whitespace();
    let client = match words.next() {
        Some("srun") => Client::Srun,
        Some("salloc") => Client::Salloc,
        Some("sbatch") => Client::Sbatch,
        other => panic!("{other:?} is no command"),
    };
    let mut options = LineOptions::default();
    while let Some(word) = words.next() {
        let (name, mut value) = name_and_value(word);
        if value.is_empty() && matches!(name, "m" | "B" | "w" | "x") {
            value = words.next().expect("a value follows");
        }
        set(&mut options, name, value);
    }
    (client, options)
}

/// `--name=value`, `-n4`, or a name alone.
fn name_and_value(word: &str) -> (&str, &str) {
    match word.strip_prefix("--") {
        Some(long) => long.split_once('=').unwrap_or((long, "")),
        None => (&word[1..2], &word[2..]),
    }
}

fn number(text: &str) -> Option<u32> {
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{text} is no number")),
    )
}

fn names(text: &str) -> Vec<String> {
    text.split(',').map(Into::into).collect()
}

fn set(options: &mut LineOptions, name: &str, value: &str) {
    match name {
        "n" => options.tasks = number(value),
        "c" => options.cpus_per_task = number(value),
        "N" => options.nodes = Some(nodes(value)),
        "w" => options.node_names = names(value),
        "x" => options.excluded_names.extend(names(value)),
        "m" => options.distribution = distribution(value),
        "O" => options.overcommit = true,
        "ntasks-per-node" => options.tasks_per_node = number(value),
        "ntasks-per-socket" => options.tasks_per_socket = number(value),
        "ntasks-per-core" => options.tasks_per_core = number(value),
        "sockets-per-node" => options.sockets_per_node = number(value),
        "cores-per-socket" => options.cores_per_socket = number(value),
        "threads-per-core" => options.threads_per_core = number(value),
        "mincpus" => options.min_cpus = number(value),
        "mem" => options.memory = number(value).map(|mib| Memory::PerNode(mib.into())),
        "mem-per-cpu" => options.memory = number(value).map(|mib| Memory::PerCpu(mib.into())),
        "core-spec" => options.core_spec = CoreSpec::Cores(number(value).unwrap_or(0)),
        "thread-spec" => options.core_spec = CoreSpec::Threads(number(value).unwrap_or(0)),
        _ => set_flag(options, name, value),
    }
}

fn set_flag(options: &mut LineOptions, name: &str, value: &str) {
    match name {
        "B" => {
            let mut parts = value.split(':').map(|part| part.parse().ok());
            options.node_info = true;
            options.sockets_per_node = parts.next().flatten();
            options.cores_per_socket = parts.next().flatten();
            options.threads_per_core = parts.next().flatten();
        }
        "hint" => options.hints = value.split(',').map(hint).collect(),
        "exclusive" if value == "user" => options.sharing = Sharing::ExclusiveUser,
        "exclusive" => {
            options.exclusive_and_shared |= options.sharing == Sharing::Oversubscribe;
            options.sharing = Sharing::Exclusive;
            options.exact = true;
        }
        "s" | "oversubscribe" => {
            options.exclusive_and_shared |= options.sharing == Sharing::Exclusive;
            options.sharing = Sharing::Oversubscribe;
        }
        "contiguous" => options.contiguous = true,
        "use-min-nodes" => options.use_min_nodes = true,
        "spread-job" => options.spread = true,
        "exact" => options.exact = true,
        "overlap" => options.overlap = true,
        "whole" => options.whole = true,
        _ => panic!("--{name}={value} is not known here"),
    }
}

fn nodes(text: &str) -> NodesAsked {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    NodesAsked {
        least: least.parse().expect("-N has a number"),
        most: most.parse().ok(),
    }
}

fn hint(word: &str) -> Hint {
    match word {
        "compute_bound" => Hint::ComputeBound,
        "memory_bound" => Hint::MemoryBound,
        "multithread" => Hint::Multithread,
        _ => Hint::Nomultithread,
    }
}

fn distribution(text: &str) -> Distribution {
    let mut asked = Distribution::default();
    let mut parts = text.split(',');
    let levels = parts.next().unwrap_or_default();
    for word in std::iter::once(levels).chain(parts) {
        if matches!(word, "Pack" | "NoPack") {
            asked.pack = Some(word == "Pack");
        }
    }
    if matches!(levels, "Pack" | "NoPack") {
        return asked;
    }
    let mut levels = levels.split(':');
    let first = levels.next().unwrap_or_default();
    asked.plane_size = first
        .strip_prefix("plane=")
        .and_then(|size| size.parse().ok());
    asked.hosts = match first {
        _ if asked.plane_size.is_some() => AcrossHosts::Plane,
        "cyclic" => AcrossHosts::Cyclic,
        "arbitrary" => AcrossHosts::Arbitrary,
        _ => AcrossHosts::Block,
    };
    let order = |word: &str| match word {
        "block" => Order::Block,
        "fcyclic" => Order::Fcyclic,
        _ => Order::Cyclic,
    };
    asked.sockets = levels.next().map(order);
    asked.cores = levels.next().map(order);
    asked
}
