//! Reads questions. In: the words of `berth plan`, a whole line or a line of a file, and a [`World`]. Out: a
//! [`Question`].

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

use berth_srun::line::read;
use berth_srun::submission::own_values;
use berth_srun::{LineOption, Own, Program, Release};
use clap::{Args, Command, FromArgMatches};

use crate::args::{
    PlanArgs, SiteNodes, SrunOptions, as_getopt, has_same_meaning, in_one_line, invalid,
    one_number, refusal, word,
};
use crate::lines::srun::{WholeLine, whole_line};
use crate::lines::{NoAnswer, base, job};
use crate::plan::controller::passed_on;
use crate::plan::owns::uses_controller;
use crate::{Question, World};

impl Question {
    /// The question of some options, as if somebody had typed them where the world says.
    ///
    /// # Errors
    /// Why srun refuses them; options of the job and of the step that do not go together; a range of nodes
    /// where slurmctld is not asked how many it gives.
    pub fn of(typed: PlanArgs, world: &dyn World) -> Result<Self, String> {
        let mut question = Self::new(typed, world)?;
        question.read_job(world);
        let passed = passed_on(&question);
        if !passed.is_empty() {
            let srun = question.srun.inside(passed);
            question.srun = srun.map_err(|why| why.to_string())?;
        }
        question.find_defaults(world)?;
        match uses_controller(&question) {
            true => Ok(question),
            false => one_number(&question.srun).map(|()| question),
        }
    }

    /// The question of some options, without the line of a job, and without what holds where the options say nothing.
    ///
    /// # Errors
    /// Why srun refuses the options.
    pub fn new(typed: PlanArgs, world: &dyn World) -> Result<Self, String> {
        let context = world.context(&typed.machine, typed.cluster.as_deref());
        let there = || context.release();
        let release = typed.slurm.or_else(there).unwrap_or(Release::NEWEST);
        let srun = SrunOptions::of(
            &typed.request.slurms,
            &typed.line_variables,
            &context,
            release,
        )
        .map_err(|why| refusal(&why))?;
        let variable = context.variable(SiteNodes::VARIABLE);
        let site = SiteNodes::of(typed.site, variable.as_deref())?;
        Ok(Self {
            typed,
            beside: Arc::new([]),
            srun,
            context,
            site,
            assumed_nodes: 0,
            defaults: Vec::new(),
            job_read: None,
            hidden: BTreeSet::new(),
            hosts: None,
            gpus_of_job: None,
            bind_of_job: None,
            site_settings: None,
            cpusets_of_cluster: None,
        })
    }

    /// Finds the site's settings and berth's own options that hold, once the job is known.
    ///
    /// # Errors
    /// Those of the options.
    pub(crate) fn find_defaults(&mut self, world: &dyn World) -> Result<(), String> {
        let list = self.srun.nodelist.clone();
        let file = list.filter(|list| list.contains('/'));
        self.hosts = file.map(|path| world.hosts(&path));
        self.find_settings(world);
        self.find_own()?;
        let job = self.context.job.as_ref();
        let job = job.filter(|_| self.effective_near().is_some());
        self.gpus_of_job = job.map(|job| world.gpus(job));
        Ok(())
    }

    /// Reads the line of the job around the request, with the variables that its command would find.
    pub(crate) fn read_job(&mut self, world: &dyn World) {
        let text = self.job.as_deref();
        let variable = |name: &str| self.variable(name);
        let read = |text| job::read(text, self.srun.release, variable, world).map(Arc::new);
        self.job_read = text.map(read);
    }
}

