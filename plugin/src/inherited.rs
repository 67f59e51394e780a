//! An srun inside a step finds the masks of that step in its environment (SLURM_CPU_BIND) and asks
//! for them again, although nobody wrote them: on the inner step's tasks they mean one core for
//! all, or CPUs that it does not own. Every list that leaves us is marked, so that it is known
//! when it comes back.

use berth_placement::{Fix, Request};
use slurm_sys::{Error, LaunchRequest};

/// The mark of the step's list: its hash.
const ENV_MARK: &str = "BERTH_CPU_BIND";

/// Takes a list that came back for one that was not given; says whether it did.
/// Source: `setup_env` gives a task its step's list, `_setup_env_args` of srun reads it.
pub(crate) fn forget(ask: &mut Request, launch: &LaunchRequest<'_>) -> bool {
    if ask.cpu_bind.mode.is_none() || !ask.rules.fixes.has(Fix::InheritedMask) {
        return false;
    }
    let came_back = launch
        .cpu_bind()
        .zip(launch.env_get(ENV_MARK))
        .is_some_and(|(text, mark)| mark == self::mark(&text));
    if came_back {
        ask.cpu_bind.mode = None;
    }
    came_back
}

/// Marks the list that goes out; without one an outer step's mark goes away.
///
/// # Errors
/// As [`LaunchRequest::env_set`].
pub(crate) fn leave(launch: &mut LaunchRequest<'_>, text: Option<&str>) -> Result<(), Error> {
    let mark = text.map(mark).unwrap_or_default();
    launch.env_set(ENV_MARK, &mark)
}

/// The same for a list that went through srun, which drops each mask's `0x`. Eight bytes at a
/// time: a list of 512 masks has 66 kB.
fn mark(text: &str) -> String {
    let masks = text.split(',');
    let hash = masks.fold(1, |hash, mask| {
        let digits = mask.strip_prefix("0x").unwrap_or(mask);
        mix(hash, digits.as_bytes())
    });
    format!("{hash:016x}")
}

fn mix(hash: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let one = |hash: u64, word: &[u8; 8]| {
        (hash.rotate_left(29) ^ u64::from_le_bytes(*word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    let length = (bytes.len() as u64).to_le_bytes();
    words.iter().chain([&last, &length]).fold(hash, one)
}

#[cfg(test)]
mod tests {
    use super::mark;

    #[test]
    fn another_list_has_another_mark() {
        let lists = [
            "",
            "0x1",
            "0x2",
            "0x1,0x2",
            "0x2,0x1",
            "0x1,0x2,0x4,0x8",
            "0x1,0x2,0x8,0x4",
        ];
        let marks: std::collections::BTreeSet<String> = lists.map(mark).into();
        assert_eq!(marks.len(), lists.len(), "{marks:?}");
        assert_eq!(mark("0x1,0x0FF0"), mark("1,0FF0"), "srun drops the prefix");
    }
}
