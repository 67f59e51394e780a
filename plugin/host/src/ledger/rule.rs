//! Decides which cores of other steps are taken for a step.
//! In: live entries, the step. Out: the cores that are surely taken, and those that depend on
//! whether a job is suspended. Source: the cores in use of Grid Engine's specification, sections 3.2 and 3.5.

use std::collections::HashMap;

use berth_placement::{Claims, CpuSet, NodeSet};

use super::Session;
use super::entry::{Entry, Kind, StepKey};

/// The claims of other steps, as far as they concern one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Others<'a> {
    /// Claims of the own job. Its regular steps that were started without `--overlap` take their
    /// cores. Its script and `--overlap` steps take nothing; they only decide between equal
    /// choices.
    own: Sets,
    /// Bindings and cpusets of other jobs. Each job takes its cores unless it is suspended; then they belong to
    /// the job that preempted it.
    jobs: Vec<&'a Entry>,
    /// The CPUs of the own job's cpusets that are not exclusive, and in which the step is not.
    cpusets: CpuSet,
    /// The memory nodes that other jobs' cpusets want for themselves.
    memory: NodeSet,
    /// The CPUs of other jobs that are in a pool, and the numbers of those jobs.
    pools: Layers,
    in_pools: Vec<u32>,
    /// Whether the own job is in a pool. One in a pool gets its CPUs whoever is bound there: it avoids them if possible.
    /// Only exclusive cpusets keep it off.
    is_in_pool: bool,
    /// Whether a service moves a resumed job: otherwise a suspended one keeps its cpuset.
    has_service: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sets {
    taken: CpuSet,
    shared: CpuSet,
}

impl Session<'_> {
    /// The claims of other steps on these CPUs.
    #[must_use]
    pub fn others(&self, step: StepKey, near: &CpuSet) -> Others<'_> {
        let mut others = Others {
            is_in_pool: self.is_in_pool,
            has_service: self.has_service,
            ..Others::default()
        };
        let all = self.entries.iter();
        all.filter(|entry| entry.cpus.intersects(near))
            .for_each(|entry| others.add(step, entry));
        others
    }
}

impl<'a> Others<'a> {
    /// Adds a live entry. An older entry of the same step belongs to an earlier launch.
    fn add(&mut self, step: StepKey, entry: &'a Entry) {
        let cpus = &entry.cpus;
        if entry.step == step {
            return;
        }
        if entry.pool {
            if entry.step.job != step.job {
                // Each step of a job has the job's CPUs.
                if self.in_pools.contains(&entry.step.job) {
                    self.pools.widen(cpus);
                    return;
                }
                self.pools.add(cpus);
                self.in_pools.push(entry.step.job);
            }
            return;
        }
        if let Some(cpuset) = entry.cpuset.filter(|_| entry.step.job == step.job) {
            match cpuset.exclusive {
                // Every step of the job is in it.
                _ if cpuset.of_job => return,
                false => return self.cpusets.insert_all(cpus),
                true => {}
            }
        }
        if entry.step.job == step.job {
            let set = match entry.kind {
                Kind::Regular => &mut self.own.taken,
                Kind::Overlap | Kind::Batch => &mut self.own.shared,
            };
            return set.insert_all(cpus);
        }
        self.jobs.push(entry);
    }

    /// Whether another job is bound to any of the CPUs asked about.
    #[must_use]
    pub fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// These claims with memory nodes that other jobs' cpusets want for themselves
    /// ([`Session::memory_cpus`](super::Session::memory_cpus)).
    #[must_use]
    pub fn with_memory(self, memory: NodeSet) -> Self {
        Self { memory, ..self }
    }

    /// The claims if no job were suspended.
    #[must_use]
    pub fn all_running(&self) -> Claims {
        self.claims(|_| false)
    }

    /// The claims if every other job were suspended.
    #[must_use]
    pub fn all_suspended(&self) -> Claims {
        self.claims(|_| true)
    }

    /// The claims as they are, after one look at a step of each other job that has tasks: Slurm suspends all of its steps.
    #[must_use]
    pub fn now(&self) -> Claims {
        let mut stopped: HashMap<u32, bool> = HashMap::new();
        for entry in &self.jobs {
            match stopped.get_mut(&entry.step.job) {
                Some(known) => *known |= entry.waits,
                None if entry.task.is_some() => {
                    stopped.insert(entry.step.job, entry.is_stopped());
                }
                None => {}
            }
        }
        self.claims(|job| stopped.get(&job).is_some_and(|is_stopped| *is_stopped))
    }

