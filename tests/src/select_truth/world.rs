//! Random clusters: nodes of unlike shapes, and words of SelectTypeParameters.
//! In: a generator of random numbers. Out: lines of slurm.conf. Nodes are called n1, n2, ….

use fastrand::Rng;

/// A cluster to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct World {
    /// The shape of each node, in words of slurm.conf.
    pub shapes: Vec<String>,
    /// Other lines of slurm.conf.
    pub settings: Vec<String>,
    /// CPUs of all nodes.
    pub cpus: u32,
    /// The most cores of a node.
    pub cores: u32,
    /// Whether jobs get memory.
    pub memory: bool,
    /// Whether `select/linear` gives them: slurmctld logs no cores of its jobs.
    pub linear: bool,
    /// Whether `--core-spec` counts; slurmctld ignores it otherwise.
    pub may_use_special: bool,
    /// Threads of a core, and CPUs, of each node.
    pub counts: Vec<(u32, u32)>,
}

/// One of some words, each as often as it stands there.
pub(crate) fn one<'a>(random: &mut Rng, words: &[&'a str]) -> &'a str {
    random.choice(words).copied().unwrap_or_default()
}

/// True in so many of a hundred cases.
pub(crate) fn percent(random: &mut Rng, of: u32) -> bool {
    random.u32(0..100) < of
}

struct Shape {
    words: String,
    cpus: u32,
    cores: u32,
    threads: u32,
}

fn shape(random: &mut Rng, sockets_only: bool) -> Shape {
    let pick = |random: &mut Rng, of: &[u32]| random.choice(of).copied().unwrap_or(1);
    let sockets = pick(random, &[1, 1, 2, 2, 2, 2, 3, 4]);
    let per_socket = pick(random, &[1, 2, 2, 3, 4, 4, 4, 6, 8]);
    let threads = pick(random, &[1, 1, 2, 2, 2]);
    let cores = sockets * per_socket;
    let only_cores = threads > 1 && percent(random, 25);
    let cpus = if only_cores { cores } else { cores * threads };
    let mut words = format!(
        "CPUs={cpus} Sockets={sockets} CoresPerSocket={per_socket} ThreadsPerCore={threads} \
         RealMemory={}",
        random.u32(1..=4) * 1000
    );
    let most = if sockets_only { sockets } else { cores.min(4) };
    if most > 1 && percent(random, 22) {
        words += &format!(" CoreSpecCount={}", random.u32(1..most));
    }
    Shape {
        words,
        cpus,
        cores,
        threads,
    }
}

/// A random cluster.
pub(super) fn world(random: &mut Rng) -> World {
    let linear = percent(random, 4);
    let settings = settings(random, linear);
    let has = |word: &str| settings.iter().any(|line| line.contains(word));
    let memory = has("_Memory");
    let may_use_special = has("AllowSpecResourcesUsage");
    // Where each socket has a special core, slurmctld does not start, or gives no first job a socket.
    let sockets_only = has("CR_Socket");
    let kinds: Vec<_> = (0..random.usize(1..=3))
        .map(|_| shape(random, sockets_only))
        .collect();
    let weighted = percent(random, 25);
    let (mut shapes, mut counts, mut cpus, mut cores) = (Vec::new(), Vec::new(), 0, 0);
    for _ in 0..random.usize(1..=4) {
        let Some(kind) = random.choice(&kinds) else {
            continue;
        };
        let weight = match weighted {
            true => format!(" Weight={}", random.u32(1..=3)),
            false => String::new(),
        };
        shapes.push(format!("{}{weight}", kind.words));
        counts.push((kind.threads, kind.cpus));
        cpus += kind.cpus;
        cores = cores.max(kind.cores);
    }
    World {
        shapes,
        settings,
        cpus,
        cores,
        memory,
        linear,
        may_use_special,
        counts,
    }
}

/// The lines of slurm.conf that are not nodes.
fn settings(random: &mut Rng, linear: bool) -> Vec<String> {
    let words = if linear {
        "CR_Memory".into()
    } else {
        select(random)
    };
    let memory = words.contains("Memory");
    let select = if linear { "linear" } else { "cons_tres" };
    let mut settings = vec![
        format!("SelectType=select/{select}"),
        format!("SelectTypeParameters={words}"),
    ];
    if percent(random, 30) {
        settings.push("AllowSpecResourcesUsage=YES".into());
    }
    if memory && percent(random, 60) {
        let per = one(random, &["DefMemPerCPU", "DefMemPerNode"]);
        settings.push(format!("{per}={}", random.u32(1..=3) * 50));
    }
    let share = match random.u32(0..100) {
        0..4 => " OverSubscribe=EXCLUSIVE",
        4..6 => " OverSubscribe=FORCE:2",
        6..8 => " OverSubscribe=YES:2",
        _ => "",
    };
    settings.push(format!(
        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP{share}"
    ));
    settings
}

fn select(random: &mut Rng) -> String {
    let units = [
        "CR_Core",
        "CR_Core",
        "CR_Core",
        "CR_Core",
        "CR_Core_Memory",
        "CR_CPU",
        "CR_CPU_Memory",
        "CR_Socket",
        "CR_Socket",
        "CR_Socket_Memory",
    ];
    let mut words = one(random, &units).to_string();
    // With CR_CPU slurmctld does not start under this word.
    if !words.contains("CPU") && percent(random, 12) {
        words += ",CR_ONE_TASK_PER_CORE";
    }
    for (word, often) in [("CR_CORE_DEFAULT_DIST_BLOCK", 15), ("CR_Pack_Nodes", 8)] {
        if percent(random, often) {
            words += &format!(",{word}");
        }
    }
    words
}
