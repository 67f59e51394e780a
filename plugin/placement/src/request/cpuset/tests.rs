//! What cpuset requests mean: the examples of LSF's manual, conflicts, merges, hostile texts.

use super::*;

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

fn words(text: &str) -> Words {
    text.parse().unwrap()
}

/// The requests of LSF's manual.
#[test]
fn examples_of_the_manual() {
    for (text, written) in [
        (
            "CPUSET[CPUSET_TYPE=dynamic;CPU_LIST=1, 5, 7-12;]",
            "CPUSET[CPU_LIST=1,5,7-12]",
        ),
        ("CPUSET[CPU_LIST=1, 5, 7-12;]", "CPUSET[CPU_LIST=1,5,7-12]"),
        (
            "CPUSET[CPU_LIST=1, 5, 7-12;\n\n    CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE|CPUSET_MEMORY_LOCAL]",
            "CPUSET[CPU_LIST=1,5,7-12;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE|CPUSET_MEMORY_LOCAL]",
        ),
        (
            "CPUSET[CPUSET_TYPE=static; CPUSET_NAME=MYSET]",
            "CPUSET[CPUSET_TYPE=static;CPUSET_NAME=MYSET]",
        ),
        (
            "CPUSET[CPUSET_NAME=MYSET]",
            "CPUSET[CPUSET_TYPE=static;CPUSET_NAME=MYSET]",
        ),
        ("CPUSET[CPUSET_TYPE=none]", "CPUSET[CPUSET_TYPE=none]"),
        ("CPUSET[MEM_LIST=0,1-2]", "CPUSET[MEM_LIST=0-2]"),
        ("CPUSET[MEM_LIST=30-40]", "CPUSET[MEM_LIST=30-40]"),
        ("CPUSET[CPU_LIST=1,3]", "CPUSET[CPU_LIST=1,3]"),
        ("CPUSET[CPU_LIST=1,2,3]", "CPUSET[CPU_LIST=1-3]"),
        (
            "CPUSET[CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE]",
            "CPUSET[CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE]",
        ),
    ] {
        assert_eq!(read(text), written);
        let inside = text
            .strip_prefix("CPUSET[")
            .and_then(|rest| rest.strip_suffix(']'));
        assert_eq!(read(inside.unwrap()), written);
        assert_eq!(read(&format!(" SGI_{text}\t")), written);
        assert_eq!(read(&text.replace("CPUSET[", "cpuset [ ; ")), written);
    }
}

#[test]
fn every_keyword_and_attribute_is_read_and_written() {
    let all = "CPUSET[NCPUS=8;CPU_LIST=9,3,1-2;MAX_RADIUS=0;MAX_CPU_PER_NODE=4;NODE_EX=N;MEM_LIST=1;\
               RESUME_OPTION=ORIG_CPUS;CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE|CPUSET_MEMORY_LOCAL|\
               CPUSET_MEMORY_EXCLUSIVE|CPUSET_MEMORY_KERNEL_AVOID]";
    let fewer = all.replace("NCPUS=8", "NCPUS=4");
    assert_eq!(read(&fewer), fewer);
    assert!(read(all).contains("CPU_LIST names 4 CPUs, and the cpuset needs 8"));
    let mandatory = "CPUSET[NODE_EX=Y;CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY|CPUSET_POLICY_KILL]";
    assert_eq!(read(&mandatory.to_ascii_lowercase()), mandatory);
    assert_eq!(
        read("ncpus = 3 ; Cpuset_Type = STATIC ; CPUSET_NAME = a.B-1"),
        "CPUSET[CPUSET_TYPE=static;CPUSET_NAME=a.B-1;NCPUS=3]"
    );
    assert_eq!(read("CPUSET[]"), "CPUSET[]");
    // A keyword with nothing behind it takes a partition's default away.
    assert_eq!(read("CPU_LIST= ;NCPUS=2"), "CPUSET[NCPUS=2;CPU_LIST=]");
    assert_eq!(read("NCPUS=65536"), "CPUSET[NCPUS=65536]");
    let page = "CPUSET_OPTIONS= CPUSET_POLICY_PAGE | cpuset_memory_mandatory|CPUSET_POLICY_PAGE";
    assert_eq!(
        read(page),
        "CPUSET[CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY|CPUSET_POLICY_PAGE]"
    );
}

#[test]
fn a_list_keeps_its_order_and_has_each_cpu_once() {
    let Ok(CpusetRequest::Dynamic(set)) = "CPU_LIST=9,3,1 - 4,9".parse() else {
        panic!("it is a dynamic cpuset");
    };
    let list = set.cpu_list.unwrap();
    let order: Vec<_> = list.iter().map(|cpu| cpu.0).collect();
    assert_eq!(order, [9, 3, 1, 2, 4]);
    assert_eq!(list.to_string(), "9,3,1-2,4");
    assert_eq!(list.cpus().to_string(), "1-4,9");
}

