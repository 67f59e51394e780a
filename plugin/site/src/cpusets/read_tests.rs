//! The site's file of cpusets: what holds, who gets in, and what each wrong line is told.

use berth_placement::CpuSet;
use berth_placement::request::cpuset::Words;

use crate::facts_text::hold;

use super::{Denied, JobIdentity, LineError, Site, SiteCpusets};

fn read(text: &str) -> Result<SiteCpusets, LineError> {
    let site = Site {
        is_here: &|list| match list {
            "bad[" => Err("\"bad[\" is not a host list".into()),
            list => Ok(list.starts_with("here")),
        },
        uid: &|name| match name {
            "ann" => Some(1001),
            "bob" => Some(1002),
            _ => None,
        },
    };
    super::read(text.as_bytes(), &site)
}

const FILE: &str = "\
# the site's cpusets
name=MYSET nodes=here[1-4] cpus=0-3 mems=0 users=ann,1500 accounts=phys partitions=low,high options=CPUSET_MEMORY_LOCAL

name=OPEN cpus=4,6   # everybody's
name=MYSET nodes=there cpus=8-9
name=FAR nodes=there cpus=0
partition=low default='CPUSET[CPU_LIST=0, 2-3]' mandatory=\"MAX_RADIUS=1\"
partition=high mandatory=CPUSET_TYPE=none
";

fn identity<'a>(uid: u32, account: &'a str, partition: &'a str) -> JobIdentity<'a> {
    JobIdentity {
        uid,
        account,
        partition,
    }
}

#[test]
fn every_word_is_read() {
    let all = read(FILE).unwrap();
    let here: Vec<_> = all
        .here()
        .map(|set| (set.line, set.name.as_str()))
        .collect();
    assert_eq!(here, [(2, "MYSET"), (4, "OPEN")]);
    let set = all.set("MYSET", identity(1001, "phys", "low")).unwrap();
    assert_eq!(set.cpus, CpuSet::from_list("0-3").unwrap());
    assert_eq!(set.mems.as_ref().unwrap().to_string(), "0");
    assert_eq!(set.options.to_string(), "CPUSET_MEMORY_LOCAL");
    let open = all.set("OPEN", identity(7, "", "")).unwrap();
    assert_eq!(
        (open.cpus.to_string(), open.mems.clone()),
        ("4,6".into(), None)
    );
    assert_eq!(all.words_of("other"), None);
    assert_eq!(all.doubts, []);
    assert_eq!(read("").unwrap(), SiteCpusets::default());
}

fn merged(question: &str) -> String {
    let (partition, job) = question.split_once(' ').unwrap_or((question, ""));
    let job = match job {
        "" => Words::default(),
        job => job.parse().unwrap(),
    };
    let (words, line) = read(FILE).unwrap().merged(partition, &job);
    let line = line.map_or(String::new(), |line| format!(" of line {line}"));
    format!("{words}{line}")
}

fn doubts(text: &str) -> String {
    let doubts = read(text).unwrap().doubts;
    let doubts: Vec<_> = doubts.iter().map(ToString::to_string).collect();
    match doubts.is_empty() {
        true => "none".into(),
        false => doubts.join(" / "),
    }
}

/// Whether a job of `NAME UID ACCOUNT PARTITION` may use a set.
fn set(question: &str) -> String {
    let words: Vec<_> = question.split(' ').collect();
    let job = identity(
        words[1].parse().unwrap(),
        words[2].trim_matches('-'),
        words[3].trim_matches('-'),
    );
    match read(FILE).unwrap().set(words[0], job) {
        Ok(_) => "open".into(),
        Err(why) => why.to_string(),
    }
}

/// Each word of a line with its value.
fn words_of(line: &str) -> String {
    match crate::lines::words(line) {
        Ok(words) => {
            let words = words
                .iter()
                .map(|word| format!("{}:{}", word.key, word.value));
            words.collect::<Vec<_>>().join(" ")
        }
        Err(why) => why,
    }
}

fn wrong_line(line: &str) -> String {
    let text = format!("name=FIRST cpus=0\npartition=p default=NODE_EX=Y\n{line}\nname=\n");
    read(&text).unwrap_err().to_string()
}

#[test]
fn facts() {
    hold(include_str!("read_tests.txt"), |about, question| {
        let answer = match about {
            "merged" => merged,
            "doubts" => doubts,
            "set" => set,
            "words" => words_of,
            _ => wrong_line,
        };
        answer(question)
    });
}

#[test]
fn a_set_elsewhere_is_named_with_its_line() {
    let all = read(FILE).unwrap();
    let me = identity(1001, "phys", "low");
    assert!(matches!(all.set("FAR", me), Err(Denied::Elsewhere(set)) if set.line == 6));
    let all = read("name=A cpus=0\nname=B cpus=1 users=carl").unwrap();
    assert!(all.set("A", identity(1, "", "")).is_ok());
    assert!(all.set("B", identity(1, "", "")).is_err());
    let all = read("name=A nodes=ALL cpus=0\n").unwrap();
    assert_eq!(all.here().count(), 1);
}

#[test]
fn hostile_lines_have_a_reason() {
    let long = format!("name={} cpus=0", "x".repeat(65));
    assert!(wrong_line(&long).contains("is not the name of a cpuset"));
    let longer = format!("# {}", "x".repeat(30_000));
    assert!(wrong_line(&longer).contains("more than 20480 bytes"));
    let many = "a=b ".repeat(33);
    assert!(wrong_line(&many).contains("more than 32 words"));
    let bytes = b"name=A cpus=0\nname=\xff cpus=0";
    let site = Site {
        is_here: &|_| Ok(true),
        uid: &|_| None,
    };
    let why = super::read(bytes, &site).unwrap_err();
    assert_eq!(why.to_string(), "line 2: the line is no text in UTF-8");
    let many = read(&"\n".repeat(1 << 12)).unwrap_err().to_string();
    assert!(many.contains("more than 4096 lines"), "{many}");
}
