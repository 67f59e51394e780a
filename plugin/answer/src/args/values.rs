//! The values of options whose text srun or the engine reads: what --help, the man pages and the
//! shells' completions show of them. Nothing is checked here; a test gives each to the command.

pub use crate::args::own_values::{
    BIND_TO, BINDING, CONFINE, CORE_KIND, CPUSET, MAP_BY, NEAR, POOL, RANK_BY,
};
pub use crate::args::value::Value;
use crate::args::value::{value, with};

pub const CPU_BIND: &[Value] = &[
    value("threads", "bind each task to hardware threads"),
    value("cores", "bind each task to whole cores"),
    value("sockets", "bind each task to whole sockets"),
    value("ldoms", "bind each task to whole NUMA nodes"),
    value("none", "bind nothing: a task may use every CPU of the step"),
    with(
        "map_cpu:",
        "LIST",
        "CPU numbers of the kernel, one for each task of the node in turn: 0,4 or 0*2,4",
    ),
    with(
        "mask_cpu:",
        "LIST",
        "hexadecimal masks of CPUs, one for each task of the node in turn: 0x3,0xc",
    ),
    value(
        "rank",
        "a task's number on the node is its CPU; Slurm 24.11 removed this",
    ),
    with(
        "map_ldom:",
        "LIST",
        "numbers of NUMA nodes, one for each task of the node in turn",
    ),
    with(
        "mask_ldom:",
        "LIST",
        "hexadecimal masks of NUMA nodes, one for each task of the node in turn",
    ),
    value("rank_ldom", "a task's number on the node is its NUMA node"),
    value(
        "one_thread",
        "beside a level: use one hardware thread of each core",
    ),
    value("verbose", "print each task's mask when it starts"),
    value("quiet", "print nothing (the default)"),
];

pub const MEM_BIND: &[Value] = &[
    value("local", "memory of the NUMA nodes next to the task's CPUs"),
    with(
        "map_mem:",
        "LIST",
        "numbers of NUMA nodes, one for each task of the node in turn",
    ),
    with(
        "mask_mem:",
        "LIST",
        "hexadecimal masks of NUMA nodes, one for each task of the node in turn",
    ),
    value("rank", "a task's number on the node is its NUMA node"),
    value("none", "bind no memory"),
    value(
        "prefer",
        "beside another word: take memory from elsewhere when those nodes are full",
    ),
    value(
        "verbose",
        "print each task's mask of NUMA nodes when it starts",
    ),
    value("quiet", "print nothing (the default)"),
];

pub const DISTRIBUTION: &[Value] = &[
    value("block", "fill one node after the other"),
    value("cyclic", "give the next task to the next node"),
    with("plane=", "N", "give N tasks to a node before the next one"),
    value(
        "arbitrary",
        "follow the list of -w, with one name for each task",
    ),
    value("block:block", "fill one socket after the other"),
    value(
        "block:cyclic",
        "give the next task to the next socket (srun's default)",
    ),
    value(
        "block:fcyclic",
        "give each CPU of a task to the next socket",
    ),
    value(
        "cyclic:block",
        "over the nodes in turn, and one socket after the other",
    ),
    value(
        "cyclic:cyclic",
        "over the nodes in turn, and over the sockets in turn",
    ),
    value(
        "cyclic:fcyclic",
        "over the nodes in turn, and each CPU to the next socket",
    ),
    value(
        "block:block:block",
        "a third word orders the cores of a socket: block, cyclic or fcyclic",
    ),
    value(
        "pack",
        "alone or behind a comma: use as few nodes as possible",
    ),
    value("nopack", "alone or behind a comma: spread over the nodes"),
];

pub const HINT: &[Value] = &[
    value(
        "compute_bound",
        "use all cores, and one hardware thread of each",
    ),
    value(
        "memory_bound",
        "use one core of each socket, and one hardware thread of it",
    ),
    value(
        "multithread",
        "use all hardware threads of a core, and bind tasks to threads",
    ),
    value(
        "nomultithread",
        "use one hardware thread of each core, and bind tasks to threads",
    ),
];

pub const EXCLUSIVE: &[Value] = &[
    value("user", "other jobs of the same user may share the nodes"),
    value(
        "mcs",
        "other jobs of the same MCS label may share the nodes",
    ),
    value("oversubscribe", "CPUs may be shared with other jobs"),
    value(
        "topo",
        "a block of the topology is for this job alone (from Slurm 24.05 on)",
    ),
    value(
        "allocation",
        "the nodes are for this job alone (from Slurm 26.05 on)",
    ),
];

pub const NUMBERING: &[Value] = &[
    value(
        "block",
        "core after core; the threads of a core are neighbours",
    ),
    value("cyclic", "the next number is on the next socket"),
    value(
        "threads-last",
        "first one thread of every core, then the second ones",
    ),
];

