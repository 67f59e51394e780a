//! Exact answers: machine, request, CPUs.

use berth_placement::request::cpuset::{Choice, ExistingCpuset};
use berth_placement::*;

use crate::making::{choosing, chosen, dynamic, machine, node, on_ring, ring, set};

#[test]
fn best_fit_takes_the_smallest_radius_first() {
    for (request, taken, expected) in [
        ("NCPUS=4", "", "0-1,8-9 r0"),
        ("NCPUS=2", "", "0,8 r0"),
        ("NCPUS=1", "", "0 r0"),
        // Nodes 0 and 1 are neighbours, and so are 0 and 3; low numbers are taken first.
        ("NCPUS=8", "", "0-3,8-11 r1"),
        ("NCPUS=9", "", "0-4,8-11 r2"),
        ("CPUSET[]", "", "0-15 r2"),
        // Only nodes 0 and 2 are free as a whole, and these are far from each other.
        ("NCPUS=8", "2,10,6,14", "0-1,4-5,8-9,12-13 r2"),
        // Six fit within one step.
        ("NCPUS=6", "2,10,6,14", "0-1,3,8-9,11 r1"),
        // The node that has exactly four keeps the others whole.
        ("NCPUS=3", "0,2", "1,8-9 r0"),
        ("NCPUS=2;CPU_LIST=6,7,3,4", "", "6-7 r0"),
        ("NCPUS=3;CPU_LIST=6,7,3,4", "", "4,6-7 r1"),
        ("NCPUS=3;CPU_LIST=6,7,4,12,2", "", "2,4,12 r1"),
        ("NCPUS=4;MAX_CPU_PER_NODE=2", "", "0,2,8,10 r1"),
        ("NCPUS=4;MAX_CPU_PER_NODE=1", "", "0,2,4,6 r2"),
        ("NCPUS=3;NODE_EX=Y", "", "0-1,8-9 r0"),
        ("NCPUS=3;NODE_EX=Y", "0", "2-3,10-11 r0"),
        ("NCPUS=5;NODE_EX=Y", "0", "2-5,10-13 r1"),
        (
            "NCPUS=3;CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY",
            "0",
            "2-3,10-11 r0",
        ),
        ("NCPUS=64", "", "0-15 r2"),
    ] {
        assert_eq!(
            on_ring(request, taken),
            expected,
            "{request} beside {taken}"
        );
    }
}

#[test]
fn first_fit_takes_the_first() {
    let rules = Rules {
        cpuset_first_fit: true,
        ..Rules::default()
    };
    for (request, taken, expected) in [
        ("NCPUS=4", "", "0-3 r1"),
        ("NCPUS=4", "0,2", "1,3-5 r2"),
        ("NCPUS=3;CPU_LIST=6,7,3,4", "", "3,6-7 r2"),
        ("NCPUS=3;CPU_LIST=4,12,6,3", "6", "3-4,12 r1"),
        ("NCPUS=4;MAX_CPU_PER_NODE=1", "", "0,2,4,6 r2"),
        ("NCPUS=3;NODE_EX=Y;CPU_LIST=5,0-15", "", "4-5,12-13 r0"),
        // LSF means one host by it, and nothing else.
        ("NCPUS=4;MAX_RADIUS=0", "", "0-3 r1"),
    ] {
        let claims = Claims {
            taken: set(taken),
            ..Claims::default()
        };
        let found = chosen(&choosing(request), &node(ring(), rules), &claims);
        assert_eq!(found, expected, "{request}");
    }
}

#[test]
fn a_step_is_placed_inside_as_if_the_set_were_the_allocation() {
    let node = node(ring(), Rules::default());
    let mut request = choosing("NCPUS=4");
    request.cpu_bind = CpuBind {
        level: Some(Level::Cores),
        ..CpuBind::default()
    };
    request.tasks = 2;
    let masks = |request: &Request| {
        let plan = plan(request, &node, &Claims::default());
        match plan {
            Ok(plan) => {
                let tasks = plan.tasks.iter().map(|task| task.cpus.to_string());
                tasks.collect::<Vec<_>>().join(" ")
            }
            Err(why) => why.to_string(),
        }
    };
    assert_eq!(masks(&request), "0,8 1,9");
    request.tasks = 6;
    assert!(masks(&request).contains("submit the job with NCPUS=6"));
    request.tasks = 1;
    request.cpu_bind = CpuBind {
        mode: Some(Mode::MapCpu([CpuId(5)].into_iter().collect())),
        ..CpuBind::default()
    };
    assert!(masks(&request).contains("names CPU 5; this step owns CPUs 0-1,8-9"));
}

