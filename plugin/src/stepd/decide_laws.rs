//! What holds for the cpusets of a node's jobs whatever happens to these, on random machines: each slurmstepd decides its
//! step, and writes the ledger as it does at a launch.

#[path = "decide_laws/alone.rs"]
mod alone;
#[path = "decide_laws/making.rs"]
mod making;

use berth_host::Ledger;
use berth_host::ledger::{Cpuset, OwnEntry, look};
use berth_placement::request::cpuset::{Choice, Dynamic};
use berth_placement::*;
use proptest::prelude::*;
use proptest::sample::Index;

use self::making::{job, machine};
use super::*;
use crate::random::config;
use crate::step::CpusetWish;

const NODE: &str = "n1";

/// What happens next to one of the jobs.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// slurmd launches a step of it.
    Launch,
    /// One of its slurmstepds goes on: it begins, or looks again whether it may begin.
    GoOn(Index),
    EndStep,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => Just(Event::Launch),
        9 => any::<Index>().prop_map(Event::GoOn),
        3 => Just(Event::EndStep),
    ]
}

/// How far a step has come.
enum State {
    /// Its slurmstepd has not decided it. It may have to wait for others.
    Launched {
        waits: bool,
    },
    Runs(Box<OwnEntry>),
}

struct Job {
    number: u32,
    own: CpuSet,
    wish: CpusetWish,
    requested: Dynamic,
    steps: Vec<(StepKey, State)>,
    launched: u32,
}

struct Site {
    _base: tempfile::TempDir,
    dir: StateDir,
    node: Node,
    next_job: u32,
}

