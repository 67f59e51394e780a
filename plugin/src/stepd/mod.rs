//! The code that runs in slurmstepd, as root, and in its children between fork and exec.

pub(crate) mod account;
pub(crate) mod apply;
pub(crate) mod first_task;
pub(crate) mod in_task;
pub(crate) mod intent;
pub(crate) mod job_stderr;
pub(crate) mod key;
pub(crate) mod own_cpus;
pub(crate) mod own_node;
pub(crate) mod pe_files;
pub(crate) mod pe_hooks;
pub(crate) mod pe_texts;
pub(crate) mod pe_writer;
pub(crate) mod read;
pub(crate) mod refused;
pub(crate) mod report;
pub(crate) mod session;
pub(crate) mod settle;
pub(crate) mod spank_only;
pub(crate) mod spank_plan;
pub(crate) mod stack_line;
pub(crate) mod state;
pub(crate) mod task_env;
pub(crate) mod task_memory;
pub(crate) mod tell;
pub(crate) mod unplanned;
