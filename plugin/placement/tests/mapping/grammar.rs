//! Which texts of the mapping options are read, which are refused, and the words of each refusal.

use berth_placement::Mapping;
use berth_placement::request::mapping::{BindTo, MapBy, MappingTexts, RankBy};

fn wrong<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> String {
    match text.parse::<T>() {
        Ok(_) => "taken".into(),
        Err(why) => why.to_string(),
    }
}

#[test]
fn each_text_reads_the_same_again() {
    for (text, written) in [
        ("core", "core"),
        ("Socket", "package"),
        ("L3", "l3cache"),
        ("HWT", "hwthread"),
        ("slot:PE=3", "slot:pe=3"),
        (":pe=2", ":pe=2"),
        ("package:hwtcpus:span:oversubscribe", "package:hwtcpus:span"),
        ("ppr:2:l3:pe=7", "ppr:2:l3cache:pe=7"),
        ("ppr:1:node", "ppr:1:node"),
        ("pe-list=3,0-1,5-5:ordered", "pe-list=3,0-1,5:ordered"),
    ] {
        let read: MapBy = text.parse().unwrap();
        assert_eq!(read.to_string(), written, "{text}");
        assert_eq!(written.parse::<MapBy>().as_ref(), Ok(&read), "{text}");
    }
    for (text, written) in [
        ("none", "none"),
        (
            "core:limit=2:if-supported:overload",
            "core:limit=2:if-supported:overload-allowed",
        ),
        ("numa:overload-allowed:no-overload", "numa"),
        (":overload-allowed", ":overload-allowed"),
    ] {
        let read: BindTo = text.parse().unwrap();
        assert_eq!(read.to_string(), written, "{text}");
        assert_eq!(written.parse::<BindTo>().as_ref(), Ok(&read), "{text}");
    }
    assert_eq!("FILL".parse::<RankBy>(), Ok(RankBy::Fill));
}

/// Wrong texts of `--map-by`, and a part of what the refusal says.
const WRONG_MAPS: &[(&str, &str)] = &[
    ("", "expected what to map by"),
    ("cor", "write the whole word: core"),
    ("pack", "write the whole word: package"),
    ("l3c", "write the whole word: l3cache"),
    ("n", "expected what to map by"),
    (
        "die",
        "hwthread, core, l1cache, l2cache, l3cache, numa, package",
    ),
    ("board", "expected what to map by"),
    ("core:inherit", "berth has no inherit"),
    ("seq", "--distribution=arbitrary"),
    ("rankfile", "--cpu-bind=map_cpu"),
    ("core:file=x", "--distribution=arbitrary"),
    ("device=gpu", "--near"),
    ("dist:gpu", "--near"),
    ("core:nolocal", "--exclude"),
    ("core:pe=0", "from 1 to"),
    ("core:pe=-1", "from 1 to"),
    ("core:pe=", "from 1 to"),
    ("core:pe=99999999999", "from 1 to"),
    ("core:pe", "write the whole word: pe=N"),
    ("core:pe=2,span", "from 1 to"),
    ("core:span,hwtcpus", "divided by colons"),
    ("core:over", "write the whole word: oversubscribe"),
    ("core:ordered", "ordered belongs to pe-list"),
    ("core:hwtcpus:corecpus", "corecpus contradicts"),
    ("hwthread:corecpus", "corecpus contradicts"),
    ("ppr", "ppr:N:LEVEL"),
    ("ppr:2", "ppr:N:LEVEL"),
    ("ppr:0:numa", "from 1 to"),
    ("ppr:99999999999:core", "from 1 to"),
    ("ppr:2:slot", "expected a level"),
    ("ppr:2:die", "expected a level"),
    ("ppr:two:core", "from 1 to"),
    ("pe-list=", "a CPU number"),
    (
        "pe-list=0,3-1",
        "expected a range whose first number is not above its last, such as 1-3, here",
    ),
    ("pe-list=3-x", "a CPU number or a range such as 0-3"),
    ("pe-list=0-65535,0-65535", "at most 65536 numbers"),
    ("pe-list=0,x", "a CPU number"),
    ("slot\u{7}", "expected what to map by"),
];

