//! Another user of the node, and the client of that user's own: the distribution's srun with
//! `berth-hostile` preloaded.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use nix::unistd::{Uid, chown};

use crate::cluster::Cluster;
use crate::output::Done;
use crate::under_test;

/// Nobody's number: a user like any other, without a home and without rights.
pub const USER: u32 = 65534;

/// How often a request for a job is sent again.
const MOST_TRIES: u32 = 10;

/// Changes of a launch request: name of the field, value (`berth-hostile` has the list).
pub type Changes<'a> = &'a [(&'a str, &'a [u8])];

/// A user with a client of their own on one cluster.
#[derive(Debug)]
pub struct Attacker<'a> {
    cluster: &'a Cluster,
    folder: PathBuf,
    object: PathBuf,
    over: AtomicBool,
}

impl<'a> Attacker<'a> {
    /// A folder of the user's own, and a copy of the library where the user can read it.
    ///
    /// # Panics
    /// Where the library was not built, or the folder cannot be made.
    #[must_use]
    pub fn new(cluster: &'a Cluster) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = cluster.folder().join(format!("user-{number}"));
        fs::create_dir(&folder).expect("a folder for the user");
        let uid = Some(Uid::from_raw(USER));
        chown(&folder, uid, None).expect("the user's own folder");
        let object = folder.join("client.so");
        fs::copy(under_test::hostile_client(), &object).expect("a copy of the client");
        fs::set_permissions(&object, fs::Permissions::from_mode(0o755)).expect("a readable copy");
        Self {
            cluster,
            folder,
            object,
            over: AtomicBool::new(false),
        }
    }

    /// The node has fallen: what is left of the attack is not played.
    pub(super) fn give_up(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// The user's own folder.
    #[must_use]
    pub fn folder(&self) -> &PathBuf {
        &self.folder
    }

    /// A program as this user, in the user's folder, killed after half a minute.
    ///
    /// # Panics
    /// Where the node has fallen.
    #[must_use]
    pub fn program(&self, name: &str) -> Command {
        assert!(!self.over.load(Ordering::Relaxed), "the node has fallen");
        let mut command = self.cluster.program("timeout");
        command
            .args(["--kill-after=5", "30", name])
            .current_dir(&self.folder)
            // The tests' own may be root's alone, of which slurmstepd complains in the job's output.
            .env("TMPDIR", &self.folder)
            .uid(USER)
            .gid(USER);
        command
    }

    /// Runs a program as this user.
    ///
    /// # Panics
    /// Where it cannot be run.
    pub fn run(&self, name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Done {
        let mut command = self.program(name);
        command
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (*name, *value)));
        let output = command.output();
        Done::from(output.unwrap_or_else(|why| panic!("{name} as another user: {why}")))
    }

    /// `srun ARGUMENTS…` whose launch request is changed on its way.
    ///
    /// # Panics
    /// Where it cannot be run.
    pub fn srun(&self, changes: Changes<'_>, arguments: &[&str]) -> Done {
        let mut list = Vec::new();
        for (name, value) in changes {
            list.extend_from_slice(name.as_bytes());
            list.push(b'=');
            list.extend_from_slice(value);
            list.push(0);
        }
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = self.folder.join(format!("changes-{number}"));
        fs::write(&file, list).expect("a list of changes");
        // For srun alone: the program in front of it sends nothing.
        let preload = format!("LD_PRELOAD={}", self.object.display());
        let changes = format!("BERTH_HOSTILE={}", file.display());
        let done = self.run(
            "env",
            &[&[&*preload, &*changes, "srun"], arguments].concat(),
            &[],
        );
        let _ = fs::remove_file(file);
        done
    }

    /// CPUs of one task on the user's own job: a job to launch steps in.
    ///
    /// # Panics
    /// Where the job does not start.
    #[must_use]
    pub fn job(&self, options: &[&str]) -> Job<'a> {
        let mut command = self.program("salloc");
        Job::start(self.cluster, &mut command, options)
    }
}

/// A job without a program of its own, ended when the value is dropped.
#[derive(Debug)]
pub struct Job<'a> {
    cluster: &'a Cluster,
    id: String,
}

impl<'a> Job<'a> {
    /// Root's.
    ///
    /// # Panics
    /// Where the job does not start.
    #[must_use]
    pub fn of_root(cluster: &'a Cluster, options: &[&str]) -> Self {
        let mut command = cluster.program("timeout");
        command.args(["60", "salloc"]);
        Self::start(cluster, &mut command, options)
    }

    fn start(cluster: &'a Cluster, command: &mut Command, options: &[&str]) -> Self {
        command.arg("--no-shell").args(options);
        let mut tries = 0;
        let id = loop {
            let done = Done::from(command.output().expect("salloc can be run"));
            let granted = done.stderr.lines().find_map(|line| {
                let (_, id) = line.split_once("Granted job allocation ")?;
                Some(id.trim().to_owned())
            });
            if let Some(id) = granted {
                break id;
            }
            // slurmctld may drop whoever asks while it reads its configuration.
            let is_dropped = done.stderr.contains("Zero Bytes were transmitted");
            assert!(is_dropped && tries < MOST_TRIES, "no job: {done:#?}");
            tries += 1;
        };
        Self { cluster, id }
    }

    /// The option with which srun starts a step in it.
    #[must_use]
    pub fn option(&self) -> String {
        format!("--jobid={}", self.id)
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        let _ = self.cluster.program("scancel").arg(&self.id).output();
    }
}