#[test]
fn a_set_that_exists_holds_later_steps() {
    let node = node(ring(), Rules::default());
    let mut request = choosing("NCPUS=4");
    request.cpuset = Some(StepCpuset::Given(ExistingCpuset {
        requested: CpusetRequest::Dynamic(dynamic("NCPUS=4")),
        cpus: set("4-5,12-13"),
        mems: None,
        attributes: Default::default(),
    }));
    request.job_allocation = Some(Allocation::Whole);
    request.allocation = Allocation::Cpus(set("0-1,4,8-9,12"));
    let plan = berth_placement::plan(&request, &node, &Claims::default()).unwrap();
    assert_eq!(plan.tasks[0].cpus, set("4,12"));
    let kept = plan.cpuset.unwrap();
    assert_eq!(
        (kept.cpus, kept.count, kept.radius),
        (set("4-5,12-13"), 4, 0)
    );
    assert_eq!(kept.mems.to_string(), "2");
    request.tasks = 3;
    let why = berth_placement::plan(&request, &node, &Claims::default()).unwrap_err();
    assert!(
        why.to_string()
            .contains("Slurm gave this step CPUs 0-1,4,8-9,12"),
        "{why}"
    );
}

#[test]
fn a_static_set_is_what_the_job_owns_of_it() {
    let node = node(ring(), Rules::default());
    let mut request = choosing("NCPUS=4");
    let given = |text: &str| {
        Some(StepCpuset::Given(ExistingCpuset {
            requested: text.parse().unwrap(),
            cpus: set("0-3"),
            mems: None,
            attributes: Default::default(),
        }))
    };
    request.allocation = Allocation::Cpus(set("2-5"));
    request.cpuset = given("CPUSET_NAME=MYSET;NCPUS=2");
    assert_eq!(chosen(&request, &node, &Claims::default()), "2-3 r0");
    request.cpuset = given("CPUSET_NAME=MYSET;NCPUS=3");
    let why = chosen(&request, &node, &Claims::default());
    assert!(
        why.contains("3 CPUs of the cpuset MYSET are needed"),
        "{why}"
    );
    assert!(why.contains("the job owns 2 of them"), "{why}");
}

#[test]
fn other_cpusets_are_avoided_and_never_shared_with_an_exclusive_one() {
    let node = node(ring(), Rules::default());
    let claims = Claims {
        cpusets: set("0-3,8-11"),
        ..Claims::default()
    };
    assert_eq!(chosen(&choosing("NCPUS=4"), &node, &claims), "4-5,12-13 r0");
    assert_eq!(chosen(&choosing("NCPUS=10"), &node, &claims), "0-4,8-12 r2");
    let exclusive = "NCPUS=10;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";
    assert!(chosen(&choosing(exclusive), &node, &claims).contains("the job has 8 CPUs free"));
    let memory = Claims {
        memory: [NumaId(0), NumaId(1)].into_iter().collect(),
        ..Claims::default()
    };
    assert_eq!(chosen(&choosing("NCPUS=4"), &node, &memory), "4-5,12-13 r0");
}

#[test]
fn a_cpu_is_a_core_where_one_thread_a_core_is_asked() {
    let node = node(ring(), Rules::default());
    let mut request = choosing("NCPUS=2");
    request.threads_per_core = Some(1);
    let plan = plan(&request, &node, &Claims::default()).unwrap();
    let set = plan.cpuset.unwrap();
    assert_eq!(set.cpus.to_string(), "0-1,8-9");
    assert_eq!((set.count, set.counts_cores), (2, true));
}

