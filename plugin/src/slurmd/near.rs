//! What `--near` needs from Slurm: the step's GPUs, and what a user should know where berth cannot tell which
//! these are.

use berth_placement::request::near::What;
use berth_placement::{Gres, Near};
use slurm_sys::LaunchRequest;

use crate::site::standing::Abi;
use crate::slurmd::gres::{self, Gpus};

/// The step's devices for its `--near`.
#[derive(Default)]
pub(crate) struct NearDevices {
    /// Its GPUs, where Slurm gave it some and says which.
    pub gres: Option<Gres>,
    /// Whether Slurm gave it some at all.
    pub has_gpus: bool,
    /// What berth cannot tell, each with what it does instead: notes, unless the request is strict.
    doubts: Vec<(String, &'static str)>,
}

const ALL: &str = "the tasks are placed next to all such devices of this node, in PCI order; request \
                   whole nodes, or see the plan with berth plan";
const DIVIDED: &str = "the tasks get this step's GPUs in PCI order, evenly divided; leave --tres-bind \
                       and --gpu-bind out, or write them in another way";

/// What Slurm gave the step on the job's node with that place, for so many tasks. A credential without an
/// answer gives nothing.
pub(crate) fn devices(
    near: Option<&Near>,
    launch: &LaunchRequest<'_>,
    (index, tasks): (u32, u32),
    slurm: Abi,
) -> NearDevices {
    let Some((near, cred)) = near.zip(launch.cred().ok()) else {
        return NearDevices::default();
    };
    let given = gres::of_node(&cred, index);
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
            match gres::of_tasks(&gres, tasks, launch, slurm) {
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
