//! The names of berth's environment variables. berth removes those that describe a step's outcome
//! from a user's environment before it writes its own. Those that request something are the user's
//! and stay.

use berth_placement::answer::device_variables;
use slurm_sys::views::{Change, Get};

/// The prefix of berth's variables.
const PREFIX: &str = "BERTH_";

/// One constant for each variable, and the list of all of them without the prefix.
macro_rules! outcomes {
    ($($(#[$doc:meta])* $name:ident = $rest:literal),+ $(,)?) => {
        $($(#[$doc])* pub(crate) const $name: &str = concat!("BERTH_", $rest);)+
        /// Every variable that says how a step came out, without the prefix. None of them is
        /// believed when it comes from a user, and an outer step's are not this step's.
        const OUTCOMES: &[&str] = &[$($rest),+];
    };
}

outcomes! {
    /// slurmd's decision for slurmstepd ([`crate::step::handover`]).
    HANDOVER = "HANDOVER",
    /// Whether the step is bound.
    BOUND = "BOUND",
    /// The CPUs that a task is bound to, by kernel number.
    CPUS = "CPUS",
    /// Their cores, by Slurm's number.
    CORES = "CORES",
    /// The request.
    REQUEST = "REQUEST",
    /// The rule that decided.
    RULE = "RULE",
    /// Notes to the user; empty if there is none.
    NOTE = "NOTE",
    /// The cores that a `--binding` chose for a task.
    BINDING_CORES = "BINDING_CORES",
    /// The mark of the step's list of masks ([`berth_srun::inherited`]); empty for none.
    CPU_BIND = "CPU_BIND",
    /// Each task's node mask, by local id; the text that is also the message's.
    MEM = "MEM",
    /// `--mem-bind` as asked, in srun's words: what an srun inside the step inherits instead of
    /// this step's masks.
    MEM_BIND = "MEM_BIND",
    /// The variables in which berth listed the task's devices, with their values
    /// ([`berth_placement::answer::device_variables`]).
    DEVICES = "DEVICES",
    /// The cpuset that the step runs in, in LSF's form; empty for none.
    CPUSET_INFO = "CPUSET_INFO",
    /// Where the rank file of `--binding=pe:` is.
    RANKFILE = "RANKFILE",
}

/// The user's own switch for notes, because plugins cannot see `--cpu-bind=quiet`
/// (`slurm_verify_cpu_bind`).
pub(crate) const NOTES: &str = "BERTH_NOTES";

/// A change of an environment that leaves nothing of an earlier outcome in it.
pub(crate) fn instead<'a>(set: &'a [(&'a str, &'a str)]) -> Change<'a> {
    Change {
        prefix: PREFIX,
        remove: OUTCOMES,
        remove_others: |_| Vec::new(),
        set,
        reserve: &[],
    }
}

/// For slurmd: a change that also leaves nothing of an outer step's lists of devices.
pub(crate) fn instead_of_outer<'a>(set: &'a [(&'a str, &'a str)]) -> Change<'a> {
    Change {
        remove_others: inherited,
        ..instead(set)
    }
}

/// Bytes of a list of devices. A longer one is not read.
pub(crate) const LIST_BYTES: usize = 16 << 10;
/// Bytes of a mark: the lists of all vendors fit.
const MARK_BYTES: usize = 4 * LIST_BYTES;

/// The variables that are not this step's.
fn inherited(get: &Get<'_>) -> Vec<&'static str> {
    let Some(mark) = get(DEVICES, MARK_BYTES) else {
        return Vec::new();
    };
    device_variables::inherited(&mark, |name| get(name, LIST_BYTES)).collect()
}
