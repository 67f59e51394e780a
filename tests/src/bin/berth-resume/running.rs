//! What runs when after a resume: steps of a job that waits, and tasks whose memory follows.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use berth_tests::process;

use crate::scenes::{ANY, ORIG, Scene, again, at, memory, waits};
use crate::site::Site;

pub const SCENES: [Scene; 2] = [
    ("step-of-a-job-that-waits", late_step),
    ("memory-follows-running-tasks", memory_follows),
];

/// MiB of each task whose memory takes a while.
const LARGE: u64 = 160;

/// A step that begins while its job waits for its CPUs waits with it.
fn late_step(site: &Site) {
    let job = site.job(ORIG);
    site.suspend(&job);
    let other = site.other(8);
    site.resume(&job);
    waits(site, &job);
    let (mut srun, tasks, says) = site.step(&job);
    site.cluster.wait_for("the step's note", || {
        let says = fs::read_to_string(&says).unwrap_or_default();
        says.contains("run when the job has its CPUs").then_some(())
    });
    // They may not be the user's program yet.
    site.cluster.wait_for("the step's frozen tasks", || {
        let log = site.service_log();
        let is_frozen = |task| {
            log.contains(&format!(
                "step_1/user/task_{task}/cgroup.freeze, which has \"1\""
            ))
        };
        [0, 1].into_iter().all(is_frozen).then_some(())
    });
    let before = tasks.beats();
    sleep(Duration::from_secs(3));
    assert_eq!(tasks.beats(), before, "the step runs");
    site.cluster.run("scancel", &[&other]).expect_ok();
    site.wait_running(&job.tasks);
    site.wait_running(&tasks);
    at(&job, ["0-1", "2-3"], "0-3");
    let are_in = |fence: &str| {
        site.cluster.wait_for("the step in its job's cpuset", || {
            tasks
                .seen()
                .iter()
                .all(|seen| seen.fence == fence)
                .then_some(())
        });
    };
    are_in("0-3");
    // The next suspension is for all of them.
    site.suspend(&job);
    site.other(2);
    again(site, &job);
    site.wait_running(&tasks);
    are_in("2-5");
    process::end(&mut srun);
}

/// The tasks run while their memory comes, and can be suspended meanwhile.
fn memory_follows(site: &Site) {
    let job = site.job_with(LARGE, &["-n16"], ANY);
    memory(&job, 0);
    site.suspend(&job);
    site.other(8);
    again(site, &job);
    at(&job, ["8-9", "10-11"], "8-11");
    println!(
        "  when they are there, {:.2} % of the pages have come",
        job.tasks.share_on(1).0 * 100.0
    );
    site.suspend(&job);
    again(site, &job);
    at(&job, ["8-9", "10-11"], "8-11");
    memory(&job, 1);
    let follows = format!("job={}: memory of its cpuset followed its tasks", job.id);
    site.cluster.wait_for("the service's line", || {
        site.service_log().contains(&follows).then_some(())
    });
}
