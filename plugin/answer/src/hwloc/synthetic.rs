//! hwloc's short descriptions, such as `pack:2 [numa] l3:2 core:4 pu:2(indexes=0,2,1,3)`: levels from the machine down, each
//! with its type and how many of it are in one of the level above. Memory in brackets hangs at each object of the level
//! before it.

use std::collections::HashMap;

use berth_placement::sets::cpuset::MAX_CPUS;
use berth_placement::{CpuId, CpuSet};

use super::NoMachine;
use super::xml::Object;

/// The longest text that is read: room for the numbers of a large machine.
const MOST_BYTES: usize = 1 << 20;
/// The types, by the letters that they begin with. Source: `hwloc_type_sscanf`.
const TYPES: [(&str, &str); 12] = [
    ("pack", "Package"),
    ("sock", "Package"),
    ("die", "Die"),
    ("core", "Core"),
    ("pu", "PU"),
    ("l1", "L1Cache"),
    ("l2", "L2Cache"),
    ("l3", "L3Cache"),
    ("l4", "L4Cache"),
    ("numa", NUMA),
    ("node", NUMA),
    ("group", "Group"),
];
const NUMA: &str = "NUMANode";

/// Objects of one type, as many in each object above.
#[derive(Debug)]
struct Level {
    kind: &'static str,
    /// In one object of the level above.
    arity: u32,
    /// The kernel's numbers, in hwloc's order; empty for 0, 1, 2 …
    numbers: Vec<u32>,
}

/// A description.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// From the machine down to the hardware threads.
    levels: Vec<Level>,
    /// The level behind which each memory node stands; 0 is the machine.
    memory: Vec<usize>,
    /// The kernel's numbers of all of these, inner ones first; empty for 0, 1, 2 …
    memory_numbers: Vec<u32>,
}

/// Reads a description.
///
/// # Errors
/// [`NoMachine`]
pub(super) fn levels(text: &str) -> Result<Levels, NoMachine> {
    if text.len() > MOST_BYTES {
        return Err(NoMachine::TooLong(text.len()));
    }
    let mut found = Levels::default();
    for word in words(text) {
        // The machine's own attributes are sizes of memory, which no plan needs.
        if word.starts_with('(') && found.levels.is_empty() {
            continue;
        }
        let memory = word
            .strip_prefix('[')
            .and_then(|word| word.strip_suffix(']'));
        let Some(inner) = memory else {
            found.levels.push(level(word)?);
            continue;
        };
        let (name, attributes) = inner.split_at(inner.find('(').unwrap_or(inner.len()));
        found.memory.push(found.levels.len());
        let level = level(&format!("{name}:1{attributes}"))?;
        found.memory_numbers.extend(level.numbers);
    }
    found.check()?;
    Ok(found)
}

/// The words between blanks; none divides what is in parentheses or brackets.
fn words(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_between = |letter: char| {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && letter.is_whitespace()
    };
    let words = text.split(is_between);
    words.filter(|word| !word.is_empty()).collect()
}

/// `TYPE:COUNT(NAME=VALUE NAME=VALUE)`.
fn level(word: &str) -> Result<Level, NoMachine> {
    let wrong = || NoMachine::Word(word.chars().take(80).collect());
    let (level, inner) = word.split_once('(').unwrap_or((word, ""));
    let (name, count) = level.split_once(':').ok_or_else(wrong)?;
    let name = name.to_ascii_lowercase();
    let kind = TYPES.iter().find(|(begins, _)| name.starts_with(begins));
    let arity = count.parse().ok().filter(|count| *count > 0);
    let attributes = inner.strip_suffix(')').unwrap_or_default();
    let attributes = attributes.split_whitespace();
    let mut numbers = Vec::new();
    for list in attributes.filter_map(|attribute| attribute.strip_prefix("indexes=")) {
        let all = list.split(',').map(|number| number.parse().ok());
        let all: Option<Vec<u32>> = all.collect();
        numbers = all.ok_or_else(|| NoMachine::Indexes(word.chars().take(80).collect()))?;
    }
    Ok(Level {
        kind: kind.ok_or_else(wrong)?.1,
        arity: arity.ok_or_else(wrong)?,
        numbers,
    })
}

