//! Slurm's part in `--near`: the GPUs that it gave a step on a node, and which it binds to each task. In: the
//! credential, `--tres-bind`. Out: `Gres` for the request, or what a user should know where berth cannot tell which
//! these are.
//!
//! GRES named `gpu` are the node's GPUs; `shard` and `mps` are parts of them, by the same numbers
//! (src/plugins/gres/common/gres_c_s.c). No other name says which devices it stands for, so it is matched to none.

use berth_placement::request::gres_bind::{Indices, Reading, gpu_bind};
use berth_placement::request::near::What;
use berth_placement::sets::limits::{REPEATED_VALUE, TRES_BIND_BYTES};
use berth_placement::sets::text::shown;
use berth_placement::{Gres, Near};
use slurm_sys::{Credential, LaunchRequest, Line};

use crate::site::node;
use crate::site::standing::Abi;

/// The step's devices for its `--near`.
#[derive(Default)]
pub(crate) struct NearDevices {
    /// Its GPUs, where Slurm gave it some and says which.
    pub gres: Option<Gres>,
    /// Whether Slurm gave it some at all.
    pub has_gpus: bool,
    /// Facts that berth lacks, each with what it does instead: notes, unless the request is strict.
    doubts: Vec<(String, &'static str)>,
}

const ALL: &str = "the tasks are placed next to all such devices of this node, in PCI order; request \
                   whole nodes, or see the plan with berth plan";
const DIVIDED: &str = "the tasks get this step's GPUs in PCI order, evenly divided; leave --tres-bind \
                       and --gpu-bind out, or write them in another way";

/// The step's GPUs on the job's node with that place, for so many tasks. A credential without an
/// answer gives nothing.
pub(crate) fn devices_of_step(
    near: Option<&Near>,
    launch: &LaunchRequest<'_>,
    (index, tasks): (u32, u32),
    slurm: Abi,
) -> NearDevices {
    let Some((near, cred)) = near.zip(launch.cred().ok()) else {
        return NearDevices::default();
    };
    let given = gres_of_node(&cred, index);
    drop(cred);
    let gpus = given.gpus();
    let mut found = NearDevices {
        has_gpus: gpus != Gpus::NotCounted,
        ..NearDevices::default()
    };
    // A GPU may also be requested by its name or its class.
    match gpus {
        _ if near.what == What::Network => {}
        Gpus::NotCounted => {}
        Gpus::Known(mut gres) => {
            match gpus_of_tasks(&gres, tasks, launch, slurm) {
                Ok(of_tasks) => gres.tasks = of_tasks,
                Err(_) if gres.step.len() < 2 => {}
                Err(why) => {
                    let why = format!("Slurm binds this step's GPUs to its tasks, and {why}");
                    found.doubts.push((why, DIVIDED));
                }
            }
            found.gres = Some(gres);
        }
        Gpus::UnknownOfJob => {
            let why = "this step has none of the GPUs that Slurm may have given its job (GRES), and \
                       berth cannot read the job's record of them";
            found.doubts.push((why.into(), ALL));
        }
        Gpus::Unknown(why) => {
            let why = format!(
                "Slurm gave this step GPUs (GRES), and berth cannot tell which devices these are, \
                 because {why}"
            );
            found.doubts.push((why, ALL));
        }
    }
    let others = given.others();
    if near.what != What::Gpu && !others.is_empty() {
        let why = format!(
            "Slurm gave this step generic resources (GRES {}), and berth cannot tell which devices \
             these are",
            others.join(", ")
        );
        found.doubts.push((why, ALL));
    }
    found
}

impl NearDevices {
    /// Whether a `:strict` can be kept: not where berth cannot tell which devices are the step's.
    ///
    /// # Errors
    /// A text for the user.
    pub(crate) fn may_be_strict(&self, near: Option<&Near>) -> Result<(), String> {
        let strict = near.filter(|near| near.strict).zip(self.doubts.first());
        strict.map_or(Ok(()), |(near, (why, _))| {
            Err(format!("--near={near} is strict; {why}; leave out :strict"))
        })
    }

