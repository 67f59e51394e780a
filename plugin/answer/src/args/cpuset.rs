//! `--cpuset`, and the site's rules for it.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "clap prints these comments as help, and their brackets are no links"
)]

use std::str::FromStr;

use berth_placement::{CpusetFail, CpusetRequest};
use clap::{Args, ValueEnum};

use super::offered::offered;
use super::values;

/// A request for a cpuset, and the rules that choose it.
#[derive(Clone, Debug, Default, Args)]
pub struct CpusetArgs {
    /// The job's cpuset, as for LSF: CPUSET[KEYWORD=VALUE;…], or the part between the brackets
    ///
    /// The keywords are CPUSET_TYPE, CPUSET_NAME, NCPUS, CPU_LIST, MAX_RADIUS, MAX_CPU_PER_NODE, NODE_EX, MEM_LIST,
    /// RESUME_OPTION and CPUSET_OPTIONS. The step's other options place its tasks inside the cpuset
    #[arg(
        id = "cpuset",
        hide_short_help = true,
        long = "cpuset",
        alias = "berth-cpuset",
        hide_possible_values = true,
        value_name = "REQUEST",
        value_parser = offered(CpusetRequest::from_str, values::CPUSET),
        help_heading = "Request"
    )]
    pub asked: Option<CpusetRequest>,
    /// Whether a cpuset gets the best CPUs, or the first free ones [default: as here, else on]
    #[arg(
        id = "cpuset_best",
        hide_short_help = true,
        long = "cpuset-best",
        value_name = "on|off",
        hide_possible_values = true,
        help_heading = "Rules"
    )]
    pub best: Option<OnOff>,
    /// What a cpuset that cannot be had leads to: refuse or unbound [default: as here, else refuse]
    #[arg(
        id = "cpuset_fail",
        hide_short_help = true,
        long = "cpuset-fail",
        value_name = "WHAT",
        value_parser = CpusetFail::from_str,
        help_heading = "Rules"
    )]
    pub fail: Option<CpusetFail>,
}

/// A switch of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    /// It is on
    On,
    /// It is off
    Off,
}
