//! Variables of a script, and what an expansion of them gives. A value that only the running job knows stays as it is
//! typed.

use std::collections::BTreeMap;
use std::rc::Rc;

use berth_srun::LineOption;
use berth_srun::reading::SrunRequest;

use super::calculation::{LONGEST, calculate, with_default};
use crate::shell::{Word, is_letter, is_variable, scan};

/// A variable of the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its value, in which other variables of the script have been expanded.
    pub value: Rc<str>,
    pub is_computed: bool,
    /// Where its assignment ends, if others can stand behind it and reach the program.
    pub end: Option<usize>,
    /// Whether programs do not find it: it is not set, or not exported.
    pub is_hidden: bool,
}

pub(crate) type Variables = BTreeMap<String, Variable>;

impl Variable {
    /// A variable whose value only the running script knows. No other variable completes this text.
    pub(crate) fn unknown(name: &str) -> Self {
        Self {
            value: format!("${{{name}?}}").into(),
            is_computed: true,
            ..Self::default()
        }
    }

    /// A variable that is not set.
    pub(crate) fn unset() -> Self {
        Self {
            is_hidden: true,
            ..Self::default()
        }
    }
}

/// A text after an expansion.
pub(crate) struct Expanded {
    pub text: String,
    /// Whether something in it is known only when the script runs.
    pub is_computed: bool,
}

impl Expanded {
    /// A text that is known only when the script runs.
    pub(crate) fn computed(text: &str) -> Self {
        Self {
            text: text.into(),
            is_computed: true,
        }
    }

    /// This text behind the value of the variable of this name.
    pub(crate) fn behind(self, before: &Variable, name: &str) -> Self {
        match before.value.len() + self.text.len() > LONGEST {
            true => Self::computed(&Variable::unknown(name).value),
            false => Self {
                text: [&*before.value, &*self.text].concat(),
                is_computed: self.is_computed || before.is_computed,
            },
        }
    }
}

/// Signs of a text that is known only when the script runs; the elements of an array stand in brackets.
const UNKNOWN: [char; 3] = ['$', '(', '`'];

/// Expands `$NAME`, `${NAME}`, `${NAME:-default}`, `${NAME:=default}` and `$((NAME*2))` as far as `value` gives them: none for a name that it does not know,
/// and an empty value for one that is not set. Patterns and other programs' output are not expanded.
fn expand<'a>(text: &str, value: impl Fn(&str) -> Option<&'a str>) -> Expanded {
    let mut parts = text.split('$');
    let mut expanded = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (name, rest) = match part.strip_prefix('{') {
            Some(braced) => braced.split_once('}').unwrap_or_default(),
            None => part.split_at(part.find(|c| !is_letter(c)).unwrap_or(part.len())),
        };
        let (name, default) = with_default(name).unwrap_or((name, ""));
        match value(name) {
            Some("") => expanded.extend([default, rest]),
            Some(value) => expanded.extend([value, rest]),
            None => expanded.extend(["$", part]),
        }
        if expanded.len() > LONGEST {
            return Expanded::computed(text);
        }
    }
    let text = calculate(expanded, &value);
    Expanded {
        is_computed: text.contains(UNKNOWN),
        text,
    }
}

/// The variables that a word sets where they are empty, with their defaults: `${NAME:=default}`.
pub(super) fn defaults(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let braced = text.split("${").skip(1);
    let braced = braced.filter_map(|part| part.split_once('}')?.0.split_once(":="));
    braced.filter(|(name, _)| is_variable(name))
}

/// A text with the script's own variables.
pub(crate) fn with_variables(text: &str, variables: &Variables) -> Expanded {
    expand(text, |name| {
        let array = name.strip_suffix("[@]").or(name.strip_suffix("[*]"));
        let value = &*variables.get(array.unwrap_or(name))?.value;
        Some(array.and_then(|_| elements(value)).unwrap_or(value))
    })
}

