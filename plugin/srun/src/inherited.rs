//! Masks that an srun inside a step finds in its environment: those of the step around it, which no user wrote.
//! They would give the inner step's tasks one core for all, or CPUs that it does not own. berth marks each list of masks
//! that leaves it, and so knows a list that comes back. Source: `setup_env` gives a task its step's lists,
//! `_setup_env_args` of srun reads them.

use std::hash::{Hash, Hasher};

use berth_placement::{MemPolicy, Mode};

use crate::{Release, spelling};

/// The variable with the mark of a step's list of masks.
pub const CPU_BIND: &str = "BERTH_CPU_BIND";
/// The variable with each task's node mask, as they stand in the launch message.
pub const MEM: &str = "BERTH_MEM";
/// The variable with the `--mem-bind` that was typed, in srun's words.
pub const MEM_BIND: &str = "BERTH_MEM_BIND";

/// Whether a list is that of the step around. `get` reads a variable.
pub fn is_outer_list(mode: &Mode, get: impl Fn(&str) -> Option<String>) -> bool {
    let mark = mark(mode);
    mark.is_some() && get(CPU_BIND) == mark
}

/// The `--mem-bind` of the step around, if a request has its node masks. `get` reads a variable.
pub fn outer_memory(policy: &MemPolicy, get: impl Fn(&str) -> Option<String>) -> Option<MemPolicy> {
    let masks = MemPolicy::read("mask_mem", &get(MEM)?)?;
    if masks.ok()? != *policy {
        return None;
    }
    // berth's own text, in words that every line's srun has.
    spelling::mem_bind(&get(MEM_BIND)?, Release::NEWEST)
        .ok()?
        .policy
}

/// The mark of a list: 16 hexadecimal digits. It is made from sets, not from their text, because srun drops each mask's
/// `0x`.
#[must_use]
pub fn mark(mode: &Mode) -> Option<String> {
    match mode {
        Mode::MaskCpu(list) => Some(mark_of(list.iter())),
        Mode::MapCpu(list) => Some(mark_of(list.iter())),
        _ => None,
    }
}

fn mark_of<T: Hash>(list: impl IntoIterator<Item = T>) -> String {
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
        let marks = lists.map(|list| read(list).as_ref().and_then(mark));
        let different: std::collections::BTreeSet<_> = marks.iter().flatten().collect();
        assert_eq!(different.len(), lists.len(), "{marks:?}");
        let (long, short) = (read("0x1,0x0FF0"), read("1,ff0"));
        assert_eq!(long.as_ref().and_then(mark), short.as_ref().and_then(mark));
    }
}
