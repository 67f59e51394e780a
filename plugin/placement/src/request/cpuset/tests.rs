//! The meaning of cpuset requests: the examples of LSF's manual, conflicts, merges, hostile texts.

use super::*;
use crate::facts_text::hold;

fn read(text: &str) -> String {
    match text.parse::<CpusetRequest>() {
        Ok(request) => {
            let written = request.to_string();
            assert_eq!(written.parse(), Ok(request), "{text}");
            written
        }
        Err(why) => why.to_string(),
    }
}

/// A text of the manual, which means the same without its name, with another one, and with blanks.
fn read_each_way(text: &str) -> String {
    let inside = text
        .strip_prefix("CPUSET[")
        .and_then(|rest| rest.strip_suffix(']'));
    let written = read(text);
    assert_eq!(read(inside.unwrap()), written);
    assert_eq!(read(&format!(" SGI_{text}\t")), written);
    assert_eq!(read(&text.replace("CPUSET[", "cpuset [ ; ")), written);
    written
}

fn words(text: &str) -> Words {
    text.parse().unwrap()
}

/// Mandatory words, a job's and default ones, merged.
fn merged(text: &str) -> String {
    let parts: Vec<_> = text.split(" / ").map(words).collect();
    let merged = Words::merge(&parts[0], &parts[1], &parts[2]);
    match CpusetRequest::of(&merged) {
        Ok(_) => merged.to_string(),
        Err(_) => "refused".into(),
    }
}

#[test]
fn facts() {
    hold(include_str!("tests.txt"), |about, text| match about {
        "manual" => read_each_way(text),
        "read" => read(text),
        "merged" => merged(text),
        "fail" => text
            .parse::<CpusetFail>()
            .map_or("no word".into(), |found| found.to_string()),
        _ => {
            let given = words(text).with_ncpus(4);
            assert_eq!(words(&given.to_string()), given);
            given.to_string()
        }
    });
}

#[test]
fn a_list_keeps_its_order() {
    let Ok(CpusetRequest::Dynamic(set)) = "CPU_LIST=9,3,1 - 4,9".parse() else {
        panic!("it is a dynamic cpuset");
    };
    let list = set.cpu_list.unwrap();
    let order: Vec<_> = list.iter().map(|cpu| cpu.0).collect();
    assert_eq!(order, [9, 3, 1, 2, 4]);
    assert_eq!(list.cpus().to_string(), "1-4,9");
}

#[test]
fn hostile_texts_are_bounded() {
    let long = "NCPUS=1;".repeat(5_000);
    assert!(read(&long).contains("longer than 8192 bytes"));
    let ranges = format!("CPU_LIST={}", "0-65535,".repeat(1_000));
    assert!(read(&ranges).contains("more than 65536 numbers"));
    for text in [
        "x".repeat(8_192),
        format!("CPUSET_NAME={}", "\u{1b}".repeat(8_000)),
        format!("NODE_EX={}", "é".repeat(4_000)),
        format!("CPUSET_OPTIONS={}", "\0".repeat(8_000)),
        "CPUSET[".repeat(1_000),
        ";".repeat(8_000) + "\u{1b}=",
    ] {
        let why = read(&text);
        assert!(why.len() < 600 && !why.contains(char::is_control), "{why}");
    }
    assert_eq!(read(&"; ".repeat(4_000)), "CPUSET[]");
}
