//! `quarantine=` and processes that a job adopts: they get the job's CPUs, or its first core. `requests/quarantine.txt` has
//! the rest of it.

use std::process::{Child, Command};

use berth_tests::adoption::adopt;
use berth_tests::{Cluster, process};

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
    if !berth_tests::two_cpus() {
        return;
    }
    for (settings, words, before, after) in [
        ("quarantine=on", "-n1", "0-1", "0"),
        ("quarantine=on", "-n2", "1", "0-1"),
        ("quarantine=extern", "-n2", "1", "0"),
        ("", "-n2", "1", "1"),
    ] {
        let cluster = Cluster::builder()
            .plugstack(Some(settings))
            .set("PrologFlags=Contain")
            .up();
        let found = adopted(&cluster, &[words], before);
        assert_eq!(found.as_deref(), Some(after), "{settings} {words}");
        let log = cluster.slurmd_log();
        let says = log.contains("adopted process=");
        assert_eq!(says, !settings.is_empty(), "{log}");
    }
}
