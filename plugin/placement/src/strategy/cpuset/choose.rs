//! Chooses a job's cpuset: the candidates, those that are better avoided, and what is left to say.
//! In: a request, what the job owns, what others claim. Out: the cpuset with notes, or a refusal. Pure.

use crate::answer::cpuset::{ChosenSet, CpusetNote, CpusetRefusal, Rejected, SetFrom, TooFew};
use crate::request::cpuset::{Attribute, Choice, CpusetRequest, Dynamic};
use crate::request::{Allocation, Claims, Request};
use crate::sets::cpuset::CpuSet;
use crate::strategy::cpuset::best_fit::best_fit;
use crate::strategy::cpuset::candidates::{Candidates, first_fit};
use crate::strategy::cpuset::job::{Job, memory_of};

/// The result of one choice among some CPUs.
pub(super) struct Fit {
    pub(super) cpus: CpuSet,
    radius: u32,
    smaller: Vec<u32>,
}

/// Why some CPUs give none.
pub(super) enum Obstacle {
    TooFew(u32),
    Radius { smallest: u32, needed: u32 },
}

/// A choice under way.
pub(super) struct Choosing<'a> {
    pub(super) requested: &'a Dynamic,
    /// Whether the user wrote the number of CPUs.
    pub(super) is_count_typed: bool,
    pub(super) job: &'a Job<'a>,
    pub(super) request: &'a Request,
    pub(super) claims: &'a Claims,
}

/// CPUs that a cpuset avoids where it can.
struct Avoided {
    cpusets: CpuSet,
    isolated: CpuSet,
    memory: CpuSet,
}

/// The cpuset of a request.
pub(super) fn choose(
    choice: &Choice,
    job: &Job<'_>,
    request: &Request,
    claims: &Claims,
) -> Result<(ChosenSet, Vec<CpusetNote>), CpusetRefusal> {
    if choice.requested.max_radius.is_some() && choice.job_nodes > 1 {
        return Err(CpusetRefusal::SeveralNodes(choice.job_nodes));
    }
    let here = Choosing {
        requested: &choice.requested,
        is_count_typed: choice.is_count_typed,
        job,
        request,
        claims,
    };
    let taken = here.unusable();
    let open = here.listed().difference(&taken);
    let avoided = here.avoided(&open);
    let mut last = None;
    for usable in avoided.tries(&open) {
        match here.fit(&usable) {
            Ok(fit) => return Ok(here.chosen(fit, &avoided, &taken)),
            Err(obstacle) => last = Some(obstacle),
        }
    }
    let obstacle = last.unwrap_or(Obstacle::TooFew(0));
    let held = taken.intersection(&here.listed());
    let helps = !held.is_empty() && here.fit(&here.listed()).is_ok();
    let held = if helps { held } else { CpuSet::new() };
    Err(here.refusal(&obstacle, open, held))
}

/// Whether a job could have a cpuset of so many CPUs, if others held none.
pub(super) fn has_room(requested: &Dynamic, count: u32, job: &Job<'_>, request: &Request) -> bool {
    let requested = Dynamic {
        ncpus: Some(count),
        ..requested.clone()
    };
    let here = Choosing {
        requested: &requested,
        is_count_typed: false,
        job,
        request,
        claims: &Claims::default(),
    };
    count <= job.units && here.fit(&here.listed()).is_ok()
}

