//! Which CPUs the cpuset of a job has that goes on. The first slurmstepd of the job that gets the ledger chooses,
//! and the others take what it has chosen. In: the cpuset, the node as it is now. Out: CPUs, or none yet.

use std::time::{Duration, Instant};

use berth_host::cgroup::jobs::{self, Running};
use berth_host::cgroup::{FenceError, Place, scopes};
use berth_host::ledger::{self, Entry, Session, StepKey};
use berth_host::{Ledger, OnlineCpus, StateDir};
use berth_placement::request::cpuset::Dynamic;
use berth_placement::strategy::cpuset::{Resume, Resumed, moved};
use berth_placement::{Allocation, CoreIdx, CpuSet, CpusetRequest, Node, Owned, Request};

use crate::site::settings;
use crate::site::standing::Abi;
use crate::step::handover::InCpuset;
use crate::stepd::own_node;
use crate::stepd::state::STATE;

/// The time to wait for others who write the ledger.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a glance is enough for a job that waits.
const BELIEVED: Duration = Duration::from_secs(30);

/// A cpuset that can have other CPUs: one that this node chose.
pub(super) struct Cpuset {
    pub asked: Dynamic,
    /// The CPUs that it has.
    pub cpus: CpuSet,
    pub step: StepKey,
    /// Whether it is the cpuset of all steps of the job.
    pub of_job: bool,
    /// Whether a debugger starts the step.
    pub is_debugged: bool,
    pub node_name: String,
    pub slurm: Abi,
    /// The job's cores, as Slurm numbers them.
    pub job_cores: String,
}

/// With what a job goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepts {
    /// The CPUs that it had.
    Original,
    /// Others too, if they are free.
    Free,
    /// Those that it had too if others use them, unless these hold them exclusively.
    Shared,
}

/// What the job goes on with.
pub(super) struct Found {
    pub cpus: CpuSet,
    /// What the step's own cgroup has: it may be less than the job's.
    pub reach: CpuSet,
    /// Whether others use some of them.
    pub is_shared: bool,
    pub node: Node,
}

/// The node at this moment.
struct Seen {
    /// What the job owns.
    own: CpuSet,
    /// What the step's own cgroup has.
    reach: CpuSet,
    /// What is online, and in no other running job's cgroup.
    free: CpuSet,
    node: Node,
    /// The online CPUs, as the kernel writes them.
    online: String,
    scope: Option<Place>,
    /// The other jobs that run.
    others: Vec<Running>,
}

impl Seen {
    fn glance(self, (dir, content): (StateDir, u64), hopes: bool) -> Glance {
        let mut others = self.others;
        others.retain(|job| job.cpus.intersects(&self.own));
        Glance {
            at: Instant::now(),
            hopes,
            dir,
            content,
            online: self.online,
            scope: self.scope,
            others,
        }
    }
}

/// What stands against a job that waits. As long as nothing of it changes there is no room, and the whole node need
/// not be looked at.
pub(super) struct Glance {
    at: Instant,
    /// Whether only the original CPUs counted.
    hopes: bool,
    dir: StateDir,
    /// The ledger's.
    content: u64,
    online: String,
    scope: Option<Place>,
    /// The jobs that run on CPUs of this one.
    others: Vec<Running>,
}

impl Glance {
    /// Whether all is as it was. Who was killed leaves no trace in the ledger, so that is not believed for long.
    pub(super) fn holds(&self, hopes: bool) -> bool {
        let online = || OnlineCpus::open().and_then(|online| online.read());
        let run = |scope: &Place| jobs::still_run(scope, &self.others);
        self.hopes == hopes
            && self.at.elapsed() < BELIEVED
            && online().is_ok_and(|online| online == self.online)
            && ledger::content(&self.dir).is_ok_and(|content| content == self.content)
            && self.scope.as_ref().is_none_or(run)
    }
}

