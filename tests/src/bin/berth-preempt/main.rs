//! `berth-preempt [WORD…]`: LSF's examples of preemption with cpusets, on a machine of two sockets with eight cores each,
//! for the virtual machines of `ci/vm`. Two jobs of a low partition fill a set, and one of a high partition takes the
//! place of one of them: by sending the younger back into the queue, as `slurm-conf-examples/cpusets` has it, and by
//! suspension, where Slurm takes the cores that come first, whosever they are.

mod job;
mod ways;

use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use berth_placement::CpuSet;
use berth_tests::srun_lines::release;
use berth_tests::verdicts::Verdicts;
use berth_tests::{Cluster, Service};

use job::Job;
use ways::{Ask, REQUEUE, STATIC, WAYS, Way, cluster};

/// Why a way proves nothing on a machine.
type Skipped = Option<String>;

/// With preempt/partition_prio slurmctld takes the first cores of lower partitions, whoever has them. Only preempt/qos
/// goes through the jobs one by one before it suspends them, the youngest first if the site wants that, and that not yet
/// in 22.05 (`_run_now` in Slurm's job_test.c). It needs a slurmdbd.
const BY_AGE: (&str, &str) = (
    "suspended: the younger job, whichever cores it has",
    "by partitions Slurm suspends the job with the first cores; by age only preempt/qos of later releases does, which needs slurmdbd",
);

fn main() -> ExitCode {
    if std::env::var_os("BERTH_VM_OUT").is_none() {
        eprintln!("berth-preempt: only inside a machine of ci/vm with sockets=2,cores=8,threads=1");
        return ExitCode::from(2);
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let mut counts = Verdicts::default();
    for way in WAYS.iter().filter(|way| is_chosen(way.name)) {
        counts.judge(way.name, || play(way));
    }
    if is_chosen(BY_AGE.0) {
        counts.judge(BY_AGE.0, || Skipped::Some(BY_AGE.1.into()));
    }
    counts.end("ways")
}

/// A job of one of the partitions, and its CPUs in the set.
fn start<'a>(cluster: &'a Cluster, way: &Way, (partition, ask): (&str, &Ask)) -> (Job<'a>, CpuSet) {
    let set = CpuSet::from_list(way.set).expect("a list of CPUs");
    let cpuset = format!("--cpuset={}", ask.cpuset);
    let job = Job::submit(cluster, partition, &[ask.options, &[&cpuset]].concat());
    let (cpus, told) = job.said(1);
    assert!(
        cpus.count() == ask.count && cpus.is_subset(&set),
        "{partition}: {cpus} of {set}"
    );
    if let Some(expected) = ask.cpus {
        assert_eq!(cpus.to_string(), expected, "{partition}");
    }
    let kind = match ask.cpuset == STATIC {
        true => "CPUSET_TYPE=static;NHOSTS=1;",
        false => "CPUSET_TYPE=dynamic;NHOSTS=1;",
    };
    assert!(
        told.starts_with(kind) && told.ends_with(&format!("NCPUS={};", ask.count)),
        "{partition}: {told}"
    );
    // Slurm counts ages in seconds.
    sleep(Duration::from_millis(1500));
    (job, cpus)
}

/// The two low jobs, the elder first. They have the cores as the way wants it: a third one keeps the elder off the
/// first cores.
fn low_jobs<'a>(cluster: &'a Cluster, way: &Way) -> [(Job<'a>, CpuSet); 2] {
    let low = ("low", &way.low);
    let before = way.younger_is_first.then(|| start(cluster, way, low).0);
    let elder = start(cluster, way, low);
    if let Some(before) = before {
        before.cancel();
        before.wait("");
    }
    let younger = start(cluster, way, low);
    assert!(!elder.1.intersects(&younger.1), "{} {}", elder.1, younger.1);
    let is_first = younger.1.iter().next() < elder.1.iter().next();
    assert_eq!(is_first, way.younger_is_first, "{} {}", elder.1, younger.1);
    [elder, younger]
}

fn play(way: &Way) -> Skipped {
    let cluster = cluster(way);
    // Later releases give a job all cores of a resource's socket, so that two jobs never share the set.
    if way.is_counted && release(&cluster).name() != "22.05" {
        return Some("this Slurm gives a job the whole socket of a resource".into());
    }
    // A suspended job's cpuset is free for the one that preempts it.
    let _service = Service::start(&cluster);
    let [(elder, of_elder), (younger, of_younger)] = low_jobs(&cluster, way);
    let (high, of_high) = start(&cluster, way, ("high", &way.high));
    let is_younger = way.mode == REQUEUE || way.younger_is_first;
    let (preempted, of_preempted, other) = match is_younger {
        true => (&younger, &of_younger, &elder),
        false => (&elder, &of_elder, &younger),
    };
    println!("  low {of_elder}, then {of_younger}; high {of_high}");
    preempted.wait(way.state);
    assert!(
        of_high.is_subset(of_preempted),
        "{of_high} of {of_preempted}"
    );
    assert_eq!([other.state(), high.state()], ["RUNNING", "RUNNING"]);
    println!(
        "  the {} one is {}",
        if is_younger { "younger" } else { "elder" },
        way.state
    );
    high.cancel();
    if way.mode == REQUEUE {
        // Slurm lets a job wait for a while that it has put back.
        let job = format!("jobid={}", preempted.id);
        cluster.scontrol(&["update", &job, "starttime=now"]);
        assert_eq!(preempted.said(2).0, *of_preempted, "it begins again");
    }
    preempted.wait("RUNNING");
    elder.cancel();
    younger.cancel();
    cluster.wait_idle();
    None
}