impl Choosing<'_> {
    fn has(&self, attribute: Attribute) -> bool {
        self.requested.has(attribute)
    }

    /// CPUs that must not be used.
    fn unusable(&self) -> CpuSet {
        let mut taken = self.claims.taken.clone();
        if self.has(Attribute::CpuExclusive) {
            taken.insert_all(&self.claims.cpusets);
        }
        taken.intersection(&self.job.owned.cpus)
    }

    /// The job's CPUs that the list names.
    fn listed(&self) -> CpuSet {
        let own = &self.job.owned.cpus;
        match &self.requested.cpu_list {
            Some(list) => own.intersection(list.cpus()),
            None => own.clone(),
        }
    }

    fn avoided(&self, open: &CpuSet) -> Avoided {
        let node = self.job.node;
        let isolated = match (&self.requested.cpu_list, node.machine()) {
            (None, Some(machine)) => machine.isolated().intersection(open),
            _ => CpuSet::new(),
        };
        let distances = node.distances();
        let mut memory = CpuSet::new();
        for (id, cpus) in (0..distances.len()).filter_map(|at| distances.node(at)) {
            if id.is_some_and(|id| self.claims.memory.contains(id)) {
                memory.insert_all(cpus);
            }
        }
        Avoided {
            cpusets: self.claims.cpusets.intersection(open),
            isolated,
            memory: memory.intersection(open),
        }
    }

    /// Number of CPUs that are needed: at most those that the job owns.
    fn needed(&self) -> Option<u32> {
        let most = self.job.units;
        self.requested.ncpus.map(|count| count.min(most))
    }

    /// The choice among some CPUs.
    pub(super) fn fit(&self, usable: &CpuSet) -> Result<Fit, Obstacle> {
        let whole = self.requested.has_whole_nodes();
        let per_node = self.requested.max_cpu_per_node;
        let usable = match whole {
            true => self.in_whole_nodes(usable),
            false => usable.clone(),
        };
        let job = self.job;
        let candidates = Candidates::of(job.node, &job.owned, &usable, job.limit);
        let each = |units: u32| units.min(per_node.unwrap_or(u32::MAX));
        let all = candidates
            .offers
            .iter()
            .map(|offer| each(offer.units))
            .sum();
        let needed = self.needed().unwrap_or(all);
        let found = match (self.is_first_fit(), &self.requested.cpu_list) {
            (false, _) => best_fit(&candidates, needed, per_node, whole)
                .map(|found| (found.cpus, found.smaller)),
            (true, Some(list)) => first_fit(&candidates, list.iter(), needed, per_node, whole)
                .map(|cpus| (cpus, Vec::new())),
            (true, None) => {
                let by_number = candidates.cpus();
                first_fit(&candidates, by_number.iter(), needed, per_node, whole)
                    .map(|cpus| (cpus, Vec::new()))
            }
        };
        let (cpus, smaller) = found.map_err(Obstacle::TooFew)?;
        let cpus: CpuSet = cpus.into_iter().collect();
        let radius = job.node.distances().radius_of(&cpus);
        let most = self.requested.max_radius.filter(|_| !self.is_first_fit());
        match most.is_some_and(|most| radius > most) {
            true => Err(Obstacle::Radius {
                smallest: radius,
                needed,
            }),
            false => Ok(Fit {
                cpus,
                radius,
                smaller,
            }),
        }
    }

    fn is_first_fit(&self) -> bool {
        self.job.node.rules().cpuset_first_fit
    }

    /// The CPUs of those NUMA nodes all of whose CPUs are among some.
    fn in_whole_nodes(&self, usable: &CpuSet) -> CpuSet {
        let distances = self.job.node.distances();
        let mut inside = CpuSet::new();
        for at in 0..distances.len() {
            if let Some(needed) = self.job.whole_node(at, self.request)
                && needed.is_subset(usable)
            {
                inside.insert_all(&needed);
            }
        }
        inside
    }

    fn chosen(&self, fit: Fit, avoided: &Avoided, taken: &CpuSet) -> (ChosenSet, Vec<CpusetNote>) {
        let job = self.job;
        let found = memory_of(
            job.node,
            &fit.cpus,
            self.requested.mem_list.as_ref(),
            (self.requested.attributes, &self.claims.memory),
        );
        let mut notes = found.notes;
        notes.extend(self.compromises(&fit.cpus, avoided));
        if self.is_first_fit() && self.requested.max_radius.is_some() {
            notes.push(CpusetNote::RadiusIgnored);
        }
        notes.extend(self.cut());
        let set = ChosenSet {
            requested: CpusetRequest::Dynamic(self.requested.clone()),
            count: job.units_in(&fit.cpus),
            counts_cores: job.limit == Some(1),
            mems: found.mems,
            memory: found.memory,
            radius: fit.radius,
            exclusive: self.has(Attribute::CpuExclusive),
            from: match self.is_first_fit() {
                true => SetFrom::FirstFit,
                false => SetFrom::BestFit,
            },
            rejected: self.rejected(&fit, avoided, taken),
            cpus: fit.cpus,
        };
        (set, notes)
    }

    /// The note on a number that the job cannot have.
    fn cut(&self) -> Option<CpusetNote> {
        let requested = self.requested.ncpus.filter(|_| self.is_count_typed)?;
        let job = self.job.units;
        (requested > job).then_some(CpusetNote::Cut { requested, job })
    }

    /// Whether a job that owns the whole node would have the cpuset, and this one does not own it.
    fn fits_on_node(&self) -> bool {
        let request = Request {
            job_allocation: Some(Allocation::Whole),
            ..self.request.clone()
        };
        let job = Job::of(&request, self.job.node, &self.job.owned);
        let count = self.needed().unwrap_or(1);
        job.owned.cpus != self.job.owned.cpus && has_room(self.requested, count, &job, &request)
    }

    /// Notes on CPUs and memory that the cpuset has although they are better avoided.
    fn compromises(&self, cpus: &CpuSet, avoided: &Avoided) -> Vec<CpusetNote> {
        let mut notes = Vec::new();
        let shares = cpus.intersection(&avoided.cpusets);
        if !shares.is_empty() {
            notes.push(CpusetNote::Shares(shares));
        }
        if cpus.intersects(&avoided.memory) {
            notes.push(CpusetNote::SharesMemory(self.claims.memory.clone()));
        }
        let isolated = cpus.intersection(&avoided.isolated);
        if !isolated.is_empty() {
            notes.push(CpusetNote::Isolated(isolated));
        }
        notes
    }

    fn rejected(&self, fit: &Fit, avoided: &Avoided, taken: &CpuSet) -> Vec<Rejected> {
        let mut rejected = Vec::new();
        let mut add = |cpus: CpuSet, why: fn(CpuSet) -> Rejected| {
            if !cpus.is_empty() {
                rejected.push(why(cpus));
            }
        };
        let own = &self.job.owned.cpus;
        if let Some(list) = &self.requested.cpu_list {
            add(list.cpus().difference(own), Rejected::NotOwned);
            add(own.difference(list.cpus()), Rejected::NotListed);
        }
        add(taken.clone(), Rejected::Taken);
        add(avoided.cpusets.difference(&fit.cpus), Rejected::Avoided);
        add(avoided.isolated.difference(&fit.cpus), Rejected::Isolated);
        if !avoided.memory.is_empty() && !avoided.memory.intersects(&fit.cpus) {
            let memory = self.claims.memory.clone();
            rejected.push(Rejected::ExclusiveMemory(memory));
        }
        if self.requested.has_whole_nodes() {
            rejected.extend(self.parts_of_nodes());
        }
        let smaller = (0..).zip(&fit.smaller);
        rejected.extend(smaller.map(|(radius, holds)| Rejected::Radius {
            radius,
            holds: *holds,
        }));
        rejected
    }

    /// NUMA nodes that the job does not own whole.
    fn parts_of_nodes(&self) -> Vec<Rejected> {
        let distances = self.job.node.distances();
        let is_part = |at: &usize| {
            let needed = self.job.whole_node(*at, self.request);
            needed.is_some_and(|needed| !needed.is_subset(&self.job.owned.cpus))
        };
        let parts = (0..distances.len()).filter(is_part);
        let ids = parts.filter_map(|at| distances.node(at)?.0);
        ids.map(Rejected::PartOfNode).collect()
    }

    fn refusal(&self, obstacle: &Obstacle, candidates: CpuSet, held: CpuSet) -> CpusetRefusal {
        match *obstacle {
            Obstacle::Radius { smallest, needed } => CpusetRefusal::Radius {
                needed,
                most: self.requested.max_radius.unwrap_or(0),
                smallest,
                held,
                fits_on_node: self.fits_on_node(),
            },
            Obstacle::TooFew(most) => CpusetRefusal::TooFew {
                needed: self.needed().unwrap_or(1),
                most,
                candidates,
                why: match (self.requested.max_cpu_per_node, &self.requested.cpu_list) {
                    (_, Some(_)) if self.requested.has_whole_nodes() => TooFew::WholeListed,
                    (_, None) if self.requested.has_whole_nodes() => TooFew::WholeNodes,
                    (Some(limit), _) => TooFew::PerNode(limit),
                    (None, Some(_)) => TooFew::Listed,
                    (None, None) => TooFew::Cpus,
                },
                held,
                fits_on_node: self.fits_on_node(),
            },
        }
    }
}

impl Avoided {
    /// The CPUs to choose from, from the most cautious try to the last one.
    fn tries(&self, open: &CpuSet) -> Vec<CpuSet> {
        let without = |sets: &[&CpuSet]| {
            let less = |left: CpuSet, set: &&CpuSet| left.difference(set);
            sets.iter().fold(open.clone(), less)
        };
        let mut tries = vec![
            without(&[&self.cpusets, &self.isolated, &self.memory]),
            without(&[&self.cpusets, &self.isolated]),
            without(&[&self.cpusets]),
            without(&[]),
        ];
        tries.dedup();
        tries
    }
}
