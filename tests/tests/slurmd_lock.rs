//! slurmd writes what all its slurmstepds read into one buffer, under its lock. Steps that begin at once take turns
//! there, with berth as without.

use std::collections::BTreeSet;
use std::fs;

use berth_tests::{Cluster, Preload, skip};

/// Slow: whoever is let in meanwhile is seen. Each call is noted with its buffer.
const SLOW_PACKER: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
typedef int (*packer)(void *, void *, void *, uint16_t);
static void note(const char *what, void *buffer) {
    char line[64];
    int length = snprintf(line, sizeof line, "%s %p\n", what, buffer);
    int file = open("NOTES", O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (file < 0 || write(file, line, length) != length) _exit(3);
    close(file);
}
int slurm_pack_list(void *list, void *pack, void *buffer, uint16_t version) {
    packer real = (packer)dlsym(RTLD_NEXT, "slurm_pack_list");
    if (strcmp(program_invocation_short_name, "slurmd")) return real(list, pack, buffer, version);
    note("in", buffer);
    usleep(200000);
    int done = real(list, pack, buffer, version);
    note("out", buffer);
    return done;
}
"#;

#[test]
fn steps_that_begin_at_once_take_turns() {
    let notes = tempfile::tempdir().expect("a folder for notes");
    let file = notes.path().join("notes");
    let slow = Preload::build(&SLOW_PACKER.replace("NOTES", file.to_str().expect("a plain name")));
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .shape("CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2")
        .set("SlurmdParameters=config_overrides")
        .env("LD_PRELOAD", slow.object())
        .up();
    let script = "for step in 1 2 3 4; do srun --exact -n2 -c2 echo ran & done; wait";
    let done = cluster.run("salloc", &["-Q", "--exclusive", "bash", "-c", script]);
    let ran = done.stdout.lines().filter(|line| *line == "ran").count();
    assert_eq!(ran, 8, "{done:#?}");
    let Ok(notes) = fs::read_to_string(&file) else {
        return skip("this slurmd packs no lists");
    };
    let mut busy = BTreeSet::new();
    for line in notes.lines() {
        let (what, buffer) = line.split_once(' ').expect("two words");
        let was_free = match what {
            "in" => busy.insert(buffer),
            _ => busy.remove(buffer),
        };
        assert!(was_free, "two at once in {buffer}:\n{notes}");
    }
}
