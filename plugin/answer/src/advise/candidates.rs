//! The options that are worth a try for a request on a machine.
//! In: what matters of both. Out: options to add to the line, each once. Pure: nothing is planned here,
//! and options that do not fit are refused by the plan.

use berth_placement::ObjectKind;
use berth_placement::request::mapping::level_word;

use crate::plan::Added;

/// What matters of a request and a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct About {
    /// `-c`, if it is given.
    pub each: Option<u32>,
    /// The hardware threads of a core that a task may use.
    pub threads: u32,
    /// Cores of the step for each task; none where there are fewer cores than tasks.
    pub share: u32,
    /// The machine's own levels for `--map-by`, from wide to narrow.
    pub levels: Vec<ObjectKind>,
    /// The line already has the order of sockets (`-m`).
    pub has_order: bool,
    /// The line already says which hardware threads are used (`--hint`, `--threads-per-core`).
    pub has_threads: bool,
    /// Tasks want to be next to their GPUs.
    pub near_gpu: bool,
}

/// The levels that `--map-by` can name, from wide to narrow.
pub(super) const LEVELS: [ObjectKind; 7] = [
    ObjectKind::Package,
    ObjectKind::Numa,
    ObjectKind::L3,
    ObjectKind::L2,
    ObjectKind::L1,
    ObjectKind::Core,
    ObjectKind::Pu,
];

/// The options to try.
pub(super) fn candidates(about: &About) -> Vec<Vec<Added>> {
    let mut all = of_slurm(about);
    all.extend(shares(about));
    all.extend(mapped(about));
    if about.near_gpu {
        all.push(vec![added("near", "gpu")]);
        if about.threads > 1 && !about.has_threads {
            let hint = added("hint", "nomultithread");
            all.push(vec![hint, added("near", "gpu")]);
        }
    }
    all
}

fn added(name: &'static str, value: impl Into<String>) -> Added {
    (name, Some(value.into()))
}

/// No option, the levels of `--cpu-bind`, one hardware thread per core; each with both orders of
/// sockets.
fn of_slurm(about: &About) -> Vec<Vec<Added>> {
    let bind = |level: &str| vec![added("cpu-bind", level)];
    let mut bases = vec![Vec::new()];
    bases.extend(["threads", "cores", "sockets", "ldoms"].map(bind));
    if about.threads > 1 && !about.has_threads {
        bases.push(vec![added("hint", "nomultithread")]);
    }
    let mut all = Vec::new();
    for base in bases {
        if !about.has_order {
            let mut ordered = base.clone();
            ordered.push(added("distribution", "block:block"));
            all.push(ordered);
        }
        all.push(base);
    }
    all
}

/// `--binding=auto` and its forms.
fn shares(about: &About) -> Vec<Vec<Added>> {
    let packs: &[&str] = match about.each {
        Some(_) => &["", ":pack"],
        None => &[""],
    };
    let mut smt = vec![String::new()];
    if !about.has_threads {
        let fewer = (1..about.threads).filter(|threads| threads.is_power_of_two());
        smt.extend(fewer.map(|threads| format!(":smt={threads}")));
    }
    let forms = packs
        .iter()
        .flat_map(|pack| smt.iter().map(move |smt| format!("auto{pack}{smt}")));
    forms.map(|form| vec![added("binding", form)]).collect()
}

/// `--map-by` of each level: bound to the whole object, and to some of its cores.
fn mapped(about: &About) -> Vec<Vec<Added>> {
    let mut cores = match about.each {
        Some(each) => vec![each.div_ceil(about.threads.max(1))],
        None => vec![1, about.share],
    };
    cores.dedup();
    cores.retain(|cores| *cores > 0);
    let mut all = Vec::new();
    for level in &about.levels {
        let word = level_word(*level);
        all.push(vec![added("map-by", word)]);
        // A hardware thread has no cores.
        for cores in cores.iter().filter(|_| *level != ObjectKind::Pu) {
            all.push(vec![added("map-by", format!("{word}:pe={cores}"))]);
        }
    }
    let slots = cores.iter().map(|cores| format!("slot:pe={cores}"));
    all.extend(slots.map(|slot| vec![added("map-by", slot)]));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::spelled;

    fn texts(about: &About) -> Vec<String> {
        let all = candidates(about);
        let text = |options: &Vec<Added>| {
            let words: Vec<_> = options.iter().map(spelled).collect();
            words.join(" ")
        };
        all.iter().map(text).collect()
    }

    #[test]
    fn nothing_is_tried_twice_and_the_bare_line_is_tried() {
        let about = About {
            each: Some(3),
            threads: 4,
            levels: vec![ObjectKind::L3, ObjectKind::Core, ObjectKind::Pu],
            near_gpu: true,
            ..About::default()
        };
        let all = texts(&about);
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), all.len(), "{all:?}");
        for one in [
            "",
            "-m block:block",
            "--cpu-bind=cores",
            "--cpu-bind=threads -m block:block",
            "--hint=nomultithread -m block:block",
            "--binding=auto:pack:smt=2",
            "--map-by=l3cache:pe=1",
            "--map-by=hwthread",
            "--map-by=slot:pe=1",
            "--near=gpu",
        ] {
            assert!(all.iter().any(|known| known == one), "{one}: {all:?}");
        }
        assert!(!all.iter().any(|one| one.contains("hwthread:pe")));
    }

    #[test]
    fn options_of_the_line_are_not_changed() {
        let about = About {
            threads: 2,
            share: 2,
            has_order: true,
            has_threads: true,
            levels: vec![ObjectKind::Core],
            ..About::default()
        };
        let all = texts(&about);
        let changes = |one: &&String| {
            ["-m ", "hint", "smt", "near", "pack"]
                .iter()
                .any(|word| one.contains(word))
        };
        assert_eq!(all.iter().find(changes), None);
        assert!(all.contains(&"--map-by=core:pe=2".to_string()), "{all:?}");
    }
}
