//! The wishes for a cluster, handed to `ci/cluster up` as its options.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::cluster::Cluster;
use crate::output::Done;
use crate::under_test::workspace;

/// A cluster that is not up yet. `up` starts it.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    options: Vec<OsString>,
}

impl Builder {
    /// Folder of `slurm-conf-examples/`; `minimal` if not said.
    pub fn example(self, name: &str) -> Self {
        self.option("--example", name)
    }

    /// TaskPlugin instead of the example's.
    pub fn task_plugin(self, list: &str) -> Self {
        self.option("--task-plugin", list)
    }

    /// Arguments of the plugstack line instead of the example's; `None`: no SPANK role.
    pub fn plugstack(mut self, arguments: Option<&str>) -> Self {
        match arguments {
            Some(arguments) => self.option("--plugstack", arguments),
            None => {
                self.options.push("--no-plugstack".into());
                self
            }
        }
    }

    /// Another object than `BERTH_OBJECT`.
    pub fn plugin(self, file: &Path) -> Self {
        self.option("--plugin", file)
    }

    /// Another command than `BERTH_COMMAND`.
    pub fn command(self, file: &Path) -> Self {
        self.option("--command", file)
    }

    /// How many slurmds; 1 if not said.
    pub fn nodes(self, count: u32) -> Self {
        self.option("--nodes", count.to_string())
    }

    /// Words behind the node line, as `CoreSpecCount=1`.
    pub fn node(self, words: &str) -> Self {
        self.option("--node", words)
    }

    /// One node of this shape, as `Sockets=2 CoresPerSocket=4 ThreadsPerCore=2`; once for each node.
    pub fn shape(self, words: &str) -> Self {
        self.option("--shape", words)
    }

    /// A line of slurm.conf, as `TaskPluginParam=Cores`.
    pub fn set(self, line: &str) -> Self {
        self.option("--set", line)
    }

    /// A file that is copied beside slurm.conf, as `job_container.conf`.
    pub fn file(self, file: &Path) -> Self {
        self.option("--file", file)
    }

    /// A variable of slurmd's environment, as `HWLOC_SYNTHETIC`.
    pub fn env(self, name: &str, value: &str) -> Self {
        self.option("--env", format!("{name}={value}"))
    }

    /// A database and a slurmdbd of its own, and what slurmctld compares with them, as `associations`.
    pub fn accounting(self, enforced: &str) -> Self {
        self.option("--accounting", enforced)
    }

    /// Options of `ci/cluster up` in their own words.
    pub(crate) fn options(mut self, words: Vec<String>) -> Self {
        self.options.extend(words.into_iter().map(OsString::from));
        self
    }

    /// Starts it; panics with the daemons' logs if it does not come up.
    #[track_caller]
    pub fn up(self) -> Cluster {
        match self.try_up() {
            Ok(cluster) => cluster,
            Err(done) => panic!("the cluster did not come up: {}", done.stderr),
        }
    }

    /// Starts it, or says what `ci/cluster` said; nothing is left running then.
    ///
    /// # Errors
    /// The output of `ci/cluster`.
    pub fn try_up(self) -> Result<Cluster, Done> {
        let folder = tempfile::Builder::new()
            .prefix("berth-")
            .tempdir()
            .expect("a temporary folder for a cluster");
        let done = Done::from(
            ci_cluster("up", folder.path())
                .args(&self.options)
                .output()
                .expect("ci/cluster can be run"),
        );
        if done.ok() {
            Ok(Cluster::in_folder(folder))
        } else {
            Err(done)
        }
    }

    fn option(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.options.push(name.into());
        self.options.push(value.into());
        self
    }
}

/// `ci/cluster ACTION FOLDER`, ready for more arguments.
pub(crate) fn ci_cluster(action: &str, folder: &Path) -> Command {
    let mut command = Command::new(workspace().join("ci/cluster"));
    command.arg(action).arg(folder);
    command
}
