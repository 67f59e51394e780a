//! Slurm's options that say where tasks run, in the order in which `berth plan --help` shows them, with its words.
//! Facts of `common_options` in `src/common/slurm_opt.c`, and of `env_vars` in the `opt.c` of each command.

use super::Takes::{Attached, Nothing, Value};
use super::row::Effect::Modelled;
use super::row::{Row, Variable, every, of, rows};
use super::{ALL, SALLOC, SBATCH, SRUN, SRUN_SBATCH};
use crate::release::Release::{V23_02, V23_11};

rows! {
    PLACING
    "ntasks" 'n' Value ALL {
        effect: Modelled, passed: true, variables: &[of(SRUN, "SLURM_NPROCS"), of(SRUN, "SLURM_NTASKS")],
        value_name: "N", summary: "Tasks of the step [default: as srun counts them, else 1]", in_short: true,
    };
    "ntasks-per-node" Value ALL {
        alias: Some("tasks-per-node"), effect: Modelled, passed: true, variables: &[of(SRUN, "SLURM_NTASKS_PER_NODE")],
        value_name: "N", summary: "Tasks on each node: the exact number, or the limit beside -n", in_short: true,
    };
    "nodes" 'N' Value ALL {
        effect: Modelled, passed: true, variables: &[of(SRUN, "SLURM_JOB_NUM_NODES")],
        value_name: "N", summary: "Nodes [default: those of -w, else 1]", in_short: true,
    };
    "nodelist" 'w' Value ALL {
        effect: Modelled,
        value_name: "LIST", summary: "Names of the nodes: n[1-4],m7, or a file of them", in_short: true,
        description: "Names of the nodes, such as n[1-4],m7. A text with a slash is the name of a file. With -m arbitrary the \
            list has one name for each task.",
    };
    "exact" Nothing SRUN {
        effect: Modelled, variables: &[of(SRUN, "SLURM_EXACT")],
        summary: "The step gets only the cores that it asks for",
    };
    "exclusive" Attached ALL {
        effect: Modelled, grows: true, variables: every!("EXCLUSIVE"),
        value_name: "WHO", summary: "The job has its nodes alone; in a step of a job as --exact",
        values: &[
            "user  other jobs of the same user may share the nodes",
            "mcs  other jobs of the same MCS label may share the nodes",
            "oversubscribe  CPUs may be shared with other jobs",
            "topo  a block of the topology is for this job alone (from Slurm 24.05 on)",
            "allocation  the nodes are for this job alone (from Slurm 26.05 on)",
        ],
    };
    "overlap" Attached SRUN {
        effect: Modelled, variables: &[of(SRUN, "SLURM_OVERLAP")],
        summary: "The step shares its CPUs with others",
    };
    "whole" Nothing SRUN {
        effect: Modelled,
        summary: "The step gets all that its job has on its nodes",
    };
    "cpus-per-task" 'c' Value ALL {
        effect: Modelled, passed: true,
        variables: &[
            Variable { since: V23_11, ..of(SRUN, "SLURM_CPUS_PER_TASK") },
            Variable { until: V23_02, ..of(SRUN, "SRUN_CPUS_PER_TASK") },
        ],
        value_name: "N", summary: "CPUs for each task [default: 1]", in_short: true,
    };
    "cpu-bind" Value SRUN {
        alias: Some("cpu_bind"), effect: Modelled, variables: &[of(SRUN, "SLURM_CPU_BIND")],
        value_name: "BIND", summary: "threads, cores, sockets, none, map_cpu:LIST, …", in_short: true,
        description: "What each task is bound to: a level, a list, or nothing. Words stand behind each other with commas; a \
            later level or list replaces an earlier one. Where this option is missing, srun derives a level from -B, \
            --threads-per-core, --ntasks-per-core, --ntasks-per-socket and --hint. Without any level the tasks are \
            bound to the level that they fill exactly, and are not bound if there is none.",
        values: &[
            "threads  bind each task to hardware threads",
            "cores  bind each task to whole cores",
            "sockets  bind each task to whole sockets",
            "ldoms  bind each task to whole NUMA nodes",
            "none  bind nothing: a task may use every CPU of the step",
            "map_cpu:<LIST>  CPU numbers of the kernel, one for each task of the node in turn: 0,4 or 0*2,4",
            "mask_cpu:<LIST>  hexadecimal masks of CPUs, one for each task of the node in turn: 0x3,0xc",
            "rank  a task's number on the node is its CPU; Slurm 24.11 removed this",
            "map_ldom:<LIST>  numbers of NUMA nodes, one for each task of the node in turn",
            "mask_ldom:<LIST>  hexadecimal masks of NUMA nodes, one for each task of the node in turn",
            "rank_ldom  a task's number on the node is its NUMA node",
            "one_thread  beside a level: use one hardware thread of each core",
            "verbose  print each task's mask when it starts",
            "quiet  print nothing (the default)",
        ],
    };
    "mem-bind" Value ALL {
        effect: Modelled, passed: true, variables: every!("MEM_BIND"),
        value_name: "BIND", summary: "local, rank, map_mem:LIST, …; prefer beside one of them", in_short: true,
        description: "Where each task's memory comes from. Words stand behind each other with commas.",
        values: &[
            "local  memory of the NUMA nodes next to the task's CPUs",
            "map_mem:<LIST>  numbers of NUMA nodes, one for each task of the node in turn",
            "mask_mem:<LIST>  hexadecimal masks of NUMA nodes, one for each task of the node in turn",
            "rank  a task's number on the node is its NUMA node",
            "none  bind no memory",
            "prefer  beside another word: take memory from elsewhere when those nodes are full",
            "verbose  print each task's mask of NUMA nodes when it starts",
            "quiet  print nothing (the default)",
        ],
    };
    "distribution" 'm' Value ALL {
        effect: Modelled, passed: true,
        variables: &[of(SRUN, "SLURM_DISTRIBUTION"), of(SBATCH, "SBATCH_DISTRIBUTION")],
        value_name: "DIST", summary: "NODES[:SOCKETS[:CORES]]: block, cyclic, fcyclic, *, …", in_short: true,
        description: "The order in which tasks take nodes, the sockets of a node, and the cores of a socket: \
            NODES[:SOCKETS[:CORES]][,pack|,nopack]. A * stands for srun's default in its place.",
        values: &[
            "block  fill one node after the other",
            "cyclic  give the next task to the next node",
            "plane=<N>  give N tasks to a node before the next one",
            "arbitrary  follow the list of -w, with one name for each task",
            "block:block  fill one socket after the other",
            "block:cyclic  give the next task to the next socket (srun's default)",
            "block:fcyclic  give each CPU of a task to the next socket",
            "cyclic:block  over the nodes in turn, and one socket after the other",
            "cyclic:cyclic  over the nodes in turn, and over the sockets in turn",
            "cyclic:fcyclic  over the nodes in turn, and each CPU to the next socket",
            "block:block:block  a third word orders the cores of a socket: block, cyclic or fcyclic",
            "pack  alone or behind a comma: use as few nodes as possible",
            "nopack  alone or behind a comma: spread over the nodes",
        ],
    };
    "extra-node-info" 'B' Value ALL {
        effect: Modelled,
        value_name: "S[:C[:T]]", summary: "What the node must have; also chooses the level", in_short: true,
        description: "What the node must have: sockets, cores of each socket, threads of each core. One number also binds \
            tasks to sockets, two to cores, three to threads, unless --cpu-bind says otherwise. A range or * is \
            allowed for each number; the smaller end counts.",
    };
    "sockets-per-node" Value ALL {
        effect: Modelled, variables: &[of(SRUN, "SLURM_NSOCKETS_PER_NODE")],
        value_name: "N", summary: "Sockets the node must have, as the first part of -B",
    };
    "cores-per-socket" Value ALL {
        effect: Modelled, variables: &[of(SRUN, "SLURM_NCORES_PER_SOCKET")],
        value_name: "N", summary: "Cores the sockets must have, as the second part of -B",
    };
    "threads-per-core" Value ALL {
        effect: Modelled, passed: true, variables: every!("THREADS_PER_CORE"),
        value_name: "N", summary: "The most hardware threads of a core to use", in_short: true,
        description: "The most hardware threads of a core to use. It also binds tasks to threads, unless --cpu-bind says \
            otherwise.",
    };
    "ntasks-per-core" Value ALL {
        effect: Modelled, passed: true, variables: &[Variable { since: V23_02, ..of(SRUN, "SLURM_NTASKS_PER_CORE") }],
        value_name: "N", summary: "The most tasks on a core",
    };
    "ntasks-per-socket" Value ALL {
        effect: Modelled,
        value_name: "N", summary: "The most tasks on a socket",
    };
    "hint" Value ALL {
        effect: Modelled, passed: true,
        variables: &[
            of(SRUN_SBATCH, "SLURM_HINT"),
            of(SBATCH, "SBATCH_HINT"),
            of(SALLOC, "SALLOC_HINT"),
            of(SALLOC, "SLURM_HINT"),
        ],
        value_name: "HINT", summary: "compute_bound, memory_bound, multithread, nomultithread", in_short: true,
        description: "What the program needs; a hint sets other options. Words stand behind each other with commas. srun drops \
            hints beside --cpu-bind.",
        values: &[
            "compute_bound  use all cores, and one hardware thread of each",
            "memory_bound  use one core of each socket, and one hardware thread of it",
            "multithread  use all hardware threads of a core, and bind tasks to threads",
            "nomultithread  use one hardware thread of each core, and bind tasks to threads",
        ],
    };
    "overcommit" 'O' Nothing ALL {
        effect: Modelled, passed: true, variables: every!("OVERCOMMIT"),
        summary: "Allow more tasks than CPUs", in_short: true,
    };
    "core-spec" 'S' Value ALL {
        effect: Modelled, grows: true, variables: every!("CORE_SPEC"),
        value_name: "N", summary: "Cores left to the system; --cores then says which are the step's",
    };
    "thread-spec" Value ALL {
        effect: Modelled, grows: true, variables: every!("THREAD_SPEC"),
        value_name: "N", summary: "Hardware threads left to the system",
    };
}
