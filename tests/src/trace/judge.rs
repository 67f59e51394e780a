//! What a trace says of tasks: where each of them, its threads and its children ran before and after it became
//! the user's program. In: tasks and their CPUs, events in order. Out: what was seen, and what must not be.

use std::collections::HashMap;

use berth_placement::{CpuId, CpuSet};

use super::{Event, What};

/// One task of a step, as it described itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its node and number, for messages.
    pub name: String,
    /// Its process.
    pub pid: i32,
    /// Its CPUs from its first program on.
    pub own: CpuSet,
    /// The job's on this node.
    pub job: CpuSet,
}

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Tasks that were seen from their fork over their program to their end.
    pub whole: usize,
    /// How often the scheduler started a thread of a task before its program, and after it.
    pub runs: (u64, u64),
    /// Threads and children of the tasks.
    pub others: usize,
    /// A task that ran where it may not, or that was not seen whole.
    pub wrong: Vec<String>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    forked: bool,
    executed: bool,
    ended: bool,
}

/// Goes through a trace.
#[must_use]
pub fn judge(tasks: &[Task], events: impl Iterator<Item = Event>) -> Judged {
    let mut judged = Judged::default();
    let mut seen = vec![Seen::default(); tasks.len()];
    let mut members: HashMap<i32, usize> = HashMap::new();
    let of_pid = |pid: i32| tasks.iter().position(|task| task.pid == pid);
    for Event { cpu, what } in events {
        match what {
            What::Forked { parent, child } => {
                if let Some(task) = of_pid(child) {
                    members.insert(child, task);
                    seen[task].forked = true;
                } else if let Some(task) = members.get(&parent).copied() {
                    members.insert(child, task);
                    judged.others += 1;
                }
            }
            What::Executed(pid) => {
                if let Some(task) = of_pid(pid).filter(|task| seen[*task].forked) {
                    seen[task].executed = true;
                    ran(&tasks[task], true, cpu, &mut judged);
                }
            }
            What::Runs(pid) => {
                if let Some(task) = members.get(&pid) {
                    ran(&tasks[*task], seen[*task].executed, cpu, &mut judged);
                }
            }
            What::Ended(pid) => {
                members.remove(&pid);
                if let Some(task) = of_pid(pid) {
                    seen[task].ended = true;
                }
            }
        }
    }
    for (task, seen) in tasks.iter().zip(seen) {
        match seen {
            Seen {
                forked: true,
                executed: true,
                ended: true,
            } => judged.whole += 1,
            seen => judged
                .wrong
                .push(format!("{}: not seen whole: {seen:?}", task.name)),
        }
    }
    judged
}

fn ran(task: &Task, has_program: bool, cpu: u32, judged: &mut Judged) {
    let (may, when) = if has_program {
        judged.runs.1 += 1;
        (&task.own, "its own")
    } else {
        judged.runs.0 += 1;
        (&task.job, "its job's")
    };
    if !may.contains(CpuId(cpu)) {
        let name = &task.name;
        judged
            .wrong
            .push(format!("{name}: on CPU {cpu}, and {when} are {may}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: i32, own: &str) -> Task {
        let set = |list| CpuSet::from_list(list).unwrap();
        Task {
            name: format!("task {pid}"),
            pid,
            own: set(own),
            job: set("0-3"),
        }
    }

    fn events(list: &[(u32, What)]) -> impl Iterator<Item = Event> + '_ {
        list.iter().map(|(cpu, what)| Event {
            cpu: *cpu,
            what: *what,
        })
    }

    const FORK: What = What::Forked {
        parent: 1,
        child: 10,
    };
    const THREAD: What = What::Forked {
        parent: 10,
        child: 11,
    };

    #[test]
    fn a_task_is_on_its_job_s_cpus_and_then_on_its_own() {
        let whole = [
            (9, What::Runs(1)),
            (9, FORK),
            (3, What::Runs(10)),
            (1, What::Runs(10)),
            (1, What::Executed(10)),
            (1, THREAD),
            (1, What::Runs(11)),
            (1, What::Ended(11)),
            (7, What::Runs(11)),
            (1, What::Ended(10)),
            (7, What::Runs(10)),
        ];
        let tasks = [task(10, "1")];
        let judged = judge(&tasks, events(&whole));
        assert_eq!(judged.wrong, Vec::<String>::new());
        assert_eq!((judged.whole, judged.runs, judged.others), (1, (2, 2), 1));
        for (at, cpu) in [(2, 4), (4, 0), (6, 0)] {
            let mut moved = whole;
            moved[at].0 = cpu;
            let judged = judge(&tasks, events(&moved));
            assert_eq!(judged.wrong.len(), 1, "{at}");
        }
        for missing in [1, 4, 9] {
            let mut less = whole.to_vec();
            less.remove(missing);
            let judged = judge(&tasks, events(&less));
            assert_eq!(
                (judged.whole, !judged.wrong.is_empty()),
                (0, true),
                "{missing}"
            );
        }
    }
}
