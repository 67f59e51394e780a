//! The cpuset of a job none of whose steps runs, on a real cluster: slurmd remembers it, and the next step is in it
//! again unless another job's exclusive cpuset took its CPUs meanwhile. Each answer is the kernel's own.

use std::path::PathBuf;

use berth_tests::Cluster;

/// Jobs that share a node's CPUs.
const SHARED: &str = "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8";
const LOOK: &str = "sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status";
/// What every job here asks for: left alone it gets CPU 0, the lowest.
const ONE: &str = "--cpuset=NCPUS=1;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";

/// A job of another user of the node, which has one CPU for itself until the value is dropped.
struct Other<'a>(&'a Cluster, String);

impl Drop for Other<'_> {
    fn drop(&mut self) {
        self.0.run("scancel", &["--full", &self.1]);
    }
}

fn other<'a>(cluster: &'a Cluster, cpu: &str) -> Other<'a> {
    let file = cluster.folder().join(format!("log/other-{cpu}"));
    let wrap = format!("--wrap={LOOK} > {}; exec sleep 300", file.display());
    let out = format!("--output={}.out", file.display());
    let cpuset = format!("{ONE};CPU_LIST={cpu}");
    let words = ["--parsable", "-n1", "--mincpus=2", &out, &cpuset, &wrap];
    let job = cluster.run("sbatch", &words).expect_ok().trim().to_owned();
    let job = Other(cluster, job);
    cluster.wait_for("the other job's start", || {
        let text = std::fs::read_to_string(&file).ok()?;
        (text == format!("{cpu}\n")).then_some(())
    });
    job
}

/// A job whose steps start one at a time, when they are asked for. Between them nothing of it runs on the node.
struct Steps<'a> {
    cluster: &'a Cluster,
    files: PathBuf,
    count: u32,
}

impl Drop for Steps<'_> {
    /// A test that has failed waits for salloc too.
    fn drop(&mut self) {
        std::fs::write(self.files.with_extension("end"), "").expect("a file");
    }
}

impl Steps<'_> {
    /// What salloc runs: a step for each file `go.N`, until there is one called `end`.
    fn script(files: &std::path::Path) -> String {
        let files = files.display();
        format!(
            "n=1; while :; do until [ -e {files}.go.$n ]; do [ ! -e {files}.end ] || exit 0; sleep 0.05; done; \
             srun -n1 /bin/sh -c \"{LOOK}\" > {files}.out.$n 2>&1; mv {files}.out.$n {files}.done.$n; \
             n=$((n + 1)); done"
        )
    }

    /// The CPUs of the next step, which has ended when this returns.
    fn next(&mut self) -> String {
        self.count += 1;
        let file = |what: &str| format!("{}.{what}.{}", self.files.display(), self.count);
        std::fs::write(file("go"), "").expect("a file");
        let output = self
            .cluster
            .wait_for("the step", || std::fs::read_to_string(file("done")).ok());
        // srun tells that it waits while the step before it is still ending.
        let lines = output.lines().filter(|line| !line.starts_with("srun:"));
        lines.collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn the_next_step_is_where_the_last_one_was_unless_others_are_there() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder().plugstack(Some("")).set(SHARED).up();
    let files = cluster.folder().join("log/steps");
    let script = Steps::script(&files);
    let salloc = ["-n1", "--mincpus=2", ONE, "/bin/sh", "-c", &script];
    std::thread::scope(|scope| {
        let job = scope.spawn(|| cluster.run("salloc", &salloc));
        let mut steps = Steps {
            cluster: &cluster,
            files: files.clone(),
            count: 0,
        };
        play(&cluster, &mut steps);
        drop(steps);
        let done = job.join().expect("salloc");
        assert!(done.ok(), "{done:#?}");
    });
}

fn play(cluster: &Cluster, steps: &mut Steps<'_>) {
    // Its first step has to go to the higher CPU.
    let first = other(cluster, "0");
    assert_eq!(steps.next(), "1", "beside a job on CPU 0");
    drop(first);
    cluster.wait_for("the other job's end", || {
        let jobs = cluster.run("squeue", &["-h", "-o", "%i"]).expect_ok();
        (jobs.lines().count() == 1).then_some(())
    });
    // Chosen anew it would have the lowest CPU, which is free now.
    assert_eq!(steps.next(), "1", "its CPU of before");
    // A job that only remembers a cpuset holds nothing.
    let second = other(cluster, "1");
    assert_eq!(steps.next(), "0", "its CPU of before is another job's");
    drop(second);
    assert_eq!(steps.next(), "0", "the last choice is what is remembered");
}
