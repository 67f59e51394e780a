//! The number of tasks of a line: it is given, or follows from nodes, a node's numbers, or a list of
//! nodes (`_opt_verify`).

use std::collections::BTreeSet;

use crate::host_list::{self, Most};
use crate::reading::state::State;
use crate::reading::{NodeRange, Refused};
use crate::release::Release;

/// The number of tasks.
pub(super) struct Tasks {
    /// The number, if it is requested or follows from other options.
    pub ntasks: Option<u32>,
    /// The number otherwise.
    pub otherwise: u32,
    /// `--ntasks-per-node`, if it still holds.
    pub per_node: Option<u32>,
}

/// Counts them.
pub(super) fn of(state: &State) -> Result<Tasks, Refused> {
    let arbitrary = state
        .distribution
        .is_some_and(|asked| asked.hosts == berth_placement::AcrossHosts::Arbitrary);
    if arbitrary && state.nodelist.is_none() && !state.nodefile {
        return Err(Refused::together(NO_LIST));
    }
    if arbitrary && state.on_line("nodes") && state.release >= Release::V23_11 {
        return Err(Refused::together(
            "srun takes no --nodes beside -m arbitrary: the list names the nodes; leave -N out",
        ));
    }
    let names = names(state)?;
    let mut count = Count::new(state);
    if let Some(names) = names.as_ref().filter(|_| arbitrary) {
        count.ntasks.get_or_insert(names.len() as i64);
    }
    count.take_names(names.as_deref(), state.release);
    count.imply(state);
    let tasks = count
        .ntasks
        .or(count.per_node.map(|each| count.nodes.0 * i64::from(each)));
    let in_bits = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(Tasks {
        ntasks: tasks.map(in_bits),
        otherwise: in_bits(count.otherwise),
        per_node: count.per_node,
    })
}

const NO_LIST: &str = "-m arbitrary takes each task's node from a list; give it with -w, or in a \
                       file named by SLURM_HOSTFILE";

/// The names of `-w`; the names in a file are not known here.
fn names(state: &State) -> Result<Option<Vec<String>>, Refused> {
    let Some(list) = state.nodelist.as_deref().filter(|list| !list.contains('/')) else {
        return Ok(None);
    };
    let names = host_list::expand(list, Most::COMMAND_LINE);
    names
        .map(Some)
        .map_err(|why| Refused::text("nodelist", list, &why))
}

/// The counts while they are derived.
struct Count {
    ntasks: Option<i64>,
    otherwise: i64,
    /// The least and the most nodes; 0 is no limit.
    nodes: (i64, i64),
    nodes_set: bool,
    per_node: Option<u32>,
}

impl Count {
    fn new(state: &State) -> Self {
        let range = state.nodes.unwrap_or(NodeRange {
            least: 1,
            most: None,
        });
        Self {
            ntasks: state.ntasks.map(i64::from),
            otherwise: 1,
            nodes: (range.least.into(), range.most.unwrap_or(0).into()),
            nodes_set: state.nodes.is_some(),
            per_node: state.ntasks_per_node,
        }
    }

    fn take_names(&mut self, names: Option<&[String]>, release: Release) {
        let Some(names) = names else {
            return;
        };
        let different: BTreeSet<_> = names.iter().collect();
        let count = different.len() as i64;
        self.nodes.0 = match self.nodes_set {
            true if release > Release::V22_05 => self.nodes.0,
            true => self.nodes.0.max(count),
            false => count,
        };
        self.nodes_set = true;
    }

    fn imply(&mut self, state: &State) {
        let (least, most) = self.nodes;
        let one_number = least == most || most == 0;
        let open =
            self.ntasks.is_none() && (self.per_node.is_none() || state.release < Release::V23_02);
        if open && one_number && (self.nodes_set || state.extra) {
            self.otherwise = least;
            if let [Some(sockets), Some(cores), Some(threads)] = state.node {
                let node = [sockets, cores, threads].map(i64::from);
                let tasks = node.into_iter().fold(least, i64::saturating_mul);
                self.ntasks = Some(tasks);
            }
        } else if let Some(tasks) = self.ntasks.filter(|_| self.nodes_set) {
            self.fit(tasks, state.release);
        }
    }

    /// `-n` beside `-N`: fewer tasks than nodes take fewer nodes, and until 23.11 a
    /// `--ntasks-per-node` that does not match the two is dropped.
    fn fit(&mut self, tasks: i64, release: Release) {
        self.nodes.1 = self.nodes.1.min(tasks);
        self.nodes.0 = self.nodes.0.min(tasks);
        let matches = |each: u32| i64::from(each) == tasks / self.nodes.0.max(1);
        if release <= Release::V23_11 {
            self.per_node = self.per_node.filter(|each| matches(*each));
        }
    }
}