#[test]
fn what_does_not_go_together_is_refused() {
    for (text, expected) in [
        ("CPUSET_TYPE=none;NCPUS=4", "CPUSET_TYPE=none and NCPUS"),
        (
            "CPUSET_TYPE=none;CPUSET_NAME=A",
            "CPUSET_TYPE=none and CPUSET_NAME",
        ),
        ("CPUSET_TYPE=static", "write its name too"),
        (
            "CPUSET_TYPE=static;CPUSET_NAME=A;CPU_LIST=1",
            "and CPU_LIST do not",
        ),
        (
            "CPUSET_NAME=A;RESUME_OPTION=ORIG_CPUS",
            "and RESUME_OPTION do not",
        ),
        (
            "CPUSET_NAME=A;CPUSET_TYPE=dynamic",
            "CPUSET_TYPE=dynamic and CPUSET_NAME",
        ),
        (
            "MAX_CPU_PER_NODE=2;NODE_EX=Y",
            "MAX_CPU_PER_NODE and NODE_EX=Y",
        ),
        (
            "MAX_CPU_PER_NODE=2;CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY",
            "CPUSET_MEMORY_MANDATORY and MAX_CPU_PER_NODE",
        ),
        (
            "NODE_EX=N;CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY",
            "CPUSET_MEMORY_MANDATORY and NODE_EX=N",
        ),
        (
            "CPUSET_OPTIONS=CPUSET_POLICY_KILL",
            "add CPUSET_MEMORY_MANDATORY",
        ),
        (
            "CPUSET_OPTIONS=CPUSET_POLICY_PAGE|CPUSET_MEMORY_LOCAL",
            "add CPUSET_MEMORY_MANDATORY",
        ),
        (
            "CPUSET_OPTIONS=CPUSET_POLICY_KILL|CPUSET_POLICY_PAGE|CPUSET_MEMORY_MANDATORY",
            "choose one of the two",
        ),
        ("CPU_LIST=1;CPU_LIST=2", "CPU_LIST stands twice"),
    ] {
        let why = text.parse::<CpusetRequest>().unwrap_err().to_string();
        assert!(why.contains(expected), "{text}: {why}");
    }
}

fn are_refused(texts: &[(&str, &str)]) {
    for (text, expected) in texts {
        let why = text.parse::<CpusetRequest>().unwrap_err().to_string();
        assert!(why.contains(expected), "{text}: {why}");
    }
}

#[test]
fn errors_name_the_nearest_word() {
    are_refused(&[
        (
            "CPULIST=1",
            "no keyword \"CPULIST\" in a cpuset request; the nearest is CPU_LIST",
        ),
        (
            "MEMORY=1",
            "the keywords are CPUSET_TYPE, CPUSET_NAME, NCPUS,",
        ),
        ("=1", "the keywords are CPUSET_TYPE"),
        (
            "CPUSET_OPTIONS=CPUSET_MEM_LOCAL",
            "the nearest is CPUSET_MEMORY_LOCAL",
        ),
        (
            "CPUSET_OPTIONS=FAST",
            "the attributes are CPUSET_CPU_EXCLUSIVE, ",
        ),
        (
            "CPUSET_OPTIONS=CPUSET_MEMORY_LOCAL,CPUSET_CPU_EXCLUSIVE",
            "a | stands between two attributes",
        ),
        (
            "CPUSET_OPTIONS=CPUSET_MEMORY_LOCAL|",
            "there is no attribute \"\"",
        ),
    ]);
}

