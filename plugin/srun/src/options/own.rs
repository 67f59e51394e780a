//! berth's own options of srun, sbatch and salloc: the one description of each. The commands register them with its
//! words for `srun --help`, and read their texts up to its limit; `berth plan`, the man page and completions take its
//! name, help and values; the defaults and the routes to slurmd take its variables. A new option is an entry here, and
//! its meaning in the files that ARCHITECTURE's "Where new code goes" lists.

use std::ops::Deref;

use berth_placement::sets::limits::{
    BINDING_BYTES, CPUSET_BYTES, MAPPING_BYTES, NEAR_BYTES, WORD_BYTES,
};

use super::row::Row;
use super::{ALL, Takes};

/// The kind of choice that an option makes. Options of one choice belong together; those of choices that exclude each
/// other are never both in force unless somebody writes both in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Grid Engine's binding.
    Binding,
    /// Open MPI's mapping.
    Mapping,
    /// Cores next to devices, which narrows `--binding=auto` and some mappings of the same place.
    Near,
    /// None of these: it holds beside each of them.
    Beside,
}

/// The description of an option.
#[derive(Debug, PartialEq, Eq)]
pub struct OwnOption {
    /// Its name without dashes.
    pub name: &'static str,
    /// The name that is surely ours. Another plugin may have the first one.
    pub sure_name: &'static str,
    /// Its kind of choice.
    pub choice: Choice,
    /// Bytes that a value may have.
    pub most_bytes: usize,
    /// The variable with the user's default.
    pub variable: &'static str,
    /// The variable with the value that an outer command put into `routed` because of its default.
    pub mark: &'static str,
    /// Slurm's variable for the option: an outer command has set it for the steps of its job,
    /// because of its option or of its default. Source: `spank_process_env_options`.
    pub routed: &'static str,
    /// Slurm's variable for the option's sure name, which no default sets.
    pub routed_sure: &'static str,
    /// The value, as `srun --help` shows it.
    pub argument: &'static str,
    /// Its text in `srun --help`.
    pub usage: &'static str,
    row: Row,
}

macro_rules! own {
    ($($own:ident {
        name: $name:literal, variable: $variable:literal, word: $word:literal, choice: $choice:ident, most: $most:ident,
        argument: $argument:literal,
        usage: $usage:literal,
        $($field:ident: $value:expr),* $(,)?
    })*) => {
        /// An option of berth's own. It gives access to its description.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Own {
            $(#[doc = concat!("`--", $name, "`.")] $own),*
        }

        /// The options by their number. `berth plan --help` shows them in this order.
        static OPTIONS: [OwnOption; Own::ALL.len()] = [$(OwnOption {
            name: $name,
            sure_name: concat!("berth-", $name),
            choice: Choice::$choice,
            most_bytes: $most,
            variable: concat!("BERTH_", $variable),
            mark: concat!("BERTH_", $variable, "_ROUTED"),
            routed: concat!("SLURM_SPANK__SLURM_SPANK_OPTION_berth_", $word),
            routed_sure: concat!("SLURM_SPANK__SLURM_SPANK_OPTION_berth_berth_", $word),
            argument: $argument,
            usage: $usage,
            row: Row {
                alias: Some(concat!("berth-", $name)),
                $($field: $value,)*
                ..Row::new($name, Takes::Value, ALL)
            },
        }),*];

        impl Own {
            /// Every option.
            pub const ALL: [Self; [$(stringify!($own)),*].len()] = [$(Self::$own),*];
        }
    };
}

