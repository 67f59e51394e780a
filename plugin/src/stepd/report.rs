//! The verbose report on the job's stderr, in the very words that users know
//! (`task_slurm_chkaffinity`), and our notes to users.

use berth_placement::{CpuSet, Level};
use slurm_sys::views::TaskInfo;
use slurm_sys::{Layout, StepRecord};

use crate::step::convert::level_bits;
use crate::step::names;

/// The fixed words of a step's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    level: Option<Level>,
    /// `MASK`, `MAP `, … with the blanks of the original.
    kind: &'static str,
    /// ` set` or nothing.
    action: &'static str,
}

/// The words for a bind type; `None` unless `verbose` was requested.
pub(crate) fn words(bits: u32, layout: &Layout) -> Option<Words> {
    let c = &layout.constants;
    let is = |bit: u32| bits & bit != 0;
    if !is(c.CPU_BIND_VERBOSE) {
        return None;
    }
    if is(c.CPU_BIND_NONE) {
        return Some(Words {
            level: None,
            kind: "NONE",
            action: "",
        });
    }
    let level = level_bits(layout).into_iter().find(|(bit, _)| is(*bit));
    let kinds = [
        (c.CPU_BIND_RANK.unwrap_or(0), "RANK"),
        (c.CPU_BIND_MAP, "MAP "),
        (c.CPU_BIND_MASK, "MASK"),
        (c.CPU_BIND_LDRANK, "LDRANK"),
        (c.CPU_BIND_LDMAP, "LDMAP "),
        (c.CPU_BIND_LDMASK, "LDMASK"),
    ];
    let kind = kinds.into_iter().find(|(bit, _)| is(*bit));
    let kind = kind.map(|(_, word)| word);
    let other = is(!c.CPU_BIND_VERBOSE);
    Some(Words {
        level: level.map(|(_, level)| level),
        kind: kind.unwrap_or(if other { "UNK " } else { "NULL" }),
        action: if kind.is_some() || other { " set" } else { "" },
    })
}

impl Words {
    /// The line of one task.
    pub(crate) fn line(&self, node: &str, task: TaskInfo, mask: &CpuSet, failed: bool) -> String {
        let Self { kind, action, .. } = self;
        let level = self.level.map(|level| format!("-{level}"));
        let level = level.unwrap_or_default();
        format!(
            "cpu-bind{level}={kind} - {node}, task {:2} {:2} [{}]: mask {}{action}{}\n",
            task.gtid,
            task.id,
            task.pid,
            mask.to_short_hex(),
            if failed { " FAILED" } else { "" },
        )
    }
}

/// The most bytes of a value of the switch; longer values are ignored.
const LONGEST_SWITCH: usize = 16;

/// The switch in a step's environment.
pub(crate) fn switch(record: &StepRecord<'_>) -> Option<String> {
    record.env().get(names::NOTES, LONGEST_SWITCH)
}

/// Whether this value of the switch silences the notes.
pub(crate) fn are_notes_off(switch: Option<&str>) -> bool {
    switch == Some("off")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that task/affinity of Debian's 22.05.8 printed, with other names and numbers.
    #[test]
    fn word_for_word() {
        let task = TaskInfo {
            id: 1,
            gtid: 12,
            pid: 4711,
        };
        let mask = CpuSet::from_list("0-3,8").unwrap_or_default();
        for layout in Layout::all() {
            let c = &layout.constants;
            let v = c.CPU_BIND_VERBOSE;
            for (bits, head, tail) in [
                (v | c.CPU_BIND_MASK, "=MASK", " set"),
                (v | c.CPU_BIND_MAP, "=MAP ", " set"),
                (v | c.CPU_BIND_NONE, "=NONE", ""),
                (v, "=NULL", ""),
                (
                    v | c.CPU_BIND_TO_CORES | c.CPU_BIND_MASK,
                    "-cores=MASK",
                    " set",
                ),
                (v | c.CPU_BIND_TO_LDOMS, "-ldoms=UNK ", " set"),
            ] {
                let words = words(bits, layout).map(|words| words.line("n1", task, &mask, false));
                let line = format!("cpu-bind{head} - n1, task 12  1 [4711]: mask 0x10f{tail}\n");
                assert_eq!(words, Some(line));
            }
            assert_eq!(words(c.CPU_BIND_MASK, layout), None);
        }
    }

    #[test]
    fn a_failure_is_said() {
        let words = Words {
            level: None,
            kind: "MASK",
            action: " set",
        };
        let task = TaskInfo {
            id: 0,
            gtid: 0,
            pid: 1,
        };
        let line = words.line("n1", task, &CpuSet::new(), true);
        assert_eq!(
            line,
            "cpu-bind=MASK - n1, task  0  0 [1]: mask 0x0 set FAILED\n"
        );
    }
}
