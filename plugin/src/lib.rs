//! `task_berth.so`: Slurm's task plugin and SPANK plugin in one object.
//!
//! Read [`hooks_task`] and [`hooks_spank`] first: every entry point is a guard and
//! a call. In slurmd [`launch`] plans; in slurmstepd [`step`] reads the masks
//! back and [`apply`] tells the kernel; the task itself sets its memory policy
//! ([`task_memory`]). All thinking is in `berth-placement`.

mod accounting;
mod announce;
mod apply;
mod batch;
mod convert;
#[cfg(test)]
mod count_allocations;
mod counting;
mod discovery;
mod first_task;
mod guard;
mod handover;
mod held;
mod hooks_spank;
mod hooks_task;
mod identity;
mod inherited;
mod job_stderr;
mod launch;
mod launching;
mod memory;
mod message;
mod never_fits;
mod node;
mod node_counts;
mod pe_files;
mod pe_texts;
mod pe_writer;
#[cfg(feature = "plant-panics")]
mod plant;
mod public_binding;
mod public_way;
mod reading;
mod report;
mod seal;
mod settings;
mod settling;
mod shadow;
mod slurm_log;
mod spank_option;
mod stack_line;
mod standing;
mod step;
mod submission;
mod task_env;
mod task_memory;
mod telling;
mod words;
mod worker;
