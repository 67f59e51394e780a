//! A value of 100 kB never reaches the terminal, whatever option has it.

use crate::run::{Done, berth};

/// More than any message has.
const MOST: usize = 4000;

fn long() -> String {
    "a".repeat(100_000)
}

/// The options of a command that take a value, as its help shows them.
fn options(command: &str) -> Vec<String> {
    let help = berth(&[command, "--help"], "").stdout;
    let words = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let (_, rest) = line.split_at(line.starts_with('-').then(|| line.find("--"))??);
        let name: String = rest
            .chars()
            .take_while(|letter| !" =[<".contains(*letter))
            .collect();
        rest.contains('<').then_some(name)
    });
    words.collect()
}

fn is_short(what: &str, done: &Done) {
    let stderr = &done.stderr;
    assert!(stderr.len() < MOST, "{what}: {} bytes", stderr.len());
    assert!(!stderr.contains("panicked"), "{what}: {stderr}");
}

#[test]
fn values_of_every_option() {
    for command in [
        "plan", "topo", "check", "report", "env", "doctor", "status", "discover",
    ] {
        let all = options(command);
        assert!(all.len() > 2, "{command}: {all:?}");
        for option in all {
            let given = format!("{option}={}", long());
            let more: &[&str] = if command == "check" { &["srun a"] } else { &[] };
            let done = berth(&[&[command, &given], more].concat(), "");
            is_short(&format!("{command} {option}"), &done);
            assert!((0..=2).contains(&done.code), "{command} {option}");
        }
    }
}

/// Those that clap or a parser of values refuses.
#[test]
fn wrong_values_are_wrong_lines() {
    let plan = "map-by rank-by bind-to near core-kind reserved binding cores cpus occupied pool-cores format slurm \
                numbering socket config-cpus compat autobind default-cpu-bind width color ntasks \
                cpu-bind distribution hint nodes";
    for (command, names) in [
        ("plan", plan),
        ("topo", "socket format width color"),
        ("check", "slurm format"),
        ("report", "format wait after socket"),
        ("doctor", "format"),
        ("env", "mode format jobid"),
        ("status", "job socket format watch"),
        ("discover", "devices"),
    ] {
        for name in names.split_whitespace() {
            for value in [long(), "7,".repeat(50_000), "linear:1:".repeat(11_000)] {
                let done = berth(&[command, &format!("--{name}={value}")], "");
                is_short(&format!("{command} --{name}"), &done);
                let is_list = value.starts_with('7') && done.code < 2;
                assert!(
                    done.code == 2 || is_list,
                    "{command} --{name}: {}",
                    done.code
                );
            }
        }
    }
}

#[test]
fn unknown_words() {
    let long = long();
    let option = format!("--{long}");
    for arguments in [
        &[long.as_str()][..],
        &[&option],
        &["plan", &option],
        &["plan", &long],
        &["topo", &option],
        &["topo", &long],
        &["completions", &long],
        &["check", &option],
        &["status", &long],
        &["plan", "srun -n2 a", &long],
        &["plan", &format!("srun --map-by={long} a")],
        &["plan", &format!("srun -n {long}$X a")],
        &["plan", "-n2", "--map-by=core", &format!("--rank-by={long}")],
    ] {
        let done = berth(arguments, "");
        is_short(&format!("{:.60?}", arguments), &done);
        assert_eq!(done.code, 2, "{:.60?}: {}", arguments, done.stderr);
    }
    // It may be another plugin's.
    let line = format!("srun --{long} a");
    is_short(
        "a plugin's option",
        &berth(&["plan", "--machine=pu:4", &line], ""),
    );
    // It is a mask.
    let mask = format!("--cpu-bind=mask_cpu:0x{}", "f".repeat(10_000));
    let refused = berth(&["plan", "--machine=pu:4", "--cores=all", &mask], "");
    is_short("a mask", &refused);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("names CPU"), "{}", refused.stderr);
    let batch = berth(
        &["plan", "--batch=-"],
        &format!("--map-by={long}\n--{long}\nsrun --{long} a\n"),
    );
    assert!(batch.stdout.len() < MOST, "{} bytes", batch.stdout.len());
}

#[test]
fn a_line_break_in_a_value_is_none_on_the_terminal() {
    for option in ["--map-by=a\nrm x", "--cpus=0\n\u{1b}[2J", "--format=a\nb"] {
        let done = berth(&["plan", option], "");
        let first = done.stderr.lines().next().unwrap();
        assert_eq!(done.code, 2);
        assert!(first.contains('\u{fffd}'), "{first}");
        assert!(!done.stderr.contains('\u{1b}'), "{first}");
    }
}
