//! The cpuset of a step: chosen anew, the one that its job has on this node, or the one that it had last. Between two steps
//! of a job nothing of it lives, so its cpuset is also kept in a file: the next step takes the same CPUs if they are free.

use berth_host::StateDir;
use berth_host::job_files::{self, Kind};
use berth_host::ledger::{Cpuset, Entry, Session, StepKey};
use berth_placement::request::cpuset::{Attribute, Attributes, ExistingCpuset};
use berth_placement::strategy::cpuset::memory_of_cpuset;
use berth_placement::{
    Allocation, ChosenSet, Claims, CpuBind, CpuSet, CpusetRequest, MemBind, Mode, Node, NodeSet,
    Note, Plan, Refusal, Request, SetMemory, StepCpuset, plan,
};
use serde::{Deserialize, Serialize};

use crate::step::CpusetWish;
use crate::step::handover::InCpuset;
use crate::step::ledger::{job_cpus, others};

/// A job's cpuset, as its last step left it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JobCpuset {
    pub request: CpusetRequest,
    pub cpus: CpuSet,
    /// Its line in LSF's form.
    pub line: String,
}

impl JobCpuset {
    /// The job's; none if none of its steps has chosen one here.
    pub(super) fn read(dir: &StateDir, uid: u32, job: u32) -> Option<Self> {
        let text = job_files::read_of(dir, uid, (job, Kind::Cpuset)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Keeps it for the job's next step.
    pub(super) fn keep(&self, dir: &StateDir, uid: u32, job: u32) {
        let text = serde_json::to_vec(self).unwrap_or_default();
        if let Err(why) = job_files::put(dir, (job, Kind::Cpuset), uid, &text) {
            log::debug!("job={job} the CPUs of its cpuset are not kept: {why}");
        }
    }

    /// The cpuset in which other steps of the job live.
    pub(super) fn living(self, living: &Entry, node: &Node) -> InCpuset {
        let (mems, memory) = match &self.request {
            CpusetRequest::Dynamic(requested) => memory_of_cpuset(node, &living.cpus, requested),
            CpusetRequest::None | CpusetRequest::Static(_) => (NodeSet::default(), SetMemory::Open),
        };
        InCpuset {
            cpus: living.cpus.clone(),
            line: self.line,
            mems: needed(mems, memory),
            memory,
            requested: self.request.to_string(),
            held: living.cpuset,
        }
    }
}

/// The request with the cpuset that holds, and the notes on its choice.
pub(super) struct RequestInCpuset {
    pub request: Request,
    pub notes: Vec<Note>,
}

/// A step's wish for a cpuset, and what is known of its job's.
pub(super) struct CpusetQuery<'a> {
    pub wish: &'a CpusetWish,
    pub key: StepKey,
    pub uid: u32,
    pub dir: &'a StateDir,
    pub node: &'a Node,
}

impl CpusetQuery<'_> {
    /// The cpuset beside the ledger's entries. CPUs of suspended jobs are free; whether a job is suspended costs a look at one
    /// of its tasks, so that is only looked at where it decides.
    ///
    /// # Errors
    /// The refusal of a cpuset that cannot be had now.
    pub(super) fn inside(
        &self,
        session: &Session<'_>,
        ask: &Request,
    ) -> Result<RequestInCpuset, Refusal> {
        let mut request = ask.clone();
        let mut notes = Vec::new();
        if is_chosen_here(ask) {
            let others = others(session, self.key, (ask, self.node));
            let claims = others.all_running();
            let own = job_cpus(ask, self.node);
            let given = match self.of_job_already(session, &own, &claims)? {
                Some(given) => Some(given),
                None => {
                    let cpus = |plan: &Result<Plan, Refusal>| {
                        let set = plan.as_ref().ok()?.cpuset.as_ref()?;
                        Some(set.cpus.clone())
                    };
                    let mut chosen = self.choice(ask, &claims);
                    let differs = |plan| {
                        others.has_jobs()
                            && cpus(plan) != cpus(&self.choice(ask, &others.all_suspended()))
                    };
                    if differs(&chosen) {
                        chosen = self.choice(ask, &others.now());
                    }
                    let chosen = chosen?;
                    let of_cpuset = |note: &Note| matches!(note, Note::Cpuset(_));
                    notes = chosen.notes.into_iter().filter(of_cpuset).collect();
                    // Where the site lets the step run without its cpuset, the step's own plan says so.
                    chosen.cpuset.map(|set| self.existing(set.cpus))
                }
            };
            if let Some(given) = given {
                request.cpuset = Some(StepCpuset::Given(given));
            } else {
                notes.clear();
            }
        }
        Ok(RequestInCpuset { request, notes })
    }

    /// Whether it could be had if the jobs that have its CPUs were suspended: slurmctld suspends a job and launches the one
    /// that preempts it at the same time.
    pub(super) fn may_become_free(
        &self,
        session: &Session<'_>,
        ask: &Request,
        why: &Refusal,
    ) -> bool {
        let is_held = matches!(why, Refusal::Cpuset(of) if of.held().is_some());
        let others = others(session, self.key, (ask, self.node));
        is_held
            && !self.wish.is_debugged
            && others.has_jobs()
            && self.choice(ask, &others.all_suspended()).is_ok()
    }