/// The elements of an array.
fn elements(value: &str) -> Option<&str> {
    value.strip_prefix('(')?.strip_suffix(')')
}

/// The array of `(-n2 "$B")`, with blanks between its elements, behind those that it has already; none if its elements
/// cannot be told apart.
fn array(text: &str, before: Option<&Variable>, variables: &Variables) -> Option<String> {
    let text = format!("array {}", elements(text)?.replace('\n', " "));
    let found = scan(text.as_bytes());
    let [all] = found.commands.as_slice() else {
        return None;
    };
    let mut of_array = Vec::new();
    if let Some(before) = before {
        of_array.extend(elements(&before.value).map(String::from));
    }
    let added = all.words.iter().skip(1);
    let added = added.flat_map(|word| words_of(word, variables));
    of_array.extend(added.map(|word| word.text));
    let is_one = |text: &String| !text.is_empty() && !text.contains([' ', '\t']);
    let are_words = of_array.iter().skip(before.iter().len()).all(is_one);
    let elements = format!("({})", of_array.join(" "));
    let is_whole = found.comments.is_empty() && elements.len() <= LONGEST;
    (are_words && is_whole && of_array.len() >= before.iter().len()).then_some(elements)
}

/// The words that the shell makes of a word, as far as the script gives its variables. What remains unknown may still
/// become several words, or none.
pub(crate) fn words_of(word: &Word, variables: &Variables) -> Vec<Word> {
    if !word.is_computed {
        return vec![word.clone()];
    }
    let expanded = with_variables(&word.text, variables);
    let one = |text: &str| Word {
        text: text.into(),
        may_split: word.may_split && text.contains(UNKNOWN),
        ..word.clone()
    };
    let parts: Vec<_> = expanded.text.split_whitespace().collect();
    // A blank in an expansion separates no words of the command.
    let count = |part: &str, signs: [char; 2]| part.matches(signs).count();
    let is_whole = |part: &&str| {
        count(part, ['(', '{']) == count(part, [')', '}'])
            && part.matches('`').count().is_multiple_of(2)
    };
    match word.may_split && parts.iter().all(is_whole) {
        true => parts.into_iter().map(one).collect(),
        false => vec![one(&expanded.text)],
    }
}

/// Whether a word in front of a program's name may be options: nothing but a variable or another program's output says
/// how it begins. What goes on as a path is a program.
pub(crate) fn may_be_options(word: &Word) -> bool {
    let text = word.text.as_str();
    let name = text
        .strip_prefix('$')
        .map(|rest| match rest.split_once('}') {
            Some((_, behind)) if rest.starts_with('{') => behind,
            _ => rest.trim_start_matches(is_letter),
        });
    word.is_computed && text.starts_with(UNKNOWN) && !name.is_some_and(|rest| rest.starts_with('/'))
}

/// The variables that sbatch and salloc set from the options of their job.
#[derive(Default)]
pub(crate) struct JobVariables(BTreeMap<String, String>);

/// Those that are set if an option is given, and only then.
const BY_OPTION: [&str; 3] = [
    "SLURM_CPUS_PER_TASK",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
];

