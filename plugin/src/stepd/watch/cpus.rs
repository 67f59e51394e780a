//! CPUs that go offline while a step is watched, and come back: cpusets have others meanwhile, and masks that the kernel
//! forgot are given again.

use berth_host::affinity_of;
use berth_placement::CpuSet;

use crate::stepd::leaf::Ours;
use crate::stepd::watch::choice::{Accepts, Found};
use crate::stepd::watch::watched::Watched;

impl Watched {
    /// CPUs went offline, or are back.
    pub(super) fn cpus_changed(&mut self, online: &str) {
        let online = CpuSet::from_list(online).unwrap_or_default();
        let has = self.cpuset.as_ref().map(|(cpuset, _)| cpuset.cpus.clone());
        if let Some(found) = self.substitute(&online)
            && has.is_some_and(|has| has != found.cpus)
        {
            return self.go_on(found, Ours::OrReset);
        }
        self.put_again();
    }

    /// Each task is where it was before the kernel changed its CPUs. Who has bound itself stays as it is.
    pub(super) fn put_again(&mut self) {
        for leaf in &mut self.leaves {
            if let Err(why) = leaf.put_again(&self.name) {
                log::debug!("{}: {why}", self.name);
            }
        }
    }

    /// Other CPUs for a cpuset that has lost some, or those that it had before.
    fn substitute(&mut self, online: &CpuSet) -> Option<Found> {
        let (cpuset, _) = self.cpuset.as_ref()?;
        let home = self.home.clone().unwrap_or_else(|| cpuset.cpus.clone());
        let is_back = home.is_subset(online);
        if is_back == self.home.is_none() {
            return None;
        }
        let first = self.leaves.first()?;
        match cpuset.choose(&first.place, (&home, Accepts::Free)) {
            Ok(Ok(found)) => {
                self.home = (!is_back).then_some(home);
                Some(found)
            }
            Ok(Err(_)) => None,
            Err(why) => {
                log::debug!("{}: {why}", self.name);
                None
            }
        }
    }

    /// The masks of the tasks, which nobody but the kernel or root changes while they are frozen.
    pub(super) fn masks(&self) -> Vec<Option<CpuSet>> {
        let mask = |pid| affinity_of(pid).ok();
        self.leaves().iter().map(|leaf| mask(leaf.pid)).collect()
    }
}
