//! Rules of srun that a line shows, each with the releases in which it holds.

use super::*;
use crate::line;
use crate::options::Command;

fn reading(text: &str, release: Release) -> Result<SrunRequest, Refused> {
    let words: Vec<_> = text.split(' ').filter(|word| !word.is_empty()).collect();
    read(
        line::read(&words, Command::Srun, Some(release)).settings(),
        release,
    )
}

fn level(text: &str, release: Release) -> String {
    reading(text, release).unwrap().cpu_bind.to_string()
}

#[test]
fn levels_that_other_options_choose() {
    use Release::{V22_05, V23_02};
    for (text, old, new) in [
        ("-n4", "auto", "auto"),
        ("-B 2", "sockets", "sockets"),
        ("-B 2:", "cores", "cores"),
        ("-B 1:2:3:4", "auto", "auto"),
        ("-B 2 -B 2:2", "sockets", "sockets"),
        ("-B 2 --cpu-bind=ldoms", "ldoms", "ldoms"),
        ("--threads-per-core=1 -B 2", "threads", "threads"),
        ("--threads-per-core=1 --cpu-bind=cores", "cores", "cores"),
        (
            "--threads-per-core=1 --cpu-bind=verbose",
            "threads",
            "threads",
        ),
        ("--threads-per-core=1 --cpu-bind=v", "auto", "threads"),
        ("--ntasks-per-core=1", "cores", "cores"),
        ("--ntasks-per-core=2", "cores", "threads"),
        ("--ntasks-per-socket=2", "sockets", "sockets"),
        (
            "--ntasks-per-socket=2 --ntasks-per-core=1",
            "cores",
            "cores",
        ),
        ("--hint=compute_bound", "cores", "cores"),
        (
            "--hint=nomultithread",
            "threads,one_thread",
            "threads,one_thread",
        ),
        ("--hint=nomultithread --cpu-bind=cores", "cores", "cores"),
        (
            "--hint=nomultithread --cpu-bind=verbose",
            "threads,one_thread",
            "threads,one_thread",
        ),
        (
            "--hint=nomultithread,compute_bound",
            "threads,one_thread",
            "threads,one_thread",
        ),
    ] {
        assert_eq!(level(text, V22_05), old, "{text}");
        assert_eq!(level(text, V23_02), new, "{text}");
    }
}

#[test]
fn tasks_that_follow_from_other_options() {
    for (text, tasks) in [
        ("", 1),
        ("-n3", 3),
        ("-N4", 4),
        ("-B 2:2:2", 8),
        ("-B 2:2:2 -N2", 16),
        ("-B 2:2:2 -n3", 3),
        ("-B 2:2", 1),
        ("-B 0:1:1", 0),
        (
            "--sockets-per-node=2 --cores-per-socket=2 --threads-per-core=1",
            1,
        ),
        (
            "-N1 --sockets-per-node=2 --cores-per-socket=2 --threads-per-core=1",
            4,
        ),
        ("--ntasks-per-node=3", 3),
        ("-N2 --ntasks-per-node=3", 6),
        ("-w a[1-3]", 3),
        ("-m arbitrary -w a1,a1,a2", 3),
        ("-m hostfile -w a1,a1,a2 -n2", 2),
    ] {
        let found = reading(text, Release::NEWEST).unwrap();
        assert_eq!(found.tasks(), tasks, "{text}");
    }
    let both = "-N1 --ntasks-per-node=2 -B 2:2:2";
    assert_eq!(reading(both, Release::V22_05).unwrap().tasks(), 8);
    assert_eq!(reading(both, Release::V23_02).unwrap().tasks(), 2);
}

#[test]
fn numbers_of_nodes() {
    let nodes = |text: &str| {
        let found = reading(&format!("-N {text}"), Release::NEWEST)
            .ok()?
            .nodes?;
        Some((found.least, found.most))
    };
    for (text, expected) in [
        ("4", Some((4, Some(4)))),
        ("2-4", Some((2, Some(4)))),
        ("-4", Some((1, Some(4)))),
        ("1k", Some((1024, Some(1024)))),
        ("2,4-6", Some((2, Some(6)))),
        ("8-16:4", Some((8, Some(12)))),
        ("8-16:0", None),
        ("8:4", None),
        ("2,x", None),
        ("4-2", None),
        ("x", None),
    ] {
        assert_eq!(nodes(text), expected, "{text}");
    }
}

#[test]
fn later_options_go_over_earlier_ones() {
    let threads = |text| reading(text, Release::NEWEST).unwrap().threads_per_core;
    assert_eq!(threads("--threads-per-core=1 -B 2:2"), None);
    assert_eq!(threads("-B 2:2 --threads-per-core=1"), Some(1));
    assert_eq!(threads("-B 2:2:2 --threads-per-core=1"), Some(1));
    let bind = reading("--mem-bind=rank --mem-bind=v", Release::NEWEST).unwrap();
    assert!(bind.mem_bind.verbose && bind.mem_bind.policy.is_some());
}

