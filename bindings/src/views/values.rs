//! Small values that several records hold, with Slurm's ways to write "not given" taken away.

use crate::layout::Layout;
use crate::record::Record;

/// INFINITE16 of slurm.h, in every release; the tables carry only the constants that tell apart.
const INFINITE16: u16 = 0xffff;

/// A step's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StepId {
    /// The job.
    pub job_id: u32,
    /// The step in it; Slurm's highest numbers are batch script, extern and interactive step.
    pub step_id: u32,
    /// Component of a heterogeneous step.
    pub het_component: Option<u32>,
    /// The kind of step that the number means.
    pub kind: StepKind,
}

/// The kind of step that a number means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// Started by srun.
    #[default]
    Regular,
    /// The batch script.
    Batch,
    /// The step for processes from outside (pam_slurm_adopt).
    Extern,
    /// salloc's shell.
    Interactive,
}

impl StepId {
    pub(crate) fn read(record: Record, layout: &Layout) -> StepId {
        let (fields, constants) = (&layout.step_id, &layout.constants);
        let step_id = record.read(fields.step_id);
        let component = record.read(fields.step_het_comp);
        StepId {
            job_id: record.read(fields.job_id),
            step_id,
            het_component: (component != constants.NO_VAL).then_some(component),
            kind: StepKind::of(step_id, layout),
        }
    }
}

impl StepKind {
    /// The kind that a step number means.
    pub fn of(step_id: u32, layout: &Layout) -> StepKind {
        let constants = &layout.constants;
        match step_id {
            id if id == constants.SLURM_BATCH_SCRIPT => StepKind::Batch,
            id if id == constants.SLURM_EXTERN_CONT => StepKind::Extern,
            id if id == constants.SLURM_INTERACTIVE_STEP => StepKind::Interactive,
            _ => StepKind::Regular,
        }
    }
}

/// `--core-spec` or `--thread-spec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreSpec {
    /// Cores kept for the system; 0 if the job requests none, which Slurm treats as a request.
    Cores(u16),
    /// Threads kept for the system.
    Threads(u16),
}

impl CoreSpec {
    pub(crate) fn from_raw(raw: u16, layout: &Layout) -> Option<CoreSpec> {
        let threads = layout.constants.CORE_SPEC_THREAD;
        match u32::from(raw) {
            value if value == layout.constants.NO_VAL16 || raw == INFINITE16 => None,
            value if value & threads != 0 => Some(CoreSpec::Threads(raw & !(threads as u16))),
            _ => Some(CoreSpec::Cores(raw)),
        }
    }
}

/// A count, if the user gave one: 0, NO_VAL16 and INFINITE16 all mean "not given".
pub(crate) fn user_count(raw: u16, layout: &Layout) -> Option<u16> {
    let is_given = raw != 0 && raw != INFINITE16 && u32::from(raw) != layout.constants.NO_VAL16;
    is_given.then_some(raw)
}
