//! A process that is adopted into a job's extern step, as pam_slurm_adopt does it, while the job's cpuset moves.

use std::process::{Child, Command};

use berth_tests::adoption::adopt;
use berth_tests::process;

use crate::scenes::{ANY, Scene};
use crate::site::{Job, Site, leaf};

pub const SCENES: [Scene; 1] = [("adopted-processes-follow", follows)];

/// A process that a login would be.
struct Login(Child);

impl Drop for Login {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn follows(site: &Site) {
    let job = site.job(ANY);
    assert_eq!(masks(&job), ["0-1", "2-3"]);
    let sleep = Command::new("taskset")
        .args(["-c", "15", "sleep", "600"])
        .spawn();
    let login = Login(sleep.expect("taskset"));
    let pid = login.0.id() as i32;
    adopt(&site.cluster, &format!("_{}", job.id), pid);
    let place = || {
        let mask = process::status(pid, "Cpus_allowed_list").unwrap_or_default();
        (mask, leaf(pid, "cpuset.cpus.effective"))
    };
    assert_eq!(place(), ("0-3".into(), "0-3".into()));
    site.suspend(&job);
    site.other(8);
    site.resume(&job);
    site.cluster.wait_for("the tasks' new CPUs", || {
        (masks(&job) == ["8-9", "10-11"]).then_some(())
    });
    site.cluster.wait_for("the login where its job is", || {
        (place() == ("8-11".into(), "8-11".into())).then_some(())
    });
}

fn masks(job: &Job) -> Vec<String> {
    let seen = job.tasks.seen().into_iter();
    seen.map(|seen| seen.mask).collect()
}
