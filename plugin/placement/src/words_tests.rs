//! Words of requests and of sets: how they are read and written again, and what each site makes of a step's.

use std::fmt::Display;

use crate::controller::Across;
use crate::facts_text::hold;
use crate::request::cpu_bind::{CpuBind, Level, Mode};
use crate::request::keyword_options::{Confine, PoolName, PoolWish, SiteConfine};
use crate::request::mem_bind::{MemBind, MemPolicy};
use crate::request::near::{Near, What};
use crate::sets::text::TextError;
use crate::{AcrossHosts, CpuId, CpuSet, Distribution};

#[test]
fn facts() {
    hold(include_str!("words_tests.txt"), |about, text| {
        let (name, list) = text.split_once(' ').unwrap_or((text, ""));
        match about {
            "near" => near(text),
            "cpu_bind" => of_list(Mode::read(name, list)),
            "mem_bind" => of_list(MemPolicy::read(name, list)),
            "confine" => confined(text),
            "tasks of nodes" => laid_out(text),
            "mask" => mask(list, name),
            "list" => or_refused(CpuSet::from_list(text).map(|set| set.to_short_hex())),
            "confine word" => or_refused(text.parse::<Confine>().map(|word| word.to_string())),
            "pool word" => or_refused(text.parse().map(|PoolWish::None| "none".into())),
            _ => or_refused(text.parse().map(|name: PoolName| {
                format!("{name}: {}", name.of_a_pool().unwrap_or("no pool"))
            })),
        }
    });
}

fn or_refused<E>(found: Result<String, E>) -> String {
    found.unwrap_or_else(|_| "refused".into())
}

/// A list of a launch message, as it is written again.
fn of_list<T: Display>(read: Option<Result<T, TextError>>) -> String {
    let read = read.and_then(Result::ok);
    read.map_or("refused".into(), |list| list.to_string())
}

fn near(text: &str) -> String {
    match text.parse::<Near>() {
        Ok(near) => {
            let written = near.to_string();
            assert_eq!(written.parse(), Ok(near), "{text}");
            written
        }
        Err(why) => {
            let why = why.to_string();
            assert!(why.len() < 400 && !why.contains(char::is_control), "{why}");
            why
        }
    }
}

/// A mask, as a list and with so many bits.
fn mask(text: &str, width: &str) -> String {
    let Ok(set) = CpuSet::from_hex(text) else {
        return "refused".into();
    };
    let list = set.to_string();
    assert_eq!(CpuSet::from_list(&list).ok(), Some(set.clone()), "{text}");
    format!("{list:?} {}", set.to_hex(width.parse().unwrap()))
}

/// The tasks of each node, `0 1/2 3`, for `ROOM,ROOM TASKS DISTRIBUTION`.
fn laid_out(text: &str) -> String {
    let words: Vec<_> = text.split(' ').collect();
    let room: Vec<u32> = words[0]
        .split(',')
        .map(|room| room.parse().unwrap())
        .collect();
    let (hosts, pack) = match words[2].split_once(',') {
        Some((hosts, pack)) => (hosts, Some(pack == "Pack")),
        None => (words[2], None),
    };
    let plane_size = hosts.strip_prefix("plane=");
    let distribution = Distribution {
        hosts: match hosts {
            "block" => AcrossHosts::Block,
            "cyclic" => AcrossHosts::Cyclic,
            "*" => AcrossHosts::Unknown,
            _ => AcrossHosts::Plane,
        },
        plane_size: plane_size.map(|size| size.parse().unwrap()),
        pack,
        ..Distribution::default()
    };
    let across = Across::new(&room, words[1].parse().unwrap(), &distribution);
    let mut nodes = vec![Vec::new(); room.len()];
    for (task, place) in across.places().enumerate() {
        assert_eq!(nodes[place.node as usize].len() as u32, place.local);
        nodes[place.node as usize].push(task.to_string());
    }
    let counts = nodes.iter().map(|node| node.len() as u32);
    assert!(counts.eq(across.counts().iter().copied()), "{text}");
    nodes
        .iter()
        .map(|node| node.join(" "))
        .collect::<Vec<_>>()
        .join("/")
}

/// Whether tasks are confined by `SITE / STEP / bound`, and the note.
fn confined(text: &str) -> String {
    let [site, step, bound] = text.split(" / ").collect::<Vec<_>>()[..] else {
        panic!("{text} has three parts");
    };
    let sites = SiteConfine::WORDS;
    let (_, site) = sites.iter().find(|(word, _)| *word == site).unwrap();
    let step = step.parse().ok();
    let note = site.note(step, bound == "bound");
    let note = note.map_or(String::new(), |note| format!(": {note}"));
    format!("{}{note}", site.confines(step))
}

#[test]
fn long_names_of_devices_are_cut() {
    for text in ["x".repeat(100_000), "gpu:1".repeat(20_000)] {
        assert!(near(&text).contains("is not a --near:"));
    }
    assert_eq!("beef".parse(), Ok(What::Name("beef".into())));
}

#[test]
fn bindings_are_written_in_sruns_words() {
    let bind = CpuBind {
        level: Some(Level::Threads),
        one_thread: true,
        ..CpuBind::default()
    };
    assert_eq!(bind.to_string(), "threads,one_thread");
    let bind = MemBind {
        policy: Some(MemPolicy::Local),
        prefer: true,
        ..MemBind::default()
    };
    assert_eq!(bind.to_string(), "prefer,local");
    assert_eq!(MemBind::default().to_string(), "none");
    for (word, site) in SiteConfine::WORDS {
        assert_eq!(site.to_string(), word);
    }
}

#[test]
fn no_width_of_a_set_is_fixed() {
    let far = CpuSet::from_list("5000,65535").unwrap();
    assert_eq!(CpuSet::from_hex(&far.to_hex(0)).unwrap(), far);
    assert_eq!((far.count(), far.highest()), (2, Some(CpuId(65535))));
    assert!(CpuSet::from_hex(&"f".repeat(20_000)).is_err());
    assert_eq!(CpuSet::new().to_short_hex(), "0x0");
}
