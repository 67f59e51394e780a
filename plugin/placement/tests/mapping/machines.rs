//! Machines as lines of text, and plans on them.

use berth_placement::request::mapping::MappingTexts;
use berth_placement::*;

pub fn set(list: &str) -> CpuSet {
    CpuSet::from_list(list).unwrap()
}

fn sets(text: &str) -> Vec<CpuSet> {
    text.split_whitespace().map(set).collect()
}

/// A machine of the parts in these lines: `packages 0-1 2-3 | 4-5 6-7` has the cores of each package,
/// `numa 0=0-3`, `l3 0-3 4-7`, and so on.
pub fn machine<'a>(lines: impl IntoIterator<Item = &'a str>) -> Machine {
    let mut parts = Parts::default();
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "packages" => parts.packages = rest.split('|').map(package).collect(),
            "numa" => parts.numa_nodes = rest.split_whitespace().map(numa).collect(),
            "l3" => parts.l3_caches = sets(rest),
            "l2" => parts.l2_caches = sets(rest),
            "l1" => parts.l1_caches = sets(rest),
            "order" => {
                let numbers = rest.split(',').map(|cpu| CpuId(cpu.parse().unwrap()));
                parts.whole_order = numbers.collect();
            }
            other => panic!("{other} is no part of a machine"),
        }
    }
    let cores = parts.packages.iter().flat_map(|package| &package.cores);
    parts.allowed = cores.flat_map(|core| core.pus.iter().copied()).collect();
    Machine::new(parts).unwrap()
}

fn package(cores: &str) -> Package {
    Package {
        cores: cores.split_whitespace().map(core).collect(),
    }
}

/// Hardware threads in topology order.
fn core(list: &str) -> Core {
    let parts = list.split(',').map(set);
    Core {
        pus: parts
            .flat_map(|part| part.iter().collect::<Vec<_>>())
            .collect(),
    }
}

fn numa(text: &str) -> NumaNode {
    let (id, cpus) = text.split_once('=').unwrap();
    NumaNode {
        id: NumaId(id.parse().unwrap()),
        cpus: if cpus.is_empty() {
            CpuSet::new()
        } else {
            set(cpus)
        },
    }
}

/// Packages × NUMA nodes × L3 caches × cores × threads, numbered in order, with an L2 and an L1 cache
/// for each core.
pub fn regular(packages: u32, numas: u32, l3s: u32, cores: u32, threads: u32) -> Machine {
    let all = packages * numas * l3s * cores * threads;
    let parts = |count: u32| -> Vec<String> {
        let size = all / count;
        let part = |at: u32| format!("{}-{}", at * size, (at + 1) * size - 1);
        (0..count).map(part).collect()
    };
    let each = parts(all / threads);
    let by_package: Vec<_> = each.chunks(each.len() / packages as usize).collect();
    let by_package: Vec<_> = by_package.iter().map(|cores| cores.join(" ")).collect();
    let numa: Vec<_> = parts(packages * numas);
    let numa: Vec<_> = numa
        .iter()
        .enumerate()
        .map(|(id, cpus)| format!("{id}={cpus}"))
        .collect();
    let lines = [
        format!("packages {}", by_package.join(" | ")),
        format!("numa {}", numa.join(" ")),
        format!("l3 {}", parts(packages * numas * l3s).join(" ")),
        format!("l2 {}", each.join(" ")),
        format!("l1 {}", each.join(" ")),
    ];
    machine(lines.iter().map(String::as_str))
}

/// The value of an option among words such as `--map-by core` and `--map-by=core`.
fn value<'a>(words: &[&'a str], option: &str) -> Option<&'a str> {
    let name = |word: &&str| word.split('=').next() == Some(option);
    let at = words.iter().position(name)?;
    match words[at].split_once('=') {
        Some((_, value)) => Some(value),
        None => words.get(at + 1).copied(),
    }
}

/// A request for some tasks; `words` are the three options, and `-c N`.
pub fn request(tasks: u32, words: &str, own: Allocation) -> Result<Request, MappingError> {
    let words: Vec<_> = words.split_whitespace().collect();
    let mapping = Mapping::read(MappingTexts {
        map: value(&words, "--map-by"),
        rank: value(&words, "--rank-by"),
        bind: value(&words, "--bind-to"),
    })?;
    Ok(Request {
        tasks,
        cpus_per_task: value(&words, "-c").map_or(1, |text| text.parse().unwrap()),
        mapping,
        allocation: own,
        ..Request::default()
    })
}

/// The CPUs of each task, `unbound`, or `refused: why`.
pub fn answer(machine: &Machine, tasks: u32, words: &str, own: Allocation) -> String {
    let node = Node::of(machine.clone(), SocketKind::Package, Rules::default());
    let request = match request(tasks, words, own) {
        Ok(request) => request,
        Err(why) => return format!("refused: {why}"),
    };
    match plan(&request, &node, &Claims::default()) {
        Ok(plan) if !plan.is_bound() => "unbound".into(),
        Ok(plan) => {
            let lists: Vec<_> = plan
                .tasks
                .iter()
                .map(|task| task.cpus.to_string())
                .collect();
            lists.join(" ")
        }
        Err(why) => format!("refused: {why}"),
    }
}
