//! Binding without Slurm's private records: the step's cores from SPANK
//! (`S_STEP_ALLOC_CORES`) and the machine file. It is for steps that slurmd could not
//! plan because a record failed its check; every task gets all of the step's CPUs.

use berth_placement::CpuSet;
use berth_placement::sets::limits::WORD_BYTES;
use slurm_spank::SpankHandle;
use slurm_sys::StepRecord;

use crate::site::standing::Abi;
use crate::step::own_options::Ours;
use crate::stepd::running_step::Intent;
use crate::stepd::state::STATE;
use crate::stepd::{own_node, spank_only, task_memory};

/// Slurm's variable with what `--cpu-bind` chooses, and what chooses CPUs there. Source: `slurm_sprint_cpu_bind_type`.
const CPU_BIND_TYPE: &str = "SLURM_CPU_BIND_TYPE";
const BINDS: [&str; 7] = [
    "threads", "cores", "sockets", "ldoms", "rank", "map_", "mask_",
];

/// SPANK's `task_post_fork`, in the parent, after the task plugins.
pub(crate) fn post_fork(spank: &SpankHandle<'_>) {
    let step = STATE.step();
    match step.as_ref().map(|step| &step.intent) {
        Some(Intent::Own(own)) if own.is_empty() => {}
        Some(_) => return,
        None => return spank_only::post_fork(spank),
    }
    drop(step);
    let Ok(pid) = spank.task_pid() else { return };
    let done = cpus(spank).and_then(|cpus| {
        berth_host::set_affinity(pid, &cpus)
            .map_err(|why| why.to_string())
            .map(|()| cpus)
    });
    match done {
        Ok(cpus) => log::info!("task {pid} is bound to the step's CPUs {cpus}, without placement"),
        Err(why) => log::error!("task {pid} is not bound: {why}"),
    }
}

/// The note to the user of a step that slurmd could not plan: what he asked for and does not get. Slurm's variable has the
/// `--cpu-bind` as srun had it, because a slurmd may have changed the record's.
pub(crate) fn note(slurm: Abi, record: &StepRecord<'_>) -> String {
    let cpu_bind = record
        .env()
        .get(CPU_BIND_TYPE, WORD_BYTES)
        .unwrap_or_default();
    let binds = BINDS.iter().any(|word| cpu_bind.contains(word));
    let ours = Ours::read(&STATE.options()).unwrap_or_default().typed();
    not_applied(&[
        &ours,
        if binds { "--cpu-bind" } else { "" },
        if task_memory::is_requested(slurm, record) {
            "--mem-bind"
        } else {
            ""
        },
    ])
}

fn not_applied(requested: &[&str]) -> String {
    let requested: Vec<_> = requested
        .iter()
        .copied()
        .filter(|one| !one.is_empty())
        .collect();
    match requested.is_empty() {
        true => String::new(),
        false => format!(
            "{}: not applied, since this step could not be planned, and its tasks have all of its CPUs; ask the \
             administrator; the reason is in slurmd's log",
            requested.join(" ")
        ),
    }
}

fn cpus(spank: &SpankHandle<'_>) -> Result<CpuSet, String> {
    let list = spank.step_alloc_cores().map_err(|why| why.to_string())?;
    let cores = CpuSet::from_list(list).map_err(|why| why.to_string())?;
    let cpus = own_node::of_cores(&own_node::public()?, &cores);
    if cpus.is_empty() {
        return Err(format!(
            "the machine file has none of the step's cores {list}"
        ));
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_told_what_was_asked_alone() {
        assert_eq!(not_applied(&["", "", ""]), "");
        let note = not_applied(&["--binding=linear:1", "", "--mem-bind"]);
        assert!(
            note.starts_with("--binding=linear:1 --mem-bind: not applied, since"),
            "{note}"
        );
    }
}
