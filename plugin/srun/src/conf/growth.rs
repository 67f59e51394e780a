//! Whether jobs may get more cores than their tasks and `-c` ask for, by the partition that they go to.
//! In: a configuration, and names of partitions. Out: yes or no; yes where the configuration does not say.

use berth_placement::controller::select::{SlurmLine, Unit};

use super::Config;
use super::partitions::Part;

impl Config {
    /// Whether a job may get more cores than it asks for, in one of these partitions, as `-p a,b` names them, or in
    /// the default one: whole sockets or nodes, or as many CPUs as its memory needs where each CPU has a limit of
    /// memory. Of a partition that is not there it is not known.
    /// Source: `_valid_pn_min_mem`, which also counts the memory of a job that asks for none (`DefMemPerNode`).
    #[must_use]
    pub fn may_give_more(&self, partitions: Option<&str>, line: SlurmLine) -> bool {
        if self.changes_partitions {
            return true;
        }
        let is_one = |name: Option<&str>| {
            let part = self.part(name);
            part.map_or(true, |part| self.is_larger(part, line))
        };
        // Where a partition takes no jobs, they go to its other one.
        let is_larger = |name: Option<&str>| {
            let other = self.part(name).ok().and_then(|part| part.alternate.clone());
            is_one(name) || other.is_some_and(|other| is_one(Some(&other)))
        };
        match partitions {
            None => is_larger(None),
            Some(names) => names.split(',').any(|name| is_larger(Some(name))),
        }
    }

    /// Whether a job may get more CPUs for its memory in a partition, or in the default one; also where it is not
    /// there.
    #[must_use]
    pub fn counts_memory(&self, partition: Option<&str>) -> bool {
        let part = self.part(partition);
        part.map_or(true, |part| part.limits_memory || self.limits_memory)
    }

    fn is_larger(&self, part: &Part, line: SlurmLine) -> bool {
        let of_all = self.words.select(line, &part.place);
        let unit = match (of_all, part.select) {
            (Err(_), _) => return true,
            (Ok(all), Some((unit, _))) if all.unit != Unit::Node => unit,
            (Ok(all), _) => all.unit,
        };
        matches!(unit, Unit::Socket | Unit::Node)
            || part.rules.whole_nodes
            || part.limits_memory
            || self.limits_memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(settings: &str) -> Config {
        let text = format!(
            "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n{settings}\nNodeName=n[1-2] CPUs=4\n\
             PartitionName=plain Nodes=ALL Default=YES\nPartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE\n\
             PartitionName=sockets Nodes=ALL SelectTypeParameters=CR_Socket\n\
             PartitionName=memory Nodes=ALL MaxMemPerCPU=1000\n\
             PartitionName=shared Nodes=ALL OverSubscribe=FORCE:2 MaxMemPerCPU=UNLIMITED\n"
        );
        Config::read("slurm.conf", &text, &mut |_| Err(String::new())).unwrap()
    }

    #[test]
    fn a_partition_gives_more_where_its_rules_may() {
        let all = config("");
        for (names, more) in [
            (None, false),
            (Some("plain"), false),
            (Some("shared"), false),
            (Some("plain,shared"), false),
            (Some("whole"), true),
            (Some("plain,whole"), true),
            (Some("sockets"), true),
            (Some("memory"), true),
            (Some("other"), true),
        ] {
            let found = all.may_give_more(names, SlurmLine::V24_11);
            assert_eq!(found, more, "{names:?}");
        }
        let counting = [None, Some("whole"), Some("memory"), Some("other")];
        let found = counting.map(|name| all.counts_memory(name));
        assert_eq!(found, [false, false, true, true]);
        let none = Config::default();
        assert!(none.may_give_more(None, SlurmLine::V24_11));
    }

    #[test]
    fn settings_of_all_partitions_count() {
        for (settings, more) in [
            ("MaxMemPerCPU=2000", true),
            ("MaxMemPerCPU=0", false),
            ("MaxMemPerNode=2000", false),
            ("DefMemPerNode=2000", false),
            ("SelectTypeParameters=CR_CPU_Memory", false),
            ("SelectTypeParameters=CR_Socket", true),
            ("SelectType=select/linear", true),
            ("JobSubmitPlugins=lua,all_partitions", true),
            ("JobSubmitPlugins=lua", false),
            ("PartitionName=DEFAULT Alternate=whole", true),
            ("PartitionName=DEFAULT Alternate=other", true),
            ("PartitionName=DEFAULT Alternate=plain", false),
        ] {
            let found = config(settings).may_give_more(None, SlurmLine::V24_11);
            assert_eq!(found, more, "{settings}");
        }
        let shown = Config::shown(
            "MaxMemPerCPU            = UNLIMITED\n",
            "NodeName=n1 CPUTot=4\n",
            "PartitionName=p Nodes=n1 Default=YES OverSubscribe=NO MaxMemPerCPU=500\n\
             PartitionName=q Nodes=n1 OverSubscribe=NO MaxMemPerNode=UNLIMITED\n",
        )
        .unwrap();
        assert!(shown.may_give_more(None, SlurmLine::V24_11));
        assert!(!shown.may_give_more(Some("q"), SlurmLine::V24_11));
    }
}
