//! The line of a job: its command, what it asks of slurmctld, the variables that its command reads,
//! and the batch script with its `#SBATCH` lines.
//! In: a line of salloc, sbatch or srun. Out: [`JobLine`], or the reason why there is none.

use std::collections::BTreeSet;

use berth_placement::sets::text::LONGEST_WORD;
use berth_srun::line::{self, LineOption, Trouble};
use berth_srun::options::{Command as Program, Lookup, long, nearest, variables};
use berth_srun::reading::selection::{self, Selection};
use berth_srun::submission::{directives, own_values, refused_script};
use berth_srun::{Line, Refused, Release};

use crate::args::is_plans_own;
use crate::lines::{NoAnswer, System};
use crate::world::{ScriptFile, World};
use crate::{Premise, Provenance};

/// A job as its line asks for it.
#[derive(Clone, Debug)]
pub struct JobLine {
    pub program: Program,
    pub selection: Selection,
    /// Its options, as they were given.
    pub options: Vec<LineOption>,
    /// Its options that are none of Slurm's.
    pub foreign: Vec<LineOption>,
    pub script: Script,
}

/// The program of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Script {
    /// Nothing that slurmd starts: the command is no sbatch.
    None,
    /// A batch script with its name.
    Read {
        /// Its name on the line.
        name: String,
        /// Its text.
        text: Vec<u8>,
    },
    /// A batch script that cannot be read, with the reason.
    Unread(String),
    /// There is no file of this name where sbatch looks for it, or none that it can read.
    Missing {
        /// Its name on the line.
        name: String,
        /// The reason.
        why: String,
    },
}

impl JobLine {
    /// An option of berth's own, which the job's steps take over.
    pub(crate) fn own(&self, name: &str) -> Option<&str> {
        let mut all = self.options.iter();
        all.rfind(|given| given.name == name)?.value.as_deref()
    }

    /// The variables that its command takes options from.
    pub(crate) fn variables(&self) -> Option<Premise> {
        let pairs = by_variables(&self.options);
        let source = format!("variables that {} reads", self.program.name());
        let found = || Premise::new("options", pairs.join(" "), Provenance::Found, source);
        (!pairs.is_empty()).then(found)
    }
}

/// `NAME=VALUE` of each option that a variable gives; the last of a name counts.
pub(crate) fn by_variables(options: &[LineOption]) -> Vec<String> {
    let pair = |given: &LineOption| {
        let value = given.value.as_deref().unwrap_or_default();
        Some(format!("{}={value}", given.variable.as_ref()?))
    };
    let mut names = BTreeSet::new();
    let last = options.iter().rev();
    let last = last.filter(|given| names.insert(&given.variable));
    let mut pairs: Vec<_> = last.filter_map(pair).collect();
    pairs.reverse();
    pairs
}

/// Reads a line. `variable` has the variables that its command finds.
///
/// # Errors
/// [`NoAnswer`]: the command refuses it, or something in it is not modelled.
pub(crate) fn read(
    text: &str,
    release: Release,
    variable: impl Fn(&str) -> Option<String>,
    world: &dyn World,
) -> Result<JobLine, NoAnswer> {
    let failed = |why: &str| NoAnswer::Failed(format!("--job {text}: {why}"));
    let words = shlex::split(text).ok_or_else(|| failed("a quote is not closed; close it"))?;
    let named = words.first().and_then(|word| Program::named(word));
    let program = named.ok_or_else(|| failed("write a line such as 'salloc -n8 -c2'"))?;
    let mut line = line::read(words.get(1..).unwrap_or_default(), program, Some(release));
    let script = match program {
        Program::Sbatch => of_sbatch(&line, world),
        Program::Srun | Program::Salloc => Script::None,
    };
    // Variables override the options of the script, and those of the line override both.
    let mut given = match &script {
        Script::Read { name, text } => directed(name, text, release)?,
        Script::None | Script::Unread(_) | Script::Missing { .. } => Vec::new(),
    };
    given.extend(
        variables(program, release)
            .filter(|_| program != Program::Srun)
            .filter_map(|(name, option)| {
                Some(LineOption::by_variable(name, option, &variable(name)?))
            }),
    );
    given.append(&mut line.options);
    let (others, own): (Vec<_>, Vec<_>) = given
        .into_iter()
        .partition(|given| is_foreign(given, program, release));
    line.options = own;
    if let Some(why) = own_values::two_values(&line.options) {
        return Err(failed(&why));
    }
    let mut all = line.options.iter();
    if let Some(why) = all.find_map(|given| trouble(given, program, release)) {
        return Err(failed(&why));
    }
    Ok(JobLine {
        selection: of_job(selection_of(&line, program, release)?, program, release)?,
        options: line.options,
        foreign: others,
        program,
        script,
    })
}

