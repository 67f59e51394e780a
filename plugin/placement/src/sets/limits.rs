//! Every length that a user can choose, with its bound and the reason for it.
//! A Rust program aborts when memory cannot be had, and no guard catches that: so each bound is
//! checked before memory is taken. Pure; used wherever text from outside is read or written.

/// CPU numbers end here: the kernel's own limit (`NR_CPUS`) is far below, slurmd's map has 16-bit
/// entries, and a typing error must not allocate much.
pub const MAX_CPUS: u32 = 1 << 16;

/// Masks in a launch request may be as wide as the node, but at least this wide: task/affinity's
/// own masks have this size (`CPU_SETSIZE`), and `compat=affinity` reads what it reads.
pub const LEAST_MASK_WIDTH: u32 = 1024;

/// Entries of a list, repeats counted: Slurm counts the tasks of a node in 16 bits.
pub const MAX_ENTRIES: u32 = 1 << 16;

/// Bytes of a list in an option or a launch request. A mask for each of 4096 tasks on a node of
/// 4096 CPUs fits, without leading zeros; reading this much takes a few milliseconds. A plan with a
/// longer list is not written: `plan` leaves such a step unbound, with a note.
pub const LIST_BYTES: usize = 4 << 20;

/// Bytes of a `--binding`.
pub const BINDING_BYTES: usize = 8 * 1024;

/// Bytes of a `--near`: a device's name and a few words.
pub const NEAR_BYTES: usize = 256;
/// Bytes of a `--tres-bind`; a number for each of many tasks fits.
pub const TRES_BIND_BYTES: usize = 8 * 1024;
/// Bytes of a `--cpuset`, and of each of a partition's own cpuset words.
pub const CPUSET_BYTES: usize = 8 * 1024;
/// Bytes of a `--map-by`, `--rank-by` or `--bind-to`.
pub const MAPPING_BYTES: usize = 8 * 1024;

/// Bytes of an option whose value is one word, such as `--core-kind`.
pub const WORD_BYTES: usize = 64;

/// Cores and strides in a `--binding`: more than any node has.
pub const MAX_CORES: u32 = 1 << 16;

/// Characters of a value that a refusal or a note repeats: the text must fit a terminal.
pub const REPEATED_VALUE: usize = 80;

/// Characters of a request on one line of a log: a list of masks belongs to the masks.
pub const DESCRIBED_REQUEST: usize = 400;

/// Bytes of a refusal or of all notes of a step together.
pub const USER_TEXT: usize = 4 * 1024;

/// Bytes of one line in Slurm's log.
pub const LOG_LINE: usize = 8 * 1024;

/// Bytes of the handover from slurmd to slurmstepd, of which most steps need a few hundred.
pub const HANDOVER_BYTES: usize = 1 << 20;

/// Bytes of a list with an entry for each node: Linux passes no longer variable to a program
/// (`MAX_ARG_STRLEN`).
pub const NODE_LIST: usize = 128 << 10;

/// Nodes in the files of `--binding=pe:`: more than any job has, and brackets in a list multiply.
pub const PE_NODES: usize = 1 << 16;

/// Bytes of each of these files: more than 100,000 ranks have. The names of hosts are kept in
/// slurmstepd's memory, and they come from the environment: a longer file is not begun.
pub const PE_FILE: usize = 4 << 20;

/// Ranks that are looked at for a rank file, also those that get no line in it.
pub const PE_RANKS: u64 = 1 << 20;

/// Bytes of a script in which the submitting command looks for options: far more than anybody
/// writes there, and little enough to be kept as words.
pub const SCRIPT_HEAD: usize = 64 << 10;

/// Devices of a node: adapters with many virtual functions have a few thousand.
pub const MAX_DEVICES: usize = 4096;

/// Devices that variables list: more GPUs than a node has. Each task's list may have so many entries.
pub const MAX_LISTED_DEVICES: usize = 128;

/// Names and values that are kept of a device or of a kind of cores.
pub const MAX_INFOS: usize = 32;

/// Bytes of each of these names and values.
pub const INFO_BYTES: usize = 128;

/// Nodes of a cluster whose slurmctld is modelled: Slurm itself ends there (`MAX_SLURM_NODES`).
pub const MAX_CLUSTER_NODES: usize = 1 << 16;

/// Cores of all nodes of such a cluster together: one bit each, in a few sets.
pub const MAX_CLUSTER_CORES: u64 = 1 << 25;
