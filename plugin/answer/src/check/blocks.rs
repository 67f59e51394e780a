//! The variables of a script that are known at a command. A block may run, not run, or run several times: what is set in it
//! is unknown behind it, what a loop sets is unknown where the loop begins, and a function's body runs where somebody calls it.
//! In: the commands of a script, one after the other. Out: variables that are unknown from there on.

use std::collections::{BTreeMap, BTreeSet};

use super::calculation::{changed, changed_in};
use super::variables::{Variable, Variables, assigned, defaults};
use crate::shell::{Block, Commands, Runs, Simple, is_variable};

/// Commands that set or take away the variables that their words name.
const SETTERS: [&str; 12] = [
    "declare",
    "export",
    "getopts",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "setenv",
    "typeset",
    "unset",
    "unsetenv",
];
/// The variables that a command sets to values which only the running script knows.
const READERS: [&str; 4] = ["getopts", "mapfile", "read", "readarray"];

/// The blocks of a script, and those around the current command.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
    /// The variables that are unknown where a loop begins, by its block.
    of_loops: BTreeMap<usize, BTreeSet<String>>,
    /// The variables that are set more than once, so that a function's body may meet any of their values.
    set_again: BTreeSet<String>,
    /// The variables that are unknown wherever they are set: functions set them, or the shell calculates what they are
    /// set to (`declare -i`).
    never_known: BTreeSet<String>,
    /// The blocks around the current command, the outermost first.
    around: Vec<Entered>,
}

/// A block around the current command.
struct Entered {
    block: usize,
    /// The variables that were set in it.
    set: Vec<String>,
    /// The variables that are unknown in it alone, with what they were before.
    before: Vec<(String, Option<Variable>)>,
    /// The variables that hold behind it, if it runs in a shell of its own.
    outer: Option<Variables>,
}

impl Blocks {
    pub(super) fn of(found: &Commands) -> Self {
        let mut blocks = Self {
            blocks: found.blocks.clone(),
            ..Self::default()
        };
        let mut once = BTreeSet::new();
        for simple in &found.commands {
            if is_of_integers(simple) {
                blocks.never_known.extend(names_in(simple));
            }
            for name in names_set(simple) {
                blocks.sets(simple.block, &name);
                if !once.insert(name.clone()) {
                    blocks.set_again.insert(name);
                }
            }
        }
        for (block, one) in found.blocks.iter().enumerate() {
            if let Some(variable) = &one.variable {
                blocks.set_in_loop(block, variable);
            }
        }
        blocks
    }

    fn set_in_loop(&mut self, block: usize, name: &str) {
        self.of_loops.entry(block).or_default().insert(name.into());
    }

    /// A command in this block sets a variable.
    fn sets(&mut self, mut block: usize, name: &str) {
        while let Some(one) = self.blocks.get(block).filter(|_| block != 0) {
            let (runs, around) = (one.runs, one.around);
            match runs {
                Runs::Again => self.set_in_loop(block, name),
                Runs::Called => _ = self.never_known.insert(name.into()),
                Runs::Apart => return,
                Runs::Once => {}
            }
            block = around;
        }
    }

