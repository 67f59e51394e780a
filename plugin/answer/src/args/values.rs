//! The values of the options of `berth plan`: what --help, the man pages and the shells' completions show of them.
//! A parser that is offered such values takes what it takes by itself, and not only these; [`one_of`] takes its words
//! alone.

use berth_placement::{Level, SocketKind};
use berth_srun::options::{Command as Program, Lookup, Value, long, values};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command, Error};

/// Of `--numbering`.
pub(super) const NUMBERING: &[&str] = &[
    "block  core after core; the threads of a core are neighbours",
    "cyclic  the next number is on the next socket",
    "threads-last  first one thread of every core, then the second ones",
];

/// Of `--fixes`.
pub(super) const FIXES: &[&str] = &[
    "all  every fix (the default)",
    "none  no fix: the answers of task/affinity",
    "+<NAME>  this fix too; several stand behind commas",
    "-<NAME>  all but this fix",
];

/// Of `--cpuset-best`: a switch of the site.
pub(super) const ON_OFF: &[&str; 2] = &["on  It is on", "off  It is off"];

/// Of `--autobind`.
pub(super) const AUTOBIND: &[&str; 4] = &[
    "none  No level, as where the site sets nothing",
    "threads  Hardware threads",
    "cores  Whole cores",
    "sockets  Whole sockets",
];

/// The levels of these.
pub(super) const LEVELS: [Option<Level>; 4] = [
    None,
    Some(Level::Threads),
    Some(Level::Cores),
    Some(Level::Sockets),
];

/// Of `--binding-fail`.
pub(super) const BINDING_FAIL: &[&str; 2] = &[
    "unbound  The step runs, on all its CPUs, with a note",
    "refuse  The step is refused",
];

/// Of `--compat`.
pub(super) const COMPAT: &[&str; 2] = &[
    "berth  With every named fix",
    "affinity  As task/affinity does it, also where it is wrong",
];

/// The values of an option, by clap's name for it.
pub fn of(option: &str) -> Vec<Value> {
    let described = |name| match long(Program::Srun, None, name) {
        Lookup::Option(row) if row.typed == name => row.values().collect(),
        _ => Vec::new(),
    };
    match option {
        "numbering" => values(NUMBERING).collect(),
        "fixes" => values(FIXES).collect(),
        "default_cpu_bind" => described("cpu-bind"),
        name => described(name),
    }
}

/// A parser that also knows which values there are.
#[derive(Clone)]
pub struct Offered<P> {
    inner: P,
    values: Vec<PossibleValue>,
}

impl<P: TypedValueParser> TypedValueParser for Offered<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<P::Value, Error> {
        self.inner.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.values.iter().cloned()))
    }
}

/// A parser, and values that are offered.
pub(super) fn offered<P>(inner: P, values: impl IntoIterator<Item = Value>) -> Offered<P> {
    let mut words: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for value in values {
        // A word that goes on in two ways is offered once.
        if !words.contains(&value.word) {
            words.push(value.word);
            found.push(PossibleValue::new(value.word).help(value.meaning));
        }
    }
    Offered {
        inner,
        values: found,
    }
}

/// A parser that takes these words alone, each for one of the others.
pub(super) fn one_of<T: Clone + Send + Sync + 'static, const N: usize>(
    words: &'static [&'static str; N],
    each: [T; N],
) -> impl TypedValueParser<Value = T> {
    let shown = values(words).map(|value| PossibleValue::new(value.word).help(value.meaning));
    PossibleValuesParser::new(shown).map(move |text| {
        let at = values(words).position(|value| value.word == text);
        each[at.unwrap_or_default()].clone()
    })
}

/// Values for the object that counts as a socket.
pub fn socket() -> impl TypedValueParser<Value = SocketKind> {
    let words = &[
        "package  The processor package (slurmd's default)",
        "numa  The NUMA node: SlurmdParameters=numa_node_as_socket",
        "l3  The L3 cache: SlurmdParameters=l3cache_as_socket",
    ];
    let each = [SocketKind::Package, SocketKind::Numa, SocketKind::L3];
    one_of(words, each)
}

/// A parser, and names that say everything.
pub(super) fn named<P: TypedValueParser>(
    inner: P,
    names: impl IntoIterator<Item = &'static str>,
) -> Offered<P> {
    Offered {
        inner,
        values: names.into_iter().map(PossibleValue::new).collect(),
    }
}

#[cfg(test)]
mod tests {
    use berth_srun::options::{Own, placing};

    use super::*;
    use crate::reader::Reader;
    use crate::world::tests::Scripts;

    /// Something that may stand where a placeholder does.
    fn example(value: &Value) -> String {
        let rest = match (value.word, value.rest) {
            (word, "LIST") if word.starts_with("mask") => "0x1".into(),
            (_, "LIST") => "0".into(),
            (_, "N") => "2".into(),
            (_, "N:LEVEL") => "2:numa".into(),
            (_, "STRATEGY") => "linear:2".into(),
            (_, "NAME") => "smt-neighbours".into(),
            (_, rest) => rest
                .replace("[:SOCKET,CORE]...", ":1,0")
                .replace("SOCKET,CORE", "0,1")
                .replace("[pack][:smt=THREADS]", "pack:smt=2")
                .replace("AMOUNT", "2")
                .replace("STEP", "3"),
        };
        format!("{}{rest}", value.word)
    }

    fn is_taken(word: &str) -> bool {
        let words = ["--slurm=26.05", "-n1", "-w", "a", word];
        let world = Scripts::default();
        let reader = Reader::new(words.map(String::from).into(), &world);
        reader.is_ok_and(|reader| reader.alone().is_ok())
    }

    #[test]
    fn every_value_that_is_shown_is_taken() {
        let own = Own::ALL.map(|own| own.name);
        let plans = ["numbering", "fixes", "default_cpu_bind"];
        let slurms = placing().map(|row| row.typed);
        for option in slurms.chain(own).chain(plans) {
            for value in of(option) {
                let word = format!("--{}={}", option.replace('_', "-"), example(&value));
                assert!(is_taken(&word), "{word}");
                let wrong = format!("{word}!");
                // A fix is looked up later, and -m takes nothing behind a plane.
                let is_late = option == "fixes";
                assert!(is_late || !is_taken(&wrong), "{wrong}");
            }
        }
    }
}