    /// The notes on a step's `--near` beyond its plan.
    pub(crate) fn notes(&self, near: Option<&Near>) -> Vec<String> {
        let Some(near) = near else {
            return Vec::new();
        };
        let doubts = self.doubts.iter();
        let doubts = doubts.map(|(why, instead)| format!("--near={near}: {why}; {instead}"));
        doubts.collect()
    }
}

/// slurm.h's bit of `accel_bind_type_t`, the same from 22.05 to 26.05: `srun --accel-bind=g`.
const CLOSEST_GPU: u16 = 0x02;

const GPUS: [&str; 3] = ["gpu", "shard", "mps"];

/// The GPUs that Slurm gave on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeGres {
    /// The step's; an error is a text for the log.
    step: Result<Vec<slurm_sys::Gres>, String>,
    /// The job's, where the step has no GPUs; an error is a text for the log.
    job: Result<Vec<slurm_sys::Gres>, String>,
}

/// The step's GPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Gpus {
    /// Slurm hands out no GPUs here, as far as the job shows.
    NotCounted,
    /// Known devices, perhaps none.
    Known(Gres),
    /// Some, and Slurm does not say which, for this reason.
    Unknown(&'static str),
    /// The step has none, and nobody can tell whether its job has some: newer micro releases keep
    /// the job's record elsewhere than the tables have it.
    UnknownOfJob,
}

/// The step's GPUs on the job's node with that place.
pub(crate) fn gres_of_node(cred: &Credential<'_>, index: u32) -> NodeGres {
    let step = cred.step_gres(index).map_err(|why| why.to_string());
    let has_gpus = step.as_ref().map_or(true, |all| all.iter().any(is_gpu));
    let job = match has_gpus {
        true => Ok(Vec::new()),
        false => cred.job_gres(index).map_err(|why| why.to_string()),
    };
    NodeGres { step, job }
}

fn is_gpu(gres: &slurm_sys::Gres) -> bool {
    GPUS.contains(&gres.name.as_str())
}

impl NodeGres {
    /// The step's GPUs. A step without any, in a job with some, has none.
    fn gpus(&self) -> Gpus {
        let step = match &self.step {
            Ok(step) => step,
            Err(why) => {
                log::error!("{why}");
                return Gpus::Unknown("its record of them cannot be read");
            }
        };
        let job = match &self.job {
            Ok(job) => job,
            Err(why) => {
                log::debug!("{why}");
                return Gpus::UnknownOfJob;
            }
        };
        let job = job.iter().filter(|gres| is_gpu(gres));
        let mut job = job.filter_map(|gres| gres.devices.as_ref());
        let mut all = step.iter().filter(|gres| is_gpu(gres)).peekable();
        if all.peek().is_none() {
            let of_job = job.find(|devices| !devices.allocated.is_empty());
            return of_job.map_or(Gpus::NotCounted, |devices| {
                Gpus::Known(Gres {
                    on_node: devices.on_node,
                    ..Gres::default()
                })
            });
        }
        let mut known: Option<Gres> = None;
        for gres in all {
            let Some(devices) = &gres.devices else {
                return Gpus::Unknown("gres.conf has no files for them");
            };
            let on_node = devices.on_node;
            let known = known.get_or_insert_with(|| Gres {
                on_node,
                ..Gres::default()
            });
            if known.on_node != on_node {
                return Gpus::Unknown("its records of them contradict each other");
            }
            known.step.extend(&devices.allocated);
        }
        known.map_or(Gpus::NotCounted, |mut known| {
            known.step.sort_unstable();
            known.step.dedup();
            Gpus::Known(known)
        })
    }

    /// The names of the step's other GRES, which berth matches to no devices.
    fn others(&self) -> Vec<&str> {
        let step = self.step.as_deref().unwrap_or_default();
        let others = step.iter().filter(|gres| !is_gpu(gres));
        others.map(|gres| gres.name.as_str()).collect()
    }
}

