//! The command opens a script once for an answer, as the kernel counts it: a script that changes meanwhile
//! would otherwise be two scripts.

use crate::run::berth;
use std::fs;
use std::path::Path;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

const SCRIPT: &str =
    "#!/bin/bash\n#SBATCH -N1 -n4 -c2\nsrun ./app\nsrun -n2 --cpu-bind=cores ./app\n";

/// The number of times that a file is opened while `run` runs.
fn opens(script: &Path, run: impl FnOnce()) -> usize {
    let watch = Inotify::init(InitFlags::IN_NONBLOCK).unwrap();
    // The kernel merges equal events in a row, so those of closing stand between.
    let both = AddWatchFlags::IN_OPEN | AddWatchFlags::IN_CLOSE;
    watch.add_watch(script, both).unwrap();
    run();
    let events = watch.read_events().unwrap_or_default().into_iter();
    let opened = events.filter(|event| event.mask.contains(AddWatchFlags::IN_OPEN));
    opened.count()
}

fn opens_once(script: &Path, words: &[&str]) {
    let run = || {
        let done = berth(words, "");
        let about = format!("{words:?}: {}{}", done.stdout, done.stderr);
        assert!(done.code < 2, "{about}");
    };
    assert_eq!(opens(script, run), 1, "{words:?}");
}

#[test]
fn a_script_is_opened_once() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("job.sh");
    fs::write(&script, SCRIPT).unwrap();
    let twice = || (0..2).for_each(|_| assert!(fs::read(&script).is_ok()));
    assert_eq!(opens(&script, twice), 2);
    let name = script.to_str().unwrap();
    let (sbatch, wrapped) = (format!("sbatch {name}"), format!("sbatch -N1 {name}; true"));
    let place = ["plan", "--machine", "pack:2 core:4 pu:2"];
    for line in [name, &sbatch] {
        for format in ["table", "json", "masks", "tree"] {
            opens_once(&script, &[&place[..], &["--format", format, line]].concat());
        }
        opens_once(
            &script,
            &[&place[..], &["--explain", "--score", line]].concat(),
        );
    }
    for line in [name, &sbatch, &wrapped] {
        for format in ["table", "json", "script"] {
            let words = ["check", "--machine", place[2], "--format", format, line];
            opens_once(&script, &words);
        }
    }
}
