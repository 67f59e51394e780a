//! `berth-preempt`: LSF's example of preemption with static cpusets, on a machine of two sockets with eight cores each,
//! for the virtual machines of `ci/vm`. Two jobs of a low partition fill a set, and one of a high partition takes the
//! place of one of them: by sending the younger back into the queue, as `slurm-conf-examples/cpusets` has it, and by
//! suspension, where Slurm takes the cores that come first, whosever they are. At last jobs wait for one another.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use berth_placement::CpuSet;
use berth_tests::Cluster;
use berth_tests::srun_lines::release;

/// What a script says of itself: its CPUs by the kernel, and what it is told.
const LOOK: &str =
    "echo \"$(sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status) $BERTH_CPUSET_INFO\"";
const STATIC: &str = "CPUSET[CPUSET_NAME=MYSET]";

/// A way to play it.
struct Way {
    name: &'static str,
    /// What makes room in the set.
    mode: &'static str,
    /// The set's CPUs.
    set: &'static str,
    /// What a job of each partition asks for, beside its partition.
    job: &'static [&'static str],
    cpuset: &'static str,
    /// Each job's CPUs.
    count: usize,
    /// The preempted job's state while the high one runs.
    state: &'static str,
}

const WAYS: [Way; 3] = [
    Way {
        name: "requeued: static cpuset, counted as a resource",
        mode: "REQUEUE",
        set: "0-7",
        job: &["-n4", "--gres=myset:4", "--gres-flags=enforce-binding"],
        cpuset: STATIC,
        count: 4,
        state: "PENDING",
    },
    Way {
        name: "suspended: static cpuset",
        mode: "SUSPEND,GANG",
        set: "0-15",
        job: &["-n8"],
        cpuset: STATIC,
        count: 8,
        state: "SUSPENDED",
    },
    Way {
        name: "suspended: dynamic cpusets, each for its job alone",
        mode: "SUSPEND,GANG",
        set: "0-15",
        job: &["-n8"],
        cpuset: "CPUSET[CPU_LIST=0-15;NCPUS=8;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE]",
        count: 8,
        state: "SUSPENDED",
    },
];

fn main() -> ExitCode {
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!("berth-preempt: only inside a machine of ci/vm with sockets=2,cores=8,threads=1");
        return ExitCode::from(2);
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mut passed, mut failed) = (0, 0);
    let mut judge = |name: &str, play: &dyn Fn()| {
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            return;
        }
        let (count, verdict) = match catch_unwind(AssertUnwindSafe(play)) {
            Ok(()) => (&mut passed, "pass"),
            Err(_) => (&mut failed, "FAIL"),
        };
        *count += 1;
        println!("{verdict} {name}");
    };
    for way in &WAYS {
        judge(way.name, &|| play(way));
    }
    judge("waiting: cancelled, and served", &waits);
    println!("{passed} ways passed, {failed} failed");
    match (passed, failed) {
        (1.., 0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// The example's files, with a set of eight CPUs as LSF's has, and this mode.
fn cluster(way: &Way) -> Cluster {
    let example = Path::new("slurm-conf-examples/cpusets");
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, change: &dyn Fn(String) -> String| {
        let text = fs::read_to_string(example.join(name)).expect("a file of the example");
        let changed = change(text.clone());
        fs::write(folder.path().join(name), &changed).expect("its copy");
        folder.path().join(name)
    };
    let with = |from: &'static str, to: &'static str| {
        move |text: String| {
            assert!(text.contains(from), "the example has no {from}: {text}");
            text.replace(from, to)
        }
    };
    let is_counted = way.mode == "REQUEUE";
    let gres = file("gres.conf", &with("0-3", "0-7"));
    let sets = file(
        "cpusets.conf",
        &with(
            "cpus=0-3",
            if way.set == "0-7" {
                "cpus=0-7"
            } else {
                "cpus=0-15"
            },
        ),
    );
    // Gang scheduling takes partitions whose cores are shared, by one job at a time.
    let conf = file("slurm.conf", &|text| {
        // This cluster has a line of its own for the scheduler, with the example's word in it.
        assert!(
            text.contains("SchedulerParameters=preempt_youngest_first"),
            "{text}"
        );
        if is_counted {
            return text;
        }
        let text = with("PreemptMode=REQUEUE", "PreemptMode=SUSPEND,GANG")(text);
        with("Nodes=ALL ", "Nodes=ALL OverSubscribe=FORCE:1 ")(text)
    });
    let mut builder = Cluster::builder().example("cpusets");
    for file in [gres, sets, conf] {
        builder = builder.file(&file);
    }
    let scheduler = "SchedulerParameters=batch_sched_delay=0,preempt_youngest_first";
    builder.set(scheduler).node("Gres=myset:8").up()
}

/// A job of a script that says where it is, each time that it begins.
struct Job<'a> {
    cluster: &'a Cluster,
    id: String,
}

impl<'a> Job<'a> {
    fn submit(cluster: &'a Cluster, partition: &str, options: &[&str]) -> Self {
        let log = cluster.folder().join("log");
        let script = format!(
            "--wrap={LOOK} >> {}/$SLURM_JOB_ID.said; sleep 600",
            log.display()
        );
        let partition = format!("--partition={partition}");
        let own = [
            "--parsable",
            "--requeue",
            "--output=/dev/null",
            &partition,
            &script,
        ];
        let id = cluster.run("sbatch", &[options, &own].concat()).expect_ok();
        Self {
            cluster,
            id: id.trim().to_owned(),
        }
    }

    /// What it said when it began for the n-th time, from 1.
    fn said(&self, times: usize) -> (CpuSet, String) {
        let file = self.cluster.folder().join(format!("log/{}.said", self.id));
        let line = self
            .cluster
            .wait_for(&format!("job {} to begin", self.id), || {
                let text = fs::read_to_string(&file).ok()?;
                text.lines().nth(times - 1).map(String::from)
            });
        let (cpus, told) = line.split_once(' ').unwrap_or((&line, ""));
        (
            CpuSet::from_list(cpus).expect("a list of CPUs"),
            told.to_owned(),
        )
    }

    fn state(&self) -> String {
        let shown = self
            .cluster
            .run("squeue", &["-h", "-o", "%T", "-j", &self.id]);
        shown.stdout.trim().to_owned()
    }

    fn wait(&self, state: &str) {
        self.cluster
            .wait_for(&format!("job {} to be {state}", self.id), || {
                (self.state() == state).then_some(())
            });
    }

    fn cancel(&self) {
        self.cluster
            .run("scancel", &["--full", &self.id])
            .expect_ok();
    }
}

/// A job of one of the partitions, and its CPUs in the set.
fn start<'a>(cluster: &'a Cluster, way: &Way, partition: &str) -> (Job<'a>, CpuSet) {
    let set = CpuSet::from_list(way.set).expect("a list of CPUs");
    let cpuset = format!("--cpuset={}", way.cpuset);
    let job = Job::submit(cluster, partition, &[way.job, &[&cpuset]].concat());
    let (cpus, told) = job.said(1);
    assert!(
        cpus.count() == way.count && cpus.is_subset(&set),
        "{partition}: {cpus} of {set}"
    );
    let kind = match way.cpuset == STATIC {
        true => "CPUSET_TYPE=static;NHOSTS=1;",
        false => "CPUSET_TYPE=dynamic;NHOSTS=1;",
    };
    assert!(
        told.starts_with(kind) && told.ends_with(&format!("NCPUS={};", way.count)),
        "{partition}: {told}"
    );
    // Slurm counts ages in seconds.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    (job, cpus)
}