impl Levels {
    /// The last level is that of hardware threads, none is without an object, and each list of numbers has one for each.
    fn check(&mut self) -> Result<(), NoMachine> {
        if self.levels.last().is_some_and(|level| level.kind == "Core") {
            self.levels.push(Level {
                kind: "PU",
                arity: 1,
                numbers: Vec::new(),
            });
        }
        let is_pu = |level: &Level| level.kind == "PU";
        let ends_well =
            self.levels.iter().position(is_pu).map(|at| at + 1) == Some(self.levels.len());
        if !ends_well {
            return Err(NoMachine::NoThreads);
        }
        let mut counts = vec![1_u32];
        for level in &self.levels {
            let above = counts.last().copied().unwrap_or(1);
            let count = above
                .checked_mul(level.arity)
                .filter(|count| *count <= MAX_CPUS);
            counts.push(count.ok_or(NoMachine::TooManyCpus)?);
        }
        let own = self.levels.iter().zip(counts.iter().skip(1));
        let own = own.map(|(level, count)| (level.kind, &level.numbers, *count));
        let behind = self.memory.iter().filter_map(|place| counts.get(*place));
        let memory = (NUMA, &self.memory_numbers, behind.sum());
        for (kind, numbers, count) in own.chain([memory]) {
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            sorted.dedup();
            let is_known = sorted.last().is_none_or(|last| *last < MAX_CPUS);
            let is_whole = sorted.len() == count as usize && is_known;
            if !numbers.is_empty() && !is_whole {
                return Err(NoMachine::Indexes(format!("{kind} (indexes=)")));
            }
        }
        Ok(())
    }

    /// The machine with all objects.
    pub(super) fn machine(&self) -> Object<'static> {
        let mut building = Building {
            description: self,
            counts: HashMap::new(),
            next: 0,
        };
        let mut children = building.level(0);
        let cpus = union(&children, |child| &child.cpus);
        children.extend(building.memory_at(0, &cpus));
        let has_memory =
            !self.memory.is_empty() || self.levels.iter().any(|level| level.kind == NUMA);
        if !has_memory {
            children.push(building.memory(0, &cpus));
        }
        building.object("Machine", 0, cpus, children)
    }
}

struct Building<'l> {
    description: &'l Levels,
    /// Objects so far of each level, and of memory.
    counts: HashMap<Option<usize>, u32>,
    next: usize,
}

impl Building<'_> {
    /// The kernel's number of the next object of a level, or of memory.
    fn number(&mut self, depth: Option<usize>) -> u32 {
        let levels = &self.description.levels;
        let numbers = match depth {
            None => Some(&self.description.memory_numbers),
            Some(depth) => levels.get(depth).map(|level| &level.numbers),
        };
        let count = self.counts.entry(depth).or_default();
        let at = *count;
        *count += 1;
        let number = numbers.and_then(|numbers| numbers.get(at as usize));
        number.copied().unwrap_or(at)
    }

    /// The objects of a level in one of the level above.
    fn level(&mut self, depth: usize) -> Vec<Object<'static>> {
        let description = self.description;
        let Some(level) = description.levels.get(depth) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for _ in 0..level.arity {
            all.push(self.one(depth, level));
        }
        all
    }

    /// One object of a level.
    fn one(&mut self, depth: usize, level: &Level) -> Object<'static> {
        let number = self.number(Some(depth));
        let mut children = self.level(depth + 1);
        let cpus = match level.kind {
            "PU" => CpuSet::from_iter([CpuId(number)]),
            _ => union(&children, |child| &child.cpus),
        };
        children.extend(self.memory_at(depth + 1, &cpus));
        // A level of memory is one of groups that have a memory node each.
        if level.kind == NUMA {
            children.push(self.memory(number, &cpus));
            return self.object("Group", number, cpus, children);
        }
        self.object(level.kind, number, cpus, children)
    }

    /// The memory in brackets after a level, for one object of it.
    fn memory_at(&mut self, place: usize, cpus: &CpuSet) -> Vec<Object<'static>> {
        let places = self.description.memory.iter();
        let count = places.filter(|behind| **behind == place).count();
        let mut all = Vec::new();
        for _ in 0..count {
            let number = self.number(None);
            all.push(self.memory(number, cpus));
        }
        all
    }

    fn memory(&mut self, number: u32, cpus: &CpuSet) -> Object<'static> {
        Object {
            nodes: CpuSet::from_iter([CpuId(number)]),
            ..self.object(NUMA, number, cpus.clone(), Vec::new())
        }
    }

    fn object(
        &mut self,
        kind: &'static str,
        number: u32,
        cpus: CpuSet,
        children: Vec<Object<'static>>,
    ) -> Object<'static> {
        self.next += 1;
        let mut object = Object {
            id: self.next,
            kind,
            number,
            first: cpus.lowest(),
            cpus,
            nodes: union(&children, |child| &child.nodes),
            ..Object::default()
        };
        object.adopt(children);
        object
    }
}

fn union<'o>(
    objects: &'o [Object<'static>],
    set: impl Fn(&'o Object<'static>) -> &'o CpuSet,
) -> CpuSet {
    objects
        .iter()
        .flat_map(|object| set(object).iter())
        .collect()
}
