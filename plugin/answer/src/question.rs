//! One question: a request with everything around it that decides, read once. In: the words of `berth plan`, a
//! whole line, and a [`World`]. Out: a [`Question`], which every later step takes by reference.

use std::ops::Deref;
use std::sync::Arc;

use berth_site::Announcement;
use berth_srun::Release;
use berth_srun::conf::DefaultBind;
use clap::{Args, Command, FromArgMatches};

use crate::args::{PlanArgs, SiteNodes, SrunOptions, as_getopt, one_number, refusal};
use crate::plan::controller::{NoAnswer, is_asked, passed_on};
use crate::plan::job_line::JobLine;
use crate::plan::line::{NoLine, move_exclusive, one_name, spelled_out};
use crate::plan::{ByDefault, SiteSettings};
use crate::world::{GpusOfJob, Standing, World};

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    /// The options, as they were typed; berth's own ones also as the job's line or a variable has them.
    pub typed: PlanArgs,
    /// The words that were typed beside a line.
    pub beside: Arc<[String]>,
    /// srun's reading of its options.
    pub srun: SrunOptions,
    /// Where the user stands.
    pub standing: Standing,
    /// How the site hands out nodes, as the option or the variable says.
    pub site: Option<SiteNodes>,
    /// The least number of nodes that are assumed where no cluster is known.
    pub assumed_nodes: u32,
    /// Options of berth's own that the request does not have itself.
    pub(crate) defaults: Vec<ByDefault>,
    /// The job around the request, if `--job` gives its line.
    pub(crate) job_read: Option<Result<Arc<JobLine>, NoAnswer>>,
    /// The text of the file that names the nodes.
    pub(crate) hosts: Option<Result<String, String>>,
    /// The GPUs of the user's own job, where they matter.
    pub(crate) gpus_of_job: Option<Result<GpusOfJob, String>>,
    /// `CpuBind` of the job's nodes or partition, or of all.
    pub(crate) bind_of_job: Option<DefaultBind>,
    /// berth's settings on the cluster that is asked about.
    pub(crate) site_settings: Option<Arc<SiteSettings>>,
    /// The cpusets of that cluster's site, in the form of an announcement, and their file.
    pub(crate) cpusets_of_cluster: Option<Arc<(Announcement, String)>>,
}

impl Deref for Question {
    type Target = PlanArgs;

    fn deref(&self) -> &PlanArgs {
        &self.typed
    }
}

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
        match is_asked(&question) {
            true => Ok(question),
            false => one_number(&question.srun).map(|()| question),
        }
    }

    /// The same without the line of a job, and without what holds where the options say nothing.
    ///
    /// # Errors
    /// Why srun refuses the options.
    pub fn new(typed: PlanArgs, world: &dyn World) -> Result<Self, String> {
        let standing = world.standing(&typed.machine, typed.cluster.as_deref());
        let there = || standing.release();
        let release = typed.slurm.or_else(there).unwrap_or(Release::NEWEST);
        let srun = SrunOptions::of(&typed, &standing, release).map_err(|why| refusal(&why))?;
        let variable = standing.variable(SiteNodes::VARIABLE);
        let site = SiteNodes::of(typed.site, variable.as_deref())?;
        Ok(Self {
            typed,
            beside: Arc::new([]),
            srun,
            standing,
            site,
            assumed_nodes: 0,
            defaults: Vec::new(),
            job_read: None,
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
    pub fn find_defaults(&mut self, world: &dyn World) -> Result<(), String> {
        let list = self.srun.nodelist.clone();
        let file = list.filter(|list| list.contains('/'));
        self.hosts = file.map(|path| world.hosts(&path));
        self.find_settings(world);
        self.find_own()?;
        let job = self.standing.job.as_ref();
        let job = job.filter(|_| self.asked_near().is_some());
        self.gpus_of_job = job.map(|job| world.gpus(job));
        Ok(())
    }
}

/// Why words are no question.
#[derive(Debug)]
pub enum Unread {
    /// There is no such option, or its value is wrong.
    Options(clap::Error),
    /// The line is wrong, or starts something that is not planned.
    Line(NoLine),
}

impl From<NoLine> for Unread {
    fn from(why: NoLine) -> Self {
        Self::Line(why)
    }
}

impl From<clap::Error> for Unread {
    fn from(why: clap::Error) -> Self {
        Self::Options(why)
    }
}

impl From<String> for Unread {
    fn from(why: String) -> Self {
        Self::Line(NoLine::Usage(why))
    }
}

/// Reads questions that have options in common.
pub struct Reader<'a> {
    command: Command,
    /// The options in common, as they were typed.
    beside: Arc<[String]>,
    /// The same, read.
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
        one_name(&beside)?;
        let common = parsed(&mut command, getopt(&beside))?;
        let standing = || world.standing(&common.machine, common.cluster.as_deref());
        let release = common.slurm.or_else(|| standing().release());
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
        self.asked(self.common.clone())
    }

    /// The question of a whole line; the words beside it override its options.
    ///
    /// # Errors
    /// [`Unread`]
    pub fn line(&mut self, line: &str) -> Result<Question, Unread> {
        let mut words = spelled_out(line, self.release)?;
        if words.iter().any(|word| word.starts_with("--job=")) && self.common.job.is_some() {
            let why = "the line is that of a job; leave out --job";
            return Err(why.to_string().into());
        }
        let mut beside = self.beside.to_vec();
        move_exclusive(&mut words, &mut beside);
        words.extend(getopt(&beside));
        let typed = parsed(&mut self.command, words)?;
        self.asked(typed)
    }

    /// The question of a line of a file: a whole line, or options; they override the words in common.
    ///
    /// # Errors
    /// [`Unread`]
    pub fn line_of_file(&mut self, text: &str) -> Result<Question, Unread> {
        let unclosed = || "a quote is not closed on this line; close it".to_string();
        let words = shlex::split(text).ok_or_else(unclosed)?;
        let mut beside = self.beside.to_vec();
        let words = match words.first().is_some_and(|word| !word.starts_with('-')) {
            true => {
                let mut words = spelled_out(text, self.release)?;
                move_exclusive(&mut words, &mut beside);
                words
            }
            false => {
                one_name(&words)?;
                getopt(&words)
            }
        };
        let words = getopt(&beside).into_iter().chain(words).collect();
        let typed = parsed(&mut self.command, words)?;
        self.asked(typed)
    }

    fn asked(&self, typed: PlanArgs) -> Result<Question, Unread> {
        let mut question = Question::of(typed, self.world)?;
        question.beside = self.beside.clone();
        Ok(question)
    }
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
pub fn parsed(command: &mut Command, words: Vec<String>) -> Result<PlanArgs, clap::Error> {
    let matches = command.try_get_matches_from_mut(words)?;
    PlanArgs::from_arg_matches(&matches)
}

fn getopt(words: &[String]) -> Vec<String> {
    words.iter().flat_map(|word| as_getopt(word)).collect()
}
