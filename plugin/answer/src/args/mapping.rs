//! The options of Open MPI's mapping language, each as it is typed.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "clap prints these comments as help, and their brackets are no links"
)]

use std::str::FromStr;

use berth_placement::Mapping;
use berth_placement::request::mapping::{BindTo, MapBy, RankBy};
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use super::offered::offered;
use super::values;

/// `--map-by`, `--rank-by` and `--bind-to`; as long as the options of the job and of variables are not
/// known, only those that are typed, whether they go together or not.
#[derive(Clone, Debug, Default)]
pub struct MappingArgs(pub Option<Mapping>);

/// The same as clap reads them.
#[derive(Args)]
struct Each {
    /// Open MPI's mapping, such as l3cache or slot:pe=2
    ///
    /// LEVEL is hwthread, core, l1cache, l2cache, l3cache, numa, package, slot or node; or it is
    /// ppr:N:LEVEL or pe-list=LIST. Qualifiers follow behind colons: pe=N gives each task N CPUs,
    /// hwtcpus counts hardware threads as CPUs, span numbers tasks in turn over the objects, and
    /// ordered gives each task one entry of the list.
    #[arg(
        long,
        alias = "berth-map-by",
        hide_possible_values = true,
        value_name = "LEVEL",
        value_parser = offered(MapBy::from_str, values::MAP_BY),
        help_heading = "Request"
    )]
    map_by: Option<MapBy>,
    /// Which task gets which mapped place: slot, node, fill or span
    #[arg(
        hide_short_help = true,
        long,
        alias = "berth-rank-by",
        hide_possible_values = true,
        value_name = "ORDER",
        value_parser = offered(RankBy::from_str, values::RANK_BY),
        help_heading = "Request"
    )]
    rank_by: Option<RankBy>,
    /// What a mapped task is bound to: none, or a level with :limit=N, :if-supported,
    /// :overload-allowed
    #[arg(
        hide_short_help = true,
        long,
        alias = "berth-bind-to",
        hide_possible_values = true,
        value_name = "LEVEL",
        value_parser = offered(BindTo::from_str, values::BIND_TO),
        help_heading = "Request"
    )]
    bind_to: Option<BindTo>,
}

impl Args for MappingArgs {
    fn augment_args(command: Command) -> Command {
        Each::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Each::augment_args(command)
    }
}

impl FromArgMatches for MappingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let each = Each::from_arg_matches(matches)?;
        Ok(Self(Some(Mapping {
            map: each.map_by,
            rank: each.rank_by,
            bind: each.bind_to,
        })))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
