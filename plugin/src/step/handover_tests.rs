//! Every handover that is written reads the same again, and nothing else is read.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use berth_placement::request::cpuset::Choice;
use berth_placement::{
    Allocation, Confine, CoreIdx, CpuBind, CpusetRequest, DeviceRun, Gres, Mode, Request,
    StepCpuset,
};
use berth_srun::Release;
use berth_srun::spelling::mem_bind;

use super::*;
use crate::step::handover::Member;
use crate::step::{CpuBindWords, CpusetWish, GpuGrant};

fn json(handover: &Handover) -> String {
    serde_json::to_string(handover).unwrap()
}

/// All that a text of ours may contain: blanks, signs of our own, control characters.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof!["[ %=0-9a-fx;:,\n\t\u{0}é\u{2028}]{0,24}", any::<String>()]
}

fn sets() -> impl Strategy<Value = CpuSet> {
    vec(0u32..4096, 0..12).prop_map(|cpus| cpus.into_iter().map(berth_placement::CpuId).collect())
}

fn bindings() -> impl Strategy<Value = Binding> {
    const TEXTS: &[&str] = &[
        "linear:2",
        "env:linear:1:0,3",
        "pe:host:striding:2:4",
        "task:strict:explicit:0,0:1,7",
        "env:strict:auto:pack:smt=1",
        "none",
    ];
    proptest::sample::select(TEXTS).prop_map(|text| text.parse().unwrap())
}

fn memory() -> impl Strategy<Value = MemBind> {
    const TEXTS: &[&str] = &["local", "rank", "prefer,map_mem:1,0", "mask_mem:0x3*2,0x4"];
    proptest::sample::select(TEXTS).prop_map(|text| mem_bind(text, Release::NEWEST).unwrap())
}

fn devices() -> impl Strategy<Value = DeviceOrder> {
    let run = (sets(), any::<u32>()).prop_map(|(own, tasks)| DeviceRun { own, tasks });
    let order = (vec(any::<u16>(), 1..9), any::<[bool; 2]>(), vec(run, 1..4));
    order.prop_map(|(vendors, [only_own, granted], runs)| DeviceOrder {
        vendors,
        only_own,
        granted,
        runs,
    })
}

fn gpus() -> impl Strategy<Value = Gres> {
    proptest::sample::select(vec![
        Gres {
            on_node: 8,
            step: vec![2, 4, 5],
            tasks: vec![vec![4], vec![5], vec![2, 4]],
        },
        Gres {
            on_node: 1,
            ..Gres::default()
        },
    ])
}

fn pools() -> impl Strategy<Value = InPool> {
    let member = (
        "[a-z0-9._-]{1,9}",
        any::<[u32; 3]>(),
        sets(),
        ("[A-Z_]{1,9}", proptest::sample::select(vec![0, 2, 8])),
    );
    let member = member.prop_map(
        |(name, [limit, most, weight], cpus, (export, threads))| Member {
            name,
            limit,
            most,
            weight,
            cpus,
            threads,
            export,
        },
    );
    let all = (any::<u32>(), option::of(member));
    all.prop_map(|(others, member)| InPool { others, member })
}

fn modes() -> impl Strategy<Value = Option<Mode>> {
    const TEXTS: &[(&str, &str)] = &[
        ("map_cpu", "0,7*3"),
        ("mask_cpu", "0x1*2,ff00000000000000000f"),
    ];
    let list = proptest::sample::select(TEXTS);
    option::of(list.prop_map(|(name, list)| Mode::read(name, list).unwrap().unwrap()))
}

fn cpusets() -> impl Strategy<Value = CpusetRequest> {
    const TEXTS: &[&str] = &[
        "NCPUS=4;CPU_LIST=7,0-2;MEM_LIST=1",
        "CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE;MAX_RADIUS=2",
        "CPUSET_TYPE=static;CPUSET_NAME=fast",
    ];
    proptest::sample::select(TEXTS).prop_map(|text| text.parse().unwrap())
}