fn play(way: &Way) {
    let cluster = cluster(way);
    // Later releases give a job all cores of a resource's socket, so that two jobs never share the set.
    if way.mode == "REQUEUE" && release(&cluster).name() != "22.05" {
        println!("  not played: this Slurm gives a job the whole socket of a resource");
        return;
    }
    let (elder, of_elder) = start(&cluster, way, "low");
    let (younger, of_younger) = start(&cluster, way, "low");
    assert!(
        !of_elder.intersects(&of_younger),
        "{of_elder} and {of_younger}"
    );
    let (high, of_high) = start(&cluster, way, "high");
    let is_younger = of_high == of_younger;
    assert!(
        is_younger || way.mode != "REQUEUE" && of_high == of_elder,
        "{of_high} of {of_elder} and {of_younger}"
    );
    let (preempted, other) = match is_younger {
        true => (&younger, &elder),
        false => (&elder, &younger),
    };
    preempted.wait(way.state);
    assert_eq!([other.state(), high.state()], ["RUNNING", "RUNNING"]);
    println!(
        "  low {of_elder} and {of_younger}, high {of_high}: the {} one is {}",
        if is_younger { "younger" } else { "elder" },
        way.state
    );
    high.cancel();
    if way.state == "PENDING" {
        // Slurm lets a job wait for a while that it has put back.
        let job = format!("jobid={}", preempted.id);
        cluster.scontrol(&["update", &job, "starttime=now"]);
        assert_eq!(preempted.said(2).0, of_high, "it begins again");
    }
    preempted.wait("RUNNING");
    elder.cancel();
    younger.cancel();
    cluster.wait_idle();
}

/// Jobs whose cpuset another one has: Slurm ends one, and the next gets its CPUs.
fn waits() {
    let cluster = Cluster::builder()
        .plugstack(Some("cpuset_fail=wait:300"))
        .set("PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8")
        .up();
    let wanted = "--cpuset=CPU_LIST=1;NCPUS=1;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";
    let submit = || Job::submit(&cluster, "main", &["-n1", "-c16", wanted]);
    let waiter = || {
        let job = submit();
        let line = format!("step={}.batch: note: others have CPUs 1 now", job.id);
        cluster.wait_for("that it waits", || {
            cluster.slurmd_log().contains(&line).then_some(())
        });
        job
    };
    let holder = submit();
    assert_eq!(holder.said(1).0.to_string(), "1");
    let cancelled = waiter();
    let start = Instant::now();
    cancelled.cancel();
    cluster.wait_for("the end of the job that waits", || {
        (!["RUNNING", "COMPLETING"].contains(&cancelled.state().as_str())).then_some(())
    });
    let took = start.elapsed();
    let said = cluster.folder().join(format!("log/{}.said", cancelled.id));
    assert!(!said.exists(), "its script has started");
    // KillWait is 30 s, and a waiting task must not need it.
    assert!(took < Duration::from_secs(20), "{took:?}");
    let served = waiter();
    holder.cancel();
    assert_eq!(served.said(1).0.to_string(), "1");
    served.cancel();
    cluster.wait_idle();
    println!("  cancelled in {:.1} s", took.as_secs_f64());
}
