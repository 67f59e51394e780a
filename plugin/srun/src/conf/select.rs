//! `SelectType`, `SelectTypeParameters` and what else decides for all partitions; scontrol's output
//! as lines.
//! In: lines. Out: [`Select`], with the defaults of a release line.

use std::sync::Arc;

use berth_placement::controller::select::{Select, SlurmLine, Unit};

use super::text::{ConfError, Each, Line, MOST_BYTES, Place};

/// The configuration's words about selection.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    kind: Option<String>,
    /// The words of `SelectTypeParameters`, in small letters.
    parameters: Vec<String>,
    pub allow_spec_usage: bool,
    spec_cores_first: bool,
}

impl Words {
    pub(super) fn add(&mut self, line: &Line) -> Result<(), ConfError> {
        let value = |key: &str| line.value(key).map(str::to_ascii_lowercase);
        self.kind = value("selecttype").or(self.kind.take());
        if let Some(words) = value("selecttypeparameters") {
            let words = words.split(',').map(str::trim);
            self.parameters = words.map(String::from).collect();
        }
        if let Some(words) = value("schedulerparameters") {
            self.spec_cores_first = words
                .split(',')
                .any(|word| word.trim() == "spec_cores_first");
        }
        if line.value("allowspecresourcesusage").is_some() {
            self.allow_spec_usage = line.yes("allowspecresourcesusage")?;
        }
        Ok(())
    }

    /// Whether `SelectTypeParameters` has a word.
    fn has(&self, word: &str) -> bool {
        self.parameters.iter().any(|known| known == word)
    }

    /// Whether it has this unit, with memory or without.
    fn has_unit(&self, unit: &str) -> bool {
        self.has(unit) || self.has(&format!("{unit}_memory"))
    }

    pub(super) fn is_block_by_default(&self) -> bool {
        self.has("cr_core_default_dist_block")
    }

    /// Whether slurmctld counts CPUs and not cores.
    pub(super) fn counts_cpus(&self) -> bool {
        self.has_unit("cr_cpu")
    }

    /// Without `SelectType` 22.05 takes select/linear, later ones select/cons_tres.
    fn kind(&self, line: SlurmLine) -> &str {
        let default = match line {
            SlurmLine::V22_05 => "linear",
            SlurmLine::V24_11 | SlurmLine::V26_05 => "cons_tres",
        };
        let kind = self.kind.as_deref().unwrap_or(default);
        kind.strip_prefix("select/").unwrap_or(kind)
    }

    /// Whether `select/linear` hands out whole nodes.
    pub(super) fn is_linear(&self, line: SlurmLine) -> bool {
        self.kind(line) == "linear"
    }

    /// Without parameters select/cons_tres hands out cores and memory.
    pub(super) fn select(&self, line: SlurmLine, place: &Place) -> Result<Select, ConfError> {
        let linear = match self.kind(line) {
            "linear" => true,
            "cons_tres" => false,
            kind => {
                let why = format!(
                    "not modelled: SelectType=select/{kind}; berth knows cons_tres and linear"
                );
                return Err(Place {
                    line: 0,
                    ..place.clone()
                }
                .error(&why));
            }
        };
        let units = ["cr_cpu", "cr_core", "cr_socket", "cr_board"];
        let given = units.iter().any(|unit| self.has_unit(unit));
        let memory = self.parameters.iter().any(|word| word.ends_with("_memory"));
        Ok(Select {
            unit: match () {
                () if linear => Unit::Node,
                () if self.counts_cpus() => Unit::Cpu,
                () if self.has_unit("cr_socket") => Unit::Socket,
                () => Unit::Core,
            },
            memory: memory || (!linear && !given),
            one_task_per_core: self.has("cr_one_task_per_core"),
            block_by_default: self.is_block_by_default(),
            pack_nodes: self.has("cr_pack_nodes"),
            allow_spec_usage: self.allow_spec_usage,
            spec_cores_first: self.spec_cores_first,
        })
    }
}

/// The lines of scontrol's output. `show config` has one `Key = value` a line, and values with
/// blanks; nodes and partitions have their keys on one line, and the first of a key counts: what
/// people can write stands at the end.
pub(super) fn shown(command: &str, text: &str, each: &mut Each<'_>) -> Result<(), ConfError> {
    let file: Arc<str> = command.into();
    let at = |line| Place {
        file: Arc::clone(&file),
        line,
    };
    if text.len() > MOST_BYTES {
        return Err(at(0).error("more than 32 MiB of output"));
    }
    for (number, line) in (1..).zip(text.lines()) {
        let pairs = match line.split_once(" = ") {
            Some((key, value)) if !line.contains("Name=") => {
                vec![(key.trim().to_ascii_lowercase(), value.trim().to_string())]
            }
            _ => first_values(line),
        };
        if !pairs.is_empty() {
            each(Line {
                place: at(number),
                pairs,
            })?;
        }
    }
    Ok(())
}

/// Keys of scontrol that slurm.conf calls otherwise.
const OTHER_NAMES: [(&str, &str); 2] = [("cputot", "cpus"), ("activefeatures", "features")];
/// Keys that a list has in place of nothing, or that slurm.conf has under another meaning.
const NOTHING: [&str; 2] = ["(null)", "N/A"];

fn first_values(line: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for word in line.split_whitespace().take(256) {
        let Some((key, value)) = word.split_once('=') else {
            continue;
        };
        let key = key.to_ascii_lowercase();
        let renamed = OTHER_NAMES.iter().find(|(theirs, _)| *theirs == key);
        let key = renamed.map_or(key, |(_, ours)| (*ours).to_string());
        let known = pairs.iter().any(|(known, _)| *known == key);
        if !known && !value.is_empty() && !NOTHING.contains(&value) {
            pairs.push((key, value.to_string()));
        }
    }
    pairs
}
