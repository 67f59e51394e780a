//! The values of the options of `berth plan`: what --help, the man pages and the shells' completions show of them.
//! Nothing is checked here; a test gives each to the command.

use berth_srun::options::{Command, Lookup, Value, long, values};

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

/// The values of an option, by clap's name for it.
pub fn of(option: &str) -> Vec<Value> {
    let described = |name| match long(Command::Srun, None, name) {
        Lookup::Option(row) if row.typed() == name => row.values().collect(),
        _ => Vec::new(),
    };
    match option {
        "numbering" => values(NUMBERING).collect(),
        "fixes" => values(FIXES).collect(),
        "default_cpu_bind" => described("cpu-bind"),
        name => described(name),
    }
}

#[cfg(test)]
mod tests {
    use berth_srun::options::{Own, Row, placing};

    use super::*;
    use crate::reader::Reader;
    use crate::world::Scripts;

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
        let slurms = placing().map(Row::typed);
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
