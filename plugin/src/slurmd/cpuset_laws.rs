//! What holds for the cpusets of a node's jobs whatever happens to these, on random machines: slurmd plans and records
//! as it does at a launch, and the ledger is written as by each step's slurmstepd.

#[path = "cpuset_laws/alone.rs"]
mod alone;
#[path = "cpuset_laws/making.rs"]
mod making;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use berth_host::ledger::{
    Beside, Claimed, Confirmed, Cpuset, Entry, Held, Kind, StepKey, claim, look,
};
use berth_host::{Ledger, StateDir};
use berth_placement::request::cpuset::Dynamic;
use berth_placement::strategy::cpuset::{Resume, Resumed};
use berth_placement::*;
use proptest::prelude::*;
use proptest::sample::Index;

use self::making::{config, job, machine};
use super::*;
use crate::slurmd::in_cpuset::settled_now;
use crate::slurmd::settled::Who;

const PATIENCE: Duration = Duration::from_secs(5);
const NODE: &str = "n1";
/// Numbers that no other test gives to its jobs: slurmd remembers the cpusets of all.
static NEXT_JOB: AtomicU32 = AtomicU32::new(1_000_000);

/// What happens next to one of the jobs.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// slurmd plans a step of it.
    Launch,
    /// The same while another process has the ledger.
    LaunchBeside,
    /// One of its slurmstepds goes on: it begins, looks again whether it may begin, or hears of the resume.
    GoOn(Index),
    EndStep,
    Suspend,
    Resume,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => Just(Event::Launch),
        1 => Just(Event::LaunchBeside),
        9 => any::<Index>().prop_map(Event::GoOn),
        3 => Just(Event::EndStep),
        2 => Just(Event::Suspend),
        2 => Just(Event::Resume),
    ]
}

/// How far a step has come.
enum State {
    /// slurmd has planned it. It may have to wait for others.
    Planned {
        entry: Entry,
        waits: bool,
    },
    Runs(Box<Held>),
    /// Its job is suspended, or its slurmstepd has not heard of the resume yet.
    Suspended(Box<Held>),
}

struct Job {
    number: u32,
    own: CpuSet,
    wanted: Wanted,
    asked: Dynamic,
    steps: Vec<(StepKey, State)>,
    launched: u32,
    is_suspended: bool,
}

struct Site {
    _base: tempfile::TempDir,
    dir: StateDir,
    node: Node,
    slurmd: Ledger,
    settings: Settings,
}

