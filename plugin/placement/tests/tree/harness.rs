//! Tries a law on many machines and reports what broke it: how often, and the smallest case.
//!
//! A case is a number. `BERTH_SEED=N` repeats a run, `BERTH_CASE=N` one case of it, and
//! `BERTH_MACHINES=N` changes the number of machines.

use std::time::{SystemTime, UNIX_EPOCH};

use berth_placement::{Machine, SocketKind};

use super::door::{Answer, Ask, answer};
use super::facts::{Owned, Tree};
use super::making;
use super::random::Random;

/// Machines of a law.
const MACHINES: u32 = 10_000;

/// Runs that are always made, beside that of this moment.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Something that is true of every request on every machine.
pub struct Law {
    pub name: &'static str,
    /// A request that the law says something about.
    pub request: fn(&mut Random, &Tree) -> Ask,
    pub holds: fn(&Case) -> Verdict,
}

/// A request on a machine, and what the step owns there.
pub struct Case<'a> {
    pub tree: &'a Tree,
    pub request: Ask,
    pub owned: Owned,
    pub random: u64,
}

#[derive(Debug)]
pub enum Verdict {
    /// The law says nothing about this case.
    Aside,
    Holds,
    Broken(String),
}

impl Verdict {
    /// Holds where the condition does.
    pub fn when(holds: bool, what: impl FnOnce() -> String) -> Self {
        if holds {
            Self::Holds
        } else {
            Self::Broken(what())
        }
    }
}

impl<'a> Case<'a> {
    pub fn new(tree: &'a Tree, request: Ask, random: u64) -> Self {
        let owned = tree.owned(&request.own);
        Self {
            tree,
            request,
            owned,
            random,
        }
    }

    pub fn answer(&self) -> Result<Answer, String> {
        self.answer_to(&self.request)
    }

    pub fn answer_to(&self, request: &Ask) -> Result<Answer, String> {
        answer(request, &self.tree.machine, self.tree.kind)
    }
}

/// What broke a law, by the smallest case.
#[derive(Default)]
pub struct Findings {
    tried: u32,
    spoken: u32,
    broken: u32,
    smallest: Option<(usize, String)>,
}

impl Findings {
    /// Tries a law with one request on a machine; `from` says how to do it again.
    pub fn add(&mut self, law: &Law, tree: &Tree, random: &mut Random, from: &str) {
        let case = Case::new(tree, (law.request)(random, tree), random.number());
        self.tried += 1;
        match (law.holds)(&case) {
            Verdict::Aside => {}
            Verdict::Holds => self.spoken += 1,
            Verdict::Broken(what) => {
                self.spoken += 1;
                self.broken += 1;
                let size = tree.machine.cpus().count() * 4 + case.request.tasks as usize;
                if self
                    .smallest
                    .as_ref()
                    .is_none_or(|(least, _)| size < *least)
                {
                    let told = shown(&case, &what, from);
                    self.smallest = Some((size, told));
                }
            }
        }
    }

    /// What broke the law, if anything did; the law must also have been tried at all.
    pub fn told(self, law: &Law) -> Option<String> {
        let Self {
            tried,
            spoken,
            broken,
            smallest,
        } = self;
        let name = law.name;
        println!("{name}: {tried} cases, {spoken} that it speaks of");
        if let Some((_, told)) = smallest {
            return Some(format!(
                "{name}: broken in {broken} of {spoken} cases; the smallest:\n{told}"
            ));
        }
        let hardly = tried > 100 && spoken * 50 < tried;
        hardly.then(|| format!("{name}: hardly ever tried"))
    }

    fn judge(self, law: &Law) {
        if let Some(told) = self.told(law) {
            panic!("{told}");
        }
    }
}

fn shown(case: &Case, what: &str, from: &str) -> String {
    let got = match case.answer() {
        Ok(answer) => {
            let masks: Vec<String> = answer.masks.iter().map(ToString::to_string).collect();
            format!("tasks: {}\nnotes: {:?}", masks.join(" / "), answer.notes)
        }
        Err(why) => format!("refused: {why}"),
    };
    let (tree, request) = (case.tree, &case.request);
    format!("{what}\nmachine {tree}\nrequest {request}\n{got}\nagain: {from}")
}

/// Tries a law on machines made at random.
pub fn on_random_machines(law: &Law) {
    let given = |name: &str| -> Option<u64> {
        let text = std::env::var(name).ok()?;
        Some(text.parse().expect("a number"))
    };
    let mut findings = Findings::default();
    if let Some(case) = given("BERTH_CASE") {
        one(law, case, &mut findings);
        return findings.judge(law);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos() as u64);
    let seeds = match given("BERTH_SEED") {
        Some(seed) => vec![seed],
        None => [&SEEDS[..], &[now]].concat(),
    };
    let machines = given("BERTH_MACHINES").unwrap_or(MACHINES.into());
    println!("seeds {seeds:?}: BERTH_SEED=… repeats one");
    for seed in &seeds {
        let mut cases = Random::new(*seed);
        for _ in 0..machines / seeds.len() as u64 {
            one(law, cases.number(), &mut findings);
        }
    }
    findings.judge(law);
}

fn one(law: &Law, case: u64, findings: &mut Findings) {
    let mut random = Random::new(case);
    let machine = making::machine(&mut random);
    let kind = random.pick(&[
        SocketKind::Package,
        SocketKind::Package,
        SocketKind::Numa,
        SocketKind::L3,
    ]);
    let tree = Tree::new(machine, kind);
    let from = format!("BERTH_CASE={case}");
    findings.add(law, &tree, &mut random, &from);
}

/// Tries a law with so many requests on a given machine, whatever counts as its sockets.
pub fn on_machine(
    law: &Law,
    machine: &Machine,
    name: &str,
    requests: u32,
    findings: &mut Findings,
) {
    for kind in [SocketKind::Package, SocketKind::Numa, SocketKind::L3] {
        let tree = Tree::new(machine.clone(), kind);
        let mut cases = Random::new(1);
        for at in 0..requests {
            let mut random = Random::new(cases.number());
            findings.add(
                law,
                &tree,
                &mut random,
                &format!("{name}, request {at} as {kind:?}"),
            );
        }
    }
}
