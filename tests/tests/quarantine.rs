//! `quarantine=` on a real cluster: SPANK plugins of other makers run on the job's first core until the tasks
//! are bound, a task prolog on its task's CPUs, and adopted processes on the job's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use berth_tests::adoption::adopt;
use berth_tests::{Cluster, process, spank_plugin};

/// Another maker's SPANK plugin: in each hook it writes down its own CPUs.
const PLUGIN: &str = r#"
#include <slurm/spank.h>
#include <stdio.h>
#include <string.h>
SPANK_PLUGIN(other, 1);
static int leave(spank_t spank, const char *hook, char **arguments) {
    char line[256];
    FILE *own, *out;
    unsigned step = 0;
    if (spank_remote(spank) != 1)
        return 0;
    /* The extern step binds nothing. */
    if (spank_get_item(spank, S_JOB_STEPID, &step) || step == 4294967292u)
        return 0;
    own = fopen("/proc/thread-self/status", "r");
    out = fopen(arguments[0], "a");
    while (own && out && fgets(line, sizeof line, own))
        if (!strncmp(line, "Cpus_allowed_list:", 18))
            fprintf(out, "%s %s", hook, strchr(line, '\t') + 1);
    if (own) fclose(own);
    if (out) fclose(out);
    return 0;
}
#define HOOK(name) \
    int slurm_spank_##name(spank_t spank, int count, char **arguments) { return leave(spank, #name, arguments); }
HOOK(init_post_opt)
HOOK(user_init)
HOOK(task_init_privileged)
HOOK(task_init)
HOOK(exit)
"#;

/// Shows its own CPUs to the user.
const PROLOG: &str =
    "#!/bin/sh\necho \"print prolog $(grep Cpus_allowed_list /proc/self/status)\"\n";

/// Shows the CPUs of all threads of its slurmstepd.
const TASK: &str = "cat /proc/$PPID/task/*/status | grep Cpus_allowed_list | sort -u";

/// A cluster with the other plugin, and the file in which that writes.
fn cluster(settings: &str) -> Option<(Cluster, PathBuf)> {
    if !berth_tests::two_cpus() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let object = spank_plugin(folder.path(), "other", PLUGIN)?;
    let cluster = Cluster::builder()
        .plugstack(Some(settings))
        .file(&object)
        .set("PrologFlags=Contain")
        .up();
    let etc = cluster.folder().join("etc");
    let seen = cluster.folder().join("seen");
    let line = format!(
        "optional {} {}\n",
        etc.join("other.so").display(),
        seen.display()
    );
    let stack = etc.join("plugstack.conf");
    let stack_text = fs::read_to_string(&stack).expect("the cluster's plugstack.conf");
    fs::write(&stack, stack_text + &line).expect("one line more");
    Some((cluster, seen))
}

