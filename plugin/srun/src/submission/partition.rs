//! The partition of a new job, as a configuration has it: whether the job may get more cores than it requests.
//! In: the command's own words, its environment, a configuration. Out: yes or no; yes if it is not sure.

use crate::conf::Config;
use crate::options::Command;
use crate::submission::Words;

impl Words {
    /// These words where the partition may give the job more cores than it requests: it is not sure then how many it
    /// has at the most.
    #[must_use]
    pub fn where_jobs_may_get_more(mut self) -> Self {
        self.may_get_more = true;
        self
    }

    /// Whether a new job may get more cores than it requests, in the partitions that the line or a variable names,
    /// else in the default one. Of another cluster nothing is known.
    #[must_use]
    pub fn may_get_more(&self, config: &Config, env: impl Fn(&str) -> Option<String>) -> bool {
        let is_elsewhere =
            self.has("clusters") || self.variables("CLUSTERS").any(|name| env(&name).is_some());
        let typed = self.value("partition").map(String::from);
        // Which of the two holds differs by the command, so that both count.
        let named: Vec<_> = typed
            .into_iter()
            .chain(self.variables("PARTITION").filter_map(|name| env(&name)))
            .filter(|names| !names.is_empty())
            .collect();
        // A reservation can have a partition of its own. Source: `_get_job_parts`.
        let has_reservation = self.has("reservation")
            || self
                .variables("RESERVATION")
                .any(|name| env(&name).is_some());
        let is_elsewhere = is_elsewhere || has_reservation && named.is_empty();
        let names = named.join(",");
        let names = Some(names.as_str()).filter(|names| !names.is_empty());
        is_elsewhere || config.may_give_more(names, self.release.modelled())
    }

    /// The variables from which the command takes an option. Source: `env_vars` in the `opt.c` of each command.
    fn variables(&self, option: &str) -> impl Iterator<Item = String> {
        let prefixes: &[&str] = match (self.command, option) {
            (Some(Command::Sbatch), "CLUSTERS") => &["SBATCH", "SLURM"],
            (Some(Command::Sbatch), _) => &["SBATCH"],
            (Some(Command::Salloc), "CLUSTERS") => &["SALLOC", "SLURM"],
            (Some(Command::Salloc), _) => &["SALLOC"],
            (Some(Command::Srun) | None, _) => &["SLURM"],
        };
        prefixes
            .iter()
            .map(move |prefix| format!("{prefix}_{option}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::Release;

    #[test]
    fn a_job_may_get_more_by_its_partition() {
        let text = "SelectType=select/cons_tres\nNodeName=n1 CPUs=4\nPartitionName=plain Nodes=n1 Default=YES\n\
                    PartitionName=whole Nodes=n1 OverSubscribe=EXCLUSIVE\n";
        let config = Config::read("slurm.conf", text, &mut |_| Err(String::new())).unwrap();
        for (line, variable, more) in [
            ("srun -n4 a", "", false),
            ("srun -n4 -p plain a", "", false),
            ("srun -n4 -p whole a", "", true),
            ("srun -n4 -p plain,whole a", "", true),
            ("sbatch -n4 --partition=whole a", "", true),
            ("srun -n4 -p other a", "", true),
            ("srun -n4 -M elsewhere a", "", true),
            ("srun -n4 --reservation=r a", "", true),
            ("srun -n4 --reservation=r -p plain a", "", false),
            ("sbatch -n4 a", "SBATCH_RESERVATION=r", true),
            ("srun -n4 a", "SLURM_PARTITION=whole", true),
            ("srun -n4 a", "SBATCH_PARTITION=whole", false),
            ("sbatch -n4 a", "SBATCH_PARTITION=whole", true),
            ("sbatch -n4 -p plain a", "SBATCH_PARTITION=whole", true),
            ("salloc -n4 a", "SALLOC_PARTITION=plain", false),
            ("salloc -n4 a", "SLURM_CLUSTERS=elsewhere", true),
        ] {
            let (command, words) = line.split_once(' ').unwrap();
            let words = Words::read(command, words.split(' '), Release::NEWEST);
            let env = |name: &str| {
                let (known, value) = variable.split_once('=')?;
                (known == name).then(|| value.to_string())
            };
            assert_eq!(words.may_get_more(&config, env), more, "{line} {variable}");
            assert_eq!(words.most_cpus_per_task(env), Some(1), "{line}");
            let words = words.where_jobs_may_get_more();
            assert_eq!(words.most_cpus_per_task(env), None, "{line}");
        }
    }
}