/// A line's request to slurmctld. All that concerns it is modelled.
///
/// # Errors
/// [`NoAnswer`], by the command that refuses it.
pub(crate) fn selection_of(
    line: &Line,
    program: Program,
    release: Release,
) -> Result<Selection, NoAnswer> {
    let found = selection::read(line, release);
    let found = found.map_err(|why| refused(program, &why))?;
    match found.unmodelled.as_slice() {
        [] => Ok(found),
        options => Err(NoAnswer::NotModelled(options.join(", "))),
    }
}

/// A line's request for a job: the numbers of its GPUs may imply tasks and nodes.
///
/// # Errors
/// [`NoAnswer`], by the command that refuses it.
pub(crate) fn of_job(
    selection: Selection,
    program: Program,
    release: Release,
) -> Result<Selection, NoAnswer> {
    selection
        .of_job(release)
        .map_err(|why| refused(program, &why))
}

fn refused(program: Program, why: &Refused) -> NoAnswer {
    NoAnswer::Usage(format!("{} refuses the line: {why}", program.name()))
}

/// The name of a script that stands on the line itself.
const WRAPPED: &str = "--wrap";

/// The script of an sbatch line.
fn of_sbatch(line: &Line, world: &dyn World) -> Script {
    let wrapped = line.options.iter().rfind(|given| given.name == "wrap");
    if let Some(text) = wrapped.and_then(|given| given.value.as_ref()) {
        return Script::Read {
            name: WRAPPED.into(),
            text: text.clone().into_bytes(),
        };
    }
    let Some(name) = line.program.first() else {
        return Script::Unread("sbatch reads the script from stdin".into());
    };
    let moves = || line.options.iter().any(|given| given.name == "chdir");
    match world.script(name) {
        ScriptFile::Text(text) => Script::Read {
            name: name.clone(),
            text,
        },
        // It may be in the folder to which the job changes.
        ScriptFile::Missing(why) if !moves() => Script::Missing {
            name: name.clone(),
            why,
        },
        ScriptFile::Missing(why) | ScriptFile::Unread(why) => {
            Script::Unread(format!("{name} was not read: {why}"))
        }
    }
}

/// The options of a script's `#SBATCH` lines.
fn directed(name: &str, script: &[u8], release: Release) -> Result<Vec<LineOption>, NoAnswer> {
    if let Some(why) = refused_script(script).filter(|_| name != WRAPPED) {
        return Err(NoAnswer::Refused(format!(
            "sbatch refuses the script: {why}"
        )));
    }
    let mut all = Vec::new();
    let directives = directives(script);
    let mut lines = script.split(|byte| *byte == b'\n');
    if directives.is_empty()
        && let Some(system) = lines.find_map(System::of_comment)
    {
        let why = format!("a script of {system}; {}", system.page());
        return Err(NoAnswer::NotModelled(why));
    }
    for directive in directives {
        if directive.begins_component {
            return Err(NoAnswer::NotModelled("a job of several components".into()));
        }
        if directive.is_unclosed {
            let why = format!(
                "sbatch refuses the script: a quote in line {} is not closed",
                directive.line
            );
            return Err(NoAnswer::Usage(why));
        }
        let words: Vec<_> = directive.words.iter().map(|word| &*word.text).collect();
        let line = line::read(&words, Program::Sbatch, Some(release));
        if let Some(word) = words.get(line.own_words) {
            let why = format!(
                "sbatch refuses the script: {word} in line {} is no option",
                directive.line
            );
            return Err(NoAnswer::Refused(why));
        }
        all.extend(line.options);
    }
    Ok(all)
}

/// An option as it stands in a line.
pub(crate) fn shown(name: &str) -> String {
    match name.chars().count() {
        1 => format!("-{name}"),
        _ => format!("--{name}"),
    }
}