impl Site {
    fn new(machine: Machine) -> Self {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), NODE).unwrap();
        dir.prepare().unwrap();
        Self {
            _base: base,
            dir,
            node: Node::of(machine, SocketKind::Package, Rules::default()),
            next_job: 1,
        }
    }

    fn all(&self) -> CpuSet {
        self.node.machine().unwrap().cpus().clone()
    }

    /// A step of root's with one task.
    fn context(&self, key: StepKey) -> StepContext<'_> {
        StepContext {
            node_name: NODE,
            dir: self.dir.clone(),
            key,
            kind: Kind::Regular,
            uid: 0,
            tasks: 1,
            is_in_pool: false,
            patience: PATIENCE,
        }
    }

    /// The decision on a step of a job that has the whole node, with one core for each task.
    fn decided(&self, context: &StepContext<'_>) -> Decided {
        let request = Request {
            tasks: context.tasks,
            allocation: Allocation::Cpus(self.all()),
            binding: Some("linear:1".parse().unwrap()),
            ..Request::default()
        };
        let step = Step {
            request,
            ..Step::default()
        };
        let Ok(decided) = decide_on(context, step, self.node.clone()) else {
            panic!("it is not refused");
        };
        decided
    }

    fn job(&mut self, (text, bits): &(String, u32)) -> Option<Job> {
        let all = self.all();
        let own = all.iter().zip(0..32).filter(|(_, at)| bits >> at & 1 == 1);
        let own: CpuSet = own.map(|(cpu, _)| cpu).collect();
        let request: CpusetRequest = text.parse().unwrap();
        let CpusetRequest::Dynamic(requested) = request.clone() else {
            panic!("{text}");
        };
        self.next_job += 1;
        (!own.is_empty()).then(|| Job {
            number: self.next_job,
            wish: CpusetWish {
                request,
                of_job: true,
                is_debugged: false,
                nodes: 1,
            },
            own,
            requested,
            steps: Vec::new(),
            launched: 0,
        })
    }

    fn happens(&mut self, event: Event, job: &mut Job) {
        match event {
            // slurmd refuses what can never fit.
            Event::Launch if plan(&request(job), &self.node, &Claims::default()).is_err() => {}
            Event::Launch => {
                let step = key(job.number, job.launched);
                job.launched += 1;
                job.steps.push((step, State::Launched { waits: false }));
            }
            Event::GoOn(which) => {
                if job.steps.is_empty() {
                    return;
                }
                let at = which.index(job.steps.len());
                if let (_, State::Runs(_)) = job.steps[at] {
                    return;
                }
                let (step, _) = job.steps.remove(at);
                let state = self.decides(job, step);
                job.steps.extend(state.map(|state| (step, state)));
            }
            Event::EndStep => end_step(job),
        }
    }

    /// One look of a slurmstepd that has just begun, or waits; none if it gives up.
    fn decides(&self, job: &Job, key: StepKey) -> Option<State> {
        let context = self.context(key);
        let case = Case {
            context: &context,
            step: Step {
                request: request(job),
                cpuset: Some(job.wish.clone()),
                ..Step::default()
            },
            node: self.node.clone(),
        };
        let mut claims = Claims::default();
        let found = context.locked(|session| case.attempt(session, &mut claims, Duration::ZERO));
        match found.unwrap() {
            Attempt::Refused(_) => None,
            Attempt::Wait(_) => Some(State::Launched { waits: true }),
            Attempt::Decided(mut decided) => {
                let cpuset = decided.cpuset.unwrap();
                for task in &decided.plan.tasks {
                    assert!(task.cpus.is_subset(&cpuset.cpus) && task.cpus.is_subset(&job.own));
                }
                let mut held = decided.ledger_entries.pop().unwrap().into_held();
                // Its tasks have started, for which this process stands.
                held.started(std::process::id() as i32, Vec::new()).unwrap();
                Some(State::Runs(Box::new(held)))
            }
        }
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
                let State::Runs(held) = state else {
                    continue;
                };
                let Some(written) = written.filter(|written| written.cpus == held.entry().cpus)
                else {
                    return Err(format!("{:?} is not in the ledger", held.entry()));
                };
                if written.cpus.is_empty() || !written.cpus.is_subset(&job.own) {
                    return Err(format!("not its job's CPUs: {written:?}"));
                }
                if written.cpuset.is_some_and(|one| one.exclusive) {
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

fn key(job: u32, step: u32) -> StepKey {
    StepKey {
        job,
        step,
        component: u32::MAX,
    }
}

/// What slurmd reads of a step of it.
fn request(job: &Job) -> Request {
    let choice = Choice {
        requested: job.requested.clone(),
        job_nodes: 1,
        is_count_typed: false,
    };
    Request {
        allocation: Allocation::Cpus(job.own.clone()),
        job_allocation: Some(Allocation::Cpus(job.own.clone())),
        cpuset: Some(StepCpuset::Choose(choice)),
        ..Request::default()
    }
}

/// The first of its steps that has begun ends.
fn end_step(job: &mut Job) {
    let ends = |(_, state): &(_, State)| !matches!(state, State::Launched { .. });
    let Some(at) = job.steps.iter().position(ends) else {
        return;
    };
    if let (_, State::Runs(held)) = job.steps.remove(at) {
        held.release().unwrap();
    }
}

#[test]
fn an_entry_has_the_user_and_the_tasks_of_its_step() {
    let site = Site::new(Machine::regular(1, 2, 1, Numbering::Block).unwrap());
    let context = StepContext {
        uid: 1000,
        tasks: 2,
        ..site.context(key(1, 0))
    };
    let _decided = site.decided(&context);
    let entries = look(&site.dir).unwrap();
    let found: Vec<_> = entries.iter().map(|one| (one.uid, one.tasks)).collect();
    assert_eq!(found, [(1000, 2)]);
}

/// An orphan of the job's last run holds its cpuset on CPUs that this run does not own, or it is another user's.
#[test]
fn an_earlier_job_s_cpuset_is_not_this_one_s() {
    let mut site = Site::new(Machine::regular(1, 4, 1, Numbering::Block).unwrap());
    let job = site.job(&("NCPUS=2".into(), 0b1100)).unwrap();
    let earlier = |uid, list| Entry {
        step: key(job.number, 0),
        cpuset: Some(Cpuset {
            of_job: true,
            ..Cpuset::default()
        }),
        uid,
        request: "NCPUS=1".into(),
        job_cpus: CpuSet::from_list(list).unwrap(),
        cpus: CpuSet::from_list(list).unwrap(),
        ..Entry::default()
    };
    let ledger = Ledger::open(&site.dir).unwrap();
    for entry in [earlier(0, "0-1"), earlier(1000, "2-3")] {
        let held = ledger.session(PATIENCE).unwrap().hold(entry).unwrap();
        let Some(State::Runs(its)) = site.decides(&job, key(job.number, 1)) else {
            panic!("{:?} is believed", held.entry());
        };
        its.release().unwrap();
        held.release().unwrap();
    }
}

/// The service moves all steps of the job back when the CPUs are online again.
#[test]
fn a_step_that_begins_while_its_cpuset_is_away_has_the_same_home() {
    let mut site = Site::new(Machine::regular(1, 4, 1, Numbering::Block).unwrap());
    let job = site.job(&("NCPUS=2".into(), 0b1111)).unwrap();
    let home = Some(CpuSet::from_list("0-1").unwrap());
    let away = Entry {
        step: key(job.number, 0),
        cpuset: Some(Cpuset {
            of_job: true,
            ..Cpuset::default()
        }),
        request: job.wish.request.to_string(),
        job_cpus: job.own.clone(),
        home: home.clone(),
        cpus: CpuSet::from_list("2-3").unwrap(),
        ..Entry::default()
    };
    let ledger = Ledger::open(&site.dir).unwrap();
    let _held = ledger.session(PATIENCE).unwrap().hold(away).unwrap();
    let Some(State::Runs(its)) = site.decides(&job, key(job.number, 1)) else {
        panic!("it is not refused");
    };
    assert_eq!(its.entry().home, home);
}

/// Others keep their cores also where this step's own entry cannot be written.
#[test]
fn without_an_entry_a_step_is_bound_beside_others() {
    let site = Site::new(Machine::regular(1, 2, 1, Numbering::Block).unwrap());
    let other = Entry {
        step: key(9, 0),
        cpus: CpuSet::from_list("0").unwrap(),
        ..Entry::default()
    };
    let ledger = Ledger::open(&site.dir).unwrap();
    let _held = ledger.session(PATIENCE).unwrap().hold(other).unwrap();
    // An entry is made under this name.
    std::fs::create_dir(site.dir.path().join("steps/.new")).unwrap();
    let decided = site.decided(&site.context(key(1, 0)));
    assert_eq!(decided.plan.tasks[0].cpus.to_string(), "1");
    assert!(decided.note.is_some() && decided.ledger_entries.is_empty());
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
