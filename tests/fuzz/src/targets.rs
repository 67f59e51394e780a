//! The readers.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use berth_placement::request::cpuset::Words;
use berth_placement::request::gres_bind::{Indices, Reading, gpu_bind};
use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::request::mapping::{BindTo, MapBy, RankBy};
use berth_placement::{
    Binding, CpuSet, CpusetRequest, Fixes, Gres, MemBind, Mode, Near, NodeSet, Numbering,
};
use berth_srun::options::Command;
use berth_srun::{Release, spelling};

use crate::{Target, Verdict, answer, cluster, site};

const fn target(name: &'static str, read: fn(&str) -> Verdict) -> Target {
    Target { name, read }
}

/// All of them.
pub const TARGETS: &[Target] = &[
    target("cpu list", cpu_list),
    target("mask", mask),
    target("node mask", node_mask),
    target("map_cpu", |text| mode("map_cpu", text)),
    target("mask_cpu", |text| mode("mask_cpu", text)),
    target("map_ldom", |text| mode("map_ldom", text)),
    target("mask_ldom", |text| mode("mask_ldom", text)),
    target("cpu-bind", cpu_bind),
    target("mem-bind", mem_bind),
    target("distribution", distribution),
    target("srun line", line),
    target("binding", again::<Binding>),
    target("map by", again::<MapBy>),
    target("bind to", again::<BindTo>),
    target("rank by", again::<RankBy>),
    target("near", again::<Near>),
    target("tres bind", tres_bind),
    target("core kind", again::<CoreKindWish>),
    target("fixes", |text| taken(Fixes::ALL.apply(text))),
    target("numbering", |text| taken(text.parse::<Numbering>())),
    target("cpuset", again::<CpusetRequest>),
    target("cpuset words", again::<Words>),
    target("slurm.conf", cluster::configuration),
    target("selection", cluster::selection),
    target("plan line", answer::line),
    target("script", answer::script),
    target("machine", answer::machine),
    target("cpusets file", site::cpusets),
    target("pools file", site::pools),
    target("settings", site::settings),
];

fn cpu_list(text: &str) -> Verdict {
    judged(CpuSet::from_list(text), |set| {
        CpuSet::from_list(&set.to_string()).ok()
    })
}

fn mask(text: &str) -> Verdict {
    judged(CpuSet::from_hex(text), |set| {
        CpuSet::from_hex(&set.to_hex(1)).ok()
    })
}

fn node_mask(text: &str) -> Verdict {
    judged(NodeSet::from_hex(text), |set| {
        NodeSet::from_hex(&set.to_short_hex()).ok()
    })
}

/// A value without a text of its own is read, or refused in few words.
fn taken<T, E: Display>(read: Result<T, E>) -> Verdict {
    match read {
        Ok(_) => Verdict::Accepted,
        Err(why) => Verdict::Refused(why.to_string()),
    }
}

fn again<T: FromStr<Err: Display> + Display + PartialEq + Debug>(text: &str) -> Verdict {
    judged(text.parse::<T>(), |found| found.to_string().parse().ok())
}

/// Its text says what is bound to what: `verbose` is not in it, nor a level that a mode beats.
/// Nothing at all is `auto`, which srun has no word for.
fn cpu_bind(text: &str) -> Verdict {
    let read = spelling::cpu_bind(text, Release::V22_05).map(|mut found| {
        found.verbose = false;
        found.level = found.level.filter(|_| found.mode.is_none());
        found
    });
    judged(read, |found| {
        let own = found.to_string();
        let own = own
            .strip_prefix("auto,")
            .or(own.strip_prefix("auto"))
            .unwrap_or(&own);
        match own {
            "" => Some(berth_placement::CpuBind::default()),
            own => spelling::cpu_bind(own, Release::V22_05).ok(),
        }
    })
}

/// The policy; how it is reported and sorted is not in its text.
fn mem_bind(text: &str) -> Verdict {
    let read = spelling::mem_bind(text, Release::V22_05).map(|found| MemBind {
        policy: found.policy.clone(),
        prefer: found.prefer && found.policy.is_some(),
        ..MemBind::default()
    });
    judged(read, |found| {
        spelling::mem_bind(&found.to_string(), Release::V22_05).ok()
    })
}

fn distribution(text: &str) -> Verdict {
    judged(spelling::distribution(text), |found| {
        spelling::distribution(&found.to_string()).ok()
    })
}

/// A line has no text of its own: it is read, or refused in few words, by the rules of every line.
fn line(text: &str) -> Verdict {
    let words: Vec<_> = text.split_whitespace().collect();
    for release in Release::ALL {
        let found = berth_srun::line::read(&words, Command::Srun, Some(release));
        if found.own_words > words.len() {
            return Verdict::Wrong("it has more words than there are".into());
        }
        if let Err(why) = berth_srun::reading::read(&found.options, release) {
            return Verdict::Refused(why.to_string());
        }
    }
    Verdict::Accepted
}

/// Whatever the text says, each task gets some of the step's own GPUs, or none has any.
fn tres_bind(text: &str) -> Verdict {
    let gres = Gres {
        on_node: 6,
        step: vec![1, 2, 5],
        tasks: Vec::new(),
    };
    let text = &format!("gres/gpu:{text}");
    let mut verdict = Verdict::Refused("not read".into());
    for reading in [Reading::First, Reading::Slots, Reading::Named] {
        let Some(bind) = gpu_bind(text, reading) else {
            continue;
        };
        for indices in [Indices::OfNode, Indices::OfStep] {
            let tasks = bind.tasks(&gres, 7, (reading, indices)).unwrap_or_default();
            let is_own = |own: &Vec<u32>| {
                !own.is_empty() && own.iter().all(|index| gres.step.contains(index))
            };
            if ![0, 7].contains(&tasks.len()) || !tasks.iter().all(is_own) {
                return Verdict::Wrong(format!("{reading:?} gives {tasks:?}"));
            }
        }
        verdict = Verdict::Accepted;
    }
    verdict
}

fn mode(name: &str, text: &str) -> Verdict {
    match Mode::read(name, text) {
        None => Verdict::Wrong("the mode's name is not known".into()),
        // Of its own text `--cpu-bind=NAME:LIST` is made.
        Some(read) => judged(read, |mode| {
            let text = mode.to_string();
            spelling::cpu_bind(&text, Release::V22_05).ok()?.mode
        }),
    }
}

fn judged<T: PartialEq + Debug, E: Display>(
    read: Result<T, E>,
    again: impl Fn(&T) -> Option<T>,
) -> Verdict {
    match read {
        Err(why) => Verdict::Refused(why.to_string()),
        Ok(found) if again(&found).as_ref() == Some(&found) => Verdict::Accepted,
        Ok(_) => Verdict::Wrong("it does not read the same again from its own text".into()),
    }
}