impl JobVariables {
    /// Those of a job, from its options that steps of the newest release take over: sbatch of an older one sets the same
    /// variables. `is_complete` says that the job has no other options.
    pub(crate) fn of<'a>(
        passed: impl Iterator<Item = &'a LineOption>,
        job: Option<&SrunRequest>,
        is_complete: bool,
    ) -> Self {
        let unset = BY_OPTION.iter().filter(|_| is_complete);
        let unset = unset.map(|name| ((*name).into(), String::new()));
        let mut all: BTreeMap<_, _> = unset.collect();
        let pair = |one: &LineOption| Some((one.variable.clone()?, one.value.clone()?));
        all.extend(passed.filter_map(pair));
        let nodes = job.and_then(|job| job.nodes);
        let nodes = nodes.filter(|nodes| nodes.most == Some(nodes.least));
        let nodes = nodes.map(|nodes| nodes.least);
        // sbatch counts the tasks of all nodes (`--ntasks-per-node` in its manual).
        let tasks = job.and_then(|job| {
            let by_nodes = || nodes?.checked_mul(job.ntasks_per_node?);
            job.ntasks.or_else(by_nodes)
        });
        for (names, number) in [
            (["SLURM_JOB_NUM_NODES", "SLURM_NNODES"], nodes),
            (["SLURM_NTASKS", "SLURM_NPROCS"], tasks),
        ] {
            for name in names {
                match number {
                    Some(number) => _ = all.insert(name.into(), number.to_string()),
                    None => all.retain(|other, value| other != name || value.is_empty()),
                }
            }
        }
        Self(all)
    }

    /// A text with these variables; none if it is still known only when the script runs. An empty one would be no word.
    pub(crate) fn complete(&self, text: &str) -> Option<String> {
        let expanded = expand(text, |name| Some(self.0.get(name)?.as_str()));
        let is_known = !expanded.is_computed && !expanded.text.is_empty();
        is_known.then_some(expanded.text)
    }

    /// Whether a text is nothing but variables that the job has no option for, so the shell gives an empty value.
    pub(crate) fn is_unset(&self, text: &str) -> bool {
        let expanded = expand(text, |name| Some(self.0.get(name)?.as_str()));
        !text.is_empty() && expanded.text.is_empty()
    }

    /// The value of a variable of the script; none if it is known only when the script runs.
    pub(crate) fn value_of(&self, variable: &Variable) -> Option<String> {
        match variable.is_computed {
            true => self.complete(&variable.value),
            false => Some(variable.value.to_string()),
        }
    }
}

/// The name and the value of an assignment, and whether the value is appended (`NAME+=value`).
pub(crate) fn assigned(text: &str) -> Option<(&str, &str, bool)> {
    let (left, value) = text.split_once('=')?;
    let name = left.strip_suffix('+').unwrap_or(left);
    let array = name.split_once('[').map_or(name, |(array, _)| array);
    is_variable(array).then_some((array, value, name != left))
}

/// The variable that an assignment sets, with its value as far as these variables give it; none if the word is none.
pub(crate) fn set_by(word: &Word, variables: &Variables) -> Option<(String, Variable)> {
    let (name, value, appends) = assigned(&word.text)?;
    let unknown = Variable::unknown(name);
    let is_array = word.is_computed && value.starts_with('(');
    let is_element = word.text.get(name.len()..)?.starts_with('[');
    let before = variables.get(name).filter(|_| appends);
    let new = match word.is_computed {
        _ if is_element => Expanded::computed(&unknown.value),
        true if is_array => {
            let array = array(value, before, variables);
            Expanded::computed(array.as_deref().unwrap_or(&unknown.value))
        }
        true => with_variables(value, variables),
        false => Expanded {
            text: value.into(),
            is_computed: false,
        },
    };
    let new = match appends && !is_array {
        true => new.behind(before.unwrap_or(&unknown), name),
        false => new,
    };
    let variable = Variable {
        value: new.text.into(),
        is_computed: new.is_computed,
        end: Some(word.range.end),
        is_hidden: false,
    };
    Some((name.into(), variable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_doubles_stays_short() {
        let mut variables = Variables::new();
        let mut set = |value: Expanded| {
            let length = value.text.len();
            let variable = Variable {
                value: value.text.into(),
                is_computed: value.is_computed,
                ..Variable::default()
            };
            variables.insert("A".into(), variable);
            assert!(length <= LONGEST, "{length}");
            variables.clone()
        };
        let mut now = set(with_variables("0123456789", &Variables::new()));
        for _ in 0..64 {
            let doubled = with_variables("$A${A}", &now).behind(&now["A"], "A");
            now = set(doubled);
        }
        assert!(now["A"].is_computed);
    }
}
