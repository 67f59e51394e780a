//! Converts a plan into the launch message's `cpu_bind` bits.
//! In: the bits that came, the plan. Out: the bits that go on to slurmstepd.

use berth_placement::{Level, Message, Plan, Rule};
use slurm_sys::Layout;

/// The bits after planning: masks are a mode, and a level that was laid out is removed.
/// Source: `lllp_distribution`, `_lllp_generate_cpu_bind`.
pub(crate) fn bits(came: u32, plan: &Plan, one_thread: bool, layout: &Layout) -> u32 {
    let c = &layout.constants;
    let came = came
        | if one_thread {
            c.CPU_BIND_ONE_THREAD_PER_CORE
        } else {
            0
        };
    let modes = modes(layout);
    let levels = levels(layout).iter().fold(0, |all, (bit, _)| all | bit);
    let keep_level = match &plan.message {
        Message::Unbound if matches!(plan.decision.rule, Rule::Mapped(_)) => {
            return (came & !modes & !levels) | c.CPU_BIND_NONE;
        }
        Message::Unbound | Message::AsAsked(_) => return came,
        Message::Shared { keep_level, .. } => *keep_level,
        Message::Each { .. } | Message::Rewritten(_) => None,
    };
    // A level beside an explicit mode stays, because the verbose report shows it.
    let explicit = matches!(plan.decision.rule, Rule::Asked(_) | Rule::Unbound { .. });
    let done = if explicit { 0 } else { levels };
    let kept = |level| {
        self::levels(layout)
            .into_iter()
            .find(|(_, one)| *one == level)
    };
    let kept = keep_level.and_then(kept).map_or(0, |(bit, _)| bit);
    (came & !modes & !done) | kept | c.CPU_BIND_MASK
}

/// The bits of all explicit modes.
pub(crate) fn modes(layout: &Layout) -> u32 {
    let c = &layout.constants;
    c.CPU_BIND_NONE
        | c.CPU_BIND_RANK.unwrap_or(0)
        | c.CPU_BIND_MAP
        | c.CPU_BIND_MASK
        | c.CPU_BIND_LDRANK
        | c.CPU_BIND_LDMAP
        | c.CPU_BIND_LDMASK
}

/// The bit of each level, in the order in which Slurm looks.
pub(crate) fn levels(layout: &Layout) -> [(u32, Level); 4] {
    let c = &layout.constants;
    [
        (c.CPU_BIND_TO_THREADS, Level::Threads),
        (c.CPU_BIND_TO_CORES, Level::Cores),
        (c.CPU_BIND_TO_SOCKETS, Level::Sockets),
        (c.CPU_BIND_TO_LDOMS, Level::Ldoms),
    ]
}
