//! Lines of the kernel's trace as events. In: a line of tracefs' file `trace`. Out: the CPU, and what happened
//! there. Source: the formats below `/sys/kernel/tracing/events/sched`.

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The CPU on which it happened.
    pub cpu: u32,
    /// What happened.
    pub what: What,
}

/// What happened; numbers are those of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The CPU goes on with this thread.
    Runs(i32),
    /// A thread made another.
    Forked {
        /// The one that was there.
        parent: i32,
        /// The new one.
        child: i32,
    },
    /// A thread became another program.
    Executed(i32),
    /// A thread ended.
    Ended(i32),
}

impl Event {
    /// The event of a line; none for the head of the file and for events of other kinds.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        let (head, rest) = line.split_once(": sched_")?;
        let (kind, rest) = rest.split_once(": ")?;
        let (_, cpu) = head.rsplit_once('[')?;
        let cpu = cpu.split(']').next()?.parse().ok()?;
        // Names of programs may hold anything, so the last one of a word counts.
        let number = |word: &str| {
            let (_, value) = rest.rsplit_once(word)?;
            value.split(' ').next()?.parse().ok()
        };
        let what = match kind {
            "switch" => What::Runs(number("next_pid=")?),
            "process_fork" => What::Forked {
                parent: number(" pid=")?,
                child: number("child_pid=")?,
            },
            "process_exec" => What::Executed(number(" pid=")?),
            "process_exit" => What::Ended(number(" pid=")?),
            _ => return None,
        };
        Some(Self { cpu, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_line() {
        for (line, cpu, what) in [
            (
                "          slurmd-412     [003] d..2.   17.993652: sched_switch: prev_comm=a pid=7 prev_pid=412 \
                 prev_prio=120 prev_state=S ==> next_comm=b next_pid=9 next_pid=41 next_prio=120",
                3,
                What::Runs(41),
            ),
            (
                "      slurmstepd-9       [120] .....    17.1: sched_process_fork: comm=x y pid=9 child_comm=x y \
                 child_pid=10",
                120,
                What::Forked {
                    parent: 9,
                    child: 10,
                },
            ),
            (
                "         [odd] x-10      [001] .....    17.2: sched_process_exec: filename=/x pid=3 pid=10 old_pid=10",
                1,
                What::Executed(10),
            ),
            (
                "            task-10      [001] .....    17.2: sched_process_exit: comm=task pid=10 prio=120",
                1,
                What::Ended(10),
            ),
        ] {
            assert_eq!(Event::read(line), Some(Event { cpu, what }), "{line}");
        }
        for other in [
            "# tracer: nop",
            "",
            "  x-1 [000] d.. 1.0: sched_wakeup: comm=x pid=1 prio=1",
        ] {
            assert_eq!(Event::read(other), None, "{other}");
        }
    }
}
