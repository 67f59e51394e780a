//! An srun inside a step finds the masks of that step in its environment (SLURM_CPU_BIND) and
//! requests them again, although no user wrote them. They give the inner step's tasks one core for
//! all, or CPUs that it does not own. Every list that leaves us is marked, so berth recognises it
//! when it comes back.

use std::hash::{Hash, Hasher};

use berth_placement::{Fix, Fixes, Mode, Request};
use slurm_sys::LaunchRequest;

use crate::step::names;

/// A mark's digits.
const MARK_BYTES: usize = 16;

/// Removes a list that came back from the request, and returns whether there was one.
/// Source: `setup_env` gives a task its step's list, `_setup_env_args` of srun reads it.
pub(crate) fn forget(request: &mut Request, fixes: Fixes, launch: &LaunchRequest<'_>) -> bool {
    if !fixes.has(Fix::InheritedMask) {
        return false;
    }
    let mark = request.cpu_bind.mode.as_ref().and_then(of_mode);
    let came_back = mark.is_some() && launch.env_get(names::CPU_BIND, MARK_BYTES) == mark;
    if came_back {
        request.cpu_bind.mode = None;
    }
    came_back
}

/// The mark of a list. It is made from sets, not from their text, because srun drops each mask's
/// `0x`.
pub(crate) fn of_mode(mode: &Mode) -> Option<String> {
    match mode {
        Mode::MaskCpu(list) => Some(of(list.iter())),
        Mode::MapCpu(list) => Some(of(list.iter())),
        _ => None,
    }
}

fn of<T: Hash>(list: impl IntoIterator<Item = T>) -> String {
    let mut mix = Mix(1);
    for entry in list {
        entry.hash(&mut mix);
    }
    format!("{:016x}", mix.finish())
}

/// A hash that is quick and the same in every build, because the mark outlives this process.
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_list_has_another_mark() {
        let lists = [
            "0x1",
            "0x2",
            "0x1,0x2",
            "0x2,0x1",
            "0x1,0x2,0x4,0x8",
            "0x1,0x2,0x8,0x4",
        ];
        let read = |text: &str| Mode::read("mask_cpu", text).and_then(Result::ok);
        let marks = lists.map(|list| read(list).as_ref().and_then(of_mode));
        let different: std::collections::BTreeSet<_> = marks.iter().flatten().collect();
        assert_eq!(different.len(), lists.len(), "{marks:?}");
        let (long, short) = (read("0x1,0x0FF0"), read("1,ff0"));
        assert_eq!(
            long.as_ref().and_then(of_mode),
            short.as_ref().and_then(of_mode)
        );
    }
}
