//! What else starts processes on nodes: batch scripts, the daemons of mpirun with their ranks, and processes that a
//! job's extern step adopts, as pam_slurm_adopt has them adopted.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};

use berth_tests::adoption::adopt;
use berth_tests::trace::Task;

use crate::{NODES, Site, described};

/// A batch script on each node, which becomes the tasks' program.
pub fn batch(site: &Site) -> Vec<Task> {
    let node = |number| {
        let place = format!("-w{}", site.node(number));
        let script = format!("exec {} task batch", site.me);
        let done = site
            .cluster
            .sbatch(&["-N1", "-n1", "-c2", &place, "--confine=task"], &script);
        assert_eq!(done.state, "COMPLETED", "{done:?}");
        tasks(&done.output)
    };
    let found: Vec<_> = (1..=NODES).flat_map(node).collect();
    assert_eq!(found.len(), NODES as usize, "{found:?}");
    found
}

/// mpirun has srun start a daemon on each node, and the daemon starts the ranks. Each rank describes its
/// daemon; none where Open MPI is not installed.
pub fn mpirun(site: &Site) -> Vec<Task> {
    if !Path::new("/usr/bin/mpirun.openmpi").exists() {
        println!("skip mpirun's daemons: there is no Open MPI");
        return Vec::new();
    }
    let ranks = (2 * NODES).to_string();
    let nodes = format!("-N{NODES}");
    // The root of the guests may run it, and the nodes are one machine to the kernel.
    let done = site.cluster.run_with(
        "salloc",
        &[
            "-Q",
            &nodes,
            "--ntasks-per-node=2",
            "-c1",
            "mpirun.openmpi",
            "--allow-run-as-root",
            "-n",
            &ranks,
            "--map-by",
            "node",
            "--bind-to",
            "none",
            &site.me,
            "task",
            "rank",
        ],
        &[],
    );
    let text = done.expect_ok();
    let mut found = tasks(&text);
    found.sort_by_key(|task| task.pid);
    found.dedup_by_key(|task| task.pid);
    assert_eq!(found.len(), NODES as usize, "a daemon on each node: {text}");
    found
}

fn tasks(text: &str) -> Vec<Task> {
    let is_ours = |line: &&str| line.split(' ').count() == 6;
    text.lines().filter(is_ours).map(described).collect()
}

/// A login on each node: a process that waits, is adopted, and then starts the tasks' program.
pub struct Logins(Vec<Child>);

impl Logins {
    /// On any CPU.
    pub fn start(site: &Site) -> Self {
        let login = |number| {
            let mut login = site.cluster.program(&site.me);
            login
                .args(["task", "login"])
                .env("SLURMD_NODENAME", site.node(number))
                .env("SLURM_PROCID", "login")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            login.spawn().expect("a login")
        };
        Self((1..=NODES).map(login).collect())
    }

    /// Their processes.
    pub fn pids(&self) -> Vec<i32> {
        self.0.iter().map(|login| login.id() as i32).collect()
    }

    /// Has the job's extern step of each node adopt its login; then each of them works.
    pub fn work(&mut self, site: &Site, job: &str) -> Vec<Task> {
        for (number, login) in (1..=NODES).zip(&mut self.0) {
            let node = site.node(number);
            adopt(&site.cluster, &format!("{node}_{job}"), login.id() as i32);
            let input = login.stdin.as_mut().expect("its input");
            input.write_all(b"go\n").expect("it waits");
        }
        let line = |login: &mut Child| {
            let mut text = String::new();
            let output = login.stdout.as_mut().expect("its output");
            let read = BufReader::new(output).read_line(&mut text);
            read.expect("a line");
            assert!(login.wait().expect("a child").success());
            described(text.trim_end())
        };
        self.0.iter_mut().map(line).collect()
    }
}
