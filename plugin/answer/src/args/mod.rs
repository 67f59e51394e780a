//! The options of a request, in srun's spelling, and the machine to try them on: clap's definitions, from which help,
//! man pages and completions come.

mod argument;
mod plan;
mod srun;
mod values;

use std::sync::OnceLock;

use berth_srun::Release;
use berth_srun::options::{Command as Program, Lookup, long};
use clap::builder::TypedValueParser;
use clap::{Args, Command, ValueEnum};

pub use argument::RequestOptions;
pub(crate) use plan::site_bind;
pub use plan::{Format, OwnedCores, PlanArgs};
pub use srun::{SrunOptions, as_getopt, ignored, one_number, shortened};
pub(crate) use srun::{has_same_meaning, in_one_line, invalid, quoted, refusal, set_on_line, word};
pub use values::{of as values_of, socket};

/// A release line of Slurm; completions offer the names.
pub fn release() -> impl TypedValueParser<Value = Release> {
    let parse = |text: &str| text.parse::<Release>();
    values::named(parse, Release::ALL.map(Release::name))
}

/// How a site hands out nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SiteNodes {
    /// Each job has its nodes alone, as where a partition has OverSubscribe=EXCLUSIVE
    Exclusive,
    /// Jobs share nodes
    Shared,
}

impl SiteNodes {
    /// The variable that stands for `--site`.
    pub const VARIABLE: &str = "BERTH_SITE";

    /// The value of `--site`, else that of the variable.
    ///
    /// # Errors
    /// A value of the variable that is none.
    pub fn of(typed: Option<Self>, variable: Option<&str>) -> Result<Option<Self>, String> {
        let Some(text) = variable.filter(|text| typed.is_none() && !text.is_empty()) else {
            return Ok(typed);
        };
        let read = <Self as ValueEnum>::from_str(text, false);
        let wrong = |_| {
            let name = Self::VARIABLE;
            format!("{name}={text}: the value must be exclusive or shared")
        };
        read.map(Some).map_err(wrong)
    }
}

/// The note if `--site` stands beside the configuration of a cluster.
#[must_use]
pub fn unused_site(typed: Option<SiteNodes>, cluster: Option<&str>) -> Option<&'static str> {
    (typed.is_some() && cluster.is_some()).then_some(
        "--site is not used: the slurm.conf of --cluster says which partitions give whole nodes",
    )
}

/// Whether an option is one of them, by its long name.
pub(crate) fn is_plans_own(name: &str) -> bool {
    static OWN: OnceLock<Vec<String>> = OnceLock::new();
    let own = OWN.get_or_init(|| {
        let command = PlanArgs::augment_args(Command::new("plan"));
        let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let names = shown.filter_map(clap::Arg::get_long_and_visible_aliases);
        let aliases = command
            .get_arguments()
            .filter_map(clap::Arg::get_all_aliases);
        let names = names.chain(aliases).flatten().map(String::from);
        let is_slurms = |name: &String| long(Program::Srun, None, name) != Lookup::Unknown;
        names.filter(|name| !is_slurms(name)).collect()
    });
    own.iter().any(|known| known == name)
}