#[test]
fn memory_follows_the_attributes() {
    let node = node(ring(), Rules::default());
    let local = "CPUSET_OPTIONS=CPUSET_MEMORY_LOCAL";
    let mandatory = "CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY";
    let only = |swap| SetMemory::Only { swap };
    for (request, mems, memory, notes) in [
        ("NCPUS=2".into(), "0", SetMemory::Open, 0),
        (
            "NCPUS=2;MEM_LIST=2,9".into(),
            "0,2",
            SetMemory::Preferred,
            1,
        ),
        (
            format!("NCPUS=2;MEM_LIST=2;{local}"),
            "0",
            SetMemory::Preferred,
            1,
        ),
        (
            format!("NCPUS=2;MEM_LIST=2;{mandatory}"),
            "0,2",
            only(true),
            1,
        ),
        (
            format!("NCPUS=2;{mandatory}|CPUSET_POLICY_KILL"),
            "0",
            only(false),
            1,
        ),
        (
            format!("NCPUS=2;MEM_LIST=2;{mandatory}|CPUSET_MEMORY_LOCAL"),
            "0",
            only(true),
            2,
        ),
        (
            "NCPUS=2;CPUSET_OPTIONS=CPUSET_MEMORY_KERNEL_AVOID".into(),
            "0",
            SetMemory::Open,
            1,
        ),
    ] {
        let plan = plan(&choosing(&request), &node, &Claims::default()).unwrap();
        let set = plan.cpuset.unwrap();
        assert_eq!(set.mems.to_string(), mems, "{request}");
        assert_eq!(set.memory, memory, "{request}");
        assert_eq!(plan.notes.len(), notes, "{request}: {:?}", plan.notes);
    }
}

#[test]
fn memory_outside_a_mandatory_set_is_refused() {
    let node = node(ring(), Rules::default());
    let mut request = choosing("NCPUS=2;CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY");
    request.mem_bind.policy = Some(MemPolicy::Rank);
    request.tasks = 2;
    let why = plan(&request, &node, &Claims::default()).unwrap_err();
    assert!(why.to_string().contains("names NUMA nodes 1"), "{why}");
}

#[test]
fn a_radius_means_one_node() {
    let node = node(ring(), Rules::default());
    let mut request = choosing("NCPUS=2;MAX_RADIUS=2");
    request.cpuset = Some(StepCpuset::Choose(Choice {
        requested: dynamic("NCPUS=2;MAX_RADIUS=2"),
        job_nodes: 2,
        is_count_typed: true,
    }));
    assert!(chosen(&request, &node, &Claims::default()).contains("this job has 2"));
}

#[test]
fn a_site_may_let_steps_run_without_a_set() {
    let rules = Rules {
        cpuset_fail: CpusetFail::Unbound,
        ..Rules::default()
    };
    let claims = Claims {
        taken: set("0-12"),
        ..Claims::default()
    };
    let plan = plan(&choosing("NCPUS=4"), &node(ring(), rules), &claims).unwrap();
    assert_eq!(plan.decision.rule, Rule::CpusetFailed);
    assert!(plan.cpuset.is_none());
    assert_eq!(plan.tasks[0].cpus, set("0-15"));
    let said = plan.notes[0].to_string();
    assert!(
        said.contains("the job has 3 CPUs free") && said.contains("without a cpuset"),
        "{said}"
    );
}

#[test]
fn a_batch_script_gets_the_set() {
    let request = Request {
        tasks: 8,
        ..choosing("NCPUS=4")
    };
    let plan = plan_batch(
        &request,
        &node(ring(), Rules::default()),
        &Claims::default(),
    )
    .unwrap();
    assert_eq!(plan.tasks[0].cpus, set("0-1,8-9"));
    assert_eq!(plan.cpuset.unwrap().cpus, set("0-1,8-9"));
}

/// The document's hostC: two NUMA nodes of two CPUs, CPU 3 is in use.
#[test]
fn radii_of_the_manual() {
    let two = machine(&["0 1", "2 3"], &[&[10, 20], &[20, 10]]);
    let node = node(two, Rules::default());
    let most = |radius| strategy::cpuset::most_of_radius(&node, &set("0-2"), radius);
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(most), [2, 3, 3, 3, 3, 3, 3, 3]);
}