    /// The claims, by which jobs are suspended: what these hold only decides between equal choices.
    fn claims(&self, is_stopped: impl Fn(u32) -> bool) -> Claims {
        let mut sets = self.own.clone();
        let (mut bindings, mut pools) = (Layers::default(), self.pools.clone());
        let mut cpusets = self.cpusets.clone();
        for entry in &self.jobs {
            let (cpus, job) = (&entry.cpus, entry.step.job);
            // Nothing for a binding, which jobs in pools need not heed. A cpuset that is not exclusive keeps off exclusive
            // ones alone.
            let exclusive = entry.cpuset.map(|cpuset| cpuset.exclusive);
            let may_stop = self.has_service || exclusive.is_none();
            let set = match (may_stop && is_stopped(job), exclusive) {
                (true, Some(false)) => continue,
                (false, Some(false)) => &mut cpusets,
                (true, _) => &mut sets.shared,
                (false, None) if self.is_in_pool => {
                    bindings.add(cpus);
                    continue;
                }
                // A pool takes nobody's CPUs; they are avoided.
                (false, None) if self.in_pools.contains(&job) => {
                    pools.widen(cpus);
                    continue;
                }
                (false, _) => &mut sets.taken,
            };
            set.insert_all(cpus);
        }
        let (pools, pools_again) = pools.sets();
        let (bindings, bindings_again) = bindings.sets();
        Claims {
            taken: sets.taken,
            shared: sets.shared,
            pools,
            pools_again,
            bindings,
            bindings_again,
            cpusets,
            memory: self.memory.clone(),
        }
    }
}

/// The most owners of one CPU that are counted: more make no difference.
const MOST: usize = 8;

/// Each layer has some of the CPUs of the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Layers(Vec<CpuSet>);

impl Layers {
    /// One more has these CPUs.
    fn add(&mut self, cpus: &CpuSet) {
        let mut rest = cpus.clone();
        for layer in &mut self.0 {
            let again = layer.intersection(&rest);
            layer.insert_all(&rest);
            rest = again;
        }
        if self.0.len() < MOST && !rest.is_empty() {
            self.0.push(rest);
        }
    }

    /// Somebody has these CPUs who may be among the others.
    fn widen(&mut self, cpus: &CpuSet) {
        match self.0.first_mut() {
            Some(layer) => layer.insert_all(cpus),
            None => self.0.push(cpus.clone()),
        }
    }

    /// The CPUs that anybody has, and the further sets.
    fn sets(self) -> (CpuSet, Vec<CpuSet>) {
        let mut sets = self.0.into_iter();
        (sets.next().unwrap_or_default(), sets.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::Cpuset;
    use super::*;
    use crate::facts_text::hold;

    fn step(text: &str) -> StepKey {
        let (job, step) = text.split_once('.').unwrap();
        StepKey {
            job: job.parse().unwrap(),
            step: step.parse().unwrap(),
            component: u32::MAX,
        }
    }

    /// `JOB.STEP WORDS CPUS`.
    fn entry(text: &str) -> Entry {
        let words: Vec<&str> = text.split(' ').collect();
        let is = |word| words.contains(&word);
        let (exclusive, of_job) = (is("exclusive"), is("of-job"));
        let cpuset = Cpuset {
            exclusive,
            of_job,
            memory: of_job,
        };
        Entry {
            step: step(words[0]),
            cpus: CpuSet::from_list(words[words.len() - 1]).unwrap(),
            cpuset: is("cpuset").then_some(cpuset),
            pool: is("pool"),
            kind: match is("overlap") {
                true => Kind::Overlap,
                false if is("batch") => Kind::Batch,
                false => Kind::Regular,
            },
            ..Entry::default()
        }
    }

    /// What is not empty, by its names.
    fn shown(found: &Claims) -> String {
        let sets = [
            ("taken", vec![&found.taken]),
            ("shared", vec![&found.shared]),
            ("cpusets", vec![&found.cpusets]),
            ("pools", vec![&found.pools]),
            ("pools again", found.pools_again.iter().collect()),
            ("bindings", vec![&found.bindings]),
            ("bindings again", found.bindings_again.iter().collect()),
        ];
        let sets = sets.into_iter().map(|(name, sets)| {
            let texts: Vec<_> = sets.iter().map(ToString::to_string).collect();
            (name, texts.join(" and "))
        });
        let sets = sets.filter(|(_, text)| !text.is_empty());
        let shown = sets.map(|(name, text)| format!("{name} {text}"));
        shown.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn facts() {
        hold(include_str!("rule.txt"), |entries, question| {
            let entries: Vec<_> = entries.split("; ").map(entry).collect();
            let words: Vec<&str> = question.split(' ').collect();
            let mut others = Others::default();
            for entry in &entries {
                others.add(step(words[1]), entry);
            }
            others.has_service = words.contains(&"service");
            others.is_in_pool = words.contains(&"in-pool");
            assert!(others.has_jobs());
            shown(&match words[0] {
                "running" => others.all_running(),
                "suspended" => others.all_suspended(),
                _ => others.now(),
            })
        });
    }

    #[test]
    fn each_layer_has_the_cpus_of_one_more() {
        let mut layers = Layers::default();
        let set = |list| CpuSet::from_list(list).unwrap();
        let texts = |layers: &Layers| {
            let (first, more) = layers.clone().sets();
            let all = std::iter::once(first).chain(more);
            all.map(|set| set.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(texts(&layers), [""]);
        layers.add(&CpuSet::new());
        assert_eq!(texts(&layers), [""]);
        for cpus in ["0-2", "1-2", "1,3,64"] {
            layers.add(&set(cpus));
        }
        assert_eq!(texts(&layers), ["0-3,64", "1-2", "1"]);
        layers.widen(&set("1,4"));
        assert_eq!(texts(&layers), ["0-4,64", "1-2", "1"]);
        (0..20).for_each(|_| layers.add(&set("2")));
        assert_eq!(texts(&layers).len(), MOST);
        assert_eq!(texts(&layers)[MOST - 1], "2");
    }
}
