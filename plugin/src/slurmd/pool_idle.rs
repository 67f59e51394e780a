//! What a real-time pool goes without where the kernel has no idle groups: the pool keeps its class, and the tasks of
//! normal jobs are ordinary ones beside their slurmstepd. In: the pools in force. Out: a warning for the administrator.

use berth_host::pools_file::SitePools;
use berth_host::priority;

use crate::slurmd::complaints::{self, About};

/// Compares the pools in force with the kernel. The log has a line if that is news.
pub(super) fn compare(pools: Option<&SitePools>) {
    let doubt = pools.and_then(|pools| doubt(pools, priority::idle_obstacle()));
    let doubts: Vec<_> = doubt.into_iter().collect();
    if complaints::set(About::IdleTasks, None, doubts.clone()) {
        doubts.iter().for_each(|doubt| log::warn!("{doubt}"));
    }
}

/// A pool of the class `idle` is one of weights on such a node, and slurmd has said so.
fn doubt(pools: &SitePools, obstacle: Option<String>) -> Option<String> {
    let why = obstacle?;
    let has_idle = pools.here().any(|pool| pool.class.idles_others());
    let path = pools.path.display();
    has_idle.then(|| {
        format!(
            "{path}: beside class=realtime the tasks of normal jobs are not idle ones here, and their slurmstepds go \
             before them by weight alone: {why}"
        )
    })
}

#[cfg(test)]
mod tests {
    use berth_host::pools_file::{Site, read};

    use super::*;

    fn said(class: &str, obstacle: Option<&str>) -> Option<String> {
        let site = Site {
            is_here: &|_| Ok(true),
            cpus: None,
        };
        let text = format!("name=a partition=a cpus=8 class={class}\n");
        let pools = read(text.as_bytes(), &site).unwrap();
        doubt(&pools, obstacle.map(String::from))
    }

    #[test]
    fn a_real_time_pool_without_idle_groups_is_a_doubt() {
        let why = "Linux 5.10.0 has no cpu.idle; 5.15 has it";
        let text = said("realtime", Some(why)).unwrap();
        assert!(text.contains("are not idle ones here") && text.ends_with(why));
        assert_eq!(said("realtime", None), None);
        assert_eq!(said("weight", Some(why)), None);
    }
}
