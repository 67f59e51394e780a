//! The ways to make room for a job of the high partition, and a cluster for each: the example's files, changed.

use std::fs;
use std::path::Path;

use berth_tests::Cluster;

/// What a job asks for beside its partition, how many CPUs it then has, and which where only these are right.
pub struct Ask {
    pub options: &'static [&'static str],
    pub cpuset: &'static str,
    pub count: usize,
    pub cpus: Option<&'static str>,
}

/// A way to play it.
pub struct Way {
    pub name: &'static str,
    /// What makes room in the set.
    pub mode: &'static str,
    /// The set's CPUs.
    pub set: &'static str,
    /// What each low job asks for, and the high one.
    pub low: Ask,
    pub high: Ask,
    /// Whether the set is a resource that slurmctld counts.
    pub is_counted: bool,
    /// Whether the younger of the low jobs has the cores that come first.
    pub younger_is_first: bool,
    /// The preempted job's state while the high one runs.
    pub state: &'static str,
}

pub const REQUEUE: &str = "REQUEUE";
const SUSPEND: &str = "SUSPEND,GANG";
pub const STATIC: &str = "CPUSET[CPUSET_NAME=MYSET]";

const fn ask(options: &'static [&'static str], cpuset: &'static str, count: usize) -> Ask {
    Ask {
        options,
        cpuset,
        count,
        cpus: None,
    }
}

/// Cores in the order of their numbers, so that the first jobs have the first cores.
const IN_ORDER: &str = "--distribution=block:block";
/// Half of a machine in a static cpuset.
const HALF: Ask = ask(&["-n8", IN_ORDER], STATIC, 8);
/// Four CPUs of a static cpuset, counted.
const COUNTED: Ask = ask(
    &["-n4", "--gres=myset:4", "--gres-flags=enforce-binding"],
    STATIC,
    4,
);
/// Half of a machine for this job alone.
const ALONE: Ask = ask(
    &["-n8", IN_ORDER],
    "CPUSET[CPU_LIST=0-15;NCPUS=8;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE]",
    8,
);
/// The document's last line. CPU 0 is the one more that makes the list a choice.
const LIST: Ask = Ask {
    cpus: Some("1-3"),
    ..ask(&["-n4", IN_ORDER], "CPUSET[CPU_LIST=1,2,3;NCPUS=3]", 3)
};

const fn suspended(name: &'static str, low: Ask, high: Ask, younger_is_first: bool) -> Way {
    Way {
        name,
        mode: SUSPEND,
        set: "0-15",
        low,
        high,
        is_counted: false,
        younger_is_first,
        state: "SUSPENDED",
    }
}

const fn requeued(name: &'static str, set: &'static str, job: [Ask; 2], is_counted: bool) -> Way {
    let [low, high] = job;
    Way {
        name,
        mode: REQUEUE,
        set,
        low,
        high,
        is_counted,
        younger_is_first: false,
        state: "PENDING",
    }
}

pub const WAYS: [Way; 7] = [
    requeued(
        "requeued: static cpuset, counted as a resource",
        "0-7",
        [COUNTED, COUNTED],
        true,
    ),
    requeued(
        "requeued: static cpuset of the whole node",
        "0-15",
        [HALF, HALF],
        false,
    ),
    suspended(
        "suspended: static cpuset, the younger job on the first cores",
        HALF,
        HALF,
        true,
    ),
    suspended(
        "suspended: static cpuset, the elder job on the first cores",
        HALF,
        HALF,
        false,
    ),
    suspended(
        "suspended: dynamic cpusets, each for its job alone",
        ALONE,
        ALONE,
        true,
    ),
    suspended("suspended: by CPU_LIST=1,2,3", HALF, LIST, true),
    Way {
        younger_is_first: true,
        ..requeued("requeued: by CPU_LIST=1,2,3", "0-15", [HALF, LIST], false)
    },
];

/// The example's files, with a set of eight CPUs as LSF's has, and this mode.
pub fn cluster(way: &Way) -> Cluster {
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
        if way.mode == REQUEUE {
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
