//! Tries a law on many machines and reports what broke it: how often, and the smallest case.
//!
//! A case is a number. `BERTH_SEED=N` repeats a run, `BERTH_CASE=N` one case of it, and
//! `BERTH_MACHINES=N` changes the number of machines.

use std::time::{SystemTime, UNIX_EPOCH};

use berth_placement::{Machine, Node, Refusal, SocketKind};

use super::ask::{Answer, Ask};
use super::machines::{self, Sort};
use super::random::Random;
use super::tree::{Owned, Tree};

/// Runs that are always made, beside that of this moment.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Something that is true of every request on every machine.
pub struct Law {
    pub name: &'static str,
    /// The machines on which it is tried.
    pub machines: Sort,
    /// A request that the law says something about.
    pub request: fn(&mut Random, &Tree) -> Ask,
    pub check: fn(&Case) -> Verdict,
}

/// Whether a law holds or by what it is broken; none where it says nothing about a case.
pub type Verdict = Option<Result<(), String>>;

/// The law holds where the condition does.
pub fn holds(condition: bool, what: impl FnOnce() -> String) -> Verdict {
    Some(if condition { Ok(()) } else { Err(what()) })
}

pub fn broken(what: impl Into<String>) -> Verdict {
    Some(Err(what.into()))
}

/// A request on a machine, and what the step owns there.
pub struct Case<'a> {
    pub tree: &'a Tree,
    pub ask: Ask,
    pub owned: Owned,
    pub random: u64,
}

impl<'a> Case<'a> {
    pub fn new(tree: &'a Tree, ask: Ask, random: u64) -> Self {
        let owned = tree.owned(&ask.request.allocation);
        Self {
            tree,
            ask,
            owned,
            random,
        }
    }

    /// The number of tasks.
    pub fn tasks(&self) -> usize {
        self.ask.request.tasks as usize
    }

    /// Whether a task's cores are on several sockets in turn.
    pub fn is_one_by_one(&self) -> bool {
        let order = self.ask.request.distribution.to_string();
        order.contains("fcyclic")
    }

    /// The most cores that a task can need for itself; none where the step has too few CPUs.
    pub fn cores_needed(&self) -> Option<usize> {
        let each = self.ask.request.cpus_per_task;
        self.owned.cores_needed(each, self.is_one_by_one())
    }

    pub fn node(&self) -> Node {
        self.ask.node(&self.tree.machine, self.tree.kind, None)
    }

    pub fn answer(&self) -> Result<Answer, Refusal> {
        self.answer_to(&self.ask)
    }

    pub fn answer_to(&self, ask: &Ask) -> Result<Answer, Refusal> {
        ask.answer(&self.tree.machine, self.tree.kind)
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
    fn add(&mut self, law: &Law, tree: &Tree, random: &mut Random, from: &str) {
        let case = Case::new(tree, (law.request)(random, tree), random.number());
        self.tried += 1;
        let Some(verdict) = (law.check)(&case) else {
            return;
        };
        self.spoken += 1;
        let Err(what) = verdict else { return };
        self.broken += 1;
        let size = tree.machine.cpus().count() * 4 + case.tasks();
        let smallest = self.smallest.as_ref();
        if smallest.is_none_or(|(least, _)| size < *least) {
            self.smallest = Some((size, shown(&case, &what, from)));
        }
    }

    /// Fails where anything broke the law, or where it was hardly tried at all.
    pub fn judge(self, law: &Law) {
        let (name, tried, spoken) = (law.name, self.tried, self.spoken);
        println!("{name}: {tried} cases, {spoken} that it speaks of");
        if let Some((_, what)) = self.smallest {
            let broken = self.broken;
            panic!("{name}: broken in {broken} of {spoken} cases; the smallest:\n{what}");
        }
        let is_tried = tried <= 100 || spoken * 50 >= tried;
        assert!(is_tried, "{name}: hardly ever tried");
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
    let (tree, ask) = (case.tree, &case.ask);
    format!("{what}\nmachine {tree}\nrequest {ask}\n{got}\nagain: {from}")
}

fn given(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// The seeds of a random test: the one that is given, or some that are always tried and one of this moment. The test's
/// output, which is shown when it fails, has them.
pub fn seeds() -> Vec<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_nanos() as u64);
    let seeds = match given("BERTH_SEED") {
        Some(seed) => vec![seed],
        None => [&SEEDS[..], &[now]].concat(),
    };
    println!("seeds {seeds:?}: BERTH_SEED=… repeats one");
    seeds
}

/// Tries a law on machines made at random.
pub fn on_random_machines(law: &Law) {
    let mut findings = Findings::default();
    if let Some(case) = given("BERTH_CASE") {
        one(law, case, &mut findings);
        return findings.judge(law);
    }
    let seeds = seeds();
    let machines = given("BERTH_MACHINES").unwrap_or(law.machines.count());
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
    let machine = machines::machine(&mut random, law.machines);
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

/// Tries a law with so many requests on a given machine, with GPUs at random places, whatever counts as its sockets.
pub fn on_machine(
    law: &Law,
    machine: &Machine,
    name: &str,
    requests: u32,
    findings: &mut Findings,
) {
    for kind in [SocketKind::Package, SocketKind::Numa, SocketKind::L3] {
        let mut cases = Random::new(1);
        for at in 0..requests {
            let mut random = Random::new(cases.number());
            let tree = Tree::new(machines::with_gpus(&mut random, machine), kind);
            let from = format!("{name}, request {at} as {kind:?}");
            findings.add(law, &tree, &mut random, &from);
        }
    }
}
