//! One question: a request with everything around it that decides. It is read once ([`crate::reader`]), and every later
//! step takes it by reference.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use berth_site::Announcement;
use berth_site::settings::Settings;
use berth_srun::Own;
use berth_srun::conf::DefaultBind;
use derive_more::Display;

use crate::args::{PlanArgs, SiteNodes, SrunOptions};
use crate::lines::job::JobLine;
use crate::lines::{NoAnswer, Script};
use crate::world::{Context, GpusOfJob};

/// A question.
#[derive(Clone, Debug)]
pub struct Question {
    /// The options, as they were typed; berth's own ones also as the job's line or a variable has them.
    pub typed: PlanArgs,
    /// The words that were typed beside a line.
    pub beside: Arc<[String]>,
    /// srun's reading of its options.
    pub srun: SrunOptions,
    /// The surroundings: the host, the job and the cluster.
    pub context: Context,
    /// How the site hands out nodes, as the option or the variable says.
    pub site: Option<SiteNodes>,
    /// The least number of nodes that are assumed where no cluster is known.
    pub assumed_nodes: u32,
    /// Options of berth's own that the request does not have itself.
    pub(crate) defaults: Vec<ByDefault>,
    /// The job around the request, if `--job` gives its line.
    pub(crate) job_read: Option<Result<Arc<JobLine>, NoAnswer>>,
    /// Options of that job whose variables the request does not find.
    pub(crate) hidden: BTreeSet<String>,
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
    /// The job around the request, if `--job` gives its line.
    pub(crate) fn job_line(&self) -> Option<Result<Arc<JobLine>, NoAnswer>> {
        self.job_read.clone()
    }

    /// That job, if its line could be read.
    pub(crate) fn job(&self) -> Option<&JobLine> {
        Some(self.job_read.as_ref()?.as_ref().ok()?)
    }

    /// The batch script that the line of the job submits, as it was read.
    #[must_use]
    pub fn script(&self) -> Option<&Script> {
        Some(&self.job()?.script)
    }
}

/// The source of an option of berth's own that the request does not have.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq)]
pub enum DefaultSource {
    /// A variable, by its name.
    Variable(&'static str),
    /// The line of the job around it.
    #[display("--job")]
    Job,
}

/// An option of berth's own that the request does not have itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByDefault {
    /// Its source.
    pub by: DefaultSource,
    /// The option.
    pub own: Own,
    /// Its value.
    pub text: String,
}

/// The settings of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteSettings {
    /// Those in force.
    pub settings: Settings,
    /// The file in which they stand.
    pub path: PathBuf,
    /// The words that cannot be read, as slurmd complains of them.
    pub complaints: Vec<String>,
    /// The node, where the line has settings for some nodes alone.
    pub(crate) node: Option<String>,
}