impl Site {
    fn new(machine: Machine) -> Self {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), NODE).unwrap();
        dir.prepare().unwrap();
        Self {
            _base: base,
            slurmd: Ledger::open(&dir).unwrap(),
            dir,
            node: Node::of(machine, SocketKind::Package, Rules::default()),
            settings: Settings::default(),
        }
    }

    fn all(&self) -> CpuSet {
        self.node.machine().unwrap().cpus().clone()
    }

    fn job(&self, (text, bits): &(String, u32)) -> Option<Job> {
        let own = CpuSet::from_words([u64::from(*bits)]).intersection(&self.all());
        let request: CpusetRequest = text.parse().unwrap();
        let CpusetRequest::Dynamic(asked) = request.clone() else {
            panic!("{text}");
        };
        let choice = Choice {
            asked: asked.clone(),
            job_nodes: 1,
            is_count_typed: false,
        };
        (!own.is_empty()).then(|| Job {
            number: NEXT_JOB.fetch_add(1, Ordering::Relaxed),
            wanted: Wanted {
                request,
                of_job: true,
                is_remembered: false,
                is_debugged: false,
                cpuset: StepCpuset::Choose(choice),
                job_allocation: Allocation::Cpus(own.clone()),
                nodes: 1,
            },
            own,
            asked,
            steps: Vec::new(),
            launched: 0,
            is_suspended: false,
        })
    }

    fn happens(&mut self, event: Event, job: &mut Job) {
        match event {
            Event::Launch | Event::LaunchBeside if job.is_suspended => {}
            Event::Launch => self.launch(job),
            Event::LaunchBeside => {
                let mut other = Ledger::open(&self.dir).unwrap();
                let _held = other.session(PATIENCE).unwrap();
                self.launch(job);
            }
            Event::GoOn(which) => {
                if job.steps.is_empty() {
                    return;
                }
                let at = which.index(job.steps.len());
                let (step, state) = job.steps.remove(at);
                let state = self.goes_on(job, step, state);
                job.steps.extend(state.map(|state| (step, state)));
            }
            Event::EndStep => end_step(job),
            Event::Suspend => suspend(job),
            Event::Resume => job.is_suspended = false,
        }
    }

    /// slurmd's launch hook.
    fn launch(&mut self, job: &mut Job) {
        let step = StepKey {
            job: job.number,
            step: job.launched,
            component: u32::MAX,
        };
        job.launched += 1;
        let who = Who {
            settings: &self.settings,
            node_name: NODE,
            step,
            kind: Kind::Regular,
            cpuset: Some(&job.wanted),
            member: None,
        };
        let mut ask = Request {
            allocation: Allocation::Cpus(job.own.clone()),
            ..Request::default()
        };
        job.wanted.put(&mut ask);
        let mut session = self.slurmd.session_now().unwrap();
        let asked = (&ask, &self.node, plan as crate::planning::ledger::Door);
        let planned = settled_now(&mut session, (&who, &job.wanted), asked).unwrap();
        let Ok(planned) = planned else { return };
        let cpuset = who.handed(&planned).unwrap();
        for task in &planned.plan.tasks {
            assert!(task.cpus.is_subset(&cpuset.cpus) && task.cpus.is_subset(&job.own));
        }
        let held = cpuset.held.unwrap();
        let entry = Entry {
            step,
            cpuset: Some(Cpuset {
                exclusive: held.exclusive,
                of_job: held.of_job,
                memory: held.memory,
            }),
            tasks: 1,
            mark: held.mark,
            cpus: cpuset.cpus,
            ..Entry::default()
        };
        let waits = cpuset.is_held;
        job.steps.push((step, State::Planned { entry, waits }));
    }

    /// One of its slurmstepds; none if it gives up.
    fn goes_on(&self, job: &Job, step: StepKey, state: State) -> Option<State> {
        match state {
            // Who waits does not look while its job is suspended.
            State::Planned { .. } if job.is_suspended => Some(state),
            State::Planned { entry, waits: true } => self.claims(entry, true),
            State::Planned {
                entry,
                waits: false,
            } => {
                let ledger = Ledger::open(&self.dir).unwrap();
                match ledger.confirm_cpuset(step, 0).unwrap() {
                    Confirmed::Held(held) => Some(self.begins(held)),
                    Confirmed::Nothing => self.claims(entry, false),
                    Confirmed::Late(_) => Some(State::Planned { entry, waits: true }),
                }
            }
            State::Suspended(held) if !job.is_suspended => Some(self.resumed(job, held)),
            State::Runs(_) | State::Suspended(_) => Some(state),
        }
    }

    fn claims(&self, entry: Entry, waits: bool) -> Option<State> {
        match claim(&self.dir, &entry, false).unwrap() {
            Claimed::Held(held) => Some(self.begins(held)),
            Claimed::Taken(_) => Some(State::Planned { entry, waits: true }),
            Claimed::Elsewhere(_) if waits => Some(State::Planned { entry, waits }),
            Claimed::Elsewhere(_) => None,
        }
    }

    /// The first slurmstepd that hears of the resume chooses, and the others take what it has chosen.
    fn resumed(&self, job: &Job, mut held: Box<Held>) -> State {
        let mut ledger = Ledger::open(&self.dir).unwrap();
        let mut session = ledger.session(PATIENCE).unwrap();
        let own = held.entry().clone();
        let later = session.cpuset_of(job.number);
        let later = later.filter(|one| one.generation > own.generation);
        let runs = |one: &Entry| one.task.is_none_or(|task| !task.suspended);
        let (others, exclusive) = session.held_by_others(job.number);
        let original = later.as_ref().map_or(&own.cpus, |one| &one.cpus);
        let resume = Resume {
            asked: &job.asked,
            original,
            own: &job.own,
            free: &self.all().difference(&others),
            held: &exclusive,
            reserved: &CpuSet::new(),
        };
        let next = later.as_ref().map_or(own.generation, |one| one.generation) + 1;
        let (cpus, generation) = match (&later, resume.choose(&self.node)) {
            (Some(one), _) if runs(one) => (one.cpus.clone(), one.generation),
            (_, Resumed::NoRoom) => return State::Suspended(held),
            (_, Resumed::Changed(cpus)) => (cpus, next),
            (_, Resumed::Same | Resumed::Shared) => (original.clone(), next),
        };
        held.set_cpus(&session, cpus, generation).unwrap();
        State::Runs(held)
    }

    /// Its first task is forked, for which this process stands. It does not run yet if its job waits, or has other CPUs
    /// since the step was planned.
    fn begins(&self, mut held: Box<Held>) -> State {
        held.set_task(std::process::id() as i32).unwrap();
        let mut ledger = Ledger::open(&self.dir).unwrap();
        let mut session = ledger.session(PATIENCE).unwrap();
        let (step, generation) = (held.entry().step, held.entry().generation);
        let waits = |beside: Beside| beside.generation > generation || !beside.runs;
        let beside = session.beside(step);
        let is_taken = beside.is_none() && session.is_taken(step.job);
        if !is_taken && !beside.is_some_and(waits) {
            return State::Runs(held);
        }
        held.set_suspended(true).unwrap();
        State::Suspended(held)
    }

    /// No CPU is in the exclusive cpusets of two jobs whose tasks run, and none of a cpuset is not its job's. What the
    /// slurmstepds know is what stands in the ledger.
    fn law(&self, jobs: &[Job]) -> Result<(), String> {
        let entries = look(&self.dir).unwrap();
        let mut running: Vec<(u32, CpuSet)> = Vec::new();
        for job in jobs {
            for (step, state) in &job.steps {
                let is_its = |entry: &&Entry| entry.step == *step && entry.cpuset.is_some();
                let written = entries.iter().find(is_its);
                let (State::Runs(held) | State::Suspended(held)) = state else {
                    continue;
                };
                let Some(written) = written.filter(|written| written.cpus == held.entry().cpus)
                else {
                    return Err(format!("{:?} is not in the ledger", held.entry()));
                };
                if written.cpus.is_empty() || !written.cpus.is_subset(&job.own) {
                    return Err(format!("not its job's CPUs: {written:?}"));
                }
                if matches!(state, State::Runs(_))
                    && written.cpuset.is_some_and(|one| one.exclusive)
                {
                    running.push((job.number, written.cpus.clone()));
                }
            }
        }
        let both = running.iter().enumerate().find_map(|(at, (job, cpus))| {
            let other = |(other, more): &&(u32, CpuSet)| other != job && more.intersects(cpus);
            Some((job, cpus, running[..at].iter().find(other)?))
        });
        match both {
            Some(both) => Err(format!("two jobs have the same CPUs: {both:?}")),
            None => Ok(()),
        }
    }
}