/// Why words are no question.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// There is no such option, or its value is wrong.
    #[error(transparent)]
    Options(#[from] clap::Error),
    /// The line is wrong, or starts something that is not planned.
    #[error(transparent)]
    Line(#[from] NoAnswer),
}

impl From<Unread> for NoAnswer {
    fn from(why: Unread) -> Self {
        match why {
            Unread::Line(why) => why,
            Unread::Options(why) => Self::Usage(in_one_line(why)),
        }
    }
}

impl From<String> for Unread {
    fn from(why: String) -> Self {
        Self::Line(NoAnswer::Usage(why))
    }
}

/// Reads questions that have options in common.
pub struct Reader<'a> {
    command: Command,
    /// The options in common, as they were typed.
    beside: Arc<[String]>,
    /// The options in common, read.
    common: PlanArgs,
    release: Release,
    world: &'a dyn World,
}

impl<'a> Reader<'a> {
    /// A reader of requests beside these words.
    ///
    /// # Errors
    /// An option among them that is wrong.
    pub fn new(beside: Vec<String>, world: &'a dyn World) -> Result<Self, Unread> {
        let mut command = command();
        if let Some(why) = own_values::two_values(&read(&beside, Program::Srun, None).options) {
            return Err(why.into());
        }
        let common = parsed(&mut command, getopt(&beside))?;
        let context = || world.context(&common.machine, common.cluster.as_deref());
        let release = common.slurm.or_else(|| context().release());
        Ok(Self {
            command,
            beside: beside.into(),
            release: release.unwrap_or(Release::NEWEST),
            common,
            world,
        })
    }

    /// The question of the words alone.
    ///
    /// # Errors
    /// [`Unread`]
    pub fn alone(&self) -> Result<Question, Unread> {
        self.question(self.common.clone())
    }

    /// The question of a whole line; the words beside it override its options.
    ///
    /// # Errors
    /// [`Unread`]
    pub fn line(&mut self, line: &str) -> Result<Question, Unread> {
        let line = whole_line(line, self.release)?;
        if line.job.is_some() && self.common.job.is_some() {
            let why = "the line is that of a job; leave out --job";
            return Err(why.to_string().into());
        }
        let mut typed = self.common.clone();
        typed.take_line(line, false)?;
        self.question(typed)
    }

    /// The question of a line of a file: a whole line, or options; they override the words in common.
    ///
    /// # Errors
    /// [`Unread`]
    pub fn line_of_file(&mut self, text: &str) -> Result<Question, Unread> {
        let unclosed = || "a quote is not closed on this line; close it".to_string();
        let words = shlex::split(text).ok_or_else(unclosed)?;
        let mut typed = self.common.clone();
        if words.first().is_some_and(|word| !word.starts_with('-')) {
            typed.take_line(whole_line(text, self.release)?, true)?;
            return self.question(typed);
        }
        let line = read(&words, Program::Srun, None);
        if let Some(why) = own_values::two_values(&line.options) {
            return Err(why.into());
        }
        let mut given = line.options.iter();
        let is_sruns = given.all(|one| is_whole(one, &words[one.words.start]));
        if is_sruns && line.own_words == words.len() {
            line.options.iter().try_for_each(|one| typed.take(one))?;
            return self.question(typed);
        }
        // It has options of berth plan too, or a fault that clap names.
        let words = getopt(&self.beside).into_iter().chain(getopt(&words));
        let typed = parsed(&mut self.command, words.collect())?;
        self.question(typed)
    }

    fn question(&self, typed: PlanArgs) -> Result<Question, Unread> {
        let mut question = Question::of(typed, self.world)?;
        question.beside = self.beside.clone();
        Ok(question)
    }
}

impl PlanArgs {
    /// Takes an option that has no fault of its own. It overrides what was given before.
    ///
    /// # Errors
    /// A value that berth's own option does not have.
    fn take(&mut self, given: &LineOption) -> Result<(), String> {
        let value = given.value.as_deref();
        if let Some(own) = Own::named(&given.name) {
            let text = value.unwrap_or_default();
            let read = self.set(own, text);
            return read.map_err(|why| invalid(own.name, own.row().value_name, text, &why));
        }
        match given.foreign.is_some() || given.trouble.is_some() {
            true => self.request.foreign.push(given.clone()),
            false => self.request.add(&given.name, value),
        }
        Ok(())
    }

