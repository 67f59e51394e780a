//! `task_berth.so`: Slurm's task plugin and SPANK plugin in one object.
//!
//! Its folders are the processes in which it runs, because what may lock, log, allocate or
//! wait differs by process. Read [`hooks`] first: every entry point is a guard and a call.
//! In srun, sbatch and salloc it calls [`submit`]; in slurmd [`slurmd`], which plans; in
//! slurmstepd [`stepd`], which reads the masks back and tells the kernel. These use
//! [`planning`], [`message`] and [`site`]. All thinking is in `berth-placement`.

mod hooks;
mod message;
mod planning;
mod site;
mod slurmd;
mod stepd;
mod submit;
