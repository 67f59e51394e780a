//! The clusters: one node with cgroups of either version, or two nodes; jobs there that ask their tasks where they
//! are, and jobs that hold CPUs for themselves.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;

use berth_tests::confine::v1;
use berth_tests::{Builder, Cluster, Done, process};

/// Partitions beside the example's: jobs share the cores of its nodes.
const SHARED: &str = "PartitionName=shared Nodes=ALL OverSubscribe=FORCE:4\n";
/// The static cpuset.
const SETS: &str = "name=MYSET cpus=4-11\n";

/// Which cgroups a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cgroups {
    V1,
    V2,
}

/// How many lines are as expected.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub passed: u32,
    pub failed: u32,
}

impl Counts {
    /// Those of a cluster that is not needed any more.
    pub fn add(&mut self, site: Site) {
        let own = site.counts.into_inner();
        self.passed += own.passed;
        self.failed += own.failed;
    }
}

pub struct Site<'a> {
    pub cluster: Cluster,
    me: String,
    /// What stands before the lines.
    name: String,
    words: &'a [String],
    counts: RefCell<Counts>,
}

impl<'a> Site<'a> {
    /// A cluster of one node, with or without best fit.
    pub fn of_one_node(words: &'a [String], cgroups: Cgroups, best: &str) -> Self {
        let name = format!("{cgroups:?} cpuset_best={best}");
        Self::up(words, name, cgroups, |builder| {
            let settings = format!("cpuset_best={best} cpusets=/etc/slurm/cpusets.conf");
            builder.plugstack(Some(&settings))
        })
    }

    pub fn of_two_nodes(words: &'a [String]) -> Self {
        Self::up(words, "two nodes".into(), Cgroups::V2, |builder| {
            builder.nodes(2).plugstack(Some(""))
        })
    }

    fn up(
        words: &'a [String],
        name: String,
        cgroups: Cgroups,
        with: impl FnOnce(Builder) -> Builder,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| -> PathBuf {
            fs::write(folder.path().join(name), text).expect("a file");
            folder.path().join(name)
        };
        let mut builder = Cluster::builder()
            .example("cgroup")
            .file(&file("shared.conf", SHARED))
            .file(&file("cpusets.conf", SETS))
            .set("Include shared.conf");
        if cgroups == Cgroups::V1 {
            let text = format!("{}ConstrainCores=yes\n", v1::CONF);
            builder = builder.file(&file("cgroup.conf", &text));
        }
        let me = std::env::current_exe().expect("this program");
        Self {
            cluster: with(builder).up(),
            me: me.to_string_lossy().into_owned(),
            name,
            words,
            counts: RefCell::default(),
        }
    }

    /// Plays a line if it is chosen, and prints what is wrong with it.
    pub fn judge(&self, text: &str, play: impl FnOnce() -> Option<String>) {
        let text = format!("{}: {text}", self.name);
        if !self.words.is_empty() && !self.words.iter().any(|word| text.contains(word.as_str())) {
            return;
        }
        let wrong = play();
        let mut counts = self.counts.borrow_mut();
        match wrong {
            None => {
                counts.passed += 1;
                println!("pass {text}");
            }
            Some(wrong) => {
                counts.failed += 1;
                println!("FAIL {text}: {wrong}");
            }
        }
    }

    /// A job whose tasks say where they are: node, mask, CPUs and memory nodes of the cgroup, policy.
    pub fn look(&self, options: &[&str]) -> Done {
        self.look_in(options, &[])
    }

    /// The same with a step of fewer tasks than the job has.
    pub fn look_in(&self, options: &[&str], step: &[&str]) -> Done {
        self.job(options, &[step, &[&self.me, "look"]].concat())
    }

    /// A job of one task that fills so many MiB, and says where they are. Words before it change its memory policy.
    pub fn fill(&self, options: &[&str], before: &[&str], size: u64) -> Done {
        let size = size.to_string();
        let fill = [self.me.as_str(), "fill", &size];
        self.job(options, &[&["-n1"], before, &fill].concat())
    }

    fn job(&self, options: &[&str], step: &[&str]) -> Done {
        let step = [&["srun", "--cpu-bind=none"], step].concat();
        self.cluster.run("salloc", &[options, &step].concat())
    }

    /// What a script's plain srun prints.
    pub fn script(&self, options: &[&str]) -> String {
        self.cluster
            .sbatch(options, &format!("srun {} look", self.me))
            .output
    }

    /// A job that has these CPUs of a node, or of the only one, for itself.
    pub fn hold(&self, node: Option<&str>, cpus: &str, count: u32) -> String {
        let cpuset =
            format!("--cpuset=CPU_LIST={cpus};NCPUS={count};CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE");
        let node = node.map(|node| format!("--nodelist={node}"));
        let options = ["--parsable", "--partition=shared", "-N1", "-n16"];
        let rest = ["--output=/dev/null", &cpuset, "--wrap=sleep 600"];
        let node = node.as_deref();
        let words = options.into_iter().chain(node).chain(rest);
        let words: Vec<_> = words.collect();
        let id = self.cluster.run("sbatch", &words).expect_ok();
        let id = id.trim().to_owned();
        let mark = format!("SLURM_JOB_ID={id}");
        self.cluster.wait_for("the job that holds CPUs", || {
            (!process::find("sleep", &mark).is_empty()).then_some(())
        });
        id
    }

    pub fn release(&self, jobs: &[String]) {
        let jobs: Vec<_> = jobs.iter().map(String::as_str).collect();
        if !jobs.is_empty() {
            self.cluster.run("scancel", &jobs).expect_ok();
        }
        self.cluster.wait_idle();
    }
}