    /// The next command stands in `block`.
    pub(super) fn enter(&mut self, block: usize, variables: &mut Variables) {
        let (mut entered, mut at) = (Vec::new(), block);
        while at != 0 && !self.is_around(at) {
            entered.push(at);
            at = self.blocks.get(at).map_or(0, |one| one.around);
        }
        while let Some(left) = self.around.pop_if(|last| last.block != at) {
            // Variables that a subshell sets end with the subshell.
            if let Some(outer) = left.outer {
                *variables = outer;
                continue;
            }
            for (name, before) in left.before {
                match before {
                    Some(before) => variables.insert(name, before),
                    None => variables.remove(&name),
                };
            }
            left.set
                .into_iter()
                .for_each(|name| self.forget(name, variables));
        }
        for block in entered.into_iter().rev() {
            let one = self.blocks.get(block);
            let is_apart = one.is_some_and(|one| one.runs == Runs::Apart);
            let outer = is_apart.then(|| variables.clone());
            let unknown = match one.map(|one| one.runs) {
                Some(Runs::Called) => Some(&self.set_again),
                _ => self.of_loops.get(&block),
            };
            let unknown = unknown.into_iter().flatten();
            let before = unknown.map(|name| {
                let before = variables.insert(name.clone(), Variable::unknown(name));
                (name.clone(), before)
            });
            let before = before.collect();
            let variable = one.and_then(|one| one.variable.clone());
            self.around.push(Entered {
                block,
                set: variable.into_iter().collect(),
                before,
                outer,
            });
        }
    }

    /// The current command has been read.
    pub(super) fn leave(&mut self, simple: &Simple, variables: &mut Variables) {
        let computed = names_computed(simple);
        for name in names_set(simple) {
            match computed.contains(&name) || self.never_known.contains(&name) {
                true => self.forget(name, variables),
                false => self.set(name),
            }
        }
    }

    /// The variable is unknown from here on.
    fn forget(&mut self, name: String, variables: &mut Variables) {
        variables.insert(name.clone(), Variable::unknown(&name));
        self.set(name);
    }

    fn set(&mut self, name: String) {
        if let Some(last) = self.around.last_mut() {
            last.set.push(name);
        }
    }

    /// Whether the block is around the last command. A block's number is larger than those of the blocks around it.
    fn is_around(&self, block: usize) -> bool {
        let found = self.around.binary_search_by_key(&block, |one| one.block);
        found.is_ok()
    }
}

fn first(simple: &Simple) -> Option<&str> {
    simple.words.first().map(|word| word.text.as_str())
}

/// Whether a command declares whole numbers.
fn is_of_integers(simple: &Simple) -> bool {
    let is_flag = |text: &str| text.starts_with('-') && text.contains('i');
    let declares = ["declare", "local", "typeset"];
    let mut texts = texts(simple);
    texts.next().is_some_and(|first| declares.contains(&first)) && texts.any(is_flag)
}

fn texts(simple: &Simple) -> impl Iterator<Item = &str> + Clone {
    simple.words.iter().map(|word| word.text.as_str())
}

/// The variables that the words behind a setter name.
fn names_in(simple: &Simple) -> impl Iterator<Item = String> + '_ {
    let names = texts(simple).skip(1);
    let names = names.map(|text| assigned(text).map_or(text, |(name, _, _)| name));
    names.filter(|name| is_variable(name)).map(String::from)
}

/// The variables that a command sets for the commands behind it, or takes away.
fn names_set(simple: &Simple) -> Vec<String> {
    let mut names = names_computed(simple);
    let by_default = texts(simple).flat_map(defaults);
    names.extend(by_default.map(|(name, _)| name.to_string()));
    if first(simple).is_some_and(|word| SETTERS.contains(&word)) {
        names.extend(names_in(simple));
        return names;
    }
    // Those before a program are the program's alone.
    let own: Option<Vec<_>> = texts(simple).map(assigned).collect();
    let own = own.into_iter().flatten();
    names.extend(own.map(|(name, _, _)| name.to_string()));
    names
}

/// The variables that a command sets to values which only the running script knows.
fn names_computed(simple: &Simple) -> Vec<String> {
    let calculated = texts(simple).flat_map(changed_in);
    let calculated = calculated.map(String::from);
    let mut words = texts(simple);
    match words.next() {
        Some("let") => words.flat_map(changed).map(String::from).collect(),
        Some("printf") if words.next() == Some("-v") => {
            words.take(1).map(String::from).chain(calculated).collect()
        }
        Some(word) if READERS.contains(&word) => names_in(simple).chain(calculated).collect(),
        _ => calculated.collect(),
    }
}