/// The GPUs of each task, as Slurm binds them; none where it leaves the choice open.
///
/// # Errors
/// A list that berth cannot read, as a text for the user.
pub(crate) fn gpus_of_tasks(
    gres: &Gres,
    tasks: u32,
    launch: &LaunchRequest<'_>,
    slurm: Abi,
) -> Result<Vec<Vec<u32>>, String> {
    let reading = reading(slurm.layout.line);
    let text = launch.tres_bind(TRES_BIND_BYTES);
    let text = text.map_err(|why| why.to_string())?.unwrap_or_default();
    // The older lines ask for this option first, the others not at all.
    let closest = launch.accel_bind_type() & CLOSEST_GPU != 0;
    if text.is_empty() || reading != Reading::Named && closest {
        return Ok(Vec::new());
    }
    let unread = || {
        format!(
            "berth cannot read its --tres-bind={}",
            shown(REPEATED_VALUE, text.escape_debug())
        )
    };
    let bind = gpu_bind(&text, reading).ok_or_else(unread)?;
    let of = |indices| bind.tasks(gres, tasks, (reading, indices));
    let (node, step) = (of(Indices::OfNode), of(Indices::OfStep));
    let constrained = match node == step {
        true => Some(false),
        false if launch.shares_gres() => Some(true),
        false => node::constrain_devices(slurm),
    };
    match constrained {
        Some(false) => node.ok_or_else(unread),
        Some(true) => step.ok_or_else(unread),
        None => Err(format!(
            "berth cannot find out what the numbers of its --tres-bind={} count, because it cannot \
             read cgroup.conf's ConstrainDevices",
            shown(REPEATED_VALUE, text.escape_debug())
        )),
    }
}

fn reading(line: Line) -> Reading {
    match line {
        Line::V22_05 => Reading::First,
        Line::V23_02 => Reading::Slots,
        _ => Reading::Named,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slurm_sys::GresDevices;

    fn gres(name: &str, devices: Option<(u32, &[u32])>) -> slurm_sys::Gres {
        slurm_sys::Gres {
            name: name.into(),
            devices: devices.map(|(on_node, given)| GresDevices {
                on_node,
                allocated: given.to_vec(),
            }),
        }
    }

    fn gpus(step: &[slurm_sys::Gres], job: &[slurm_sys::Gres]) -> Gpus {
        let (step, job) = (Ok(step.to_vec()), Ok(job.to_vec()));
        NodeGres { step, job }.gpus()
    }

    fn known(on_node: u32, step: &[u32]) -> Gpus {
        Gpus::Known(Gres {
            on_node,
            step: step.to_vec(),
            tasks: Vec::new(),
        })
    }

    #[test]
    fn gpus_and_their_parts_are_united() {
        let gpu = gres("gpu", Some((4, &[3])));
        assert_eq!(gpus(&[], &[]), Gpus::NotCounted);
        assert_eq!(gpus(&[gres("nic", None)], &[]), Gpus::NotCounted);
        assert_eq!(gpus(std::slice::from_ref(&gpu), &[]), known(4, &[3]));
        let shard = gres("shard", Some((4, &[0, 3])));
        assert_eq!(gpus(&[gpu.clone(), shard], &[]), known(4, &[0, 3]));
        // --gres=none in a job with GPUs.
        assert_eq!(gpus(&[], std::slice::from_ref(&gpu)), known(4, &[]));
        assert_eq!(gpus(&[], &[gres("gpu", Some((4, &[])))]), Gpus::NotCounted);
        let given = NodeGres {
            step: Ok(vec![gpu, gres("nic", None)]),
            job: Ok(Vec::new()),
        };
        assert_eq!(given.others(), ["nic"]);
    }

    #[test]
    fn what_slurm_does_not_say_is_unknown() {
        let unknown = |step: &[slurm_sys::Gres]| matches!(gpus(step, &[]), Gpus::Unknown(_));
        assert!(unknown(&[gres("gpu", None)]));
        let differ = [gres("gpu", Some((4, &[3]))), gres("mps", Some((2, &[0])))];
        assert!(unknown(&differ));
        let unread = NodeGres {
            step: Err("no list".into()),
            job: Ok(Vec::new()),
        };
        assert!(matches!(unread.gpus(), Gpus::Unknown(_)));
        let job_unread = NodeGres {
            step: Ok(vec![gres("nic", None)]),
            job: Err("another layout".into()),
        };
        assert_eq!(job_unread.gpus(), Gpus::UnknownOfJob);
    }
}
