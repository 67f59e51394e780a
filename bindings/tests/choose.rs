//! Which table a release gets, and the texts where it gets none.

mod common;

use common::{line, variants};
use slurm_sys::{Chosen, Layout, Line, Slurm, UnknownLine, Version, choose, symbols::Symbols};

/// The table of a release that was checked.
fn known(line: Line, micro: u8) -> &'static Layout {
    match choose(Ok(line), Some(micro), true) {
        Chosen::Known(layout) => layout,
        other => panic!("{line}.{micro}: {other:?}"),
    }
}

fn inert(chosen: Chosen) -> String {
    match chosen {
        Chosen::Inert(why) => why,
        other => panic!("{other:?}"),
    }
}

fn flagged(chosen: Chosen) -> (&'static Layout, String) {
    match chosen {
        Chosen::Flagged(layout, why) => (layout, why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_release_that_was_checked_gets_its_variant_with_its_own_constants() {
    let mut releases = 0;
    for variant in variants() {
        let json = &variant.json;
        let (first, last) = (
            json["first_micro"].as_u64().unwrap() as u8,
            json["last_verified_micro"].as_u64().unwrap() as u8,
        );
        for micro in first..=last {
            releases += 1;
            let layout = known(line(json["line"].as_str().unwrap()), micro);
            assert!((layout.first_micro..=layout.last_verified_micro).contains(&micro));
            let options = json["structs"]["launch_tasks_request_msg_t"]["options"]["offset"]
                .as_u64()
                .unwrap();
            assert_eq!(layout.launch.options.offset() as u64, options);
            let earlier = &json["constants_in_earlier_micros"][micro.to_string()];
            let value = |name: &str| match earlier.get(name) {
                Some(value) => value.as_u64(),
                None => json["constants"][name].as_u64(),
            };
            let constants = &layout.constants;
            assert_eq!(
                constants.LAUNCH_OVERCOMMIT.map(u64::from),
                value("LAUNCH_OVERCOMMIT"),
                "{micro}"
            );
            assert_eq!(
                constants.ESLURMD_CPU_LAYOUT_ERROR.map(u64::from),
                value("ESLURMD_CPU_LAYOUT_ERROR")
            );
            assert_eq!(
                constants.CPU_BIND_RANK.map(u64::from),
                value("CPU_BIND_RANK")
            );
            assert_eq!(
                constants.LAUNCH_EXT_LAUNCHER.map(u64::from),
                value("LAUNCH_EXT_LAUNCHER")
            );
            assert_eq!(
                Some(u64::from(constants.CPU_BIND_MASK)),
                value("CPU_BIND_MASK")
            );
            assert_eq!(
                Some(u64::from(constants.CR_CORE_DEFAULT_DIST_BLOCK)),
                value("CR_CORE_DEFAULT_DIST_BLOCK")
            );
        }
    }
    assert_eq!(releases, 71);
}

#[test]
fn overcommit_begins_with_22_05_6() {
    assert_eq!(known(Line::V22_05, 5).constants.LAUNCH_OVERCOMMIT, None);
    assert_eq!(
        known(Line::V22_05, 6).constants.LAUNCH_OVERCOMMIT,
        Some(128)
    );
    assert_eq!(known(Line::V22_05, 8).line, Line::V22_05);
}

#[test]
fn inside_23_02_the_micro_number_decides() {
    let flags = |micro| known(Line::V23_02, micro).step.flags.offset();
    let offsets = match cfg!(target_arch = "aarch64") {
        true => (576, 672, 672),
        false => (568, 656, 656),
    };
    assert_eq!((flags(0), flags(1), flags(8)), offsets);
    for strict in [false, true] {
        let why = inert(choose(Ok(Line::V23_02), None, strict));
        assert!(
            why.contains("23.02.0") && why.contains("23.02.1") && why.contains("PluginDir"),
            "{why}"
        );
    }
}

#[test]
fn an_unknown_line_is_inert_and_says_which_lines_are_known() {
    let unknown = UnknownLine {
        api_version: Some(46 << 16),
        plugin_version: Some(0x1a_0b_02),
    };
    for strict in [false, true] {
        let why = inert(choose(Err(unknown), None, strict));
        assert!(
            why.contains("26.11.2") && why.contains("22.05, 23.02") && why.contains("TaskPlugin"),
            "{why}"
        );
    }
    let why = inert(choose(
        Err(UnknownLine {
            api_version: Some(46 << 16),
            plugin_version: None,
        }),
        None,
        false,
    ));
    assert!(why.contains("API version 46.0.0"), "{why}");
    assert!(
        inert(choose(Err(UnknownLine::default()), None, false))
            .contains("without slurm_api_version")
    );
}

#[test]
fn a_newer_micro_is_used_and_flagged_unless_strict() {
    let (layout, why) = flagged(choose(Ok(Line::V22_05), Some(12), false));
    assert!(
        std::ptr::eq(layout, known(Line::V22_05, 11)),
        "the line's last table"
    );
    assert!(
        why.contains("22.05.12") && why.contains("22.05.11") && why.contains("newer berth"),
        "{why}"
    );
    let why = inert(choose(Ok(Line::V22_05), Some(12), true));
    assert!(
        why.contains("strict=off") && !why.contains("are used"),
        "{why}"
    );
    assert_eq!(
        flagged(choose(Ok(Line::V23_02), Some(9), false))
            .0
            .first_micro,
        1
    );
}

#[test]
fn a_release_that_was_checked_by_itself_counts_as_checked() {
    assert_eq!(known(Line::V26_05, 5).also_checked, [5]);
    let (_, why) = flagged(choose(Ok(Line::V26_05), Some(4), false));
    assert!(
        why.contains("26.05.4") && why.contains("upgrade Slurm to 26.05.5"),
        "no newer berth helps: {why}"
    );
    assert!(
        flagged(choose(Ok(Line::V26_05), Some(6), false))
            .1
            .contains("26.05.5")
    );
}

#[test]
fn without_a_micro_the_other_lines_are_flagged() {
    for line in Line::all().filter(|line| *line != Line::V23_02) {
        let (layout, why) = flagged(choose(Ok(line), None, false));
        assert!(
            layout.line == line && why.contains(&line.to_string()) && why.contains("PluginDir"),
            "{why}"
        );
        assert!(inert(choose(Ok(line), None, true)).contains("strict=on"));
    }
    assert!(
        flagged(choose(Ok(Line::V22_05), None, false))
            .0
            .constants
            .LAUNCH_OVERCOMMIT
            .is_some()
    );
}

#[test]
fn lines_and_slurm_s_numbers_for_them() {
    let lines: Vec<String> = Line::all().map(|line| line.to_string()).collect();
    assert_eq!(
        lines,
        [
            "22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05"
        ]
    );
    let numbers = [
        (38, 0x160500),
        (39, 0x170200),
        (40, 0x170b00),
        (41, 0x180500),
        (42, 0x180b00),
        (43, 0x190500),
        (44, 0x190b00),
        (45, 0x1a0500),
    ];
    for ((major, plugin_version), line) in numbers.into_iter().zip(Line::all()) {
        assert_eq!(
            (
                Line::from_api_version(major << 16 | 0x0102),
                line.plugin_version()
            ),
            (Some(line), plugin_version)
        );
        assert_eq!(Line::from_plugin_version(plugin_version | 8), Some(line));
    }
    assert_eq!(
        (
            Line::from_api_version(37 << 16),
            Line::from_api_version(46 << 16)
        ),
        (None, None)
    );
    assert_eq!(
        (
            Line::from_plugin_version(0x160600),
            Version {
                line: Line::V22_05,
                micro: Some(8)
            }
            .to_string()
        ),
        (None, "22.05.8".into())
    );
}

#[test]
fn a_running_slurm_knows_its_table_both_ways() {
    let slurm = |line, micro| Slurm::new(Ok(Version { line, micro }), Symbols::get());
    let newer = slurm(Line::V24_11, Some(99));
    assert!(newer.layout(false).is_ok() && newer.layout(true).is_err());
    assert!(newer.flag().unwrap().contains("24.11.99"));
    let checked = slurm(Line::V24_11, Some(5));
    assert!(checked.layout(true).is_ok() && checked.flag().is_none());
    assert!(
        Slurm::new(Err(UnknownLine::default()), Symbols::get())
            .layout(false)
            .is_err()
    );
}
