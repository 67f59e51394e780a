//! The surroundings of a check: the place that it is for, and what is looked up there once.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use berth_placement::Node;
use berth_srun::{Config, LineOption, Release};

use crate::args::{as_getopt, shortened};
use crate::lines::job::is_exclusive;
use crate::world::{ScriptFile, World};
use crate::{Failure, Question, Unreadable, plan, reader};

/// Assumed nodes with room for nearly everything.
const ROOMY: (&str, u32) = ("2x64-smt2", 16);

/// The most job files that are read.
const MOST_SCRIPTS: usize = 16;

/// The place that a check is for: a kind of node, and perhaps a cluster.
pub(crate) struct Place {
    pub(super) args: Question,
    pub(super) node: Node,
}

impl Place {
    /// A machine, or a cluster of such machines.
    ///
    /// # Errors
    /// A machine that cannot be found, and a configuration that is none.
    pub(super) fn named(
        machine: &str,
        cluster: Option<&str>,
        beside: &[String],
        world: &dyn World,
    ) -> Result<Self, Failure> {
        let mut words = vec!["--machine".to_string(), machine.to_string()];
        words.extend(steps_words(beside));
        let typed = reader::parsed(&mut reader::command(), words);
        let mut typed = typed.map_err(|why| shortened(why).to_string())?;
        typed.cluster = cluster.map(String::from);
        let args = Question::new(typed, world)?;
        if let Some(Err(why)) = &args.context.cluster {
            return Err(Unreadable(format!("--cluster: {why}")).into());
        }
        let node = plan::node(&args, world)?;
        Ok(Self { args, node })
    }

    /// The one that a plan is for: the words beside its line hold for every step, and `--exclusive` for
    /// the job.
    pub(super) fn of(question: &Question, node: &Node, world: &dyn World) -> Option<Self> {
        let words = steps_words(&question.beside);
        let mut typed = reader::parsed(&mut reader::command(), words).ok()?;
        typed.line_variables.clone_from(&question.line_variables);
        let args = Question::new(typed, world).ok()?;
        let node = node.clone();
        Some(Self { args, node })
    }
}

/// The words that hold for every step, as getopt reads them.
fn steps_words(beside: &[String]) -> Vec<String> {
    let beside = beside.iter().filter(|word| !is_exclusive(word));
    beside.flat_map(|word| as_getopt(word)).collect()
}

/// The surroundings of a check.
pub(crate) struct Surroundings<'a> {
    pub world: &'a dyn World,
    /// The text that is checked; a script may submit itself.
    pub text: &'a [u8],
    /// Whether it is a file, as sbatch would read it.
    pub is_file: bool,
    /// The machine or the cluster that it will run on, if that is known.
    pub place: Option<Place>,
    pub release: Release,
    /// Whether the job has its nodes alone, as an option of its own line.
    pub exclusive: bool,
    /// Whether jobs get whole nodes there, as somebody says.
    pub whole: bool,
    /// The variables that the text finds set, as NAME=VALUE.
    pub variables: &'a [String],
    /// The options that the job of a plan passes on to the steps of its script.
    pub passed: Vec<LineOption>,
    scripts: RefCell<HashMap<String, ScriptFile>>,
    roomy: OnceCell<Option<Place>>,
    /// Whether a step, by its options, is refused on roomy nodes: each repair asks for all steps again.
    pub refused: RefCell<HashMap<String, bool>>,
}

impl<'a> Surroundings<'a> {
    /// Those of a text.
    pub(super) fn of(
        text: &'a [u8],
        place: Option<Place>,
        release: Release,
        world: &'a dyn World,
    ) -> Self {
        Self {
            world,
            text,
            is_file: false,
            place,
            release,
            exclusive: false,
            whole: false,
            variables: &[],
            passed: Vec::new(),
            scripts: RefCell::default(),
            roomy: OnceCell::new(),
            refused: RefCell::default(),
        }
    }

    /// The configuration of the cluster that it is for, if one is named.
    pub(super) fn config(&self) -> Option<&Config> {
        self.place.as_ref()?.args.config()
    }

    /// These surroundings with a script that was read before, by the name that a line has.
    pub(super) fn with_script(self, name: &str, text: &[u8]) -> Self {
        let known = (name.into(), ScriptFile::Text(text.into()));
        self.scripts.borrow_mut().extend([known]);
        self
    }

    /// The text of the script that a line of sbatch names; none for the script that is checked.
    ///
    /// # Errors
    /// Why it is not read.
    pub(super) fn script(&self, name: &str) -> Option<Result<Vec<u8>, String>> {
        let mut known = self.scripts.borrow_mut();
        if !known.contains_key(name) && known.len() == MOST_SCRIPTS {
            let why = format!("a check reads {MOST_SCRIPTS} job files at most");
            return Some(Err(why));
        }
        let known = known.entry(name.into());
        match known.or_insert_with(|| self.world.script(name)) {
            ScriptFile::Text(text) if text == self.text => None,
            ScriptFile::Text(text) => Some(Ok(text.clone())),
            ScriptFile::Missing(why) | ScriptFile::Unread(why) => Some(Err(why.clone())),
        }
    }

    /// Assumed nodes with room for nearly everything.
    pub(super) fn roomy(&self) -> Option<&Place> {
        let made = self.roomy.get_or_init(|| {
            let mut place = Place::named(ROOMY.0, None, &[], self.world).ok()?;
            place.args.assumed_nodes = ROOMY.1;
            Some(place)
        });
        made.as_ref()
    }
}
