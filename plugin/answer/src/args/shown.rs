//! srun's options that `berth plan --help` shows, with their help. It accepts all others too.

/// An option that is shown: its name, its value's name, its help, and whether -h shows it too.
pub(super) type Shown = (&'static str, &'static str, &'static str, bool);

pub(super) const SHOWN: &[Shown] = &[
    (
        "ntasks",
        "N",
        "Tasks of the step [default: as srun counts them, else 1]",
        true,
    ),
    (
        "ntasks-per-node",
        "N",
        "Tasks on each node: the exact number, or the limit beside -n",
        true,
    ),
    ("nodes", "N", "Nodes [default: those of -w, else 1]", true),
    (
        "nodelist",
        "LIST",
        "Names of the nodes: n[1-4],m7, or a file of them",
        true,
    ),
    (
        "exact",
        "",
        "The step gets only the cores that it asks for",
        false,
    ),
    (
        "exclusive",
        "WHO",
        "The job has its nodes alone; in a step of a job as --exact",
        false,
    ),
    ("overlap", "", "The step shares its CPUs with others", false),
    (
        "whole",
        "",
        "The step gets all that its job has on its nodes",
        false,
    ),
    (
        "cpus-per-task",
        "N",
        "CPUs for each task [default: 1]",
        true,
    ),
    (
        "cpu-bind",
        "BIND",
        "threads, cores, sockets, none, map_cpu:LIST, …",
        true,
    ),
    (
        "mem-bind",
        "BIND",
        "local, rank, map_mem:LIST, …; prefer beside one of them",
        true,
    ),
    (
        "distribution",
        "DIST",
        "NODES[:SOCKETS[:CORES]]: block, cyclic, fcyclic, *, …",
        true,
    ),
    (
        "extra-node-info",
        "S[:C[:T]]",
        "What the node must have; also chooses the level",
        true,
    ),
    (
        "sockets-per-node",
        "N",
        "Sockets the node must have, as the first part of -B",
        false,
    ),
    (
        "cores-per-socket",
        "N",
        "Cores the sockets must have, as the second part of -B",
        false,
    ),
    (
        "threads-per-core",
        "N",
        "The most hardware threads of a core to use",
        true,
    ),
    ("ntasks-per-core", "N", "The most tasks on a core", false),
    (
        "ntasks-per-socket",
        "N",
        "The most tasks on a socket",
        false,
    ),
    (
        "hint",
        "HINT",
        "compute_bound, memory_bound, multithread, nomultithread",
        true,
    ),
    ("overcommit", "", "Allow more tasks than CPUs", true),
    (
        "core-spec",
        "N",
        "Cores left to the system; --cores then says which are the step's",
        false,
    ),
    (
        "thread-spec",
        "N",
        "Hardware threads left to the system",
        false,
    ),
];

/// An option that is shown.
pub(super) fn shown(name: &str) -> Option<&'static Shown> {
    SHOWN.iter().find(|shown| shown.0 == name)
}
