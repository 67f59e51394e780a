//! Reads the text of the site's file of cpusets.
//! In: its bytes, and the node's answers to "is this host list mine?" and "who is this user?". Out:
//! [`SiteCpusets`], or the first wrong line with its number and the reason. Pure.

use berth_placement::request::cpuset::{Attributes, Dynamic, Keyword, Words};
use berth_placement::{CpuSet, CpusetError, CpusetRequest};

use super::{PartitionWords, SiteCpusets, StaticSet};
use crate::lines::{LineError, Word, check_keys, each_line, is_here, name, names, needed, value};

const OF_A_SET: [&str; 8] = [
    "name",
    "nodes",
    "cpus",
    "mems",
    "users",
    "accounts",
    "partitions",
    "options",
];
const OF_A_PARTITION: [&str; 3] = ["partition", "default", "mandatory"];

/// The node's facts beside the file.
pub struct Site<'a> {
    /// Whether a host list has this node, or why the list cannot be read.
    pub is_here: &'a dyn Fn(&str) -> Result<bool, String>,
    /// A user's number, or nothing if there is no such user.
    pub uid: &'a dyn Fn(&str) -> Option<u32>,
}

/// Reads the text.
///
/// # Errors
/// [`LineError`] for the first wrong line.
pub fn read(text: &[u8], site: &Site<'_>) -> Result<SiteCpusets, LineError> {
    let mut all = SiteCpusets::default();
    each_line(text, |line, words| one(words, line, site, &mut all))?;
    Ok(all)
}

/// Adds what one line says.
fn one(words: &[Word], line: usize, site: &Site<'_>, all: &mut SiteCpusets) -> Result<(), String> {
    // A line of a partition has this word; all others are lines of sets.
    if words.iter().any(|word| word.key == "partition") {
        check_keys(words, &OF_A_PARTITION)?;
        let words = partition(words, line, &mut all.doubts)?;
        return all.add_partition(words);
    }
    if let Some(first) = words
        .first()
        .filter(|first| OF_A_PARTITION.contains(&&*first.key))
    {
        return Err(format!("a line with {}= also needs partition=", first.key));
    }
    check_keys(words, &OF_A_SET)?;
    let set = set(words, line, site, &mut all.doubts)?;
    all.add_set(set)
}

fn set(
    words: &[Word],
    line: usize,
    site: &Site<'_>,
    doubts: &mut Vec<LineError>,
) -> Result<StaticSet, String> {
    let list = |key: &str| value(words, key).map(|list| names(key, list)).transpose();
    let nodes = value(words, "nodes");
    let mut doubt = |why: String| doubts.push(LineError { line, why });
    Ok(StaticSet {
        line,
        name: needed(words, "name")?
            .parse()
            .map_err(|why| format!("name=: {why}"))?,
        cpus: numbers("cpus", needed(words, "cpus")?)?,
        mems: match value(words, "mems") {
            Some(list) => in_request("mems", Keyword::MemList, list)?.mem_list,
            None => None,
        },
        options: match value(words, "options") {
            Some(list) => in_request("options", Keyword::Options, list)?.attributes,
            None => Attributes::default(),
        },
        nodes: nodes.map(String::from),
        is_here: is_here(words, site.is_here)?,
        users: list("users")?.map(|names| {
            let uid = |name: String| {
                let uid = name.parse().ok().or_else(|| (site.uid)(&name));
                if uid.is_none() {
                    doubt(format!(
                        "this node knows no user {name}, so nobody gets in by that name"
                    ));
                }
                uid
            };
            names.into_iter().filter_map(uid).collect()
        }),
        accounts: list("accounts")?,
        partitions: list("partitions")?,
    })
}

fn partition(
    words: &[Word],
    line: usize,
    doubts: &mut Vec<LineError>,
) -> Result<PartitionWords, String> {
    let of = |key: &str| -> Result<Option<Words>, String> {
        let words = value(words, key).map(str::parse::<Words>).transpose();
        words.map_err(|why| format!("{key}=: {why}"))
    };
    let words = PartitionWords {
        line,
        partition: name("partition", needed(words, "partition")?)?,
        default: of("default")?,
        mandatory: of("mandatory")?,
    };
    if words.default.is_none() && words.mandatory.is_none() {
        return Err("a line with partition= also needs default= or mandatory=".into());
    }
    match CpusetRequest::of(&words.merged(&Words::default())) {
        Ok(_) => Ok(words),
        // The job's own words may add what is missing here.
        Err(
            why @ (CpusetError::NoName
            | CpusetError::Together { .. }
            | CpusetError::FewCandidates { .. }),
        ) => {
            let why = format!(
                "jobs of the partition {} that have no words of their own are refused: {why}",
                words.partition
            );
            doubts.push(LineError { line, why });
            Ok(words)
        }
        Err(why) => Err(why.to_string()),
    }
}

/// A list of CPUs by kernel number.
fn numbers(key: &str, list: &str) -> Result<CpuSet, String> {
    CpuSet::from_list(list).map_err(|why| format!("{key}=: {why}"))
}

/// A value that means the same behind this keyword of a request.
fn in_request(key: &str, keyword: Keyword, value: &str) -> Result<Dynamic, String> {
    let wrong = |why: CpusetError| format!("{key}=: {why}");
    let words: Words = format!("{keyword}={value}").parse().map_err(wrong)?;
    match CpusetRequest::of(&words).map_err(wrong)? {
        // A `;` in the value would begin another keyword.
        CpusetRequest::Dynamic(set) if words.iter().count() == 1 => Ok(set),
        _ => Err(format!(
            "{key}=: only what may stand behind {keyword}= may stand here"
        )),
    }
}

impl SiteCpusets {
    fn add_set(&mut self, set: StaticSet) -> Result<(), String> {
        let same = |known: &&StaticSet| known.is_here && known.name == set.name;
        match self.sets.iter().find(same).filter(|_| set.is_here) {
            Some(known) => Err(format!(
                "line {} has a cpuset {} for this node already",
                known.line, known.name
            )),
            None => {
                self.sets.push(set);
                Ok(())
            }
        }
    }

    fn add_partition(&mut self, words: PartitionWords) -> Result<(), String> {
        match self.words_of(&words.partition) {
            Some(known) => Err(format!(
                "line {} has the words of partition {} already",
                known.line, known.partition
            )),
            None => {
                self.partitions.push(words);
                Ok(())
            }
        }
    }
}