#[test]
fn wrong_words_are_named_with_what_to_use() {
    for (text, says) in WRONG_MAPS {
        let why = wrong::<MapBy>(text);
        assert!(
            why.starts_with("--map-by: ") && why.contains(says),
            "{text}: {why}"
        );
        assert!(!why.contains('\u{7}'), "{text:?}");
    }
    for (text, says) in [
        ("board", "expected what to bind to"),
        ("core:limit=0", "from 1 to"),
        ("core:lim=2", "limit=N"),
        ("core:if-supp", "write the whole word: if-supported"),
        ("core:report", "--cpu-bind=verbose"),
    ] {
        let why = wrong::<BindTo>(text);
        assert!(
            why.starts_with("--bind-to: ") && why.contains(says),
            "{text}: {why}"
        );
    }
    for text in ["", "core", "fill:span", "f"] {
        assert!(wrong::<RankBy>(text).starts_with("--rank-by: "), "{text}");
    }
}

#[test]
fn long_texts_are_refused_unread() {
    let list = format!("pe-list={}", "0,".repeat(50_000));
    for text in [list.as_str(), &"core:".repeat(20_000)] {
        let why = wrong::<MapBy>(text);
        let says = "--map-by: longer than 8192 bytes; write a shorter text";
        assert!(why.starts_with(says) && why.len() < 200, "{why}");
        assert!(
            !why.contains(['\n', '^']),
            "there is nothing to mark: {why}"
        );
    }
    let marked = wrong::<MapBy>(&format!("pe-list={}x", "0,".repeat(2_000)));
    assert!(
        marked.contains("a CPU number") && marked.len() < 400,
        "{marked}"
    );
}

fn together(map: &str, rank: &str, bind: &str) -> String {
    let some = |text| Some(text).filter(|text: &&str| !text.is_empty());
    let read = Mapping::read(MappingTexts {
        map: some(map),
        rank: some(rank),
        bind: some(bind),
    });
    match read {
        Ok(mapping) => mapping.map_or(String::new(), |mapping| mapping.to_string()),
        Err(why) => format!("refused: {why}"),
    }
}

/// The three options, and how they are written again or why they are refused.
const TOGETHER: &[(&str, &str, &str, &str)] = &[
    ("", "", "", ""),
    (
        "core",
        "fill",
        "core",
        "--map-by=core --rank-by=fill --bind-to=core",
    ),
    (
        "core:pe=2",
        "",
        "",
        "refused: --map-by=core:pe=2: a core is one CPU",
    ),
    ("core:pe=1", "", "", "--map-by=core:pe=1"),
    ("core:pe=2:hwtcpus", "", "", "--map-by=core:pe=2:hwtcpus"),
    ("hwthread:pe=2", "", "", "refused: "),
    ("pe-list=0-3:pe=2", "", "", "refused: "),
    ("numa:pe=2", "", "numa", "refused: "),
    ("numa:pe=1", "", "numa", "refused: "),
    ("numa:pe=2", "", "none", "refused: "),
    (
        "numa:pe=2",
        "",
        "hwthread",
        "--map-by=numa:pe=2 --bind-to=hwthread",
    ),
    ("pe-list=0-3", "", "l3cache", "refused: "),
    ("pe-list=0-3", "", "none", "refused: "),
    (
        "pe-list=0-3:ordered",
        "",
        "hwthread",
        "--map-by=pe-list=0-3:ordered --bind-to=hwthread",
    ),
    ("pe-list=0-3:span", "", "", "refused: "),
    (
        "core",
        "",
        "l3cache",
        "refused: --map-by=core --bind-to=l3cache: tasks cannot be bound wider",
    ),
    ("ppr:2:l2cache", "", "package", "refused: "),
    ("l3cache", "", "numa", "refused: "),
    ("slot", "fill", "", "refused: "),
    ("node", "span", "", "refused: "),
    ("ppr:2:node", "fill", "", "refused: "),
    (
        "ppr:2:numa",
        "fill",
        "",
        "--map-by=ppr:2:numa --rank-by=fill",
    ),
    ("", "fill", "none", "refused: "),
    ("", "fill", "", "--rank-by=fill"),
];

#[test]
fn which_options_go_together() {
    for (map, rank, bind, says) in TOGETHER {
        let found = together(map, rank, bind);
        let is_right = match says.starts_with("refused") {
            true => found.starts_with(says),
            false => found == *says,
        };
        assert!(is_right, "{map} {rank} {bind}: {found}");
    }
}