own! {
    Binding {
        name: "binding", variable: "BINDING", word: "binding", choice: Binding, most: BINDING_BYTES,
        argument: "[set:|env:|pe:][task:|host:][strict:]STRATEGY",
        usage: "bind each task to cores of its own: linear:AMOUNT[:SOCKET,CORE], striding:AMOUNT:STEP[:SOCKET,CORE], explicit:SOCKET,CORE[:...] or none (Grid Engine's -binding); or give it an even share: auto[:pack][:smt=K] (berth)",
        value_name: "B", in_short: true,
        summary: "Grid Engine's core binding, such as linear:2, or auto: an even share for each task",
        description: "A strategy is auto[:pack][:smt=K], linear:AMOUNT[:SOCKET,CORE], \
            striding:AMOUNT:STEP[:SOCKET,CORE], explicit:SOCKET,CORE[:…] or none, after \
            [set:|env:|pe:][task:|host:][strict:]",
        values: &[
            "linear:<AMOUNT>  successive cores for each task, on an empty socket if there is one",
            "linear:<AMOUNT:SOCKET,CORE>  successive cores from this one on",
            "striding:<AMOUNT:STEP>  cores at a distance of STEP for each task",
            "striding:<AMOUNT:STEP:SOCKET,CORE>  the same from this core on",
            "explicit:<SOCKET,CORE[:SOCKET,CORE]...>  exactly these cores, for all tasks together",
            "auto  an even share of the step's cores for each task, close together, none left idle",
            "auto:<[pack][:smt=THREADS]>  pack: one task after the other, beside -c; smt: this many hardware threads per core",
            "none  no binding by berth, nor by a --map-by or --near of the job or a variable; Slurm's own options then hold",
            "host:<STRATEGY>  one set of cores for all tasks of the node, as in Grid Engine",
            "task:<STRATEGY>  cores for each task (the default)",
            "strict:<STRATEGY>  refuse the step if the cores are not free; otherwise it runs unbound, with a note",
            "set:<STRATEGY>  berth binds (the default)",
            "env:<STRATEGY>  berth binds nothing and gives the cores in variables: SGE_BINDING, OMP_PLACES and others",
            "pe:<STRATEGY>  berth binds nothing and writes a host file and a rank file for Open MPI",
        ],
    }
    MapBy {
        name: "map-by", variable: "MAP_BY", word: "map_by", choice: Mapping, most: MAPPING_BYTES,
        argument: "LEVEL[:pe=N][:hwtcpus][:span]",
        usage: "place tasks on the objects of a level, round and round: hwthread, core, l1cache, l2cache, l3cache, numa, package, slot, node; or ppr:N:LEVEL, pe-list=LIST[:ordered] (berth; Open MPI's --map-by)",
        value_name: "LEVEL", in_short: true,
        summary: "Open MPI's mapping, such as l3cache or slot:pe=2",
        description: "LEVEL is hwthread, core, l1cache, l2cache, l3cache, numa, package, slot or node; or it is \
            ppr:N:LEVEL or pe-list=LIST. Qualifiers follow behind colons: pe=N gives each task N CPUs, hwtcpus counts \
            hardware threads as CPUs, span numbers tasks in turn over the objects, and ordered gives each task one \
            entry of the list.",
        values: &[
            "hwthread  one task on each hardware thread",
            "core  one task on each core, round and round",
            "l1cache  one task on each L1 cache",
            "l2cache  one task on each L2 cache",
            "l3cache  one task on each L3 cache",
            "numa  one task on each NUMA node",
            "package  one task on each processor chip",
            "slot  the tasks one after the other in all of the step's CPUs",
            "node  as slot; Slurm decides which tasks run on which node",
            "ppr:<N:LEVEL>  N tasks on each object of a level",
            "pe-list=<LIST>  all tasks on these CPUs, by their logical number within the step",
        ],
    }
    RankBy {
        name: "rank-by", variable: "RANK_BY", word: "rank_by", choice: Mapping, most: MAPPING_BYTES,
        argument: "slot|node|fill|span",
        usage: "which task gets which mapped place: in mapping order (slot), object by object (fill), or one of each object in turn (span) (berth; Open MPI's --rank-by)",
        value_name: "ORDER", summary: "Which task gets which mapped place: slot, node, fill or span",
        values: &[
            "slot  task numbers in the order of mapping",
            "node  the same; numbers across nodes are srun's -m",
            "fill  all tasks of the first object, then those of the next",
            "span  the first task of each object, then the second of each",
        ],
    }
    BindTo {
        name: "bind-to", variable: "BIND_TO", word: "bind_to", choice: Mapping, most: MAPPING_BYTES,
        argument: "none|LEVEL[:limit=N][:if-supported][:overload-allowed]",
        usage: "bind each task to an object inside the one it is mapped to: hwthread, core, l1cache, l2cache, l3cache, numa, package, or none (berth; Open MPI's --bind-to)",
        value_name: "LEVEL",
        summary: "What a mapped task is bound to: none, or a level with :limit=N, :if-supported, :overload-allowed",
        values: &[
            "none  the tasks stay unbound",
            "hwthread  one hardware thread",
            "core  one core",
            "l1cache  the CPUs of an L1 cache",
            "l2cache  the CPUs of an L2 cache",
            "l3cache  the CPUs of an L3 cache",
            "numa  the CPUs of a NUMA node",
            "package  the CPUs of a processor chip",
        ],
    }
    Near {
        name: "near", variable: "NEAR", word: "near", choice: Near, most: NEAR_BYTES,
        argument: "gpu|network|CLASS|NAME[:N][:strict][:own]",
        usage: "cores next to each task's device: a GPU, a network adapter, a device of a PCI class such as 0302, the one with a name such as ib0; N devices for each task; or none (berth)",
        value_name: "WHAT",
        summary: "Cores next to each task's devices: gpu, network, a PCI class or a device's name, then \
            [:N][:strict][:own]; or none",
        values: &[
            "gpu  next to GPUs and other accelerators",
            "network  next to network adapters",
            "0302  next to devices of this PCI class, as lspci -n shows it",
            "ib0  next to the device with this name, as berth topo shows it",
            "gpu:<N>  N devices for each task; else the step's are divided evenly",
            "gpu:strict  a task that does not fit next to its device is refused",
            "gpu:own  a task is to see only its own devices, instead of seeing them first",
            "none  no device: a job's or a variable's --near does not count",
        ],
    }
    CoreKind {
        name: "core-kind", variable: "CORE_KIND", word: "core_kind", choice: Beside, most: WORD_BYTES,
        argument: "performance|efficiency|any",
        usage: "use only the fast cores or only the frugal ones, on a node that has both (berth)",
        value_name: "KIND",
        summary: "Kind of cores to use, on a machine with several: performance, efficiency or any [default: any]",
        values: &[
            "performance  the fast cores",
            "efficiency  the slow and frugal cores",
            "any  all cores (the default)",
        ],
    }
    Confine {
        name: "confine", variable: "CONFINE", word: "confine", choice: Beside, most: WORD_BYTES,
        argument: "task|off",
        usage: "keep each bound task on its CPUs whatever it does, by the cpuset of its cgroup (task), or leave its mask as advice (off) (berth)",
        value_name: "WHAT",
        summary: "Whether tasks are confined to their CPUs: task or off [default: as the site sets]",
        values: &[
            "task  each bound task stays on its CPUs whatever it does, by the cpuset of its cgroup",
            "off  the tasks' masks are advice, which a task can change",
        ],
    }
    Pool {
        name: "pool", variable: "POOL", word: "pool", choice: Beside, most: WORD_BYTES,
        argument: "none",
        usage: "run a job that would be in one of the site's pools as a normal job (berth)",
        value_name: "NAME", summary: "Pool that the job is in, by the site's file: a name, or none [default: none]",
        values: &["none  a job that would be in one of the site's pools runs as a normal job"],
    }
    Cpuset {
        name: "cpuset", variable: "CPUSET", word: "cpuset", choice: Beside, most: CPUSET_BYTES,
        argument: "CPUSET[KEYWORD=VALUE;...]",
        usage: "run the job in a cpuset: CPUSET_TYPE, CPUSET_NAME, NCPUS, CPU_LIST, MAX_RADIUS, MAX_CPU_PER_NODE, NODE_EX, MEM_LIST, RESUME_OPTION, CPUSET_OPTIONS (berth; LSF's bsub -extsched)",
        value_name: "REQUEST",
        summary: "The job's cpuset, as for LSF: CPUSET[KEYWORD=VALUE;…], or the part between the brackets",
        description: "The keywords are CPUSET_TYPE, CPUSET_NAME, NCPUS, CPU_LIST, MAX_RADIUS, MAX_CPU_PER_NODE, \
            NODE_EX, MEM_LIST, RESUME_OPTION and CPUSET_OPTIONS. The step's other options place its tasks inside the \
            cpuset",
        values: &[
            "CPUSET[]  the CPUs that the tasks need, as near to each other as possible",
            "CPUSET[NCPUS=8]  eight CPUs on each node",
            "CPUSET[CPU_LIST=0-7]  the best of these CPUs",
            "CPUSET[MAX_RADIUS=0]  all of them in one NUMA node; 1 and 2 are farther",
            "CPUSET[MAX_CPU_PER_NODE=4]  at most four in any one NUMA node",
            "CPUSET[NODE_EX=Y]  whole NUMA nodes",
            "CPUSET[MEM_LIST=0-1]  memory of these NUMA nodes too",
            "CPUSET[CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE]  no other cpuset gets these CPUs",
            "CPUSET[CPUSET_NAME=MYSET]  a cpuset that the site defines",
            "CPUSET[CPUSET_TYPE=none]  no cpuset, also no default one of the partition",
        ],
    }
}