    /// A plan that binds nothing and chooses the cpuset.
    fn choice(&self, ask: &Request, claims: &Claims) -> Result<Plan, Refusal> {
        let ask = Request {
            cpu_bind: CpuBind {
                mode: Some(Mode::Free),
                one_thread: ask.cpu_bind.one_thread,
                ..CpuBind::default()
            },
            binding: None,
            mapping: None,
            near: None,
            mem_bind: MemBind::default(),
            ..ask.clone()
        };
        plan(&ask, self.node, claims)
    }

    /// The cpuset that the job has on this node already, if its CPUs are still its own.
    ///
    /// # Errors
    /// The refusal of a request other than the job's.
    fn of_job_already(
        &self,
        session: &Session<'_>,
        own: &CpuSet,
        claims: &Claims,
    ) -> Result<Option<ExistingCpuset>, Refusal> {
        let request = &self.wish.request;
        if let Some(living) = session.cpuset_of(self.key.job, self.uid, own) {
            return match living.request == request.to_string() {
                true => Ok(Some(self.existing(living.cpus))),
                false => Err(Refusal::BindingFailed(format!(
                    "--cpuset={request}: this job has the cpuset {} on this node, CPUs {}, and its steps run inside \
                     it; leave --cpuset out",
                    living.request, living.cpus
                ))),
            };
        }
        let before = self
            .wish
            .of_job
            .then(|| JobCpuset::read(self.dir, self.uid, self.key.job));
        let before = before.flatten().filter(|known| known.request == *request);
        // A job that was requeued may own others now.
        let is_exclusive = attributes(request).has(Attribute::CpuExclusive);
        let is_free = |known: &JobCpuset| {
            known.cpus.is_subset(own)
                && !known.cpus.intersects(&claims.taken)
                && !(is_exclusive && known.cpus.intersects(&claims.cpusets))
        };
        Ok(before
            .filter(is_free)
            .map(|known| self.existing(known.cpus)))
    }

    fn existing(&self, cpus: CpuSet) -> ExistingCpuset {
        ExistingCpuset {
            requested: self.wish.request.clone(),
            cpus,
            mems: None,
            attributes: attributes(&self.wish.request),
        }
    }

    /// What the step's tasks are fenced in.
    pub(super) fn fence(&self, ask: &Request, set: &ChosenSet, node_name: &str) -> InCpuset {
        let request = &self.wish.request;
        let is_chosen_here = is_chosen_here(ask);
        let (kind, name) = match request {
            CpusetRequest::Static(named) => ("static", named.name.as_str().to_owned()),
            CpusetRequest::None | CpusetRequest::Dynamic(_) => {
                ("dynamic", format!("/{node_name}/{}", self.key.job))
            }
        };
        InCpuset {
            cpus: set.cpus.clone(),
            line: format!(
                "CPUSET_TYPE={kind};NHOSTS={};HOST={node_name};CPUSET_NAME={name};NCPUS={};",
                self.wish.nodes, set.count
            ),
            mems: needed(set.mems.clone(), set.memory),
            memory: set.memory,
            requested: match is_chosen_here {
                true => request.to_string(),
                false => String::new(),
            },
            held: is_chosen_here.then(|| Cpuset {
                exclusive: set.exclusive,
                of_job: self.wish.of_job,
                memory: attributes(request).has(Attribute::MemoryExclusive),
            }),
        }
    }
}

/// Puts the cpuset that a step is in already into its request.
pub(super) fn put_existing(cpuset: &InCpuset, request: &mut Request) {
    let Ok(requested) = cpuset.requested.parse() else {
        return;
    };
    request.job_allocation = Some(Allocation::Cpus(cpuset.cpus.clone()));
    request.cpuset = Some(StepCpuset::Given(ExistingCpuset {
        attributes: attributes(&requested),
        requested,
        cpus: cpuset.cpus.clone(),
        mems: None,
    }));
}

/// Memory nodes without a meaning are not needed.
fn needed(mems: NodeSet, memory: SetMemory) -> NodeSet {
    match memory {
        SetMemory::Open => NodeSet::default(),
        SetMemory::Preferred | SetMemory::Only { .. } => mems,
    }
}

/// Whether this node chooses the cpuset, for the ledger: the site's own cpusets are shared.
pub(super) fn is_chosen_here(ask: &Request) -> bool {
    matches!(ask.cpuset, Some(StepCpuset::Choose(_)))
}

fn attributes(request: &CpusetRequest) -> Attributes {
    match request {
        CpusetRequest::Dynamic(requested) => requested.attributes,
        CpusetRequest::None | CpusetRequest::Static(_) => Attributes::default(),
    }
}

/// The ledger's entry for a step in its job's cpuset; none if this node did not choose it.
pub(super) fn entry(
    key: StepKey,
    cpuset: &InCpuset,
    job_cpus: CpuSet,
    living: Option<&Entry>,
) -> Option<Entry> {
    let held = cpuset.held?;
    Some(Entry {
        step: key,
        job_cpus,
        generation: living.map_or(0, |living| living.generation),
        home: living.and_then(|living| living.home.clone()),
        cpuset: Some(held),
        request: cpuset.requested.clone(),
        cpus: cpuset.cpus.clone(),
        ..Entry::default()
    })
}
