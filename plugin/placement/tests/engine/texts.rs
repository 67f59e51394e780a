//! Texts that are no facts of one line: long ones, control characters, lists of cores, and texts at random.

use berth_placement::request::mapping::MapBy;
use berth_placement::{Binding, CpuSet, Plan};
use berth_srun::Release;
use berth_srun::spelling::{cpu_bind, distribution};

use crate::harness::ask::Ask;
use crate::harness::machine_text::host;
use crate::harness::random::Random;
use crate::harness::trial::seeds;

/// The plan of a request on a machine.
pub fn planned(line: &str, request: &str) -> Plan {
    let (host, ask) = (host(line), request.parse::<Ask>().unwrap());
    let node = ask.node(&host.machine, host.kind, host.shape);
    ask.plan(&node)
        .unwrap_or_else(|why| panic!("{line}: {request}: {why}"))
}

fn refused(text: &str) -> String {
    text.parse::<MapBy>().unwrap_err().to_string()
}

#[test]
fn long_texts_are_refused_unread() {
    let list = format!("pe-list={}", "0,".repeat(50_000));
    for text in [list.as_str(), &"core:".repeat(20_000)] {
        let why = refused(text);
        let says = "--map-by: longer than 8192 bytes; write a shorter text";
        assert!(why.starts_with(says) && why.len() < 200, "{why}");
        assert!(
            !why.contains(['\n', '^']),
            "there is nothing to mark: {why}"
        );
    }
    let marked = refused(&format!("pe-list={}x", "0,".repeat(2_000)));
    assert!(
        marked.contains("a CPU number") && marked.len() < 400,
        "{marked}"
    );
    let binding = format!("explicit:{}", "0,1:".repeat(3000));
    let why = binding.parse::<Binding>().unwrap_err().to_string();
    let says = "longer than 8192 bytes; name fewer cores, or an amount, as in linear:4";
    assert!(why.contains(says) && why.len() < 600, "{why}");
    let control = refused("slot\u{7}");
    assert!(control.contains("expected what to map by") && !control.contains('\u{7}'));
}

#[test]
fn bindings_are_written_again() {
    for (text, written) in [
        ("auto", "auto"),
        ("auto:pack", "auto:pack"),
        ("auto:smt=2", "auto:smt=2"),
        ("env:strict:auto:pack:smt=4", "env:strict:auto:pack:smt=4"),
        ("SET task:AUTO:smt=1:Pack", "auto:pack:smt=1"),
        ("env linear:2", "env:linear:2"),
    ] {
        assert_eq!(text.parse::<Binding>().unwrap().to_string(), written);
    }
}

#[test]
fn own_devices_come_first() {
    let machine = "2x6x1; gpu 01=0-5 02=0-5 81=6-11 82=6-11";
    let near = planned(machine, "-n4 --near=gpu:2").near.unwrap();
    assert_eq!(near.order(3, false), [2, 3, 0, 1]);
    assert_eq!(near.order(3, true), [2, 3]);
    assert_eq!(near.order(0, false), [0, 1, 2, 3]);
}

/// A text of words that the grammars know, or of any letters.
fn any_text(random: &mut Random) -> String {
    let words = [
        "set:", "env ", "pe,", "host:", "linear", "striding", "explicit", "none", "auto", "block",
    ];
    let letters: Vec<char> = ":;,=*0123456789xf- é\u{7}\u{1f600}".chars().collect();
    let is_known = random.once_in(2);
    let mut text = String::new();
    for at in 0..random.within(0, 30) {
        match is_known && at < 3 {
            true => text.push_str(random.pick(&words)),
            false => text.push(random.pick(&letters)),
        }
    }
    text
}

#[test]
fn no_text_makes_the_grammar_panic() {
    for seed in seeds() {
        let mut random = Random::new(seed);
        for _ in 0..1_000 {
            let text = any_text(&mut random);
            if let Ok(binding) = text.parse::<Binding>() {
                assert_eq!(binding.to_string().parse(), Ok(binding));
            }
            let _ = text.parse::<Binding>().map_err(|why| why.to_string());
            let _ = cpu_bind(&text, Release::NEWEST).map_err(|why| why.to_string());
            let _ = distribution(&text);
            let _ = CpuSet::from_list(&text);
            let _ = CpuSet::from_hex(&text);
        }
    }
}

#[test]
fn lists_and_masks_mean_the_same_there_and_back() {
    for seed in seeds() {
        let mut random = Random::new(seed);
        for _ in 0..500 {
            let mut numbers: Vec<u32> = (0..random.within(0, 39))
                .map(|_| random.within(0, 2_999))
                .collect();
            let set: CpuSet = numbers
                .iter()
                .copied()
                .map(berth_placement::CpuId)
                .collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(CpuSet::from_list(&set.to_string()).ok(), Some(set.clone()));
            assert_eq!(
                CpuSet::from_hex(&set.to_short_hex()).ok(),
                Some(set.clone())
            );
            assert!(set.iter().map(|cpu| cpu.0).eq(numbers));
        }
    }
}