impl Deref for Own {
    type Target = OwnOption;

    fn deref(&self) -> &OwnOption {
        &OPTIONS[*self as usize]
    }
}

impl Own {
    /// The option as a row of a table of options.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &OPTIONS[self as usize].row
    }

    /// The option of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.name == name)
    }

    /// The most bytes that a value of any of them may have.
    #[must_use]
    pub fn longest() -> usize {
        let sizes = Self::ALL.iter().map(|own| own.most_bytes);
        sizes.max().unwrap_or_default()
    }

    /// The variables by which an outer command's option or default comes.
    #[must_use]
    pub fn inherited(self) -> [&'static str; 3] {
        [self.routed, self.routed_sure, self.mark]
    }

    /// Both of its names, the sure one last.
    #[must_use]
    pub fn names(self) -> [&'static str; 2] {
        [self.name, self.sure_name]
    }
}

impl Choice {
    /// Whether an option of this choice chooses CPUs by itself.
    #[must_use]
    pub fn chooses(self) -> bool {
        self != Self::Beside
    }

    /// Whether only one of two choices can be in force.
    #[must_use]
    pub fn excludes(self, other: Self) -> bool {
        self != other && self.chooses() && other.chooses()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_has_its_names() {
        for own in Own::ALL {
            let word = own.name.replace('-', "_");
            let variable = format!("BERTH_{}", word.to_uppercase());
            assert_eq!(own.variable, variable);
            assert_eq!(own.mark, format!("{variable}_ROUTED"));
            let routed = "SLURM_SPANK__SLURM_SPANK_OPTION_berth_";
            assert_eq!(own.routed, format!("{routed}{word}"));
            assert_eq!(own.routed_sure, format!("{routed}berth_{word}"));
            assert_eq!(Own::named(own.name), Some(own));
        }
    }
}
