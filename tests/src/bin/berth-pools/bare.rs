//! The same jobs on a node without any pools, where each job has the kernel's usual weight: what pools change.

use crate::cancel::cancel;
use crate::job::{Job, start};
use crate::measured::watch;
use crate::scenes::Scene;
use crate::shares::{Beside, fill, show};
use crate::{Here, Told};

/// What the kernel gives each group.
const USUAL: u32 = 100;

pub(crate) const SCENES: &[Scene] = &[
    Scene::of(&["weight"], "no pools, beside Wide", |here| {
        without(here, Beside::Wide)
    }),
    Scene::of(&["weight"], "no pools, beside Serial", |here| {
        without(here, Beside::Serial)
    }),
];

fn without(here: &Here, beside: Beside) -> Told {
    here.write_nothing();
    let told = measured(here, beside);
    here.write(here.pool);
    told
}

fn measured(here: &Here, beside: Beside) -> Told {
    let normal = fill(here, beside)?;
    let job = start(&here.cluster, &["-pmulti8"], ("spin", here.pool, 1))?;
    let measured = watch(&job, &normal)?;
    let weights: Vec<_> = normal.iter().chain([&job]).map(Job::weight).collect();
    cancel(here, &job)?;
    show(here, ("bare", beside, here.pool), &measured);
    match weights.iter().all(|weight| *weight == USUAL) {
        true => Ok(()),
        false => Err(format!("{USUAL} was expected of each weight: {weights:?}")),
    }
}
