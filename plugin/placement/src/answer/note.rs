//! Notes for the user of a step that runs, also on CPUs that are kept from tasks (isolated by the kernel, or reserved
//! by the site) and on memory nodes that another job's cpuset wants for itself (`CPUSET_MEMORY_EXCLUSIVE`). Each text
//! states what was requested, what was found and what to do. Pure data.

use derive_more::Display;

use crate::answer::cpuset::CpusetNote;
use crate::answer::mapping::MappingNote;
use crate::answer::near::NearNote;
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset::NodeSet;
use crate::sets::text::{counted, either};

/// Something the user should know although the step runs.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum Note {
    /// The step has fewer CPUs than tasks × `-c`.
    #[display(
        "{} {} {requested} CPUs{}, but this step owns {own} on this node; {} {given}{}; use fewer tasks \
         or a smaller -c",
        counted(*tasks, "task"),
        either(tasks, "requests", "request"),
        either(tasks, "", " each"),
        if *is_widened { "that is" } else { "each task gets" },
        if *is_widened { " for each" } else { "" }
    )]
    CpusPerTaskShrunk {
        /// CPUs that each task requests.
        requested: u32,
        /// CPUs that each task gets.
        given: u32,
        /// Tasks on this host.
        tasks: u32,
        /// CPUs of the step.
        own: u32,
        /// Whether tasks have whole cores, and so more CPUs than `given`.
        is_widened: bool,
    },
    /// A limit on the number of tasks cannot hold for all of them.
    #[display(
        "{option}={limit} is requested, but the {tasks} tasks on this node do not fit within it; up to {most} \
         tasks share one {}; use fewer tasks on this node or a larger limit",
        if option.ends_with("core") { "core" } else { "socket" }
    )]
    LimitExceeded {
        /// The option.
        option: &'static str,
        /// Its value.
        limit: u32,
        /// Tasks on this node.
        tasks: u32,
        /// The largest number of them on one core or socket.
        most: u32,
    },
    /// One task has fewer CPUs than the others, because the step's last core has no more.
    #[display(
        "each task requests {requested} CPUs, but task {task} on this node gets {given}, because no more are left \
         together; use fewer tasks or a smaller -c"
    )]
    TaskShort {
        /// The first such task, by its number on this node.
        task: u32,
        /// CPUs that it requests.
        requested: u32,
        /// CPUs that it gets.
        given: u32,
    },
    /// Tasks share CPUs although others of the step have no task.
    #[display(
        "some of the {tasks} tasks on this node share CPUs, and {} {} idle{}",
        counted(*idle, unit),
        either(idle, "stays", "stay"),
        use_of_threads(*threads_per_core)
    )]
    SharedWhileIdle {
        /// Tasks on this node.
        tasks: u32,
        /// The kind of object that is idle.
        unit: &'static str,
        /// The number of idle objects.
        idle: u32,
        /// `--threads-per-core`, or what a hint made of it.
        threads_per_core: Option<u32>,
    },
    /// Tasks are bound to one core, socket or NUMA node although others of the step have no task.
    #[display(
        "some of the {tasks} tasks on this node are bound to the same {unit}, and {} of this step {} idle; use \
         {}, which goes round the {unit}s",
        counted(*idle, unit),
        either(idle, "stays", "stay"),
        spreading_option(unit)
    )]
    ObjectsIdle {
        /// Tasks on this node.
        tasks: u32,
        /// The kind of object.
        unit: &'static str,
        /// The number of objects without a task.
        idle: u32,
    },
    /// Tasks share the cores that a `--binding=explicit:` names.
    #[display(
        "--binding={binding} names cores of the node, so the {tasks} tasks on this node share them; use \
         --binding=linear:AMOUNT or striding: to give each task its own"
    )]
    SharedExplicit {
        /// The `--binding` value.
        binding: String,
        /// Tasks on this node.
        tasks: u32,
    },
    /// The amount of a `--binding` gives a task fewer CPUs than `-c` requests.
    #[display(
        "-c requests {requested} CPUs for each task, but --binding={binding} gives only {given}; use a larger \
         amount or a smaller -c"
    )]
    BindingShort {
        /// The `--binding` value.
        binding: String,
        /// CPUs that a task requests.
        requested: u32,
        /// The fewest CPUs that a task gets.
        given: u32,
    },
    /// There are more tasks than CPUs, although nobody requested overcommit.
    #[display(
        "{tasks} tasks on this node share {}; use fewer tasks, or --overcommit if you want that",
        counted(*own, "CPU")
    )]
    MoreTasksThanCpus {
        /// Tasks on this node.
        tasks: u32,
        /// CPUs of the step.
        own: u32,
    },
    /// About a `--near`.
    Near(NearNote),
    /// A mapping gives less than it may seem to.
    #[display("{}", less.about(requested))]
    Mapping {
        /// The options as they are typed.
        requested: String,
        /// The missing part.
        less: MappingNote,
    },
    /// An even share is smaller than a hardware thread.
    #[display(
        "{tasks} tasks on this node share {}, so some of them run by turns; use fewer tasks on this node",
        counted(*threads, "hardware thread")
    )]
    SharedByTime {
        /// Tasks on this node.
        tasks: u32,
        /// Hardware threads that they may use.
        threads: u32,
    },
    /// `smt=K` of a share asks for more hardware threads than a core of the node has.
    #[display(
        "smt={requested} asks for {requested} hardware threads of each core, and a core of this node has {most}; \
         the tasks use {most}"
    )]
    FewerThreads {
        /// The threads that are requested.
        requested: u32,
        /// The threads of a core.
        most: u32,
    },
    /// About a `--mem-bind`.
    Memory(MemoryNote),
    /// About a cpuset.
    Cpuset(CpusetNote),
    /// About CPUs that are kept from tasks.
    Reserved(ReservedNote),
    /// A `--binding` could not be served; this is the whole text.
    NotBound(String),
}

