//! Another file of pools: of another size, and one that was written for classes that pools had before.

use crate::job::start;
use crate::{Here, line_of};

/// A pool that is twice as wide has other weights: a job that begins then gets them.
pub(crate) fn another_size(here: &Here) {
    here.write(&line_of(here.pool * 2, ""));
    let job = start(&here.cluster, &["-pmulti8"], (here.pool, 1));
    let weight = here.weight_of(here.pool) / 2;
    assert_eq!(job.weight(), weight, "a pool of {} CPUs", here.pool * 2);
    drop(job);
    crate::job::end_all(&here.cluster);
    here.write(&here.line(""));
}

/// The pool works by its weight, slurmd's log has one error line, and the doctor repeats it.
pub(crate) fn old_class(here: &Here, class: &str) {
    let word = format!("class={class}");
    let before = here.write(&here.line(&word));
    let says = |text: &str| text.lines().filter(|line| line.contains(&word)).count();
    let job = start(&here.cluster, &["-pmulti8"], (here.pool, 1));
    let log = here.log_since(before);
    assert_eq!(says(&log), 1, "{log}");
    assert_eq!(job.weight(), here.weight_of(here.pool));
    let base = here.cluster.folder().join("run/berth");
    let base = base.to_str().expect("a path");
    let command = berth_tests::command();
    let doctor = here
        .cluster
        .run(&command.to_string_lossy(), &["doctor", "--state-dir", base]);
    let shown = format!("{}{}", doctor.stdout, doctor.stderr);
    assert!(says(&shown) > 0, "{shown}");
    drop(job);
    crate::job::end_all(&here.cluster);
    here.write(&here.line(""));
}