#[test]
fn errors_say_what_is_allowed() {
    are_refused(&[
        (
            "CPU_LIST=1 2",
            "\"1 2\" cannot stand behind CPU_LIST=; write a list of CPU numbers",
        ),
        ("CPU_LIST=5-3", "\"5-3\" cannot"),
        ("CPU_LIST=1,,2", "\"\" cannot"),
        ("CPU_LIST=65536", "\"65536\" cannot"),
        ("CPU_LIST=-1", "\"-1\" cannot"),
        (
            "CPU_LIST=0-65535,1",
            "CPU_LIST names more than 65536 numbers",
        ),
        ("MEM_LIST=a", "a list of memory nodes"),
        ("NCPUS=0", "a number of CPUs (1 to 65536)"),
        ("NCPUS=65537", "a number of CPUs (1 to 65536)"),
        ("MAX_RADIUS=-1", "a radius (0 to 65536)"),
        ("NODE_EX=yes", "write Y or N"),
        ("RESUME_OPTION=ANY", "write ORIG_CPUS"),
        ("CPUSET_TYPE=dynmic", "dynamic, static or none"),
        ("CPUSET_NAME=../etc", "letters, digits"),
        ("CPUSET_NAME=a b", "letters, digits"),
        ("CPU_LIST", "\"CPU_LIST\" is not KEYWORD=VALUE"),
        ("", "the cpuset request is empty; CPUSET[]"),
        (" \n", "the cpuset request is empty"),
        ("CPUSET[NCPUS=1", "the brackets of"),
        ("NCPUS=1]", "the brackets of"),
        ("CPUSET[NCPUS=1] x", "the brackets of"),
        ("CPUSET[CPUSET[NCPUS=1]]", "the brackets of"),
        ("LINUX[NCPUS=1]", "the brackets of"),
        ("[NCPUS=1]", "the brackets of"),
    ]);
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

#[test]
fn a_partitions_words_merge_keyword_by_keyword() {
    for (mandatory, job, default, merged) in [
        ("CPUSET[]", "NCPUS=4", "CPUSET[]", "CPUSET[NCPUS=4]"),
        (
            "CPUSET[]",
            "NCPUS=4",
            "NCPUS=2;MAX_RADIUS=1",
            "CPUSET[NCPUS=4;MAX_RADIUS=1]",
        ),
        (
            "MAX_RADIUS=0",
            "MAX_RADIUS=2",
            "MAX_RADIUS=1",
            "CPUSET[MAX_RADIUS=0]",
        ),
        ("MAX_RADIUS=", "MAX_RADIUS=2", "MAX_RADIUS=1", "CPUSET[]"),
        ("CPUSET[]", "MAX_RADIUS=", "MAX_RADIUS=1", "CPUSET[]"),
        ("CPU_LIST=", "NCPUS=2", "CPU_LIST=0-7", "CPUSET[NCPUS=2]"),
        (
            "CPUSET[]",
            "CPUSET_TYPE=None",
            "CPU_LIST=0-7",
            "CPUSET[CPUSET_TYPE=None]",
        ),
        (
            "CPUSET[]",
            "NCPUS=2",
            "CPUSET_NAME=A",
            "CPUSET[CPUSET_NAME=A;NCPUS=2]",
        ),
    ] {
        let found = Words::merge(&words(mandatory), &words(job), &words(default));
        assert_eq!(found.to_string(), merged, "{mandatory} {job} {default}");
        assert!(CpusetRequest::of(&found).is_ok());
    }
    let refused = [
        ("CPU_LIST=0-7", "CPUSET_TYPE=none", "CPUSET[]"),
        ("CPUSET_TYPE=none", "NCPUS=4", "CPUSET[]"),
        ("NODE_EX=Y", "MAX_CPU_PER_NODE=2", "CPUSET[]"),
        ("CPUSET[]", "CPUSET_TYPE=dynamic", "CPUSET_NAME=A"),
    ];
    for (mandatory, job, default) in refused {
        let merged = Words::merge(&words(mandatory), &words(job), &words(default));
        assert!(CpusetRequest::of(&merged).is_err(), "{merged}");
    }
}

/// A job that names one has of its partition's default words those that go with it.
#[test]
fn default_words_leave_a_static_cpuset_alone() {
    for (mandatory, job, default, merged) in [
        (
            "CPUSET[]",
            "CPUSET_NAME=A",
            "CPUSET_OPTIONS=CPUSET_MEMORY_LOCAL;NCPUS=2;MAX_RADIUS=1",
            "CPUSET[CPUSET_NAME=A;NCPUS=2]",
        ),
        (
            "CPUSET[]",
            "CPUSET_TYPE=Static",
            "CPUSET_NAME=A;CPU_LIST=0-3",
            "CPUSET[CPUSET_TYPE=Static;CPUSET_NAME=A]",
        ),
        (
            "CPUSET[]",
            "CPUSET_NAME=;NCPUS=1",
            "CPU_LIST=0-3",
            "CPUSET[NCPUS=1;CPU_LIST=0-3]",
        ),
    ] {
        let found = Words::merge(&words(mandatory), &words(job), &words(default));
        assert_eq!(found.to_string(), merged, "{mandatory} {job} {default}");
        assert!(CpusetRequest::of(&found).is_ok());
    }
    let merged = Words::merge(
        &words("MAX_RADIUS=1"),
        &words("CPUSET_NAME=A"),
        &words("CPUSET[]"),
    );
    assert!(CpusetRequest::of(&merged).is_err(), "{merged}");
}

#[test]
fn the_number_of_cpus_is_written_where_it_is_missing() {
    for (text, written) in [
        ("CPU_LIST=1, 2;NCPUS=2", "CPUSET[NCPUS=2;CPU_LIST=1, 2]"),
        ("CPU_LIST=0-7", "CPUSET[NCPUS=4;CPU_LIST=0-7]"),
        ("CPUSET_NAME=A", "CPUSET[CPUSET_NAME=A;NCPUS=4]"),
        ("CPUSET_TYPE=NONE", "CPUSET[CPUSET_TYPE=NONE]"),
        ("CPUSET[]", "CPUSET[NCPUS=4]"),
    ] {
        let given = words(text).with_ncpus(4);
        assert_eq!(given.to_string(), written);
        assert_eq!(words(written), given);
    }
}

#[test]
fn words_of_cpuset_fail_are_read_and_written() {
    for text in ["refuse", "unbound"] {
        assert_eq!(text.parse::<CpusetFail>().unwrap().to_string(), text);
    }
    for text in ["", "wait", "wait:5", "Refuse"] {
        assert!(text.parse::<CpusetFail>().is_err(), "{text}");
    }
}