/// The error of a command for an option that it does not have, or whose value is missing or not allowed.
pub(crate) fn trouble(given: &LineOption, program: Program, release: Release) -> Option<String> {
    let name = &given.name;
    let (command, shown) = (program.name(), shown(name));
    let why = match given.trouble.as_ref()? {
        Trouble::Unknown if is_plans_own(name) => format!(
            "unrecognized option '{shown}'; it is an option of berth plan: write it beside the \
             line, as in berth plan {shown}… '{command} …'"
        ),
        Trouble::Unknown => {
            let since = match long(program, None, name) {
                Lookup::Option(_) => format!("; Slurm {release} does not have it"),
                _ => String::new(),
            };
            let near = nearest(name, program, release);
            let near = near.map_or(String::new(), |near| format!("; the nearest is --{near}"));
            format!("unrecognized option '{shown}'{since}{near}")
        }
        Trouble::Ambiguous(names) => {
            let names: Vec<_> = names.iter().map(|name| format!("'--{name}'")).collect();
            format!(
                "option '{shown}' is ambiguous; possibilities: {}",
                names.join(" ")
            )
        }
        Trouble::NoValue => format!("option '{shown}' requires an argument"),
        Trouble::UnwantedValue => format!("option '{shown}' doesn't allow an argument"),
    };
    Some(format!("{command}: {why}"))
}

/// Whether an option can only be another plugin's: no command of Slurm's has it, nor one that is
/// spelt nearly so.
pub(crate) fn is_foreign(given: &LineOption, program: Program, release: Release) -> bool {
    let name = &given.name;
    if given.foreign.is_some() {
        return given.trouble.is_none();
    }
    // Plugins have no letters.
    let is_word = name.chars().count() > 1 && name.len() <= LONGEST_WORD;
    given.trouble == Some(Trouble::Unknown)
        && is_word
        && !is_plans_own(name)
        && !is_slurms(name)
        && nearest(name, program, release).is_none()
}

/// Whether any command of any release has it.
fn is_slurms(name: &str) -> bool {
    let all = [Program::Srun, Program::Sbatch, Program::Salloc];
    all.iter()
        .any(|program| long(*program, None, name) != Lookup::Unknown)
}

/// Whether a word makes a job's nodes its own.
pub(crate) fn is_exclusive(word: &str) -> bool {
    word == "--exclusive" || word.starts_with("--exclusive=")
}

/// A program's name without its folder.
pub(crate) fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::tests::Scripts;

    #[test]
    fn the_lines_options_go_before_the_scripts() {
        let text = "#!/bin/sh\n#SBATCH -n4 -c2 --binding=linear:1\n#SBATCH -N2\nsrun ./app\n";
        let hetjob = "#!/bin/sh\n#SBATCH -n2\n#SBATCH hetjob\n#SBATCH -n3\n";
        let world = Scripts(vec![("job.sh", text.into()), ("het.sh", hetjob.into())]);
        let read = |line: &str| read(line, Release::V22_05, |_| None, &world);
        let found = read("sbatch -n6 job.sh").unwrap();
        let options = &found.selection.options;
        assert_eq!((options.tasks, options.cpus_per_task), (Some(6), Some(2)));
        assert_eq!(options.nodes.map(|nodes| nodes.least), Some(2));
        assert_eq!(found.own("binding"), Some("linear:1"));
        let found = read("sbatch --binding=none job.sh").unwrap();
        assert_eq!(found.own("binding"), Some("none"));
        // salloc runs the file, and reads no directives.
        let found = read("salloc -n3 job.sh").unwrap();
        assert_eq!(
            (found.selection.options.cpus_per_task, &found.script),
            (None, &Script::None)
        );
        assert!(matches!(
            read("sbatch /no/such").unwrap().script,
            Script::Missing { .. }
        ));
        assert!(matches!(
            read("sbatch -D /tmp no-such").unwrap().script,
            Script::Unread(_)
        ));
        assert!(matches!(
            read("sbatch -n3").unwrap().script,
            Script::Unread(_)
        ));
        assert!(matches!(
            read("sbatch het.sh"),
            Err(NoAnswer::NotModelled(_))
        ));
        assert!(matches!(
            read("sbatch -n0 job.sh"),
            Err(NoAnswer::NotModelled(_) | NoAnswer::Usage(_))
        ));
        assert!(matches!(read("sbatch --ntask=1"), Err(NoAnswer::Failed(_))));
        assert_eq!(read("sbatch --foo=1 --image=x").unwrap().foreign.len(), 2);
    }
}
