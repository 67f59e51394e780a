//! slurmd's announcement of berth when it starts, for the command: the releases of berth and
//! Slurm, berth's role, its settings, the site's rules, and what slurmd found wrong.
//! `berth_host::announcement` writes and reads the file.

use berth_placement::pools::Weights;
use berth_placement::request::cpuset::Words;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cpusets::{PartitionWords, SiteCpusets, StaticSet};
use crate::pools::{Pool, SitePools};
use crate::rules::SiteRules;

/// slurmd's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// berth's release.
    pub berth: String,
    /// slurmd's command line.
    pub command_line: Vec<String>,
    /// The process that announced itself, and its start in clock ticks since the boot.
    #[serde(default)]
    pub pid: i32,
    /// See [`Self::pid`].
    #[serde(default)]
    pub start: u64,
    /// Whether that process stays. slurmd announces itself once before it becomes a daemon, when it
    /// may still fork, and again at its first launch.
    #[serde(default)]
    pub is_daemon: bool,
    /// The time of the announcement, in clock ticks since the boot.
    #[serde(default)]
    pub made: u64,
    /// The boot in which that was.
    #[serde(default)]
    pub boot_id: String,
    /// slurmd's program.
    #[serde(default)]
    pub program: String,
    /// berth's shared object.
    #[serde(default)]
    pub object: String,
    /// Slurm's release, in its own words.
    pub slurm: String,
    /// The table of its records' layout; empty if there is none.
    #[serde(default)]
    pub layout: String,
    /// Whether berth is the task plugin; if not, [`Self::aside`] has the reason.
    pub is_task_plugin: bool,
    /// The reason why it stands aside.
    #[serde(default)]
    pub aside: String,
    /// Whether it stands aside because TaskPlugin does not list it; then it serves only --binding.
    #[serde(default)]
    pub serves_binding_only: bool,
    /// Whether plugstack.conf names it.
    pub is_spank_plugin: bool,
    /// Sockets, cores and threads by slurmd.
    #[serde(default)]
    pub shape: String,
    /// The topology string.
    #[serde(default)]
    pub topology: String,
    /// The CPUs that no step gets because of `ConstrainCores=yes`, as a list; empty where slurmd counts
    /// every CPU.
    #[serde(default)]
    pub outside_cgroups: String,
    /// The efficiency cores' CPUs, if slurmd leaves them out.
    #[serde(default)]
    pub left_out: String,
    /// `TaskPlugin=task/cgroup` with `ConstrainCores=yes`.
    #[serde(default)]
    pub constrain_cores: bool,
    /// `compat=…` and the like.
    #[serde(default)]
    pub settings: String,
    /// Faults: unknown settings, a machine that slurm.conf describes differently, …
    #[serde(default)]
    pub complaints: Vec<String>,
    /// Doubts: a release of Slurm that is newer than those that were checked, …
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The static cpusets of this node, as far as everybody may know them.
    #[serde(default)]
    pub static_cpusets: Vec<StaticCpuset>,
    /// The words that partitions add to a `--cpuset`.
    #[serde(default)]
    pub partition_cpusets: Vec<PartitionCpuset>,
    /// The stamp of the file of cpusets as slurmd read it.
    #[serde(default)]
    pub cpusets_stamp: String,
    /// The stamp of the file of pools as slurmd read it.
    #[serde(default)]
    pub pools_stamp: String,
    /// The pools of this node, as far as everybody may know them.
    #[serde(default)]
    pub pools: Vec<AnnouncedPool>,
    /// [`SiteRules`] in the form of the release that wrote them; see [`Self::site_rules`].
    #[serde(default)]
    pub rules: Value,
}

/// A static cpuset. The users and accounts that may use it are the administrator's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StaticCpuset {
    /// Its name.
    pub name: String,
    /// A list of CPUs.
    pub cpus: String,
    /// A list of memory nodes; empty if the site's file names none.
    pub mems: String,
    /// Its attributes, with `|` between them; empty if it has none.
    pub options: String,
    /// The partitions whose jobs may use it; empty for all.
    pub partitions: Vec<String>,
    /// Whether only some users or accounts may use it.
    pub is_limited: bool,
}

