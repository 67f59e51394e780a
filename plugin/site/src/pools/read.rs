//! Reads the text of the site's file of pools.
//! In: its bytes, and what the node knows beside it. Out: [`SitePools`], or the first wrong line with its number
//! and the reason. Pure.

use berth_placement::pools::HIGHEST;
use berth_placement::sets::text::shown;

use super::{Jobs, Pool, SitePools, old_class_of};
use crate::lines::{
    LineError, SHOWN, Word, check_keys, each_line, is_here, name, names, needed, value,
};

/// Pools of one file.
const MOST_POOLS: usize = 1024;
/// Bytes of a variable's name.
const MOST_VARIABLE: usize = 64;

const KEYS: [&str; 10] = [
    "name",
    "partition",
    "cpus",
    "class",
    "nodes",
    "account",
    "reservation",
    "qos",
    "export",
    "weight",
];

/// The node's facts beside the file.
pub struct Site<'a> {
    /// Whether a host list has this node, or why the list cannot be read.
    pub is_here: &'a dyn Fn(&str) -> Result<bool, String>,
    /// The hardware threads of the node, if its machine is known.
    pub cpus: Option<u32>,
}

/// Reads the text.
///
/// # Errors
/// [`LineError`] for the first wrong line.
pub fn read(text: &[u8], site: &Site<'_>) -> Result<SitePools, LineError> {
    let mut all = SitePools::default();
    each_line(text, |line, words| {
        check_keys(words, &KEYS)?;
        all.add(pool(words, line, site)?)
    })?;
    Ok(all)
}

fn pool(words: &[Word], line: usize, site: &Site<'_>) -> Result<Pool, String> {
    let list = |key: &str| value(words, key).map(|list| names(key, list)).transpose();
    let is_here = is_here(words, site.is_here)?;
    let jobs = Jobs {
        partition: value(words, "partition")
            .map(|text| name("partition", text))
            .transpose()?,
        accounts: list("account")?,
        reservations: list("reservation")?,
        qos: list("qos")?,
    };
    if jobs == Jobs::default() {
        return Err(
            "the line does not say which jobs are in the pool; add partition=, account=, \
                    reservation= or qos="
                .into(),
        );
    }
    let cpus = number("cpus", needed(words, "cpus")?, u32::MAX)?;
    if let Some(of_node) = site.cpus.filter(|of_node| is_here && cpus > *of_node) {
        return Err(format!(
            "cpus={cpus} are more than the {of_node} CPUs of this node; lower the number, or give such nodes a \
             line of their own with nodes="
        ));
    }
    Ok(Pool {
        line,
        name: name("name", needed(words, "name")?)?,
        cpus,
        weight: match value(words, "weight") {
            Some(text) => number("weight", text, HIGHEST)?,
            None => HIGHEST,
        },
        old_class: old_class_of(value(words, "class"))?,
        export: variable(value(words, "export").unwrap_or("NCPUS"))?,
        jobs,
        is_here,
    })
}

fn number(key: &str, text: &str, most: u32) -> Result<u32, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let read = text.parse::<u32>().ok().filter(|_| is_plain);
    read.filter(|number| (1..=most).contains(number))
        .ok_or_else(|| {
            format!(
                "{key}=: \"{}\" is no number from 1 to {most}",
                shown(SHOWN, text)
            )
        })
}

/// A variable that tasks may find overwritten: no other software's.
fn variable(text: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = !text.is_empty()
        && text.len() <= MOST_VARIABLE
        && text.bytes().all(fits)
        && !text.starts_with(|first: char| first.is_ascii_digit());
    let others = [
        "SLURM", "BERTH", "LD_", "PMI", "OMPI_", "PATH", "HOME", "IFS",
    ];
    match is_name && !others.iter().any(|other| text.starts_with(other)) {
        true => Ok(text.into()),
        false => Err(format!(
            "export=: \"{}\" cannot be overwritten; name a variable such as NCPUS (letters, digits and _)",
            shown(SHOWN, text)
        )),
    }
}

impl SitePools {
    fn add(&mut self, pool: Pool) -> Result<(), String> {
        if self.pools.len() == MOST_POOLS {
            return Err(format!("the file has more than {MOST_POOLS} pools"));
        }
        if pool.is_here {
            if let Some(known) = self.here().find(|known| known.name == pool.name) {
                return Err(format!(
                    "line {} has a pool {} for this node already",
                    known.line, known.name
                ));
            }
            let partition = pool.jobs.partition.as_ref();
            let same =
                |known: &&Pool| partition.is_some() && known.jobs.partition.as_ref() == partition;
            if let Some(known) = self.here().find(same) {
                return Err(format!(
                    "line {} has the pool {} for partition={} already; a partition has one pool on a node",
                    known.line,
                    known.name,
                    known.jobs.partition.as_deref().unwrap_or_default()
                ));
            }
        }
        self.pools.push(pool);
        Ok(())
    }
}
