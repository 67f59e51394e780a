//! Devices are probed by a child of the discovering command: whatever becomes of it, the machine
//! file has the cores, and says that the devices are unknown.

use std::process::{Command, Output};

use berth_tests::{Preload, command};
use serde_json::Value;

/// Ends the probing process, and no other one, as a driver that crashes would.
const CRASH: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void crash(void) {
    char words[4096];
    int file = open("/proc/self/cmdline", O_RDONLY);
    ssize_t length = read(file, words, sizeof words);
    close(file);
    if (length > 0 && memmem(words, length, "--probe", 7))
        raise(SIGSEGV);
}
"#;

fn machine(done: &Output) -> Value {
    let says = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{says}");
    serde_json::from_slice(&done.stdout).expect("a machine file")
}

#[test]
fn a_driver_that_crashes_costs_the_devices_only() {
    let mut discover = Command::new(command());
    discover.arg("discover");
    let whole = machine(&discover.output().unwrap());
    assert_eq!(whole["notes"], Value::Null, "{whole}");

    let preload = Preload::build(CRASH);
    discover.env("LD_PRELOAD", preload.object());
    let without = machine(&discover.output().unwrap());
    assert_eq!(without["devices"], Value::Array(Vec::new()), "{without}");
    let note = without["notes"][0].as_str().expect("a note");
    assert!(note.starts_with("devices are unknown: "), "{note}");
    assert!(note.contains("signal: 11"), "{note}");
    for field in ["packages", "numa", "l3", "l1", "online"] {
        assert_eq!(without[field], whole[field], "{field}");
    }
}
