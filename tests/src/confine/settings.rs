//! What the option, its variable and the site's setting lead to, on a site with proctrack/cgroup alone.

use std::path::Path;

use super::{SITES, mask, program};
use crate::Cluster;

/// Stands for `-c` with every CPU of the node.
const WHOLE: &str = "-c*";

/// `BERTH_CONFINE`, options: whether tasks are confined, words of the note.
type Case = (&'static str, &'static [&'static str], bool, &'static str);

/// By `confine=`.
const SETTINGS: &[(&str, &[Case])] = &[
    (
        "",
        &[
            ("", &[], false, ""),
            ("", &["--confine=task"], true, ""),
            ("task", &[], true, ""),
            ("task", &["--berth-confine=off"], false, ""),
            (
                "",
                &["--confine=task", "--cpu-bind=none", WHOLE],
                true,
                "confines nothing",
            ),
        ],
    ),
    (
        "confine=task",
        &[
            ("", &[], true, ""),
            ("", &["--confine=off"], false, ""),
            ("off", &[], false, ""),
            // A part of the node is a fence too.
            ("", &["--cpu-bind=none"], true, ""),
        ],
    ),
    (
        "confine=task,force",
        &[
            ("", &["--confine=off"], true, "confines every bound task"),
            ("off", &[], true, "confines every bound task"),
        ],
    ),
];

/// What the options and settings say, on a site with proctrack/cgroup alone.
#[track_caller]
pub fn settings(me: &Path) {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let all = format!("-c{all}");
    for (settings, cases) in SETTINGS {
        let cluster = SITES[2].cluster(settings);
        let (_, program) = program(&cluster, me);
        for (variable, options, is_confined, note) in *cases {
            let variables: &[_] = match *variable {
                "" => &[],
                value => &[("BERTH_CONFINE", value)],
            };
            let options = options.iter().map(|word| match *word {
                WHOLE => all.as_str(),
                word => word,
            });
            let options: Vec<_> = options.collect();
            let words = ["-n1", "--cpu-bind=map_cpu:0"];
            let words = [&words, options.as_slice(), &[&program, "look"]].concat();
            let done = cluster.run_with("srun", &words, variables);
            let case = format!("{settings:?} {variable:?} {options:?}: {done:#?}");
            assert!(done.ok(), "{case}");
            let mut words = done.stdout.split(' ').skip(1);
            let (first, widened) = (words.next(), words.next());
            assert_eq!(first == widened, *is_confined, "{case}");
            assert_eq!(note.is_empty(), done.stderr.is_empty(), "{case}");
            assert!(done.stderr.contains(note), "{case}");
        }
        batch(&cluster, &program, settings);
        let wrong = cluster.srun(&["--confine=yes", "true"]);
        assert!(
            !wrong.ok() && wrong.stderr.contains("task or off"),
            "{wrong:#?}"
        );
    }
}

/// A batch script is confined to its job's CPUs.
fn batch(cluster: &Cluster, program: &str, settings: &str) {
    let done = cluster.sbatch(&["-n1"], &format!("{program} look"));
    let words: Vec<_> = done.output.split_whitespace().collect();
    let [.., first, widened, told] = words.as_slice() else {
        panic!("{done:?}");
    };
    assert_eq!(*first, mask(told), "{done:?}");
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    if first.len() < format!("{:#x}", (1_u64 << all) - 1).len() {
        assert_eq!(
            first == widened,
            !settings.is_empty(),
            "{settings}: {done:?}"
        );
    }
}
