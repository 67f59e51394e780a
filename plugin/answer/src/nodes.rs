//! The nodes of a step: their number and names. In: `-N`, `-w`, `-m arbitrary`'s list.
//! Out: names in the order in which slurmctld lays tasks out.

use std::borrow::Cow;
use std::collections::HashMap;

use berth_placement::{counted, either};
use berth_srun::node_lists::{Most, expand, natural};

use crate::{Failure, Question, Unreadable};

/// More tasks than anybody lists by name.
const MOST_TASKS: usize = 1 << 20;

/// The names of the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// By position alone.
    Numbered,
    /// As the user has them.
    Listed(Vec<String>),
}

impl Names {
    /// The names that the user has given.
    pub fn listed(&self) -> &[String] {
        match self {
            Self::Numbered => &[],
            Self::Listed(names) => names,
        }
    }

    /// A node's name if its position is enough: `2`, or `n3`.
    pub fn short(&self, node: u32) -> Cow<'_, str> {
        self.named(node, "")
    }

    /// A node's name if a name is needed: `node2`, or `n3`.
    pub fn long(&self, node: u32) -> Cow<'_, str> {
        self.named(node, "node")
    }

    fn named(&self, node: u32, before: &str) -> Cow<'_, str> {
        match self {
            Self::Numbered => format!("{before}{node}").into(),
            Self::Listed(names) => names[node as usize].as_str().into(),
        }
    }
}

/// The nodes of a step.
pub struct Nodes {
    pub names: Names,
    pub count: u32,
    /// `-m arbitrary`: the node of each task.
    pub of_tasks: Option<Vec<u32>>,
}

/// Reads them from the options.
///
/// # Errors
/// A list or file that is none, or that contradicts `-N`.
pub fn nodes(args: &Question) -> Result<Nodes, Failure> {
    let requested = args.srun.nodes.map(|nodes| nodes.least);
    let listed = match &args.srun.nodelist {
        Some(list) if list.contains('/') => read(list, args.hosts.as_ref())?,
        Some(list) => expand(list, Most::COMMAND_LINE)?,
        None => {
            return Ok(Nodes {
                names: Names::Numbered,
                count: requested.unwrap_or(1),
                of_tasks: None,
            });
        }
    };
    // Nodes stand in slurmctld's order, in whatever order they were named.
    let mut names = listed.clone();
    names.sort_by_key(|name| natural(name));
    names.dedup();
    if let Some(requested) = requested
        && requested as usize != names.len()
    {
        return Err(format!(
            "-N asks for {}, and {} {} named; name them all, or leave one of the two out",
            counted(requested, "node"),
            names.len(),
            either(&names.len(), "is", "are")
        )
        .into());
    }
    let places: HashMap<&String, u32> = names.iter().zip(0..).collect();
    let arbitrary = args.srun.is_arbitrary();
    let of_tasks = arbitrary.then(|| listed.iter().map(|name| places[name]).collect());
    Ok(Nodes {
        count: names.len() as u32,
        names: Names::Listed(names),
        of_tasks,
    })
}

/// A file of host lists, one per line, in which `n1*3` stands for three tasks on n1.
/// Source: `slurm_read_hostfile`.
fn read(path: &str, found: Option<&Result<String, String>>) -> Result<Vec<String>, Failure> {
    let text = found.map_or(Err("nobody looked"), |found| {
        found.as_deref().map_err(|why| &**why)
    });
    let text = text.map_err(|why| {
        Unreadable(format!(
            "the host file {path} cannot be read: {why}; write one node per line, or a list \
             without '/'"
        ))
    })?;
    let mut names = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        for word in line.split_whitespace() {
            let (list, times) = word.rsplit_once('*').unwrap_or((word, "1"));
            let times = times.parse().ok().filter(|times| *times <= MOST_TASKS);
            let times = times.ok_or_else(|| {
                format!(
                    "the host file {path} has \"{word}\"; after * a number of tasks up to \
                     {MOST_TASKS} must follow"
                )
            })?;
            for name in expand(list, Most::COMMAND_LINE)? {
                if names.len() + times > MOST_TASKS {
                    return Err(
                        format!("the host file {path} names more than {MOST_TASKS} tasks").into(),
                    );
                }
                names.extend(std::iter::repeat_n(name, times));
            }
        }
    }
    if names.is_empty() {
        return Err(format!("the host file {path} names no node; write one per line").into());
    }
    Ok(names)
}
