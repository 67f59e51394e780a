//! The place that a check is for: a kind of node, perhaps a cluster, and what somebody says of it.

use std::sync::OnceLock;

use berth_answer::args::{as_getopt, shortened};
use berth_answer::plan;
use berth_answer::question::Question;
use berth_answer::reader;
use berth_answer::world::LIVE;
use berth_placement::Node;
use berth_srun::Release;
use berth_srun::submission::Words;

use super::files::Files;
use crate::here::{ELSEWHERE, HOST};
use crate::{Failure, Unreadable};

/// Assumed nodes with room for nearly everything.
const ROOMY: (&str, u32) = ("pack:2 core:64 pu:2", 16);

/// The place that a check is for: a kind of node, and perhaps a cluster.
pub(crate) struct Place {
    pub(super) args: Question,
    pub(super) node: Node,
}

impl Place {
    /// The one that the command line names.
    ///
    /// # Errors
    /// What hwloc could not read, and a configuration that is none.
    pub(super) fn named(machine: Option<&str>, cluster: Option<&str>) -> Result<Self, Failure> {
        let machine = machine.unwrap_or(LIVE);
        let words = ["--machine".to_string(), machine.to_string()].into();
        let typed = reader::parsed(&mut reader::command(), words);
        let mut typed = typed.map_err(|why| shortened(why).to_string())?;
        typed.cluster = cluster.map(String::from);
        let args = Question::new(typed, &ELSEWHERE)?;
        if let Some(Err(why)) = &args.standing.cluster {
            return Err(Unreadable(format!("--cluster: {why}")).into());
        }
        let node = plan::node(&args, &ELSEWHERE)?;
        Ok(Self { args, node })
    }

    /// The one that a plan is for: the words beside its line hold for every step, and `--exclusive` for
    /// the job.
    pub(super) fn of(question: &Question, node: &Node) -> Option<Self> {
        let is_jobs = |word: &&String| *word == "--exclusive" || word.starts_with("--exclusive=");
        let beside = question.beside.iter().filter(|word| !is_jobs(word));
        let words = beside.flat_map(|word| as_getopt(word)).collect();
        let mut typed = reader::parsed(&mut reader::command(), words).ok()?;
        typed.line_variables.clone_from(&question.line_variables);
        let args = Question::new(typed, &HOST).ok()?;
        let node = node.clone();
        Some(Self { args, node })
    }

    /// The release of the cluster, or of this node's slurmd.
    pub(super) fn release(&self) -> Option<Release> {
        self.args.standing.release()
    }

    /// Whether a partition of the cluster gives whole nodes; the default one if none is named.
    pub(super) fn gives_whole_nodes(&self, partition: Option<&str>, release: Release) -> bool {
        let config = self.args.config();
        config.is_some_and(|config| plan::gives_whole_nodes(config, partition, release))
    }

    /// Whether the cluster hands out memory; yes where none is named.
    pub(super) fn counts_memory(&self, partition: Option<&str>) -> bool {
        let config = self.args.config();
        config.is_none_or(|config| config.counts_memory(partition))
    }

    /// Whether the cluster may give a new job more cores than it requests; no where none is named.
    pub(super) fn may_give_more(
        &self,
        words: &Words,
        variable: impl Fn(&str) -> Option<String>,
    ) -> bool {
        let config = self.args.config();
        config.is_some_and(|config| words.may_get_more(config, variable))
    }

    pub(super) fn roomy() -> Option<&'static Self> {
        static ROOM: OnceLock<Option<Place>> = OnceLock::new();
        let made = ROOM.get_or_init(|| {
            let mut place = Self::named(Some(ROOMY.0), None).ok()?;
            place.args.assumed_nodes = ROOMY.1;
            Some(place)
        });
        made.as_ref()
    }
}

/// The surroundings of a check.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// The machine or the cluster that it will run on, if that is known.
    pub place: Option<&'a Place>,
    pub release: Release,
    /// Whether the job has its nodes alone, as an option of its own line.
    pub exclusive: bool,
    /// Whether jobs get whole nodes there, as somebody says.
    pub whole: bool,
    /// Files that lines of sbatch may name.
    pub files: &'a Files,
}
