//! The machine's cores, as hwloc's own programs say; nothing of berth is asked.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use berth_tests::real::lstopo_with;

/// CPU numbers.
pub type Cpus = BTreeSet<u32>;

/// Every core, in hwloc's logical order.
#[derive(Debug)]
pub struct Tree {
    cores: Vec<Core>,
}

/// One core.
#[derive(Debug, Clone)]
pub struct Core {
    /// The package it is in.
    pub socket: u32,
    /// Its hardware threads.
    pub cpus: Cpus,
}

impl Tree {
    /// Reads a topology, or those CPUs of it that a mask names.
    ///
    /// # Panics
    /// If hwloc's programs cannot.
    pub fn of(file: &Path, restrict: Option<&str>) -> Self {
        // Where threads have caches of their own, a core of one thread lies below its caches and others
        // above: only without caches are all cores of one depth, and so they are for slurmd.
        let plain = file.with_extension("plain.xml");
        let mut words = vec!["--no-caches", "--input"];
        words.push(file.to_str().expect("a path of letters"));
        words.extend(
            restrict
                .map(|mask| ["--restrict", mask])
                .into_iter()
                .flatten(),
        );
        let words: Vec<&OsStr> = words.into_iter().map(OsStr::new).collect();
        lstopo_with(&words, &plain);
        let file = plain.as_path();
        let count = calc(file, &["--number-of", "core", "all"], "");
        let count: u32 = count.trim().parse().expect("a number of cores");
        let names: String = (0..count).map(|core| format!("core:{core}\n")).collect();
        let cpus = calc(file, &["--physical-output", "--intersect", "PU"], &names);
        let sockets = calc(file, &["--intersect", "Package"], &names);
        let cores = cpus.lines().zip(sockets.lines());
        let cores: Vec<_> = cores
            .map(|(cpus, socket)| Core {
                socket: socket.trim().parse().unwrap_or(0),
                cpus: list(cpus.trim()),
            })
            .collect();
        assert_eq!(cores.len(), count as usize, "{cpus}{sockets}");
        Tree { cores }
    }

    /// The cores of a credential, written as `0-3,5`.
    pub fn owned(&self, cores: &str) -> Vec<Core> {
        let wanted = list(cores);
        let cores = (0..).zip(&self.cores);
        cores
            .filter(|(number, _)| wanted.contains(number))
            .map(|(_, core)| core.clone())
            .collect()
    }

    /// The numbers of the cores that some CPUs belong to.
    pub fn cores_of(&self, cpus: &Cpus) -> Cpus {
        let cores = (0..).zip(&self.cores);
        let hit = cores.filter(|(_, core)| !core.cpus.is_disjoint(cpus));
        hit.map(|(number, _)| number).collect()
    }

    /// Every core.
    pub fn all(&self) -> Vec<Core> {
        self.cores.clone()
    }
}

/// `0,1 2,3 | 4,5`
impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut socket = 0;
        for core in &self.cores {
            if core.socket != socket {
                write!(f, "| ")?;
                socket = core.socket;
            }
            let cpus: Vec<_> = core.cpus.iter().map(u32::to_string).collect();
            write!(f, "{} ", cpus.join(","))?;
        }
        Ok(())
    }
}

fn calc(file: &Path, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new("hwloc-calc")
        .arg("--input")
        .arg(file)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hwloc-calc starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("hwloc-calc reads");
    drop(stdin);
    let output = child.wait_with_output().expect("hwloc-calc ends");
    assert!(output.status.success(), "hwloc-calc {arguments:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    // Some releases say that they wait for input.
    let lines = text.lines().filter(|line| !line.starts_with("Waiting"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// `0-3,8` as a set.
pub fn list(text: &str) -> Cpus {
    let parts = text.split(',').filter(|part| !part.is_empty());
    parts
        .flat_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.parse::<u32>().expect("a CPU number");
            number(first)..=number(last)
        })
        .collect()
}
