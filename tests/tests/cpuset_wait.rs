//! A `--cpuset` whose CPUs others have, on a real cluster: its tasks wait before their programs start, in every
//! way in which such a wait can end. Each answer is the kernel's or the task's own.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use berth_tests::{Cluster, Done, process};
use nix::sys::signal::Signal;

/// Jobs that share a node's CPUs.
const SHARED: &str = "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8";
const LOOK: &str = "sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status";
/// A cpuset that one job at a time can have.
const WANTED: &str = "--cpuset=CPU_LIST=1;NCPUS=1;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";

fn cluster(settings: &str) -> Option<Cluster> {
    let builder = Cluster::builder().plugstack(Some(settings)).set(SHARED);
    berth_tests::two_cpus().then(|| builder.up())
}

/// A batch job, to be ended when the value is dropped.
struct Job<'a> {
    cluster: &'a Cluster,
    id: String,
    /// What it writes.
    file: PathBuf,
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        self.cancel();
    }
}

impl Job<'_> {
    fn cancel(&self) {
        self.cluster.run("scancel", &["--full", &self.id]);
    }

    fn output(&self) -> String {
        std::fs::read_to_string(&self.file).unwrap_or_default()
    }

    fn says(&self, what: &str) {
        self.cluster
            .wait_for(what, || self.output().contains(what).then_some(()));
    }

    fn state(&self) -> String {
        let words = ["-h", "-t", "all", "-o", "%T", "-j", &self.id];
        let done = self.cluster.run("squeue", &words);
        done.stdout.trim().to_owned()
    }
}

/// Submits a script with more options.
fn submit<'a>(cluster: &'a Cluster, options: &[&str], script: &str) -> Job<'a> {
    let file = cluster.folder().join("log/%j.txt").display().to_string();
    let (out, wrap) = (format!("--output={file}"), format!("--wrap={script}"));
    let words = ["--parsable", "-n1", "--mincpus=2", &out];
    let words = [&words[..], options, &[&wrap]].concat();
    let id = cluster.run("sbatch", &words).expect_ok().trim().to_owned();
    let file = file.replace("%j", &id).into();
    Job { cluster, id, file }
}

/// A job that has the cpuset.
fn holder(cluster: &Cluster) -> Job<'_> {
    let job = submit(cluster, &[WANTED], "echo held; exec sleep 300");
    job.says("held");
    job
}

/// Such a job whose script waits for it.
fn waiter<'a>(cluster: &'a Cluster) -> Job<'a> {
    let job = submit(cluster, &[WANTED], &format!("{LOOK}; date +%s"));
    let line = format!("step={}.batch: note: others have CPUs 1 now", job.id);
    cluster.wait_for("that it waits", || {
        cluster.slurmd_log().contains(&line).then_some(())
    });
    job
}

/// Nothing of a job is left, and the node goes on.
fn is_gone(cluster: &Cluster, job: &Job<'_>) {
    cluster.wait_for("the job's end", || {
        (!["RUNNING", "COMPLETING"].contains(&job.state().as_str())).then_some(())
    });
    cluster.wait_for("an idle or mixed node", || {
        let state = cluster.sinfo_state();
        (!state.contains("drain") && !state.contains("down")).then_some(())
    });
}

#[test]
fn tasks_wait_until_the_cpus_are_free() {
    let Some(cluster) = cluster("cpuset_fail=wait:120") else {
        return;
    };
    let first = holder(&cluster);
    let script = waiter(&cluster);
    // A step too, which is bound inside.
    let words = format!("srun '{WANTED}' --cpu-bind=cores /bin/sh -c \"echo step \\$({LOOK})\"");
    let step = submit(&cluster, &[], &words);
    step.says("wait for the CPUs 1 of their cpuset, at most 120 s");
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(script.output(), "", "its script has not started");
    assert!(!step.output().contains("step 1"), "{}", step.output());
    assert_eq!(
        (script.state(), step.state()),
        ("RUNNING".into(), "RUNNING".into())
    );
    // Another one is cancelled.
    let third = waiter(&cluster);
    let start = Instant::now();
    third.cancel();
    is_gone(&cluster, &third);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    let started = third.output().lines().any(|line| line == "1");
    assert!(
        !started && !third.output().contains("others still have"),
        "{}",
        third.output()
    );
    first.cancel();
    // Both get it, one after the other.
    cluster.wait_for("the script's CPUs", || {
        script.output().starts_with("1\n").then_some(())
    });
    step.says("step 1");
    let log = cluster.slurmd_log();
    let waited = format!("step={}.batch: its tasks have waited", script.id);
    assert!(log.contains(&waited), "{log}");
    assert!(log.contains("its cpuset ends"), "{log}");
}

