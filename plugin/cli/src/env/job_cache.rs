//! Root's files of a job on this node: slurmctld's answer in the prolog, which the epilog reads, and
//! slurmstepd's facts. Nothing is read that somebody else than root could have written.

use berth_host::StateDir;
use berth_host::job_files::{self, Kind, NodeFacts};
use nix::unistd::Uid;
use serde::{Deserialize, Serialize};

use crate::say;
use crate::world::job_record::Job;
use crate::world::state;

/// The form of the answer; another one is not read.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Answer {
    berth_answer: u32,
    job: Job,
}

/// Where this node's files are.
pub(super) struct JobCache {
    dir: Result<StateDir, String>,
    node: String,
}

impl JobCache {
    pub(super) fn of(node: &str) -> Self {
        let dir = StateDir::new(&state::base(None), node);
        let dir = dir.and_then(|dir| dir.check().map(|()| dir));
        Self {
            dir: dir.map_err(|why| why.to_string()),
            node: node.into(),
        }
    }

    /// slurmstepd's facts about a job here.
    pub(super) fn facts(&self, job: u32) -> Option<NodeFacts> {
        let dir = self.dir.as_ref().ok()?;
        let text = job_files::read(dir, job, Kind::Node).ok()?;
        NodeFacts::read(&text, job, &self.node)
    }

    /// slurmctld's answer in the prolog.
    pub(super) fn answer(&self, job: u32) -> Option<Job> {
        let dir = self.dir.as_ref().ok()?;
        let text = job_files::read(dir, job, Kind::Answer).ok()?;
        let answer: Answer = serde_json::from_slice(&text).ok()?;
        let is_it = answer.berth_answer == VERSION && answer.job.id == job;
        is_it.then_some(answer.job)
    }

    /// An answer about an earlier run of the job must not be taken for one about this run.
    pub(super) fn forget(&self, job: u32) {
        if let (true, Ok(dir)) = (Uid::effective().is_root(), &self.dir) {
            job_files::forget(dir, job, Kind::Answer);
        }
    }

    /// Keeps slurmctld's answer, if this is root.
    pub(super) fn keep(&self, job: &Job) {
        if !Uid::effective().is_root() {
            return;
        }
        let answer = Answer {
            berth_answer: VERSION,
            job: job.clone(),
        };
        let text = serde_json::to_vec(&answer).map_err(|why| why.to_string());
        let written = self.dir.as_ref().map_err(String::clone).and_then(|dir| {
            let put = job_files::put(dir, (job.id, Kind::Answer), job.uid, &text?);
            put.map_err(|why| why.to_string())
        });
        if let Err(why) = written {
            say::note(&format!(
                "slurmctld's answer is not kept for the epilog: {why}"
            ));
        }
    }
}