impl Cpuset {
    /// The cpuset of a step, if this node chose it.
    pub(super) fn of(
        cpuset: &InCpuset,
        step: StepKey,
        (slurm, node_name, job_cores): (Abi, String, String),
    ) -> Option<Self> {
        let held = cpuset.held?;
        let asked = match cpuset.asked.parse() {
            Ok(CpusetRequest::Dynamic(asked)) => asked,
            _ => Dynamic::default(),
        };
        Some(Self {
            asked,
            cpus: cpuset.cpus.clone(),
            step,
            of_job: held.of_job,
            is_debugged: cpuset.is_debugged,
            node_name,
            slurm,
            job_cores,
        })
    }

    /// The CPUs with which the job goes on; or what stands against it, and it has to wait. `wanted` are those that it had. As long as
    /// it `hopes`, only these count. The choice is in the ledger before anybody else can choose.
    ///
    /// # Errors
    /// Why it cannot be decided.
    pub(super) fn choose(
        &self,
        leaf: &Place,
        (wanted, accepts): (&CpuSet, Accepts),
    ) -> Result<Result<Found, Glance>, String> {
        let hopes = accepts == Accepts::Original;
        let dir = StateDir::new(&settings::current().state_dir, &self.node_name);
        let dir = dir.map_err(|why| why.to_string())?;
        // What changes from here on is a reason to look again.
        let content = ledger::content(&dir).map_err(|why| why.to_string())?;
        let seen = self.look(leaf)?;
        let ledger = Ledger::open(&dir).map_err(|why| why.to_string())?;
        let session = ledger.session(PATIENCE).map_err(|why| why.to_string())?;
        let own = generation();
        let living = session.cpuset_of(self.step.job).filter(|_| self.of_job);
        let later = living.filter(|one| one.generation > own);
        // One of a job that is suspended again was chosen for the resume before: it is what the job had last.
        let runs = |one: &Entry| one.task.is_none_or(|task| !task.suspended);
        let (cpus, generation, is_shared) = match later {
            Some(chosen) if runs(&chosen) => (chosen.cpus, chosen.generation, false),
            later => {
                let next = later.as_ref().map_or(own, |one| one.generation) + 1;
                let wanted = later.as_ref().map_or(wanted, |one| &one.cpus);
                let held = session.held_by_others(self.step.job);
                match self.chosen(&seen, (wanted, accepts), &held) {
                    Some((cpus, is_shared)) => (cpus, next, is_shared),
                    None => {
                        drop(session);
                        return Ok(Err(seen.glance((dir, content), hopes)));
                    }
                }
            }
        };
        // The step's own cgroup has none of them.
        if !cpus.intersects(&seen.reach) {
            drop(session);
            return Ok(Err(seen.glance((dir, content), hopes)));
        }
        self.record(&session, (&seen.node, &cpus), generation)?;
        Ok(Ok(Found {
            cpus,
            reach: seen.reach,
            is_shared,
            node: seen.node,
        }))
    }

    /// The CPUs, and whether others use them; none if the job has to wait.
    fn chosen(
        &self,
        seen: &Seen,
        (wanted, accepts): (&CpuSet, Accepts),
        (held, exclusive): &(CpuSet, CpuSet),
    ) -> Option<(CpuSet, bool)> {
        let free = seen.free.difference(held);
        let resume = Resume {
            asked: &self.asked,
            original: wanted,
            own: &seen.own,
            free: &free,
            held: exclusive,
            reserved: &settings::current().reserved,
        };
        let found = resume.choose(&seen.node);
        // Of its own only those are missing that are offline, and nothing takes their place.
        let rest = wanted.intersection(&CpuSet::from_list(&seen.online).unwrap_or_default());
        let is_whole = !rest.is_empty() && rest.is_subset(&free);
        match (found, accepts) {
            (Resumed::Same, _) => Some((wanted.clone(), false)),
            (Resumed::Changed(cpus), Accepts::Free | Accepts::Shared) => Some((cpus, false)),
            (Resumed::Shared | Resumed::NoRoom, _) if is_whole => Some((wanted.clone(), false)),
            (Resumed::Shared, Accepts::Shared) => Some((wanted.clone(), true)),
            _ => None,
        }
    }

