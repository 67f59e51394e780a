//! The words of a `--cpuset` request with those that its partition adds, as slurmd merges them.
//! In: the request, the site's file as slurmd announced it, or as the cluster's plugstack.conf names it.
//! Out: the request that holds, and where each word comes from.

use std::sync::Arc;

use berth_placement::CpusetRequest;
use berth_placement::request::cpuset::{Keyword, Words};
use berth_site::announcement::{Announcement, PartitionCpuset};
use berth_site::cpusets::{PartitionWords, Site};
use berth_srun::node_lists;

use crate::{Question, World};

/// Ends the complaint about a file of cpusets that slurmd could not read.
const WITHOUT_CPUSETS: &str = "this plan is without the site's cpusets";

/// The words that a partition adds, and the file in which they stand.
struct OfPartition {
    words: PartitionWords,
    file: String,
}

impl Question {
    /// The request that holds: the user's words with the number of CPUs that the submitting command
    /// would write, merged with the partition's.
    ///
    /// # Errors
    /// Why slurmd would refuse it.
    pub(super) fn merged_cpuset(&self) -> Result<Option<CpusetRequest>, String> {
        if self.is_binding_off() {
            return Ok(None);
        }
        let own = self.own_words();
        let Some(part) = self.words_of_partition() else {
            let own = own.map(|own| CpusetRequest::of(&own));
            return own.transpose().map_err(|why| why.to_string());
        };
        let mut words = part.words.merged(&own.clone().unwrap_or_default());
        if own.is_none() {
            if words == Words::default() {
                return Ok(None);
            }
            words = self.counted(words);
        }
        let read = CpusetRequest::of(&words).map_err(|why| {
            format!(
                "{why}; the partition {} adds words to --cpuset ({})",
                part.words.partition,
                part.place()
            )
        });
        read.map(Some)
    }

    /// Where each word of the request comes from, for `--explain`; none where no partition adds any.
    pub(super) fn sources_of_cpuset(&self) -> Vec<String> {
        let part = self.words_of_partition().filter(|_| !self.is_binding_off());
        let Some(part) = part else { return Vec::new() };
        let own = self.own_words().unwrap_or_else(|| {
            let words = part.words.merged(&Words::default());
            match words == Words::default() || words.get(Keyword::Ncpus).is_some() {
                true => Words::default(),
                false => self.counted(Words::default()),
            }
        });
        let typed = |keyword| keyword != Keyword::Ncpus || self.types_ncpus();
        let all = Keyword::ALL.iter().copied();
        let lines = all.filter_map(|keyword| part.source(keyword, &own, typed(keyword)));
        lines.map(|line| format!("word        {line}")).collect()
    }

    /// The user's own words; none where only a partition may request a cpuset.
    fn own_words(&self) -> Option<Words> {
        let requested = self.cpuset.as_ref()?;
        Some(self.counted(requested.to_string().parse().ok()?))
    }

    /// Words with the number of CPUs that the submitting command works out, where they have none.
    fn counted(&self, words: Words) -> Words {
        match self.ncpus_of_line() {
            Some(count) => words.with_ncpus(count),
            None => words,
        }
    }

    fn words_of_partition(&self) -> Option<OfPartition> {
        let site = self.site_cpusets()?;
        let partitions = &site.words.partition_cpusets;
        if partitions.is_empty() {
            return None;
        }
        let name = self.partition().or_else(|| self.default_partition())?;
        let found = partitions.iter().find(|words| words.partition == name)?;
        Some(OfPartition {
            words: announced(found),
            file: site.file.to_owned(),
        })
    }

