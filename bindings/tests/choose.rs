//! Which table a release gets, and the texts where it gets none.

mod common;
#[path = "../../plugin/discover/tests/common/facts.rs"]
mod facts;

use common::{line, variants};
use slurm_sys::{Chosen, Layout, Line, Slurm, UnknownLine, Version, choose, symbols::Symbols};

/// The table of a release that was checked.
fn known(line: Line, micro: u8) -> &'static Layout {
    match choose(Ok(line), Some(micro), true) {
        Chosen::Known(layout) => layout,
        other => panic!("{line}.{micro}: {other:?}"),
    }
}

/// The layout that a release gets, or the reason why it gets none, in words.
fn in_words(chosen: Chosen) -> String {
    let table = |layout: &Layout| format!("{} from {}", layout.line, layout.first_micro);
    match chosen {
        Chosen::Known(layout) => format!("known: {}", table(layout)),
        Chosen::Flagged(layout, why) => format!("flagged: {}: {why}", table(layout)),
        Chosen::Inert(why) => format!("inert: {why}"),
    }
}

/// A release, or the two numbers of one that has no line: `API PLUGIN`, in hexadecimal digits or `none`.
fn release(text: &str) -> (Result<Line, UnknownLine>, Option<u8>) {
    if let Some((api, plugin)) = text.split_once(' ') {
        let number = |text| u32::from_str_radix(text, 16).ok();
        let unknown = UnknownLine {
            api_version: number(api),
            plugin_version: number(plugin),
        };
        return (Err(unknown), None);
    }
    match text.splitn(3, '.').collect::<Vec<_>>()[..] {
        [year, month, micro] => (Ok(line(&format!("{year}.{month}"))), micro.parse().ok()),
        _ => (Ok(line(text)), None),
    }
}

#[test]
fn what_each_release_gets() {
    facts::hold(include_str!("choose.txt"), |about, text| {
        let (line, micro) = release(text);
        if about == "numbers" {
            return numbers(line.unwrap());
        }
        in_words(choose(line, micro, about == "strict=on"))
    });
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
            let c = &layout.constants;
            for (name, found) in [
                ("LAUNCH_OVERCOMMIT", c.LAUNCH_OVERCOMMIT),
                ("ESLURMD_CPU_LAYOUT_ERROR", c.ESLURMD_CPU_LAYOUT_ERROR),
                ("CPU_BIND_RANK", c.CPU_BIND_RANK),
                ("LAUNCH_EXT_LAUNCHER", c.LAUNCH_EXT_LAUNCHER),
                ("CPU_BIND_MASK", Some(c.CPU_BIND_MASK)),
                (
                    "CR_CORE_DEFAULT_DIST_BLOCK",
                    Some(c.CR_CORE_DEFAULT_DIST_BLOCK),
                ),
            ] {
                assert_eq!(found.map(u64::from), value(name), "{micro}: {name}");
            }
        }
    }
    assert_eq!(releases, 71);
}

#[test]
fn overcommit_begins_with_22_05_6() {
    let overcommit = |micro| known(Line::V22_05, micro).constants.LAUNCH_OVERCOMMIT;
    assert_eq!([5, 6].map(overcommit), [None, Some(128)]);
    let Chosen::Flagged(unnumbered, _) = choose(Ok(Line::V22_05), None, false) else {
        panic!("its micro is unknown");
    };
    assert_eq!(unnumbered.constants.LAUNCH_OVERCOMMIT, Some(128));
}

#[test]
fn a_release_that_was_checked_by_itself_counts_as_checked() {
    assert_eq!(known(Line::V26_05, 5).also_checked, [5]);
}

#[test]
fn inside_23_02_the_micro_number_decides() {
    let flags = |micro| known(Line::V23_02, micro).step.flags.offset();
    let offsets = match cfg!(target_arch = "aarch64") {
        true => (576, 672, 672),
        false => (568, 656, 656),
    };
    assert_eq!((flags(0), flags(1), flags(8)), offsets);
}

/// Slurm's numbers for a line: the API's major one, and that of its plugins.
fn numbers(line: Line) -> String {
    let is_its = |major: &u32| Line::from_api_version(major << 16 | 0x0102) == Some(line);
    let majors: Vec<_> = (0..100).filter(is_its).collect();
    let plugins = line.plugin_version();
    assert_eq!(Line::from_plugin_version(plugins | 8), Some(line));
    format!("API {majors:?}, plugins {plugins:x}")
}

#[test]
fn a_version_is_written_as_slurm_does() {
    let version = Version {
        line: Line::V22_05,
        micro: Some(8),
    };
    assert_eq!(version.to_string(), "22.05.8");
    assert_eq!(Line::from_plugin_version(0x160600), None);
    assert_eq!(Line::all().count(), 8, "their numbers are in choose.txt");
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
