//! What the user should know although the step runs. Each text says what was asked, what was
//! found, what to do.

use std::fmt;

/// Something the user should know although the step runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The step has fewer CPUs than tasks × `-c`.
    CpusPerTaskShrunk {
        /// Asked for.
        asked: u32,
        /// Given.
        given: u32,
        /// Tasks on this host.
        tasks: u32,
        /// CPUs of the step.
        own: u32,
    },
    /// A limit on the number of tasks that cannot hold for all of them.
    LimitExceeded {
        /// The option.
        option: &'static str,
        /// Its value.
        limit: u32,
        /// Tasks on this node.
        tasks: u32,
        /// The largest number of them on one core or socket.
        most: u32,
    },
    /// One task has fewer CPUs than the others: the remainder of the step's last core.
    TaskShort {
        /// The first such task, by its number on this node.
        task: u32,
        /// Asked for.
        asked: u32,
        /// Given.
        given: u32,
    },
    /// Tasks share CPUs although others of the step have no task.
    SharedWhileIdle {
        /// Tasks on this node.
        tasks: u32,
        /// What is idle.
        unit: &'static str,
        /// How many of them.
        idle: u32,
        /// `--threads-per-core`, or what a hint made of it.
        threads_per_core: Option<u32>,
    },
    /// More tasks than CPUs, though nobody asked to overcommit.
    MoreTasksThanCpus {
        /// Tasks on this node.
        tasks: u32,
        /// CPUs of the step.
        own: u32,
    },
    /// A `--binding` that could not be had: the whole text.
    NotBound(String),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CpusPerTaskShrunk {
                asked,
                given,
                tasks,
                own,
            } => write!(
                f,
                "{tasks} tasks × {asked} CPUs asked, {own} CPUs here: each task gets {given}; \
                 use fewer tasks or a smaller -c"
            ),
            Self::LimitExceeded {
                option,
                limit,
                tasks,
                most,
            } => write!(
                f,
                "{option}={limit} asked, but the {tasks} tasks on this node do not fit within it: up \
                 to {most} are together; use fewer tasks on this node or a larger limit"
            ),
            Self::TaskShort { task, asked, given } => write!(
                f,
                "{asked} CPUs a task asked, but task {task} on this node gets {given}: no more are \
                 left together; use fewer tasks or a smaller -c"
            ),
            Self::SharedWhileIdle {
                tasks,
                unit,
                idle,
                threads_per_core,
            } => {
                let s = if *idle == 1 { "" } else { "s" };
                write!(
                    f,
                    "some of the {tasks} tasks share CPUs, and {idle} {unit}{s} stay idle"
                )?;
                why_idle(f, *threads_per_core)
            }
            Self::MoreTasksThanCpus { tasks, own } => write!(
                f,
                "{tasks} tasks on this node share {own} CPUs; use fewer tasks, or --overcommit if \
                 that is meant"
            ),
            Self::NotBound(text) => f.write_str(text),
        }
    }
}

fn why_idle(f: &mut fmt::Formatter<'_>, threads_per_core: Option<u32>) -> fmt::Result {
    match threads_per_core {
        Some(limit) => write!(
            f,
            ": only {limit} hardware thread(s) of each core may be used; use fewer \
             tasks, or leave out --threads-per-core and --hint=nomultithread"
        ),
        None => f.write_str("; use fewer tasks, or another -c or -m"),
    }
}
