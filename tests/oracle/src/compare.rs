//! Are two answers the same for slurmd and the tasks?

use slurm_sys::layout::Constants;

use crate::answer::Answer;
use crate::case::Case;

/// CPUs of a mask that task/affinity's look-up reads whole.
const LONGEST_MASK: usize = 1016;

/// The judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both bind, and the same.
    Same,
    /// Both refuse, with the same number.
    Refused,
    /// Bound alike where task/affinity decides, elsewhere not to be compared: why not.
    Aside(&'static str),
    /// They differ.
    Differ(String),
}

/// Compares.
#[must_use]
pub fn judge(case: &Case, theirs: &Answer, ours: &Answer, constants: &Constants) -> Verdict {
    if ours.locked != 0 {
        return Verdict::Differ("the credential stays locked".into());
    }
    if theirs.rc != 0 && ours.rc != 0 {
        return refusals(case, theirs, ours);
    }
    if theirs.rc != ours.rc {
        return match is_rank(case, constants)
            .then(|| beyond_rank(case))
            .flatten()
        {
            Some(why) if theirs.rc == 0 => Verdict::Aside(why),
            _ => Verdict::Differ(format!("rc {} and {}", theirs.rc, ours.rc)),
        };
    }
    if resolved_by_us(case, theirs, constants) {
        return resolved(case, theirs, ours, constants);
    }
    // Beside specialised cores task/affinity does not read masks, and leaves them as they were
    // spelled; ours go on without leading zeros, in small digits, as everywhere else.
    let specialised = u32::from(case.job_core_spec) != constants.NO_VAL16;
    let unread = specialised && u32::from(case.cpu_bind_type) & constants.CPU_BIND_MASK != 0;
    let mut differ = Vec::new();
    if theirs.cpu_bind_type != ours.cpu_bind_type {
        differ.push("cpu_bind_type");
    }
    if theirs.cpu_bind != ours.cpu_bind && !(unread && spelled_alike(theirs, ours)) {
        differ.push("cpu_bind");
    }
    if theirs.cpus_per_task != ours.cpus_per_task {
        differ.push("cpus_per_task");
    }
    if ours.note.is_some() {
        differ.push("note");
    }
    if differ.is_empty() {
        Verdict::Same
    } else {
        Verdict::Differ(differ.join(", "))
    }
}

/// A refused step is not run: only number and text leave slurmd. Of a step's nodes the first that
/// refuses has the text, so another than the step's first may have none.
fn refusals(case: &Case, theirs: &Answer, ours: &Answer) -> Verdict {
    let is_silent = ours.err_msg.as_deref().unwrap_or_default().is_empty();
    if theirs.rc != ours.rc {
        Verdict::Differ(format!("rc {} and {}", theirs.rc, ours.rc))
    } else if is_silent && case.node_id == 0 {
        Verdict::Differ("refused without a word".into())
    } else {
        Verdict::Refused
    }
}

/// Both answers as slurmstepd reads them.
fn resolved(case: &Case, theirs: &Answer, ours: &Answer, c: &Constants) -> Verdict {
    // `get_cpuset` keeps 256 characters of a mask, `0x` among them, and cuts off the low CPUs.
    if case.machine.map.len() > LONGEST_MASK {
        return Verdict::Aside("masks too long for task/affinity's look-up");
    }
    if is_rank(case, c)
        && let Some(why) = beyond_rank(case)
    {
        return Verdict::Aside(why);
    }
    if theirs.resolved == ours.resolved {
        Verdict::Same
    } else {
        Verdict::Differ("the tasks' CPUs in slurmstepd".into())
    }
}

/// `rank`, which slurmstepd resolves.
fn is_rank(case: &Case, c: &Constants) -> bool {
    let rank = c.CPU_BIND_RANK.unwrap_or(0);
    u32::from(case.cpu_bind_type) & rank != 0 && u32::from(case.job_core_spec) == c.NO_VAL16
}

/// Why task/affinity may name CPUs that are not there, which the kernel refuses. Ours are the step's own, or the step is
/// refused before.
fn beyond_rank(case: &Case) -> Option<&'static str> {
    if usize::from(case.tasks()) > case.machine.map.len() {
        return Some("rank past the last CPU");
    }
    let is_permutation = case.machine.is_permutation();
    (!is_permutation).then_some("rank where slurmd's map is no permutation")
}

/// Modes that task/affinity leaves to slurmstepd on a whole node, and for which we write masks.
#[must_use]
pub fn resolved_by_us(case: &Case, theirs: &Answer, c: &Constants) -> bool {
    let later =
        c.CPU_BIND_RANK.unwrap_or(0) | c.CPU_BIND_LDRANK | c.CPU_BIND_LDMAP | c.CPU_BIND_LDMASK;
    u32::from(case.cpu_bind_type) & u32::from(theirs.cpu_bind_type) & later != 0
}

fn spelled_alike(theirs: &Answer, ours: &Answer) -> bool {
    let masks = |answer: &Answer| -> Vec<String> {
        let text = answer.cpu_bind.as_deref().unwrap_or_default();
        text.to_ascii_lowercase()
            .split(',')
            .map(|mask| {
                mask.trim_start_matches("0x")
                    .trim_start_matches('0')
                    .to_owned()
            })
            .collect()
    };
    masks(theirs) == masks(ours)
}
