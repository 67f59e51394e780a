//! The pools of a node, as slurmd tells slurmstepd about its step's job. In: the job's place. Out: fields of the
//! handover, and back.

use berth_placement::CpuSet;

use crate::message::fields::{self, Fields, field, number, unreadable};

/// A job on a node with pools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InPool {
    /// The weight of every job that is in no pool.
    pub others: u32,
    /// The pool that the job is in, if it fits in.
    pub member: Option<Member>,
}

/// A job that is in a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Member {
    /// The pool's name.
    pub name: String,
    /// The most hardware threads of all of its jobs.
    pub limit: u32,
    /// The most hardware threads of all pools.
    pub most: u32,
    /// The job's weight.
    pub weight: u32,
    /// The job's CPUs on this node.
    pub cpus: CpuSet,
    /// The hardware threads of each CPU that Slurm counts; 0 is 1.
    pub threads: u32,
    /// The variable that tells a task its number of CPUs.
    pub export: String,
}

impl Member {
    /// Hardware threads as Slurm's CPUs.
    pub(crate) fn slurms(&self, threads: u32) -> u32 {
        threads.div_ceil(self.threads.max(1))
    }

    /// How many CPUs these are, as Slurm counts them.
    pub(crate) fn count(&self, cpus: &CpuSet) -> u32 {
        self.slurms(u32::try_from(cpus.count()).unwrap_or(u32::MAX))
    }

    /// The CPUs of the job, as Slurm counts them.
    pub(crate) fn asked(&self) -> u32 {
        self.count(&self.cpus)
    }
}

impl InPool {
    pub(super) fn put(&self, text: &mut String) {
        number(text, " pool-others=", self.others);
        let Some(member) = &self.member else {
            return;
        };
        field(text, " pool=", &member.name);
        number(text, " pool-limit=", member.limit);
        number(text, " pool-most=", member.most);
        number(text, " pool-weight=", member.weight);
        text.push_str(" pool-cpus=");
        // A String takes everything.
        let _ = member.cpus.write_list(text);
        if member.threads > 1 {
            number(text, " pool-threads=", member.threads);
        }
        field(text, " pool-export=", &member.export);
    }

    /// The pools in a handover's fields; none if the node has none.
    pub(super) fn read(from: &Fields<'_>) -> Result<Option<Self>, String> {
        let Some(others) = from.read("pool-others")? else {
            return Ok(None);
        };
        let needed = |name: &str| from.read(name)?.ok_or_else(|| unreadable(name));
        let member = match from.value("pool") {
            None => None,
            Some(name) => Some(Member {
                name,
                limit: needed("pool-limit")?,
                most: needed("pool-most")?,
                weight: needed("pool-weight")?,
                cpus: fields::cpus("pool-cpus", &from.text("pool-cpus"))?,
                threads: from.read("pool-threads")?.unwrap_or_default(),
                export: from.text("pool-export"),
            }),
        };
        Ok(Some(Self { others, member }))
    }
}