    /// Takes a whole line. Its options override those that are here, or these override them.
    ///
    /// # Errors
    /// A value that berth's own option does not have.
    fn take_line(&mut self, mut line: WholeLine, overrides: bool) -> Result<(), String> {
        if let Some(job) = &mut line.job {
            // An --exclusive beside the line is its job's.
            let is_exclusive = |one: &mut LineOption| one.name == "exclusive";
            for one in self.request.slurms.extract_if(.., is_exclusive) {
                let word = word(&one);
                let program = job.find(' ').unwrap_or(job.len());
                job.insert_str(program, &format!(" {word}"));
            }
        }
        let mut options = std::mem::take(&mut self.request.slurms);
        let own = self.request.own.clone();
        for given in &line.options {
            self.take(given)?;
        }
        match overrides {
            true => std::mem::swap(&mut self.request.slurms, &mut options),
            false => Own::ALL.iter().try_for_each(|one| match own.text(*one) {
                Some(text) => self.set(*one, &text),
                None => Ok(()),
            })?,
        }
        self.request.slurms.append(&mut options);
        self.line_variables.extend(line.variables);
        self.for_mpirun = line.for_mpirun.or(self.for_mpirun.take());
        self.only_job |= line.only_job;
        self.job = line.job.or(self.job.take());
        Ok(())
    }
}

/// Whether clap would take a word of a line as getopt does: the name is whole, and no option of another program.
fn is_whole(given: &LineOption, word: &str) -> bool {
    let typed = word.trim_start_matches('-');
    let typed = typed.split_once('=').map_or(typed, |(name, _)| name);
    let is_long = word.starts_with("--");
    given.trouble.is_none()
        && has_same_meaning(&given.name)
        && (!is_long || typed == given.alias.unwrap_or(&given.name))
}

/// The definitions of a request's options. They are built once for a reader, because there are many options and may
/// be many lines.
#[must_use]
pub fn command() -> Command {
    let mut command = PlanArgs::augment_args(Command::new("berth plan").no_binary_name(true));
    command.build();
    command
}

/// The options of some words.
///
/// # Errors
/// An option among them that is wrong.
pub(crate) fn parsed(command: &mut Command, words: Vec<String>) -> Result<PlanArgs, clap::Error> {
    let matches = command.try_get_matches_from_mut(words)?;
    PlanArgs::from_arg_matches(&matches)
}

fn getopt(words: &[String]) -> Vec<String> {
    words.iter().flat_map(|word| as_getopt(word)).collect()
}

/// Takes a line that was typed without quotes, `berth plan srun -n4 ./app`, out of the words.
pub fn line_in(words: &mut Vec<OsString>) -> Option<OsString> {
    let is_program = |word: &OsString| {
        let name = word.to_str().map(base).unwrap_or_default();
        ["srun", "sbatch", "salloc", "mpirun", "mpiexec"].contains(&name)
    };
    let command = command();
    // Of `--job salloc` it is the value.
    let is_value = |at: usize| at > 0 && awaits_value(&command, &words[at - 1]);
    let mut all = words.iter().enumerate();
    let (at, _) = all.find(|(at, word)| is_program(word) && !is_value(*at))?;
    let line = words.split_off(at);
    let line: Vec<_> = line.iter().map(|word| word.to_string_lossy()).collect();
    let line = shlex::try_join(line.iter().map(AsRef::as_ref)).ok();
    line.map(OsString::from)
}

/// Whether a word is a long option whose value is the next word.
fn awaits_value(command: &clap::Command, word: &OsString) -> bool {
    let name = word.to_str().and_then(|word| word.strip_prefix("--"));
    let mut options = command.get_arguments();
    name.is_some()
        && options.any(|option| {
            let needs_one = option
                .get_num_args()
                .is_none_or(|most| most.min_values() > 0);
            option.get_long() == name && option.get_action().takes_values() && needs_one
        })
}
