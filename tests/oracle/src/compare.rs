//! Are two answers the same for slurmd and the tasks?

use slurm_sys::layout::Constants;

use crate::answer::Answer;
use crate::case::Case;

/// The judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both bind, and the same.
    Same,
    /// Both refuse, with the same number.
    Refused,
    /// They differ on purpose.
    Known(&'static str),
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
        return refusals(theirs, ours);
    }
    if let Some(why) = known(case, theirs, ours, constants) {
        return Verdict::Known(why);
    }
    if theirs.rc != ours.rc {
        return Verdict::Differ(format!("rc {} and {}", theirs.rc, ours.rc));
    }
    if resolved_by_us(case, theirs, constants) {
        return Verdict::Same;
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
    if differ.is_empty() {
        Verdict::Same
    } else {
        Verdict::Differ(differ.join(", "))
    }
}

/// A refused step is not run: only number and text leave slurmd.
fn refusals(theirs: &Answer, ours: &Answer) -> Verdict {
    if theirs.rc != ours.rc {
        Verdict::Differ(format!("rc {} and {}", theirs.rc, ours.rc))
    } else if ours.told.as_deref().unwrap_or_default().is_empty() {
        Verdict::Differ("refused without a word".into())
    } else {
        Verdict::Refused
    }
}

/// Where task/affinity binds and we do otherwise, on purpose.
fn known(case: &Case, theirs: &Answer, ours: &Answer, c: &Constants) -> Option<&'static str> {
    if theirs.rc != 0 {
        return None;
    }
    // An empty mask in a list: it means all CPUs of the step there; here it is refused where a
    // task would get it, and stays empty where none would.
    let listed = u32::from(case.cpu_bind_type) & c.CPU_BIND_MASK != 0;
    let asked = case.cpu_bind.as_deref().filter(|_| listed);
    if asked.is_some_and(|text| text.split(',').any(is_empty)) {
        return Some("an empty mask");
    }
    // A step whose CPUs are all specialised away: it hands out empty masks, which the kernel
    // takes from no one.
    let left = theirs.cpu_bind.as_deref().filter(|_| ours.rc != 0);
    left.is_some_and(|text| text.split(',').all(is_empty))
        .then_some("no CPU is left")
}

fn is_empty(mask: &str) -> bool {
    mask.trim_start_matches("0x")
        .bytes()
        .all(|digit| digit == b'0')
}

/// Modes that task/affinity leaves to slurmstepd on a whole node, and for which we write masks.
fn resolved_by_us(case: &Case, theirs: &Answer, c: &Constants) -> bool {
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