impl Note {
    /// Adds a note about some of the node's tasks, whose numbers there are these, to those about others.
    pub(crate) fn add(notes: &mut Vec<Self>, mut note: Self, tasks: &[u32]) {
        if let Self::Mapping { less, .. } = &mut note {
            *less = less.of_group(tasks);
        }
        for before in notes.iter_mut() {
            match (before, &note) {
                (Self::Mapping { less, .. }, Self::Mapping { less: other, .. }) => {
                    if let Some(both) = less.with(*other) {
                        *less = both;
                        return;
                    }
                }
                (before, note) if before == note => return,
                _ => {}
            }
        }
        notes.push(note);
    }
}

/// The option that gives such objects to tasks in turn.
fn spreading_option(unit: &str) -> &'static str {
    match unit {
        "core" => "--cpu-bind=cores",
        "socket" => "-m block:cyclic",
        _ => "--map-by numa",
    }
}

fn use_of_threads(limit: Option<u32>) -> String {
    match limit {
        Some(limit) => format!(
            ": only {} of each core may be used; use fewer tasks, or leave out --threads-per-core and \
             --hint=nomultithread",
            counted(limit, "hardware thread")
        ),
        None => "; use fewer tasks, or another -c or -m".into(),
    }
}

/// CPUs that tasks get all the same, or lack.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum ReservedNote {
    /// Tasks have CPUs that the kernel isolates, because the step has too few others.
    #[display(
        "the kernel isolates CPUs {_0} (isolcpus, nohz_full), and tasks of this step get them because it has \
         too few others; use fewer tasks or a smaller -c"
    )]
    Isolated(CpuSet),
    /// The site keeps some of the step's CPUs free, and its tasks share the others.
    #[display(
        "this site keeps some of the CPUs free (reserved) that Slurm has given this step on this node; {tasks} \
         tasks share the others, CPUs {own}; use fewer tasks or a smaller -c"
    )]
    TooManyReserved {
        /// Tasks on this node.
        tasks: u32,
        /// The others.
        own: CpuSet,
    },
    /// The site keeps all of the step's CPUs free, and it runs there.
    #[display(
        "this site keeps CPUs {_0} of this node free (reserved), and Slurm has given this step no others; it \
         runs there; ask the administrator to name them in CpuSpecList= of slurm.conf"
    )]
    OnlyReserved(CpuSet),
    /// The user's default `--near` gives way to a cpuset that lists its CPUs.
    #[display("BERTH_NEAR={near} has no effect on this step: --cpuset={cpuset} lists the CPUs")]
    NoNear {
        /// The default.
        near: String,
        /// The cpuset.
        cpuset: String,
    },
}

/// The use that a `--mem-bind` makes of memory nodes that another job's cpuset wants for itself.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum MemoryNote {
    /// `local` has others, so it leaves them out.
    #[display(
        "--mem-bind=local leaves out NUMA nodes {_0}, whose memory another job's cpuset wants for itself; name \
         nodes with --mem-bind=mask_mem if the tasks need them"
    )]
    LeftOut(NodeSet),
    /// The tasks' memory is bound to them: the request names them, or there are no others.
    #[display(
        "--mem-bind binds memory to NUMA nodes {_0}, whose memory another job's cpuset wants for itself; bind \
         to other nodes if the tasks can do without them"
    )]
    Shared(NodeSet),
}
