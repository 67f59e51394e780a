//! The room of a node's pools, as its slurmd counts it.
//! In: what slurmd has announced. Out: CPUs, as Slurm counts them.

use berth_host::announcement::{AnnouncedPool, Announcement};
use berth_host::site_rules::Counted;
use berth_placement::pools::Class;

/// The most CPUs of all pools of a node, for a job of this one: those without `pool_reserve=`. Real-time tasks never have
/// all cores, whatever the site reserves.
pub(crate) fn most(words: &Announcement, pool: &AnnouncedPool) -> u32 {
    let Some(rules) = words.site_rules() else {
        return u32::MAX;
    };
    // An older release says nothing of the node's threads.
    let (threads, cores) = (rules.shape.map.len() as u32, cores(&rules.shape));
    let is_realtime = pool.class.parse() == Ok(Class::Realtime) && threads > 0;
    let of_class = match is_realtime {
        true => threads.saturating_sub(threads.div_ceil(cores)),
        false => u32::MAX,
    };
    rules.pool_cpus.min(of_class) / words.threads_of_cpu()
}

fn cores(shape: &Counted) -> u32 {
    shape.sockets.saturating_mul(shape.cores).max(1)
}