/// The words of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PartitionCpuset {
    /// The partition.
    pub partition: String,
    /// The words that a job's own override.
    pub default: String,
    /// The words that override a job's own.
    pub mandatory: String,
    /// The line of the site's file, for a refusal.
    pub line: usize,
}

/// A pool. The accounts and reservations whose jobs are in it are the administrator's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnnouncedPool {
    /// Its name.
    pub name: String,
    /// The partition whose jobs are in it; empty if the line names none.
    pub partition: String,
    /// The most CPUs that its jobs own together on this node.
    pub cpus: u32,
    /// Its weight, if it were as wide as the widest pool of the node.
    pub weight: u32,
    /// The variable that tells a task its number of CPUs.
    pub export: String,
}

impl Announcement {
    /// Announces the file of pools that is in force.
    pub fn set_pools(&mut self, pools: Option<&SitePools>) {
        let pool = |pool: &Pool| AnnouncedPool {
            name: pool.name.clone(),
            partition: pool.partition().unwrap_or_default().into(),
            cpus: pool.cpus,
            weight: pool.weight,
            export: pool.export.clone(),
        };
        self.pools = pools.map_or_else(Vec::new, |all| all.here().map(pool).collect());
    }

    /// The weight of every job of this node that is in no pool; none without pools.
    #[must_use]
    pub fn pool_weights(&self) -> Option<Weights> {
        let pools = self.pools.iter();
        Weights::of(pools.map(|pool| (pool.cpus, pool.weight)))
    }

    /// Announces the file of cpusets that is in force.
    pub fn set_cpusets(&mut self, sets: Option<&SiteCpusets>) {
        (self.static_cpusets, self.partition_cpusets) = sets.map_or_else(Default::default, |all| {
            let set = |set: &StaticSet| StaticCpuset {
                name: set.name.to_string(),
                cpus: set.cpus.to_string(),
                mems: set
                    .mems
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
                options: set.options.to_string(),
                partitions: set.partitions().to_vec(),
                is_limited: set.is_limited(),
            };
            let text =
                |words: &Option<Words>| words.as_ref().map_or_else(String::new, Words::to_string);
            let words = |words: &PartitionWords| PartitionCpuset {
                partition: words.partition.clone(),
                default: text(&words.default),
                mandatory: text(&words.mandatory),
                line: words.line,
            };
            let partitions = all.partitions().iter();
            (
                all.here().map(set).collect(),
                partitions.map(words).collect(),
            )
        });
    }

    /// Announces the rules.
    pub fn set_rules(&mut self, rules: &SiteRules) {
        self.rules = serde_json::to_value(rules).unwrap_or_default();
    }

    /// The hardware threads of what Slurm calls a CPU, and the site's file of pools too: 1 unless slurmd counts cores.
    #[must_use]
    pub fn threads_of_cpu(&self) -> u32 {
        let rules = SiteRules::read(&self.rules);
        rules.map_or(1, |rules| rules.cpu_threads.max(1))
    }

    /// The site's rules, which hold where berth is the task plugin. `None` if it is not, or if
    /// another release of berth wrote none, or none in this form.
    #[must_use]
    pub fn site_rules(&self) -> Option<SiteRules> {
        SiteRules::read(&self.rules).filter(|_| self.is_task_plugin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_and_later_releases_are_read() {
        let older = r#"{"berth": "0.9", "command_line": ["slurmd"], "slurm": "22.05.8",
            "is_task_plugin": true, "is_spank_plugin": true}"#;
        let words: Announcement = serde_json::from_str(older).unwrap();
        assert_eq!(words.site_rules(), None);
        let later = r#"{"berth": "9.0", "command_line": ["slurmd"], "slurm": "29.05.1",
            "is_task_plugin": true, "is_spank_plugin": true, "unheard_of": {"a": 1},
            "rules": {"version": 1, "slurm_line": "29.05", "more": 7}}"#;
        let words: Announcement = serde_json::from_str(later).unwrap();
        assert_eq!(words.site_rules().unwrap().slurm_line, "29.05");
        let other = later.replace("\"version\": 1", "\"version\": 2");
        let words: Announcement = serde_json::from_str(&other).unwrap();
        assert_eq!(words.site_rules(), None);
    }
}