    /// The site's file, as the cluster that is asked about has it, or as slurmd has announced it here.
    pub(super) fn site_cpusets(&self) -> Option<SiteCpusets<'_>> {
        if let Some((words, file)) = self.cpusets_of_cluster.as_deref() {
            return Some(SiteCpusets { words, file });
        }
        let node = self.context.node.as_ref()?;
        let rules = node.rules.as_ref();
        let file = rules.map_or("", |rules| rules.cpusets.as_str());
        let words = &node.words;
        Some(SiteCpusets { words, file })
    }

    /// Why the cluster's file of cpusets could not be read, if that is so.
    pub(super) fn unread_cpusets(&self) -> Option<&String> {
        let mut complaints = self.site_settings.as_ref()?.complaints.iter();
        complaints.find(|why| why.ends_with(WITHOUT_CPUSETS))
    }

    /// Reads the file of cpusets that the plugstack.conf of the cluster names. One that slurmd could not
    /// read adds nothing, and the complaint is a note.
    pub(super) fn find_cpusets_of_cluster(&mut self, world: &dyn World) {
        let Some(found) = self.site_settings.clone() else {
            return;
        };
        let Some(path) = &found.settings.cpusets else {
            return;
        };
        let node = self.some_node();
        let site = Site {
            is_here: &|list| node_lists::has(list, node.as_deref()),
            uid: &|_| None,
        };
        match world.cpusets(path, &site) {
            Ok(all) => {
                let mut words = Announcement::default();
                words.set_cpusets(Some(&all));
                let file = path.display().to_string();
                self.cpusets_of_cluster = Some(Arc::new((words, file)));
            }
            Err(why) => {
                let mut settings = (*found).clone();
                settings
                    .complaints
                    .push(format!("{why}; {WITHOUT_CPUSETS}"));
                self.site_settings = Some(Arc::new(settings));
            }
        }
    }
}

/// The site's file of cpusets.
pub(super) struct SiteCpusets<'a> {
    /// The announcement that has its cpusets and the words of its partitions.
    pub words: &'a Announcement,
    /// Its path; empty if that is not known.
    file: &'a str,
}

/// An announced line. A later release's word that cannot be read here is left out.
fn announced(found: &PartitionCpuset) -> PartitionWords {
    let words = |text: &String| text.parse().ok().filter(|_| !text.is_empty());
    PartitionWords {
        line: found.line,
        partition: found.partition.clone(),
        default: words(&found.default),
        mandatory: words(&found.mandatory),
    }
}

impl OfPartition {
    fn place(&self) -> String {
        match self.file.is_empty() {
            true => format!("line {} of the site's file", self.words.line),
            false => format!("{}, line {}", self.file, self.words.line),
        }
    }

    /// Where the value of a keyword comes from, and what gave way to it.
    fn source(&self, keyword: Keyword, own: &Words, is_typed: bool) -> Option<String> {
        let of = |words: &Option<Words>| Some(words.as_ref()?.get(keyword)?.to_owned());
        let partition = &self.words.partition;
        let typed = match is_typed {
            true => "--cpuset",
            false => "the number of tasks on each node times -c",
        };
        let levels = [
            (
                of(&self.words.mandatory),
                format!("mandatory in the partition {partition}"),
            ),
            (own.get(keyword).map(String::from), typed.to_owned()),
            (
                of(&self.words.default).filter(|_| own.takes_default(keyword)),
                format!("the default of the partition {partition}"),
            ),
        ];
        let mut found = levels
            .into_iter()
            .filter_map(|(value, by)| Some((value?, by)));
        let (value, by) = found.next()?;
        let by = match by == typed {
            true => by,
            false => format!("{by} ({})", self.place()),
        };
        let lower: Vec<_> = found
            .filter(|(other, _)| *other != value)
            .map(|(value, by)| format!("{keyword}={value} of {by}"))
            .collect();
        let over = match lower.is_empty() {
            true => String::new(),
            false => format!(", over {}", lower.join(" and ")),
        };
        Some(match value.is_empty() {
            true => format!("{keyword} is taken away: {by}{over}"),
            false => format!("{keyword}={value}: {by}{over}"),
        })
    }
}