/// The first of its steps that has begun ends.
fn end_step(job: &mut Job) {
    let ends = |(_, state): &(_, State)| !matches!(state, State::Planned { .. });
    let Some(at) = job.steps.iter().position(ends) else {
        return;
    };
    if let (_, State::Runs(held) | State::Suspended(held)) = job.steps.remove(at) {
        held.release().unwrap();
    }
}

/// Slurm suspends it once all of its slurmstepds have begun, or wait.
fn suspend(job: &mut Job) {
    let begins = |(_, state): &(_, State)| matches!(state, State::Planned { waits: false, .. });
    if job.is_suspended || job.steps.iter().any(begins) {
        return;
    }
    job.is_suspended = true;
    for (_, state) in &mut job.steps {
        if let State::Runs(held) | State::Suspended(held) = state {
            held.set_suspended(true).unwrap();
        }
    }
    let suspended = |(step, state)| match state {
        State::Runs(held) => (step, State::Suspended(held)),
        other => (step, other),
    };
    job.steps = std::mem::take(&mut job.steps)
        .into_iter()
        .map(suspended)
        .collect();
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn exclusive_cpusets_of_running_jobs_have_no_cpu_in_common(
        machine in machine(),
        jobs in prop::collection::vec(job(), 2..=4),
        events in prop::collection::vec((any::<Index>(), event()), 1..=60),
    ) {
        let mut site = Site::new(machine);
        let mut jobs: Vec<_> = jobs.iter().filter_map(|job| site.job(job)).collect();
        prop_assume!(!jobs.is_empty());
        for (at, (which, event)) in events.iter().enumerate() {
            let job = which.get_mut(&mut jobs);
            site.happens(*event, job);
            let law = site.law(&jobs);
            prop_assert!(law.is_ok(), "after {:?}: {}", &events[..=at], law.unwrap_err());
        }
    }
}
