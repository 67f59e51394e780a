//! `berth report` of a program with threads of its own and of libraries, on a real cluster.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use berth_tests::{Cluster, command, two_cpus};
use serde_json::Value;

/// Two threads compute, one sleeps, and one, with the name of UCX's own thread, moves elsewhere.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
/* Two of these share a CPU, so the second that they compute takes two or more. */
static void *work(void *seconds) {
    struct timespec used;
    do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    while (used.tv_sec < *(time_t *)seconds);
    return NULL;
}
static void *doze(void *seconds) {
    pause();
    return NULL;
}
static void *helper(void *seconds) {
    cpu_set_t set;
    pthread_setname_np(pthread_self(), "async");
    CPU_ZERO(&set); CPU_SET(1, &set);
    sched_setaffinity(0, sizeof(set), &set);
    pause();
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    time_t seconds = 3;
    pthread_create(&threads[0], NULL, work, &seconds);
    pthread_create(&threads[1], NULL, doze, &seconds);
    pthread_create(&threads[2], NULL, helper, &seconds);
    work(&seconds);
    _exit(0);
}
"#;

fn built(folder: &Path) -> PathBuf {
    let (code, program) = (folder.join("threads.c"), folder.join("threads"));
    fs::write(&code, PROGRAM).unwrap();
    let compiler = Command::new("cc")
        .args(["-pthread", "-o"])
        .args([&program, &code])
        .status();
    assert!(compiler.unwrap().success());
    program
}

/// The lines of JSON among what was printed.
fn reports(text: &str) -> Vec<Value> {
    let lines = text.lines().filter(|line| line.starts_with('{'));
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn threads_of_libraries_are_told_apart() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder().plugstack(Some("")).up();
    let program = built(cluster.folder());
    let (program, berth) = (
        program.to_string_lossy(),
        command().to_string_lossy().into_owned(),
    );
    let step = ["-n1", "-c1", "--cpu-bind=cores", &berth];
    let words = ["report", "--after=4", "--check", "--format=json", "--"];
    let done = cluster.srun(&[&step[..], &words, &[&*program]].concat());
    let told = &reports(&done.stdout)[0];
    assert_eq!(told["threads"], 4, "{told}");
    assert_eq!(told["working_threads"], 2, "{told}");
    assert_eq!(told["idle_threads"], 1, "{told}");
    assert_eq!(told["helper_threads"], "async 1", "{told}");
    // The program keeps to its plan, whatever the helper does.
    assert_eq!(
        (&told["cpus"], &told["as_planned"]),
        (&"0".into(), &true.into())
    );
    let file = cluster.folder().join("report");
    fs::write(&file, &done.stdout).unwrap();
    let merged = Command::new(&berth)
        .args(["report", "--merge"])
        .arg(&file)
        .output();
    let table = String::from_utf8(merged.unwrap().stdout).unwrap();
    assert!(table.contains("2; 1 idle; helpers async 1"), "{table}");
}
