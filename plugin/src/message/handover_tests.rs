//! Every handover that is written reads the same again, and nothing else is read.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use berth_placement::{NodeSet, NumaId, SetMemory};

use super::*;
use crate::message::in_cpuset::MEMORY;
use crate::message::in_pool::Member;

#[path = "../../placement/tests/common/mod.rs"]
mod common;

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

fn served() -> impl Strategy<Value = Served> {
    let core = (0u32..8, 0u32..64, vec(0u32..512, 1..4)).prop_map(|(socket, core, cpus)| {
        let cpus: CpuSet = cpus.into_iter().map(berth_placement::CpuId).collect();
        format!("{socket},{core}={cpus}")
    });
    let task = vec(core, 1..4).prop_map(|cores| cores.join(":"));
    let chosen = vec(task, 1..5).prop_map(|tasks| tasks.join(";").parse().unwrap());
    (bindings(), chosen).prop_map(|(binding, chosen)| Served { binding, chosen })
}

fn memory() -> impl Strategy<Value = MemBind> {
    const TEXTS: &[&str] = &["local", "rank", "prefer,map_mem:1,0", "mask_mem:0x3*2,0x4"];
    proptest::sample::select(TEXTS).prop_map(|text| mem_bind(text, Release::NEWEST).unwrap())
}

const NEAR: &[&str] = &["gpu", "network:2:strict", "0302:own", "mlx5_0"];
const GRES: &[&str] = &["8:2,4,5:4;5;2,4", "1:", "4:0,3"];

fn settles() -> impl Strategy<Value = Settle> {
    let spec = prop_oneof![
        Just(CoreSpec::None),
        any::<u32>().prop_map(CoreSpec::Cores),
        any::<u32>().prop_map(CoreSpec::Threads),
    ];
    let counts = (any::<u32>(), 1..=u32::MAX, option::of(any::<u32>()));
    let settle = |(
        (binding, core_kind, near, gres),
        core_spec,
        (tasks, cpus_per_task, threads_per_core),
        [overlaps, if_late],
    ): (_, _, _, [bool; 2])| {
        Settle {
            binding,
            tasks,
            cpus_per_task,
            threads_per_core,
            core_spec,
            core_kind,
            near,
            gres,
            overlaps,
            if_late,
        }
    };
    let kinds = proptest::sample::select(&[Kind::Any, Kind::Performance, Kind::Efficiency][..]);
    let near = option::of(proptest::sample::select(NEAR));
    let near = near.prop_map(|near| near.map(|text| text.parse().unwrap()));
    let gres = option::of(proptest::sample::select(GRES));
    let gres = gres.prop_map(|gres| gres.map(|text| text.parse().unwrap()));
    (
        (bindings(), kinds, near, gres),
        spec,
        counts,
        any::<[bool; 2]>(),
    )
        .prop_map(settle)
}

fn devices() -> impl Strategy<Value = DeviceOrder> {
    const TEXTS: &[&str] = &[
        "10de*4;0-1*2;2-3*1",
        "1002*1,8086*2,0000*1;own;0*65535",
        "10de*128;own;granted;0,7-9*1;127*2",
    ];
    proptest::sample::select(TEXTS).prop_map(|text| text.parse().unwrap())
}

fn cpusets() -> impl Strategy<Value = InCpuset> {
    let held = (any::<[bool; 3]>(), any::<u64>());
    let held = held.prop_map(|([exclusive, of_job, memory], mark)| InLedger {
        exclusive,
        of_job,
        memory,
        mark,
    });
    let memory = proptest::sample::select(&MEMORY[..]).prop_map(|(memory, _)| memory);
    let mems = vec(0u32..512, 1..4).prop_map(|nodes| nodes.into_iter().map(NumaId).collect());
    let memory = prop_oneof![Just((SetMemory::Open, NodeSet::default())), (memory, mems)];
    let all = (
        sets(),
        [texts(), texts()],
        memory,
        option::of(held),
        any::<[bool; 2]>(),
    );
    all.prop_map(
        |(cpus, [line, asked], (memory, mems), held, [is_held, is_debugged])| InCpuset {
            is_debugged,
            cpus,
            is_held,
            line,
            mems,
            memory,
            held,
            asked,
        },
    )
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

prop_compose! {
    fn handovers()(
        outcome in proptest::sample::select(&OUTCOMES[..]),
        [own, beyond] in [sets(), sets()],
        [by_tree, confine] in [any::<bool>(), any::<bool>()],
        [list, request, rule, note] in [texts(), texts(), texts(), texts()],
        served in option::of(served()),
        memory in option::of(memory()),
        devices in option::of(devices()),
        cpuset in option::of(cpusets()),
        pool in option::of(pools()),
        settle in option::of(settles()),
    ) -> Handover {
        let outcome = outcome.0;
        Handover {
            outcome, list, own, beyond, by_tree, confine, request, rule, note, served, memory, devices, cpuset, pool,
            settle,
        }
    }
}

proptest! {
    #![proptest_config(common::config(2000))]

    #[test]
    fn it_reads_as_it_was_written(handover in handovers()) {
        let text = handover.text();
        prop_assert!(!text.chars().any(|letter| letter.is_ascii_control()), "{text:?}");
        prop_assert_eq!(text.parse(), Ok(handover), "{}", text);
    }

    #[test]
    fn fields_that_a_later_release_adds_are_ignored(handover in handovers(), more in "[a-z]{1,8}-(=[!-~]{0,8})?") {
        prop_assert_eq!(format!("{} {more}", handover.text()).parse(), Ok(handover));
    }

    #[test]
    fn another_version_is_not_read(handover in handovers(), version in "[0-9]{1,3}|[!-~]{0,3}") {
        prop_assume!(version != VERSION && version != BEFORE);
        let text = handover.text();
        let (_, fields) = text.split_once(' ').unwrap();
        prop_assert_eq!(
            format!("{version} {fields}").parse::<Handover>(),
            Err("another release of berth wrote it".into())
        );
    }

    /// Only slurmd's own words come here, but even so no text may end slurmstepd.
    #[test]
    fn any_text_is_read_or_refused(handover in handovers(), at in any::<prop::sample::Index>(), with in texts()) {
        let text = handover.text();
        let at = (0..=at.index(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let (head, tail) = text.split_at(at);
        for text in [format!("{head}{with}{tail}"), format!("{head}{with}"), with] {
            if let Ok(found) = text.parse::<Handover>() {
                prop_assert_eq!(found.text().parse(), Ok(found));
            }
        }
    }
}

#[test]
fn nonsense_is_not_read() {
    for text in [
        "",
        "1",
        "outcome=bound own=0",
        "2 outcome=perhaps own=0",
        "2 outcome=bound own=x",
        "2 outcome=bound own=0 memory=prefer",
        "2 outcome=bound own=0 chosen=1",
        "2 outcome=bound own=0 devices=10de*2;2*1",
        "2 outcome=bound own=0 chosen=0,0=0",
        "2 outcome=bound own=0 served=linear:1",
        "2 outcome=bound own=0 binding=linear:1",
        "2 outcome=bound own=0 binding=linear:1 tasks=-1",
        "2 outcome=bound own=0 binding=linear: tasks=1",
    ] {
        assert!(text.parse::<Handover>().is_err(), "{text:?}");
    }
    let long = format!("2 outcome=bound own=0 note={}", "x".repeat(HANDOVER_BYTES));
    assert!(long.parse::<Handover>().is_err());
}
