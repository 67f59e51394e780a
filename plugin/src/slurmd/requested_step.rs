//! A step's request, as its launch request has it: Slurm's own words, berth's options, the devices and the cpuset
//! that Slurm and the job give it. Nonsense is refused here.

use berth_placement::sets::limits::NEAR_BYTES;
use berth_placement::{CpuBind, Near, Node, PoolWish};
use slurm_sys::views::SpankOption;
use slurm_sys::{Error, LaunchRequest};

use crate::site::settings::Settings;
use crate::site::standing::{Abi, NAME};
use crate::slurmd::{cpuset, near, refusal};
use crate::step::own_options::{self, Ours, Own, Texts};
use crate::step::{Step, convert, handover, inherited, memory};

/// A launch request, read once.
pub(super) struct RequestedStep {
    pub step: Step,
    /// Whether its list was that of the step around it.
    pub inherited: bool,
    /// `--pool`.
    pub pool: Option<PoolWish>,
    /// Notes to the user about it.
    pub notes: Vec<String>,
}

/// Reads a launch request.
///
/// # Errors
/// Nonsense, as a text for the user: a client other than srun may have sent it.
pub(super) fn read(
    slurm: Abi,
    launch: &LaunchRequest<'_>,
    settings: &Settings,
    share: refusal::Share,
    node: &Node,
) -> Result<RequestedStep, String> {
    let unknown = launch.unknown_binding_bits();
    if unknown != 0 {
        return Err(format!(
            "the launch request has CPU binding bits {unknown:#x}, which this Slurm does not know; \
             start the step with this cluster's own srun"
        ));
    }
    let options = options(launch)?;
    let texts = own_options::of_step(&options);
    let (tasks, index) = (share.tasks, share.index);
    let mut request = convert::request(launch, slurm.layout, node)?;
    (request.tasks, request.allocation) = (tasks, share.allocation);
    let inherited = inherited::forget(&mut request, node.rules().fixes, launch);
    let cpuset = cpuset::of_step(launch, (&options, &texts), settings, index)?;
    let (ours, ours_note) = ours(launch, (&texts, &request.cpu_bind), settings)?;
    let confine = ours.confine;
    let pool = pool(&texts)?;
    ours.put(&mut request);
    request.near_by_default = is_default(request.near.as_ref(), launch);
    let (mem_bind, memory_note) = memory::requested(launch, slurm.layout)?;
    request.mem_bind = mem_bind;
    request.reserved.clone_from(&settings.reserved);
    let mut near = near::devices_of_step(request.near.as_ref(), launch, (index, tasks), slurm);
    near.may_be_strict(request.near.as_ref())?;
    request.gres = near.gres.take();
    if let Some(cpuset) = &cpuset {
        cpuset.put(&mut request);
    }
    // Without a --near nobody orders them.
    let gpus = request.near.as_ref();
    let gpus = gpus.map(|_| handover::gpu_grant(launch, near.has_gpus));
    let gpus = gpus.unwrap_or_default();
    let notes = [ours_note, memory_note.map(String::from)];
    let step = Step {
        came: None,
        overlaps: own_options::overlaps(&options),
        confine,
        cpuset: cpuset.map(|cpuset| cpuset.wish),
        gpus,
        near_notes: near.notes(request.near.as_ref()),
        request,
    };
    Ok(RequestedStep {
        step,
        inherited,
        pool,
        notes: notes.into_iter().flatten().collect(),
    })
}

/// Whether a `--near` is the user's default (`BERTH_NEAR`): the submitting command leaves a mark then.
fn is_default(near: Option<&Near>, launch: &LaunchRequest<'_>) -> bool {
    near.is_some_and(|near| {
        let mark = launch.env().get(Own::Near.mark, NEAR_BYTES);
        mark.is_some_and(|mark| mark.parse().as_ref() == Ok(near))
    })
}

/// The step's options of berth; none where this process cannot read Slurm's lists. More options, or more variables, than
/// anybody has are not read, and what stands there is unknown.
fn options(launch: &LaunchRequest<'_>) -> Result<Vec<SpankOption>, String> {
    let is_read = launch.env().is_within_bounds();
    is_read.map_err(|why| why.to_string())?;
    match launch.options(NAME, Own::longest()) {
        Err(why @ Error::TooMany { .. }) => Err(why.to_string()),
        found => Ok(found.unwrap_or_default()),
    }
}

/// `--pool` is the job's, so every kind of step has it, also those that are never bound.
fn pool(texts: &Texts) -> Result<Option<PoolWish>, String> {
    let pool = texts.get(Own::Pool).map(str::parse);
    pool.transpose().map_err(|why| format!("--pool: {why}"))
}

/// The request of berth's own options, else the site's default binding for regular steps whose
/// `--cpu-bind` requests nothing; `--binding=none` switches that off. The second value is the note to
/// the user where this node honours none of these options (`binding=off`).
fn ours(
    launch: &LaunchRequest<'_>,
    (texts, cpu_bind): (&Texts, &CpuBind),
    settings: &Settings,
) -> Result<(Ours, Option<String>), String> {
    // How mpirun starts its daemons, and salloc its shell: they keep the allocation.
    let regular = launch.step_id().kind == slurm_sys::views::StepKind::Regular;
    if !regular || launch.external_launcher() {
        return Ok(<_>::default());
    }
    let mut ours = Ours::read(texts)?;
    if !settings.binding {
        let note = (!ours.is_empty()).then(|| ours.off_note());
        return Ok((Ours::default(), note));
    }
    if !texts.chooses() && cpu_bind.asks_nothing() {
        ours.binding.clone_from(&settings.binding_default);
    }
    Ok((ours, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slurm_sys::{Layout, Symbols};

    #[test]
    fn a_step_with_too_many_variables_is_refused_before_any_is_read() {
        let layout = Layout::all().last().unwrap();
        let requested = |count: u32| {
            let mut record = vec![0u64; 1024];
            let place = record.as_mut_ptr().cast::<u8>();
            // SAFETY: the field lies inside the record, which has room for any release's.
            unsafe {
                let at = place.add(layout.launch.envc.offset());
                at.cast::<u32>().write_unaligned(count);
            }
            // SAFETY: the record outlives the view.
            let launch =
                unsafe { LaunchRequest::from_raw(place.cast(), layout, Symbols::get()) }.unwrap();
            options(&launch).map(|options| options.len())
        };
        assert_eq!(requested(1 << 16), Ok(0));
        let text = "this launch has more than 65536 environment variables; start it with fewer";
        assert_eq!(requested((1 << 16) + 1), Err(text.into()));
    }
}
