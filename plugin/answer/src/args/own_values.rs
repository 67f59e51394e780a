//! The values of the options that no Slurm has.

use crate::args::value::{Value, value, with};

pub const BINDING: &[Value] = &[
    with(
        "linear:",
        "AMOUNT",
        "successive cores for each task, on an empty socket if there is one",
    ),
    with(
        "linear:",
        "AMOUNT:SOCKET,CORE",
        "successive cores from this one on",
    ),
    with(
        "striding:",
        "AMOUNT:STEP",
        "cores at a distance of STEP for each task",
    ),
    with(
        "striding:",
        "AMOUNT:STEP:SOCKET,CORE",
        "the same from this core on",
    ),
    with(
        "explicit:",
        "SOCKET,CORE[:SOCKET,CORE]...",
        "exactly these cores, for all tasks together",
    ),
    value(
        "auto",
        "an even share of the step's cores for each task, close together, none left idle",
    ),
    with(
        "auto:",
        "[pack][:smt=THREADS]",
        "the same; beside -c one task after the other; with so many hardware threads per core",
    ),
    value(
        "none",
        "no binding by berth, nor by a --map-by or --near of the job or a variable; Slurm's own options \
         then hold",
    ),
    with(
        "host:",
        "STRATEGY",
        "one set of cores for all tasks of the node, as in Grid Engine",
    ),
    with("task:", "STRATEGY", "cores for each task (the default)"),
    with(
        "strict:",
        "STRATEGY",
        "refuse the step if the cores are not free; otherwise it runs unbound, with a note",
    ),
    with("set:", "STRATEGY", "berth binds (the default)"),
    with(
        "env:",
        "STRATEGY",
        "berth binds nothing and gives the cores in variables: SGE_BINDING, OMP_PLACES and others",
    ),
    with(
        "pe:",
        "STRATEGY",
        "berth binds nothing and writes a host file and a rank file for Open MPI",
    ),
];

pub const CONFINE: &[Value] = &[
    value(
        "task",
        "each bound task stays on its CPUs whatever it does, by the cpuset of its cgroup",
    ),
    value(
        "off",
        "the tasks' masks are advice, which a task can change",
    ),
];

pub const POOL: &[Value] = &[value(
    "none",
    "a job that would be in one of the site's pools runs as a normal job",
)];

pub const MAP_BY: &[Value] = &[
    value("hwthread", "one task on each hardware thread"),
    value("core", "one task on each core, round and round"),
    value("l1cache", "one task on each L1 cache"),
    value("l2cache", "one task on each L2 cache"),
    value("l3cache", "one task on each L3 cache"),
    value("numa", "one task on each NUMA node"),
    value("package", "one task on each processor chip"),
    value(
        "slot",
        "the tasks one after the other in all of the step's CPUs",
    ),
    value(
        "node",
        "the same; Slurm decides which tasks run on which node",
    ),
    with("ppr:", "N:LEVEL", "N tasks on each object of a level"),
    with(
        "pe-list=",
        "LIST",
        "all tasks on these CPUs, by their logical number within the step",
    ),
];

pub const RANK_BY: &[Value] = &[
    value("slot", "task numbers in the order of mapping"),
    value("node", "the same; numbers across nodes are srun's -m"),
    value(
        "fill",
        "all tasks of the first object, then those of the next",
    ),
    value(
        "span",
        "the first task of each object, then the second of each",
    ),
];

pub const BIND_TO: &[Value] = &[
    value("none", "the tasks stay unbound"),
    value("hwthread", "one hardware thread"),
    value("core", "one core"),
    value("l1cache", "the CPUs of an L1 cache"),
    value("l2cache", "the CPUs of an L2 cache"),
    value("l3cache", "the CPUs of an L3 cache"),
    value("numa", "the CPUs of a NUMA node"),
    value("package", "the CPUs of a processor chip"),
];

pub const CORE_KIND: &[Value] = &[
    value("performance", "the fast cores"),
    value("efficiency", "the slow and frugal cores"),
    value("any", "all cores (the default)"),
];

pub const NEAR: &[Value] = &[
    value("gpu", "next to GPUs and other accelerators"),
    value("network", "next to network adapters"),
    value(
        "0302",
        "next to devices of this PCI class, as lspci -n shows it",
    ),
    value(
        "ib0",
        "next to the device with this name, as berth topo shows it",
    ),
    with(
        "gpu:",
        "N",
        "N devices for each task; else the step's are divided evenly",
    ),
    value(
        "gpu:strict",
        "a task that does not fit next to its device is refused",
    ),
    value(
        "gpu:own",
        "a task is to see only its own devices, instead of seeing them first",
    ),
    value(
        "none",
        "no device: a job's or a variable's --near does not count",
    ),
];

pub const CPUSET: &[Value] = &[
    value(
        "CPUSET[]",
        "the CPUs that the tasks need, as near to each other as possible",
    ),
    value("CPUSET[NCPUS=8]", "eight CPUs on each node"),
    value("CPUSET[CPU_LIST=0-7]", "the best of these CPUs"),
    value(
        "CPUSET[MAX_RADIUS=0]",
        "all of them in one NUMA node; 1 and 2 are farther",
    ),
    value(
        "CPUSET[MAX_CPU_PER_NODE=4]",
        "at most four in any one NUMA node",
    ),
    value("CPUSET[NODE_EX=Y]", "whole NUMA nodes"),
    value("CPUSET[MEM_LIST=0-1]", "memory of these NUMA nodes too"),
    value(
        "CPUSET[CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE]",
        "no other cpuset gets these CPUs",
    ),
    value(
        "CPUSET[CPUSET_NAME=MYSET]",
        "a cpuset that the site defines",
    ),
    value(
        "CPUSET[CPUSET_TYPE=none]",
        "no cpuset, also no default one of the partition",
    ),
];
