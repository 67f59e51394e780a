//! `berth plan --pool`: what a pool of this node does for the job, from what slurmd has announced. In: the pool's
//! name, the plans. Out: a note.

use berth_placement::{CpuSet, Node, Owned, Request, counted};
use berth_site::Announcement;

use crate::Question;
use crate::plan::owns::of_cores;
use crate::plan::step::{Planned, PlannedStep};

impl Question {
    /// The pool's effect on the job; nothing without `--pool`, or with `--pool=none`.
    pub(super) fn pool_note(&self, step: &PlannedStep, on: &Node) -> Option<String> {
        let name = self.pool.as_ref()?.of_a_pool()?;
        let of_job = |planned| of_job(planned, on, self.effective_reserved());
        let cpus = step.plans.iter().map(of_job).max()?;
        let Some(node) = self.context.node.as_ref() else {
            return Some(format!(
                "not modelled: --pool={name}, and no slurmd here has announced pools of the site; ask on a node \
                 of the site"
            ));
        };
        // The site's file counts as Slurm does.
        let threads = node.words.threads_of_cpu();
        let cpus = u32::try_from(cpus).ok()?.div_ceil(threads);
        Some(note(&node.words, name, cpus))
    }
}

/// How many CPUs the whole job has on a node, without those that the site reserves: slurmd counts these, whatever part of
/// them the step has.
fn of_job(planned: &Planned, on: &Node, reserved: CpuSet) -> usize {
    let node = planned.on(on);
    let request = Request {
        allocation: of_cores(planned.part.job.clone(), node),
        reserved,
        ..Request::default()
    };
    Owned::of(&request, node).cpus.count()
}

/// The most CPUs of all pools of a node: those without `pool_reserve=`.
pub fn most_of_pools(words: &Announcement) -> u32 {
    let rules = words.site_rules();
    rules.map_or(u32::MAX, |rules| rules.pool_cpus / words.threads_of_cpu())
}

fn note(words: &Announcement, name: &str, cpus: u32) -> String {
    let found = words.pools.iter().find(|pool| pool.name == name);
    let (Some(pool), Some(weights)) = (found, words.pool_weights()) else {
        let known: Vec<_> = words.pools.iter().map(|pool| pool.name.as_str()).collect();
        return match known.is_empty() {
            true => format!("--pool={name}: this node has no pools; leave it out"),
            false => format!(
                "--pool={name}: this node has no such pool; its pools are {}",
                known.join(", ")
            ),
        };
    };
    let room = pool.cpus.min(most_of_pools(words));
    if cpus > room {
        return format!(
            "a job with {} runs outside of the pool {name}, which owns at most {} here; use fewer CPUs",
            counted(cpus, "CPU"),
            room
        );
    }
    let share = weights.share(pool.weight, cpus) * 100.0;
    format!(
        "the pool {name} gives this job the weight {} and every other job of the node {}: while a job of one CPU is \
         busy on each of its {}, it gets {share:.1} % of them; {} tells each task its number of CPUs",
        weights.of_job(pool.weight, cpus),
        weights.others,
        counted(cpus, "CPU"),
        pool.export,
    )
}

#[cfg(test)]
mod tests {
    use berth_placement::{CpuId, Shape};
    use berth_site::SiteRules;
    use berth_site::announcement::AnnouncedPool;
    use berth_site::rules::VERSION;

    use super::*;

    #[test]
    fn what_a_pool_does_for_a_job() {
        let pool = |name: &str, cpus| AnnouncedPool {
            name: name.into(),
            cpus,
            weight: 10_000,
            export: "NCPUS".into(),
            ..AnnouncedPool::default()
        };
        let mut words = Announcement {
            is_task_plugin: true,
            ..Announcement::default()
        };
        words.set_rules(&site(12));
        assert!(note(&words, "multi8", 4).contains("this node has no pools"));
        words.pools = vec![pool("multi8", 8), pool("multi16", 16)];
        let four = note(&words, "multi8", 4);
        assert!(
            four.contains("the weight 2500 and every other job of the node 19"),
            "{four}"
        );
        assert!(
            four.contains("it gets 97.0 % of them; NCPUS tells"),
            "{four}"
        );
        assert!(note(&words, "multi8", 9).contains("owns at most 8 here"));
        assert!(note(&words, "multi16", 13).contains("owns at most 12 here"));
        assert!(note(&words, "multi4", 1).contains("its pools are multi8, multi16"));
    }

    /// Of eight cores with two threads each, of which all pools may have so many threads.
    fn site(pool_cpus: u32) -> SiteRules {
        SiteRules {
            version: VERSION,
            pool_cpus,
            shape: Shape {
                sockets: 2,
                cores: 4,
                threads: 2,
                stride: 2,
                map: (0..16).map(CpuId).collect(),
                ..Shape::default()
            },
            ..SiteRules::default()
        }
    }
}
