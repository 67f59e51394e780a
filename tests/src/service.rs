//! `berth node` beside a cluster's slurmds.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};

use crate::Cluster;
use crate::under_test::command;

/// The service, until this value is dropped.
#[derive(Debug)]
pub struct Service {
    child: Child,
    log: PathBuf,
}

impl Service {
    /// Starts it for the state that a cluster's slurmds keep.
    ///
    /// # Panics
    /// The command cannot be started.
    #[must_use]
    pub fn start(cluster: &Cluster) -> Self {
        let log = cluster.folder().join("log/berth-node.log");
        let file = File::create(&log).expect("the service's log");
        let child = Command::new(command())
            .args(["node", "--verbose", "--state-dir"])
            .arg(cluster.folder().join("run/berth"))
            .stderr(file)
            .spawn();
        let child = child.expect("berth node");
        Self { child, log }
    }

    /// What it has said.
    ///
    /// # Panics
    /// Its log is gone.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("the service's log")
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
