//! slurmd's thread beside the jobs of pools: slurmstepds that wait for a CPU go before the tasks of pools, and real-time
//! tasks whose fence does not hold any more are ordinary ones.

use std::time::{Duration, Instant};

use berth_host::cgroup::{self, Breaths, Mounts, Place, scopes};
use berth_host::priority::BeforePools;
use berth_host::{OnlineCpus, priority};
use berth_placement::sets::count::counted;

use crate::slurmd::pool_guard;

/// So often it is looked whether fences hold, and all the time for so long after CPUs went offline or came back: the
/// kernel changes its cgroups a moment later.
const FENCES: Duration = Duration::from_secs(5);

/// What was given, and what is known of the CPUs.
#[derive(Default)]
pub(super) struct Breathing {
    breaths: Vec<Breaths>,
    /// While tasks of pools may be real-time ones.
    first: Option<BeforePools>,
    online: Option<OnlineCpus>,
    known: String,
    changed: Option<Instant>,
    looked: Option<Instant>,
    /// Whether the administrator knows that slurmstepds cannot go first.
    told: bool,
    /// Whether there was something to look at.
    had: bool,
}

impl Breathing {
    /// Looks, while there are jobs of pools: beside a busy pool a normal job's slurmstepd has 2 % to 5 % of its CPUs,
    /// together with the job's tasks. What was given before is taken back otherwise. Returns whether some are at work:
    /// the next look is due soon then.
    pub(super) fn look(&mut self, node_name: Option<&str>) -> bool {
        let has_jobs = |name: &&str| pool_guard::watches() && pool_guard::has_jobs_now(name);
        let here = node_name.filter(has_jobs);
        let mounts = here.and_then(|node_name| Some((node_name, Mounts::read().ok()?)));
        let Some((node_name, mounts)) = mounts else {
            self.rest();
            self.give_way();
            // A slurmd that started this one in its place went on until its own end, and may have raised some since.
            if std::mem::take(&mut self.had)
                && let Some(node_name) = node_name
            {
                pool_guard::all_ordinary(node_name);
            }
            return false;
        };
        self.had = true;
        self.go_first();
        let scopes = scopes::usual_scopes(&mounts, node_name);
        if pool_guard::may_be_realtime() && self.is_time_for_fences() {
            scopes.iter().for_each(lower_outside);
            if let Some(first) = &self.first
                && let Err(why) = first.leave(&pool_guard::cpus_of_pools(node_name))
            {
                log::debug!("slurmd's thread keeps to CPUs outside of pools: {why}");
            }
        }
        self.breaths.resize_with(scopes.len(), Breaths::default);
        let mut all = 0;
        for (scope, breaths) in scopes.iter().zip(&mut self.breaths) {
            match breaths.look(scope) {
                Ok(count) => all += count,
                Err(why) => log::debug!("{why}"),
            }
        }
        self.tell_of_refusal();
        all > 0
    }

    /// Nobody goes first until the next look.
    pub(super) fn rest(&mut self) {
        self.breaths.iter_mut().for_each(Breaths::rest);
    }

    /// Real-time tasks whose CPUs have gone offline may have all that are left, and with them the node's ordinary threads:
    /// this one would see that minutes later.
    fn go_first(&mut self) {
        match pool_guard::may_be_realtime() {
            true if self.first.is_none() => self.first = BeforePools::begin(),
            true => {}
            false => self.give_way(),
        }
    }

    /// Until the next look this is an ordinary thread: before work that uses much of a CPU.
    pub(super) fn give_way(&mut self) {
        self.first = None;
    }

    /// slurmd's own cgroup may have real-time threads where those of jobs have none: then nobody knew of it before.
    fn tell_of_refusal(&mut self) {
        if !self.told && self.breaths.iter().any(Breaths::is_refused) {
            self.told = true;
            if priority::realtime_refusal().is_none() {
                log::warn!(
                    "the kernel refuses SCHED_RR to slurmstepds beside pools, so below a busy pool a job is cancelled, \
                     and a step begins, within seconds and not at once"
                );
            }
        }
    }

    fn is_time_for_fences(&mut self) -> bool {
        if self.online.is_none() {
            self.online = OnlineCpus::open().ok();
        }
        if let Some(online) = &self.online
            && !online.unchanged(&self.known)
            && let Ok(now) = online.read()
        {
            (self.known, self.changed) = (now, Some(Instant::now()));
        }
        let is_new = |then: Option<Instant>| then.is_some_and(|then| then.elapsed() < FENCES);
        let is_time = is_new(self.changed) || !is_new(self.looked);
        if is_time {
            self.looked = Some(Instant::now());
        }
        is_time
    }
}

fn lower_outside(scope: &Place) {
    for one in cgroup::lower_outside(scope).unwrap_or_default() {
        log::error!(
            "{}: its CPUs went offline, or its fence has gone, so {} could run on CPUs of others; these are ordinary threads now, \
             also when the CPUs are back",
            one.path,
            counted(one.threads, "real-time thread")
        );
    }
}
