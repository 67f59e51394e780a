//! hwloc's own variables, where this host is asked for.
//! Each case runs this very test program again with the variable set: the
//! environment of a process with threads is not to be changed.

use std::env;
use std::process::Command;

use berth_discover::{Source, discover};
use berth_placement::SocketKind;

/// Set in the second run: print what is found, and nothing else.
const PRINT: &str = "BERTH_TEST_PRINT";

/// What is found with these variables: `topology this_system source`, or the error.
fn with(variables: &[(&str, &str)]) -> String {
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(["--exact", "second_run", "--nocapture", "--test-threads=1"]);
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("HWLOC_") {
            again.env_remove(name);
        }
    }
    let output = again
        .env(PRINT, "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.split_once("found: "));
    line.unwrap_or_else(|| panic!("no answer in {text}"))
        .1
        .into()
}

#[test]
fn second_run() {
    if env::var_os(PRINT).is_none() {
        return;
    }
    let answer = match discover(&Source::Live) {
        Ok(found) => format!(
            "{} {} {}",
            found.machine.topology_string(SocketKind::Package),
            found.this_system,
            found.source
        ),
        Err(why) => format!("error: {why}"),
    };
    println!("found: {answer}");
}

fn xml() -> String {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/xml/uneven.xml").into()
}

#[test]
fn without_any_it_is_this_host() {
    for variables in [&[][..], &[("HWLOC_SYNTHETIC", ""), ("HWLOC_XMLFILE", "")]] {
        let found = with(variables);
        assert!(found.starts_with('S'), "{found}");
        assert!(found.ends_with(" true this host"), "{found}");
    }
}

#[test]
fn another_machine_takes_its_place_and_is_named() {
    let synthetic = ("HWLOC_SYNTHETIC", "pack:1 core:2 pu:2");
    let file = xml();
    let file = ("HWLOC_XMLFILE", file.as_str());
    let of_synthetic = "SCTTCTT false HWLOC_SYNTHETIC=pack:1 core:2 pu:2";
    assert_eq!(with(&[synthetic]), of_synthetic);
    let found = with(&[file]);
    let expected = "SCTTCSCTTCTTCC false HWLOC_XMLFILE=";
    assert!(found.starts_with(expected), "{found}");
    assert_eq!(with(&[synthetic, file]), of_synthetic, "as hwloc chooses");
    let claimed = with(&[synthetic, ("HWLOC_THISSYSTEM", "1")]);
    assert!(
        claimed.starts_with("SCTTCTT true HWLOC_SYNTHETIC"),
        "{claimed}"
    );
}

#[test]
fn one_that_hwloc_would_ignore_in_silence_is_an_error() {
    for (name, value, why) in [
        ("HWLOC_SYNTHETIC", "garbage", "no synthetic string"),
        ("HWLOC_SYNTHETIC", "pack:99999 pu:2", "too many"),
        ("HWLOC_XMLFILE", "/no/such/file", "No such file"),
        ("HWLOC_XMLFILE", "/proc/version", "not hwloc's XML"),
        ("HWLOC_FSROOT", "/no/such/root", "ignored"),
        ("HWLOC_CPUID_PATH", "/no/such/root", "ignored"),
    ] {
        let told = with(&[(name, value)]);
        let start = format!("error: the environment has {name}={value}, ");
        assert!(told.starts_with(&start), "{told}");
        assert!(told.contains(why) && told.contains("unset it"), "{told}");
    }
}

#[test]
fn with_components_chosen_hwloc_ignores_the_others_and_so_do_we() {
    let found = with(&[
        ("HWLOC_COMPONENTS", "-synthetic"),
        ("HWLOC_SYNTHETIC", "garbage"),
    ]);
    assert!(found.ends_with(" true this host"), "{found}");
}
