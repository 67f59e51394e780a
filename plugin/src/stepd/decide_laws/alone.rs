//! A job that is alone on its node: whatever its steps do, and whichever of them are bound inside its cpuset, none waits
//! and none gives up, because nobody else has anything there.

use super::*;

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Alone {
    Cpuset(Event),
    /// A step that runs is bound to a CPU of the cpuset, as long as it runs.
    Bind(Index),
}

fn alone() -> impl Strategy<Value = Alone> {
    prop_oneof![
        8 => event().prop_map(Alone::Cpuset),
        3 => any::<Index>().prop_map(Alone::Bind),
    ]
}

impl Site {
    /// Binds a step as its slurmstepd does, and returns its entry; returns `None` while no step of the job runs.
    fn bind(&self, job: &Job, which: Index) -> Option<OwnEntry> {
        let runs = |(_, state): &&(StepKey, State)| matches!(state, State::Runs(_));
        let runs: Vec<_> = job.steps.iter().filter(runs).collect();
        let (step, _) = runs.get(which.index(runs.len().max(1)))?;
        let ledger = Ledger::open(&self.dir).unwrap();
        let mut session = ledger.session(PATIENCE).unwrap();
        let cpus: Vec<CpuId> = session
            .cpuset_of(job.number, 0, &job.own)?
            .cpus
            .iter()
            .collect();
        let entry = Entry {
            step: *step,
            cpus: CpuSet::from_iter([*which.get(&cpus)]),
            ..Entry::default()
        };
        Some(session.hold(entry).unwrap())
    }

    fn nobody_waits(&self, job: &Job) -> Result<(), String> {
        let waits = |(_, state): &&(_, State)| matches!(state, State::Launched { waits: true });
        if let Some((step, _)) = job.steps.iter().find(waits) {
            return Err(format!("{step:?} waits"));
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn a_job_does_not_wait_for_itself(
        machine in machine(),
        job in job(),
        events in prop::collection::vec(alone(), 1..=40),
    ) {
        let mut site = Site::new(machine);
        let job = site.job(&job);
        prop_assume!(job.is_some());
        let (mut job, mut bound) = (job.unwrap(), Vec::new());
        for (at, event) in events.iter().enumerate() {
            let steps = job.steps.len();
            match event {
                Alone::Cpuset(event) => {
                    site.happens(*event, &mut job);
                    let is_there = matches!(event, Event::EndStep) || job.steps.len() >= steps;
                    prop_assert!(is_there, "after {:?}: a step gave up", &events[..=at]);
                }
                Alone::Bind(which) => bound.extend(site.bind(&job, *which)),
            }
            let (live, ended) = bound.into_iter().partition(|held: &OwnEntry| {
                job.steps.iter().any(|(step, _)| *step == held.entry().step)
            });
            bound = live;
            let ended: Vec<OwnEntry> = ended;
            ended.into_iter().for_each(|held| held.release().unwrap());
            let law = site.law(std::slice::from_ref(&job)).and_then(|()| site.nobody_waits(&job));
            prop_assert!(law.is_ok(), "after {:?}: {}", &events[..=at], law.unwrap_err());
        }
    }
}