/// The CPUs that the other plugin had in a hook, each once.
fn seen(file: &Path, hook: &str) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let mut found: Vec<_> = lines
        .filter(|(name, _)| *name == hook)
        .map(|(_, cpus)| cpus.to_owned())
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn step(cluster: &Cluster, file: &Path, words: &[&str]) -> Vec<String> {
    let _ = fs::remove_file(file);
    let done = cluster.srun(&[words, &["sh", "-c", TASK]].concat());
    let mut lines: Vec<_> = done.expect_ok().lines().map(String::from).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn before_the_binding_the_jobs_first_core_is_all_there_is() {
    let Some((cluster, file)) = cluster("quarantine=on") else {
        return;
    };
    let bound = ["-n2", "--cpu-bind=threads"];
    let stepd = step(&cluster, &file, &bound);
    for (hook, cpus) in [
        ("init_post_opt", &["0"][..]),
        ("user_init", &["0"]),
        ("task_init", &["0", "1"]),
        ("exit", &["0-1"]),
    ] {
        cluster.wait_for(hook, || {
            let found = seen(&file, hook);
            (!found.is_empty()).then_some(())
        });
        assert_eq!(seen(&file, hook), cpus, "{hook}");
    }
    // It runs beside slurmstepd, which may have bound the task already.
    let early = seen(&file, "task_init_privileged");
    assert!(
        !early.is_empty() && !early.contains(&"0-1".into()),
        "{early:?}"
    );
    // Both tasks look at the same slurmstepd, each of whose threads has all CPUs again.
    assert_eq!(stepd, ["Cpus_allowed_list:\t0-1"; 2]);
    // A step that is bound to nothing is not kept anywhere.
    step(&cluster, &file, &["-n2", "--cpu-bind=none"]);
    assert_eq!(seen(&file, "user_init"), ["0-1"]);
    assert_eq!(seen(&file, "task_init_privileged"), ["0-1"]);
    // Nor is one that is refused.
    let _ = fs::remove_file(&file);
    let refused = cluster.srun(&["-n2", "--cpu-bind=map_cpu:7", "true"]);
    assert!(!refused.ok(), "{refused:?}");
    let log = cluster.slurmd_log();
    assert!(!log.contains("quarantine= has no effect"), "{log}");
}

#[test]
fn a_task_prolog_has_its_tasks_cpus() {
    let Some((cluster, file)) = cluster("quarantine=on") else {
        return;
    };
    let program = cluster.folder().join("prolog");
    fs::write(&program, PROLOG).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let option = format!("--task-prolog={}", program.display());
    let done = cluster.srun(&["-n2", "--cpu-bind=threads", &option, "true"]);
    let mut lines: Vec<_> = done.expect_ok().lines().map(String::from).collect();
    lines.sort_unstable();
    let expected = ["0", "1"].map(|cpu| format!("prolog Cpus_allowed_list:\t{cpu}"));
    assert_eq!(lines, expected);
    assert_eq!(seen(&file, "user_init"), ["0"]);
}

#[test]
fn without_it_nothing_is_kept() {
    let Some((cluster, file)) = cluster("") else {
        return;
    };
    step(&cluster, &file, &["-n2", "--cpu-bind=threads"]);
    assert_eq!(seen(&file, "user_init"), ["0-1"]);
}

/// A process that a login would be.
struct Login(Child);

impl Login {
    /// On one CPU that the job need not have.
    fn on(cpu: &str) -> Self {
        let mut sleep = Command::new("taskset");
        sleep.args(["-c", cpu, "sleep", "600"]);
        Self(sleep.spawn().expect("taskset"))
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Brings a process into a job's extern step, as pam_slurm_adopt does, and shows its CPUs then.
fn adopted(cluster: &Cluster, words: &[&str], cpu: &str) -> Option<String> {
    let line = [
        words,
        &["--parsable", "--output=/dev/null", "--wrap=sleep 300"],
    ]
    .concat();
    let job = cluster.run("sbatch", &line).expect_ok();
    let job = job.trim();
    let login = Login::on(cpu);
    let pid = login.0.id() as i32;
    let own = || process::status(pid, "Cpus_allowed_list");
    cluster.wait_for("taskset", || own().filter(|cpus| cpus == cpu));
    adopt(cluster, &format!("_{job}"), pid);
    let found = own();
    cluster.run("scancel", &[job]).expect_ok();
    drop(login);
    cluster.wait_idle();
    found
}

#[test]
fn adopted_processes_have_the_jobs_cpus_or_its_first_core() {
    for (settings, words, before, after) in [
        ("quarantine=on", "-n1", "0-1", "0"),
        ("quarantine=on", "-n2", "1", "0-1"),
        ("quarantine=extern", "-n2", "1", "0"),
        ("", "-n2", "1", "1"),
    ] {
        let Some((cluster, _)) = cluster(settings) else {
            return;
        };
        let found = adopted(&cluster, &[words], before);
        assert_eq!(found.as_deref(), Some(after), "{settings} {words}");
        let log = cluster.slurmd_log();
        let says = log.contains("adopted process=");
        assert_eq!(says, !settings.is_empty(), "{log}");
    }
}
