//! The shells' completions: bash is asked what it would offer; all scripts are read by their shells
//! where those are installed.

use std::process::{Command, Stdio};

use crate::run::{Done, berth};

fn script(shell: &str) -> String {
    let done = berth(&["completions", shell], "");
    assert_eq!(done.code, 0, "{}", done.stderr);
    done.stdout
}

/// Asks the loaded script about the words of its arguments.
const ASK: &str = r#"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
last=${COMP_WORDS[COMP_CWORD]}
case $last in =|:) last='' ;; esac
_berth_words berth "$last" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// What bash offers for a line that is cut into words as bash cuts it.
fn offered(words: &[&str]) -> Vec<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), script("bash") + ASK).unwrap();
    let mut bash = Command::new("bash");
    bash.arg("--norc").arg(file.path()).args(words);
    let done = Done::of(bash.stdin(Stdio::null()).output().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    let lines = done.stdout.lines().filter(|line| !line.is_empty());
    lines.map(String::from).collect()
}

#[test]
fn bash_offers_options_and_values() {
    for (line, expected) in [
        ("berth che", "check"),
        ("berth plan --hi", "--hint"),
        ("berth plan --cpu-bind so", "sockets"),
        ("berth plan --cpu-bind = so", "sockets"),
        ("berth plan --cpu-bind = map", "map_cpu: map_ldom:"),
        ("berth plan --cpu-bind = verbose,co", "verbose,cores"),
        ("berth plan -m block : f", "fcyclic"),
        ("berth plan -m cyclic :", "block cyclic fcyclic"),
        ("berth plan --distribution = block : b", "block block:block"),
        ("berth plan --hint = no", "nomultithread"),
        ("berth plan --mem-bind lo", "local"),
        ("berth plan --binding = li", "linear:"),
        ("berth plan --slurm = 24", "24.05 24.11"),
        ("berth plan --format = s", "svg"),
        ("berth tune --for m", "mpi memory"),
        ("berth tune --format = j", "json"),
        ("berth check --slurm 22", "22.05"),
        ("berth discover --devices = v", "vendor"),
        ("berth topo --socket l", "l3"),
        ("berth completions z", "zsh"),
    ] {
        let words: Vec<_> = line.split(' ').collect();
        assert_eq!(offered(&words).join(" "), expected, "{line}");
    }
}

#[test]
fn every_script_has_the_values_and_is_read_by_its_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let text = script(shell);
        for word in [
            "cpu-bind",
            "nomultithread",
            "fcyclic",
            "mask_mem",
            "striding",
            "rankfile",
            "25.11",
        ] {
            assert!(text.contains(word), "{shell}: {word}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &text).unwrap();
        let mut read = Command::new(shell);
        read.arg("-n").arg(file.path()).stdin(Stdio::null());
        // Without the shell there is nobody to read it.
        if let Ok(done) = read.output().map(Done::of) {
            assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{shell}");
        }
    }
}