    /// The node as it is now, apart from the ledger, which is not locked for so long. Who begins meanwhile is in
    /// the ledger if his CPUs matter.
    fn look(&self, leaf: &Place) -> Result<Seen, String> {
        let text = |why: FenceError| why.to_string();
        let node = own_node::now(self.slurm, &self.node_name)?;
        let scope = scopes::scope_of(leaf, &self.node_name);
        let job = scope.as_ref().and_then(|scope| jobs::job_of(leaf, scope));
        let online = OnlineCpus::open().and_then(|online| online.read());
        let online = online.map_err(|why| why.to_string())?;
        let mut free = CpuSet::from_list(&online).map_err(|why| why.to_string())?;
        let mut others = Vec::new();
        if let (Some(scope), Some(job)) = (&scope, &job) {
            let name = job.name().unwrap_or_default();
            others = jobs::running(scope, name).map_err(text)?;
        }
        for job in &others {
            free = free.difference(&job.cpus);
        }
        let (own, reach) = self.own(&node, (leaf, job.as_ref()))?;
        Ok(Seen {
            own,
            reach,
            free,
            node,
            online,
            scope,
            others,
        })
    }

    /// What the job owns, and what of that this step reaches.
    fn own(
        &self,
        node: &Node,
        (leaf, job): (&Place, Option<&Place>),
    ) -> Result<(CpuSet, CpuSet), String> {
        let read = |place: &Place, file: &str| -> Result<CpuSet, String> {
            let folder = place.open().map_err(|why| why.to_string())?;
            let text = folder.read(file).map_err(|why| why.to_string())?;
            CpuSet::from_list(&text).map_err(|why| why.to_string())
        };
        let reach = read(&leaf.above(1), "cpuset.cpus.effective")?;
        let confined = job.map(|job| read(job, "cpuset.cpus")).transpose()?;
        let of_job = match confined.filter(|cpus| !cpus.is_empty()) {
            Some(cpus) => cpus,
            None => self.counted(node)?,
        };
        let reach = of_job.intersection(&reach);
        Ok((of_job, reach))
    }

    /// The CPUs of the job's cores, where no cgroup says them.
    fn counted(&self, node: &Node) -> Result<CpuSet, String> {
        let cores = CpuSet::from_list(&self.job_cores).map_err(|why| why.to_string())?;
        let request = Request {
            allocation: Allocation::Cores {
                cores: cores.iter().map(|core| CoreIdx(core.0)).collect(),
                configured: node.shape().core_count(),
            },
            ..Request::default()
        };
        Ok(Owned::of(&request, node).cpus)
    }

    /// The step's entries have the new CPUs, while nobody else looks: the ledger is locked. All of them, or none: of a
    /// binding's entry only its place in the old cpuset tells the new one.
    ///
    /// A slurmstepd that is killed between two writes leaves nothing wrong: its entries end with it, and so does
    /// the generation that it wrote, so that the job's next slurmstepd chooses itself.
    fn record(
        &self,
        session: &Session<'_>,
        (node, cpus): (&Node, &CpuSet),
        generation: u32,
    ) -> Result<(), String> {
        let mut step = STATE.step();
        let accounts = step.as_mut().map(|step| step.accounts.as_mut_slice());
        let accounts = accounts.unwrap_or_default();
        let before: Vec<_> = accounts.iter().map(|one| one.entry().clone()).collect();
        for (at, entry) in before.iter().enumerate() {
            let (cpus, generation) = match entry.cpuset {
                Some(_) => (cpus.clone(), generation),
                None => (moved(node, (&self.cpus, cpus), &entry.cpus), 0),
            };
            let account = accounts.get_mut(at);
            let written = account.map(|one| one.set_cpus(session, cpus, generation));
            if let Some(Err(why)) = written {
                for (account, entry) in accounts.iter_mut().zip(&before).take(at) {
                    // What was just written can be written again.
                    let _ = account.set_cpus(session, entry.cpus.clone(), entry.generation);
                    account.set_suspended(entry.task.is_some_and(|task| task.suspended));
                }
                return Err(why.to_string());
            }
        }
        Ok(())
    }
}

/// The generation that this slurmstepd knows.
fn generation() -> u32 {
    let step = STATE.step();
    let accounts = step.as_ref().map(|step| step.accounts.iter());
    let of = accounts.into_iter().flatten().map(|one| one.entry());
    of.map(|entry| entry.generation).max().unwrap_or(0)
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