#[test]
fn a_wait_has_an_end() {
    let Some(cluster) = cluster("cpuset_fail=wait:8") else {
        return;
    };
    let first = holder(&cluster);
    // While the job that waits is suspended its time does not run.
    let second = waiter(&cluster);
    cluster.scontrol(&["suspend", &second.id]).expect_ok();
    let third = waiter(&cluster);
    third.says(
        "the script is not started: --cpuset: others still have CPUs 1 of this job's cpuset, which are CPUs 1, \
         after 8 s",
    );
    is_gone(&cluster, &third);
    assert_eq!(
        (first.state(), second.output()),
        ("RUNNING".into(), String::new())
    );
    let bound = [WANTED, "--binding=linear:1", "-n1", "--mincpus=2", "true"];
    let bound: Done = cluster.srun(&bound);
    assert!(
        !bound.ok() && bound.stderr.contains("held by others now"),
        "{bound:#?}"
    );
    cluster.scontrol(&["resume", &second.id]).expect_ok();
    first.cancel();
    cluster.wait_for("the script's CPUs", || {
        second.output().starts_with("1\n").then_some(())
    });
    let done: Done = cluster.srun(&[
        "-n1",
        "--mincpus=2",
        "--cpuset=CPU_LIST=0;NCPUS=1",
        "/bin/sh",
        "-c",
        LOOK,
    ]);
    assert_eq!(done.stdout, "0\n", "{done:#?}");
}

/// slurmctld suspends a job and starts the one that preempts it at the same time.
#[test]
fn a_holder_that_is_being_suspended_gets_the_time_to_stop() {
    let Some(cluster) = cluster("") else {
        return;
    };
    let first = holder(&cluster);
    let second = waiter(&cluster);
    cluster.scontrol(&["suspend", &first.id]).expect_ok();
    cluster.wait_for("the second job's CPUs", || {
        second.output().starts_with("1\n").then_some(())
    });
    is_gone(&cluster, &second);
    cluster.scontrol(&["resume", &first.id]).expect_ok();
    cluster.wait_for("the first job", || {
        (first.state() == "RUNNING").then_some(())
    });
}

/// Whoever kills slurmstepd leaves no task behind that waits for it.
#[test]
fn tasks_do_not_outlive_their_slurmstepd() {
    let Some(cluster) = cluster("cpuset_fail=wait:300") else {
        return;
    };
    let _first = holder(&cluster);
    let second = waiter(&cluster);
    let (stepd, task) = of_script(&cluster, &second);
    process::signal(stepd, Signal::SIGKILL);
    cluster.wait_for("the end of the task that waited", || {
        let state = process::status(task, "State");
        state
            .is_none_or(|state| state.starts_with('Z'))
            .then_some(())
    });
}

/// A batch script's slurmstepd, and its task before the script starts. Job numbers begin at 1 in each cluster.
fn of_script(cluster: &Cluster, job: &Job<'_>) -> (i32, i32) {
    let folder = cluster.folder().to_string_lossy().into_owned();
    let title = format!("[{}.batch]", job.id);
    let has_title = |pid: &i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&title)
    };
    let stepds = process::find("slurmstepd", &folder);
    let stepd = stepds.into_iter().filter(has_title).min();
    let stepd = stepd.expect("the slurmstepd of the script");
    let tasks = process::children(stepd).into_iter().filter(has_title);
    (stepd, tasks.min().expect("its task, which waits"))
}

/// Steps of one job that start at once are in one cpuset.
#[test]
fn steps_of_one_job_wait_together() {
    let Some(cluster) = cluster("cpuset_fail=wait:120") else {
        return;
    };
    let first = holder(&cluster);
    let one = format!("srun --overlap -n1 /bin/sh -c \"echo step \\$({LOOK}); sleep 1\" & ");
    let words = format!("{one}{one}wait; echo done");
    let job = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let salloc = ["-n1", "--mincpus=2", WANTED, "/bin/sh", "-c", &words];
            cluster.run("salloc", &salloc)
        });
        cluster.wait_for("two steps that wait", || {
            let log = cluster.slurmd_log();
            (log.matches(": note: others have CPUs 1 now").count() == 2).then_some(())
        });
        first.cancel();
        asking.join().expect("salloc")
    });
    let lines = job.stdout.lines().filter(|line| *line == "step 1");
    assert_eq!(lines.count(), 2, "{job:#?}");
    assert!(job.stdout.contains("done"), "{job:#?}");
}