prop_compose! {
    fn requests()(
        binding in option::of(bindings()),
        mode in modes(),
        mem_bind in option::of(memory()),
        near in option::of(proptest::sample::select(&["gpu", "network:2:strict", "0302:own", "mlx5_0"][..])),
        gres in option::of(gpus()),
        [tasks, cpus_per_task] in any::<[u32; 2]>(),
        threads_per_core in option::of(any::<u32>()),
        cores in vec(0u32..512, 0..4),
        reserved in sets(),
    ) -> Request {
        Request {
            binding, tasks, cpus_per_task, threads_per_core, reserved,
            cpu_bind: CpuBind { mode, ..CpuBind::default() },
            mem_bind: mem_bind.unwrap_or_default(),
            near: near.map(|text| text.parse().unwrap()),
            gres,
            allocation: Allocation::Cores { cores: cores.into_iter().map(CoreIdx).collect(), configured: tasks },
            ..Request::default()
        }
    }
}

fn wishes() -> impl Strategy<Value = CpusetWish> {
    let all = (cpusets(), any::<[bool; 2]>(), any::<u32>());
    all.prop_map(|(request, [of_job, is_debugged], nodes)| CpusetWish {
        request,
        of_job,
        is_debugged,
        nodes,
    })
}

prop_compose! {
    fn steps()(
        mut request in requests(),
        bits in any::<u32>(),
        list in option::of(texts()),
        [overlaps, confines, are_bound] in any::<[bool; 3]>(),
        cpuset in option::of(wishes()),
        near_notes in vec(texts(), 0..3),
    ) -> Step {
        if let Some(CpusetRequest::Dynamic(requested)) = cpuset.as_ref().map(|wish| &wish.request) {
            let requested = requested.clone();
            request.cpuset = Some(StepCpuset::Choose(Choice { requested, job_nodes: 2, is_count_typed: overlaps }));
        }
        Step {
            request,
            came: Some(CpuBindWords { bits, list }),
            overlaps,
            confine: confines.then_some(Confine::Task),
            cpuset,
            gpus: GpuGrant { are_bound, ..GpuGrant::default() },
            near_notes,
        }
    }
}

prop_compose! {
    fn handovers()(
        outcome in proptest::sample::select(&[Outcome::Bound, Outcome::Unbound, Outcome::Failed, Outcome::Refused][..]),
        [own, beyond] in [sets(), sets()],
        [by_tree, confine] in [any::<bool>(), any::<bool>()],
        [request, rule, note] in [texts(), texts(), texts()],
        memory in option::of(memory()),
        devices in option::of(devices()),
        pool in option::of(pools()),
        undecided in option::of(steps().prop_map(Box::new)),
    ) -> Handover {
        Handover {
            outcome, own, beyond, by_tree, confine, request, rule, note, memory, devices, pool, undecided,
            list: String::new(), served: None, cpuset: None,
        }
    }
}

proptest! {
    #![proptest_config(crate::random::config(1000))]

    #[test]
    fn it_reads_as_it_was_written(handover in handovers()) {
        let text = json(&handover);
        prop_assert!(!text.chars().any(|letter| letter.is_ascii_control()), "{text:?}");
        prop_assert_eq!(text.parse(), Ok(handover), "{}", text);
    }

    #[test]
    fn fields_that_a_later_release_adds_are_ignored(handover in handovers(), more in "[a-z]{1,8}") {
        let text = json(&handover);
        let added = format!("{},\"later-{more}\":[1]}}", text.strip_suffix('}').unwrap());
        prop_assert_eq!(added.parse(), Ok(handover));
    }

    /// Only slurmd's own words come here, but even so no text may end slurmstepd.
    #[test]
    fn any_text_is_read_or_refused(handover in handovers(), at in any::<prop::sample::Index>(), with in texts()) {
        let text = json(&handover);
        let at = (0..=at.index(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let (head, tail) = text.split_at(at);
        for text in [format!("{head}{with}{tail}"), format!("{head}{with}"), with] {
            if let Ok(found) = text.parse::<Handover>() {
                prop_assert_eq!(json(&found).parse(), Ok(found));
            }
        }
    }
}

#[test]
fn nonsense_is_not_read() {
    for text in ["", "1", "outcome=bound own=0", "{", "{\"own\":\"x\"}"] {
        assert!(text.parse::<Handover>().is_err(), "{text:?}");
    }
    let long = format!("{{\"note\":\"{}\"}}", "x".repeat(HANDOVER_BYTES));
    assert!(long.parse::<Handover>().is_err());
}
