//! The GPUs of the job in which a step is planned: by slurmctld, which gives the step all of them.
//! Otherwise the plan says what it takes for granted.

use berth_placement::request::near::What;
use berth_placement::{CpuId, CpuSet, DeviceKind, Gres, Machine, Node};

use crate::question::Question;
use crate::world::GpusOfJob;
use crate::{By, Fact};

/// What a `--near` in the user's own job may use, and how that is known; `None` where Slurm's GPUs do
/// not matter, or the job has none.
pub(super) fn of_job(args: &Question, on: &Node, nodes: usize) -> Option<(Option<Gres>, Fact)> {
    let near = args.asked_near()?;
    let job = args.standing.job.as_ref().filter(|_| args.job.is_none())?;
    if near.what == What::Network {
        return None;
    }
    let assumed = |why: String| {
        let value = "all of the node".into();
        Some((None, Fact::new("devices", value, By::Assumed, why)))
    };
    if nodes > 1 {
        return assumed("the job has several nodes, which may have given it different ones".into());
    }
    match args.gpus_of_job.clone()? {
        Err(why) => assumed(why),
        Ok(GpusOfJob::None) => None,
        Ok(GpusOfJob::Unknown) => assumed(format!(
            "scontrol show job -d {} does not say which GPUs the job has",
            job.id
        )),
        Ok(GpusOfJob::Known(step)) => {
            let found = on.machine().map_or(0, count);
            let highest = step.last().map_or(0, |index| index + 1);
            let numbers: CpuSet = step.iter().map(|index| CpuId(*index)).collect();
            let value = format!("GPUs {numbers}");
            let how = format!("scontrol show job -d {}", job.id);
            let gres = Gres {
                on_node: found.max(highest),
                step,
                tasks: Vec::new(),
            };
            Some((Some(gres), Fact::new("devices", value, By::Found, how)))
        }
    }
}

/// The machine's GPUs.
fn count(machine: &Machine) -> u32 {
    let devices = machine.devices().iter();
    devices
        .filter(|device| device.kind == DeviceKind::Gpu)
        .count() as u32
}