#[test]
fn what_srun_refuses() {
    for text in [
        "-n0",
        "-n 4x",
        "-m arbitrary",
        "-m arbitrary -n2",
        "--exclusive=bogus",
        "--exclusive --whole",
        "--exclusive --overlap",
        "--exact --whole",
        "-S1 --thread-spec=1",
        "--mem=1 --mem-per-cpu=1",
        "-N 2-1",
        "-N x",
        "-m plane",
        "--cpu-bind=map_cpu:0-3",
        "--cpu-bind=help",
        "--hint=help",
        "--mem-bind=help",
        "--nonsense",
        "--node=1",
        "--label=1",
        "-g 1",
        "-w n[1-",
    ] {
        for release in [Release::V22_05, Release::NEWEST] {
            assert!(
                reading(text, release).is_err(),
                "{text:?} was taken by {release}"
            );
        }
    }
    let differs = [
        ("--exclusive=topo", Release::V24_05, true),
        ("--exclusive=allocation", Release::V26_05, true),
        ("-N 1,2", Release::V23_02, true),
        ("--exclusive --oversubscribe", Release::V23_02, false),
        (
            "--ntasks-per-core=2 --threads-per-core=1",
            Release::V23_02,
            false,
        ),
        ("-m arbitrary -w a,b -N2", Release::V23_11, false),
        ("--mem-bind=sort", Release::V25_11, false),
    ];
    for (text, since, taken) in differs {
        for release in Release::ALL {
            let expected = taken == (release >= since);
            assert_eq!(reading(text, release).is_ok(), expected, "{text} {release}");
        }
    }
}

#[test]
fn a_hint_beside_other_options() {
    let notes = |text: &str, release| reading(text, release).unwrap().notes.join("");
    for other in [
        "-B 2",
        "--ntasks-per-core=1",
        "--threads-per-core=1",
        "--cpu-bind=none",
    ] {
        let found = notes(&format!("--hint=multithread {other}"), Release::V22_05);
        assert!(
            found.starts_with("srun ignores --hint beside -"),
            "{other}: {found}"
        );
    }
    let sockets = "--hint=multithread --sockets-per-node=2";
    assert_eq!(notes(sockets, Release::V25_05), "");
    assert!(notes(sockets, Release::V25_11).contains("beside --sockets-per-node"));
    // The list is not even read then.
    assert!(reading("--hint=bogus -B 2", Release::V22_05).is_ok());
    let bound = reading("--hint=memory_bound", Release::V22_05).unwrap();
    assert!(bound.one_core_a_socket);
    assert_eq!(bound.node, [None, Some(1), Some(1)]);
}

#[test]
fn variables_give_way_to_options() {
    let with = |line: &[(&'static str, &'static str)], env: &[(&'static str, &'static str)]| {
        let line = line
            .iter()
            .map(|(name, value)| Setting::new(name, Some(value)));
        let env = env
            .iter()
            .map(|(name, value)| Setting::new(name, Some(value)).from_environment());
        read(line.chain(env), Release::V22_05).unwrap()
    };
    let hint = [("hint", "nomultithread")];
    let bind = with(&[("cpu-bind", "cores")], &hint);
    assert_eq!(
        (bind.cpu_bind.to_string(), bind.notes.len()),
        ("cores".into(), 0)
    );
    let bind = with(&hint, &[("cpu-bind", "cores")]);
    assert_eq!(bind.cpu_bind.to_string(), "threads,one_thread");
    let listed = with(
        &[("distribution", "block:block")],
        &[("SLURM_HOSTFILE", "hosts")],
    );
    assert!(listed.is_arbitrary());
    assert_eq!(listed.nodelist.as_deref(), Some("./hosts"));
}

proptest::proptest! {
    #![proptest_config(crate::random::config(256))]

    /// Whatever stands there, it is read or refused with a short text.
    #[test]
    fn any_value_is_read(name in "[a-z-]{1,12}", value in "[ -~é]{0,40}", at in 0..40_usize) {
        let names = ["ntasks", "nodes", "cpu-bind", "mem-bind", "distribution", "extra-node-info",
            "hint", "nodelist", "exclusive", "cpus-per-task"];
        let name = names.get(at).copied().unwrap_or(&name);
        for release in Release::ALL {
            if let Err(why) = read([Setting::new(name, Some(&value))], release) {
                proptest::prop_assert!(why.to_string().len() < 600, "{}", why);
            }
        }
    }
}
