//! Our table against the public headers of the Slurm that this machine has.
//! Only with `--features headers`; skips, with a reason, where the release is unknown to us.
#![cfg(feature = "headers")]

use slurm_sys::headers as h;
use slurm_sys::{Layout, Line, choose};
use std::mem::offset_of;

/// The table of the installed headers' release.
fn table() -> Option<&'static Layout> {
    let number = h::SLURM_VERSION_NUMBER;
    let Some(line) = Line::from_plugin_version(number) else {
        println!("skipped: the headers are of {number:#x}, and no table is for that line");
        return None;
    };
    choose(Ok(line), Some((number & 0xff) as u8), false).layout()
}

/// Compares constants of the headers with ours of the same name.
macro_rules! same {
    ($table:expr; $($name:ident)+) => {
        $(assert_eq!(u64::from($table.constants.$name), u64::from(h::$name), stringify!($name));)+
    };
}

#[test]
fn constants_are_those_of_the_headers() {
    let Some(table) = table() else { return };
    same!(table; CPU_BIND_VERBOSE CPU_BIND_TO_THREADS CPU_BIND_TO_CORES CPU_BIND_TO_SOCKETS CPU_BIND_TO_LDOMS);
    same!(table; CPU_BIND_NONE CPU_BIND_MAP CPU_BIND_MASK CPU_BIND_LDRANK CPU_BIND_LDMAP CPU_BIND_LDMASK CPU_BIND_OFF);
    same!(table; CPU_BIND_ONE_THREAD_PER_CORE CPU_AUTO_BIND_TO_THREADS CPU_AUTO_BIND_TO_CORES CPU_AUTO_BIND_TO_SOCKETS);
    same!(table; MEM_BIND_VERBOSE MEM_BIND_NONE MEM_BIND_RANK MEM_BIND_MAP MEM_BIND_MASK MEM_BIND_LOCAL MEM_BIND_PREFER);
    same!(table; SLURM_DIST_CYCLIC SLURM_DIST_BLOCK SLURM_DIST_ARBITRARY SLURM_DIST_PLANE SLURM_DIST_UNKNOWN);
    same!(table; SLURM_DIST_BLOCK_CYCLIC SLURM_DIST_BLOCK_BLOCK SLURM_DIST_BLOCK_CFULL SLURM_DIST_NODESOCKMASK);
    same!(table; SLURM_DIST_CYCLIC_CYCLIC SLURM_DIST_CYCLIC_BLOCK SLURM_DIST_CYCLIC_CFULL CORE_SPEC_THREAD);
    same!(table; NO_VAL NO_VAL16 SLURM_BATCH_SCRIPT SLURM_EXTERN_CONT SLURM_INTERACTIVE_STEP ESLURMD_CPU_BIND_ERROR);
    assert_eq!(
        table.constants.ESLURMD_CPU_LAYOUT_ERROR,
        Some(h::ESLURMD_CPU_LAYOUT_ERROR)
    );
    assert_eq!(
        h::INFINITE16,
        0xffff,
        "the one that the views hold themselves"
    );
}

/// Compares offsets of a public record with ours.
macro_rules! same_offsets {
    ($fields:expr, $record:ty { $($name:ident),+ $(,)? }) => {
        $(assert_eq!($fields.$name.offset(), offset_of!($record, $name), stringify!($name));)+
    };
}

#[test]
fn public_records_are_laid_out_as_the_headers_say() {
    let Some(table) = table() else { return };
    same_offsets!(
        table.slurm_conf,
        h::slurm_conf_t {
            task_plugin,
            task_plugin_param,
            select_type_param,
            plugstack,
            slurmd_params,
            conf_flags,
        }
    );
    same_offsets!(
        table.step_id,
        h::slurm_step_id_t {
            job_id,
            step_id,
            step_het_comp
        }
    );
}

#[test]
fn spank_items_keep_their_numbers() {
    // SPANK wrappers with pre-generated bindings rely on these numbers; Slurm only appended new ones.
    let items = [
        h::S_JOB_UID,
        h::S_JOB_ID,
        h::S_JOB_STEPID,
        h::S_TASK_ID,
        h::S_TASK_PID,
        h::S_STEP_CPUS_PER_TASK,
        h::S_JOB_ALLOC_CORES,
        h::S_STEP_ALLOC_CORES,
        h::S_SLURM_VERSION_MICRO,
    ];
    assert_eq!(items, [0, 2, 3, 11, 14, 24, 25, 27, 23]);
}
