//! The options that are worth a run. In: what matters of the line and the machine. Out: texts of options. Pure:
//! nothing is planned here; the engine says which of them give the same, and which do not fit.

use berth_placement::request::mapping::level_word;
use berth_placement::{DeviceKind, Node, ObjectKind};

use super::line::TunedLine;

/// The properties of a line and a machine that matter.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    /// `-c`, if it is given.
    each: Option<u32>,
    /// The hardware threads of a core that tasks use.
    threads: u32,
    /// The machine's own levels for `--map-by`.
    levels: Vec<ObjectKind>,
    /// `-m` of the line.
    order: Option<String>,
    /// The line says itself which hardware threads are used.
    has_threads: bool,
    /// The machine has GPUs.
    has_gpus: bool,
}

impl About {
    /// The properties that decide about the options to try.
    pub(super) fn of(today: &TunedLine, on: &Node) -> Self {
        let machine = on.machine();
        let devices = machine.map_or(&[][..], |machine| machine.devices());
        let objects = |kind| machine.map_or_else(Vec::new, |machine| machine.objects(kind));
        // The machine itself is no level, nor is one with the objects of another.
        let mut levels = vec![ObjectKind::L3, ObjectKind::Numa];
        levels.retain(|level| objects(*level).len() > 1);
        levels.dedup_by(|one, other| objects(*one) == objects(*other));
        let per_core = match on.counts_cores() {
            true => 1,
            false => on.shape().threads.max(1),
        };
        Self {
            each: today.cpus_per_task(),
            threads: today.threads_per_core().unwrap_or(per_core).min(per_core),
            levels,
            order: today.value("distribution").map(String::from),
            has_threads: today.has("hint") || today.has("threads-per-core"),
            has_gpus: devices.iter().any(|device| device.kind == DeviceKind::Gpu),
        }
    }
}

/// The options to try; the first are none.
pub(super) fn options(about: &About) -> Vec<String> {
    let one_thread = about.threads > 1 && !about.has_threads;
    let hint = "--hint=nomultithread";
    let mut bases: Vec<_> = ["", "--cpu-bind=cores", "--cpu-bind=threads"].into();
    bases.extend(one_thread.then_some(hint));
    bases.extend(["--cpu-bind=sockets", "--cpu-bind=ldoms"]);
    let mut all = Vec::new();
    for base in bases {
        let orders = orders(about.order.as_deref());
        all.extend(
            orders
                .iter()
                .map(|order| format!("{base}{order}").trim().to_string()),
        );
    }
    all.push("--cpu-bind=none".into());
    all.push("--binding=auto".into());
    all.extend(about.each.map(|_| "--binding=auto:pack".into()));
    all.extend(one_thread.then(|| "--binding=auto:smt=1".into()));
    let cores = about.each.map(|each| each.div_ceil(about.threads.max(1)));
    for level in &about.levels {
        let word = level_word(*level);
        all.push(format!("--map-by={word}"));
        all.extend(cores.map(|cores| format!("--map-by={word}:pe={cores}")));
    }
    if about.has_gpus {
        all.push("--near=gpu".into());
        all.extend(one_thread.then(|| format!("--near=gpu {hint}")));
    }
    all
}

/// The orders over the sockets of a node, with the order over the nodes that the line has.
fn orders(typed: Option<&str>) -> Vec<String> {
    let hosts = typed.map_or("block", |typed| {
        typed.split([':', ',']).next().unwrap_or_default()
    });
    match (typed, hosts) {
        (_, "block") | (Some(_), "cyclic" | "*") => {
            let other = typed.map(|_| format!(" -m {hosts}:cyclic"));
            [String::new(), format!(" -m {hosts}:block")]
                .into_iter()
                .chain(other)
                .collect()
        }
        _ => vec![String::new()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_tried_twice_and_what_the_line_says_stays() {
        let about = About {
            each: Some(3),
            threads: 2,
            levels: vec![ObjectKind::L3, ObjectKind::Numa],
            has_gpus: true,
            ..About::default()
        };
        let all = options(&about);
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), all.len(), "{all:?}");
        for one in [
            "",
            "-m block:block",
            "--cpu-bind=cores -m block:block",
            "--hint=nomultithread",
            "--cpu-bind=none",
            "--binding=auto:pack",
            "--binding=auto:smt=1",
            "--map-by=l3cache:pe=2",
            "--map-by=numa",
            "--near=gpu",
        ] {
            assert!(all.iter().any(|known| known == one), "{one}: {all:?}");
        }
        let one_thread = About {
            threads: 1,
            has_threads: true,
            ..about.clone()
        };
        assert!(options(&one_thread).contains(&"--map-by=numa:pe=3".into()));
        let given = About {
            order: Some("plane=4".into()),
            has_threads: true,
            ..about
        };
        let all = options(&given);
        assert!(
            !all.iter()
                .any(|one| one.contains("-m ") || one.contains("hint") || one.contains("smt")),
            "{all:?}"
        );
        let cyclic = About {
            order: Some("cyclic:block".into()),
            ..About::default()
        };
        assert!(options(&cyclic).contains(&"--cpu-bind=cores -m cyclic:cyclic".into()));
    }
}