pub const FIXES: &[Value] = &[
    value("all", "every fix (the default)"),
    value("none", "no fix: the answers of task/affinity"),
    with("+", "NAME", "this fix too; several stand behind commas"),
    with("-", "NAME", "all but this fix"),
];

/// The values of an option, by clap's name for it.
pub fn of(option: &str) -> &'static [Value] {
    match option {
        "binding" => BINDING,
        "near" => NEAR,
        "map_by" => MAP_BY,
        "rank_by" => RANK_BY,
        "bind_to" => BIND_TO,
        "core_kind" => CORE_KIND,
        "confine" => CONFINE,
        "pool" => POOL,
        "cpuset" => CPUSET,
        "numbering" => NUMBERING,
        "fixes" => FIXES,
        "default_cpu_bind" => CPU_BIND,
        "cpu-bind" | "cpu_bind" => CPU_BIND,
        "mem-bind" => MEM_BIND,
        "distribution" => DISTRIBUTION,
        "hint" => HINT,
        "exclusive" => EXCLUSIVE,
        _ => &[],
    }
}

/// The whole description of an option of srun whose line in the summary does not say enough.
pub fn description(option: &str) -> Option<&'static str> {
    Some(match option {
        "cpu-bind" | "cpu_bind" => {
            "What each task is bound to: a level, a list, or nothing. Words stand behind each other \
             with commas; a later level or list replaces an earlier one. Where this option is missing, \
             srun derives a level from -B, --threads-per-core, --ntasks-per-core, \
             --ntasks-per-socket and --hint. Without any level the tasks are bound to the level that \
             they fill exactly, and are not bound if there is none."
        }
        "mem-bind" => {
            "Where each task's memory comes from. Words stand behind each other with commas."
        }
        "distribution" => {
            "The order in which tasks take nodes, the sockets of a node, and the cores of a socket: \
             NODES[:SOCKETS[:CORES]][,pack|,nopack]. A * stands for srun's default in its place."
        }
        "hint" => {
            "What the program needs; a hint sets other options. Words stand behind each other with \
             commas. srun drops hints beside --cpu-bind."
        }
        "extra-node-info" => {
            "What the node must have: sockets, cores of each socket, threads of each core. One number \
             also binds tasks to sockets, two to cores, three to threads, unless --cpu-bind says \
             otherwise. A range or * is allowed for each number; the smaller end counts."
        }
        "nodelist" => {
            "Names of the nodes, such as n[1-4],m7. A text with a slash is the name of a file. With \
             -m arbitrary the list has one name for each task."
        }
        "threads-per-core" => {
            "The most hardware threads of a core to use. It also binds tasks to threads, unless \
             --cpu-bind says otherwise."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::Reader;
    use crate::world::Scripts;

    /// Something that may stand where a placeholder does.
    fn example(value: &Value) -> String {
        let rest = match (value.word, value.rest) {
            (word, "LIST") if word.starts_with("mask") => "0x1".into(),
            (_, "LIST") => "0".into(),
            (_, "N") => "2".into(),
            (_, "N:LEVEL") => "2:numa".into(),
            (_, "STRATEGY") => "linear:2".into(),
            (_, "NAME") => "smt-neighbours".into(),
            (_, rest) => rest
                .replace("[:SOCKET,CORE]...", ":1,0")
                .replace("SOCKET,CORE", "0,1")
                .replace("[pack][:smt=THREADS]", "pack:smt=2")
                .replace("AMOUNT", "2")
                .replace("STEP", "3"),
        };
        format!("{}{rest}", value.word)
    }

    fn is_taken(word: &str) -> bool {
        let words = ["--slurm=26.05", "-n1", "-w", "a", word];
        let world = Scripts::default();
        let reader = Reader::new(words.map(String::from).into(), &world);
        reader.is_ok_and(|reader| reader.alone().is_ok())
    }

    #[test]
    fn every_value_that_is_shown_is_taken() {
        for (option, values) in [
            ("cpu-bind", CPU_BIND),
            ("mem-bind", MEM_BIND),
            ("distribution", DISTRIBUTION),
            ("hint", HINT),
            ("exclusive", EXCLUSIVE),
            ("binding", BINDING),
            ("near", NEAR),
            ("map-by", MAP_BY),
            ("rank-by", RANK_BY),
            ("bind-to", BIND_TO),
            ("core-kind", CORE_KIND),
            ("confine", CONFINE),
            ("pool", POOL),
            ("cpuset", CPUSET),
            ("numbering", NUMBERING),
            ("fixes", FIXES),
            ("default-cpu-bind", CPU_BIND),
        ] {
            for value in values {
                let word = format!("--{option}={}", example(value));
                assert!(is_taken(&word), "{word}");
                let wrong = format!("{word}!");
                // A fix is looked up later, and -m takes nothing behind a plane.
                let is_late = option == "fixes";
                assert!(is_late || !is_taken(&wrong), "{wrong}");
            }
        }
    }
}
