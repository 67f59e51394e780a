//! slurmstepd leaves the node's facts about its job for `berth env`: its cores, memory and generic
//! resources, from Slurm's own record, and the limits of its cgroup. Before the first fork, as root.

use berth_host::job_cgroup;
use berth_host::job_files::{self, Gres, Kind, NodeFacts};
use berth_placement::{CpuId, CpuSet};
use slurm_sys::{StepRecord, TypedGres};

use crate::site::node;
use crate::stepd::state::{JobFiles, STATE};

/// One MiB: Slurm counts memory in these.
const MIB: u64 = 1 << 20;

/// Leaves them, unless an earlier step of the job has left the same. The step of the job lives from now
/// on, until [`step_has_ended`].
pub(crate) fn leave(record: &StepRecord<'_>) {
    if let Err(why) = write(record) {
        log::debug!("berth env will not have this node's facts about the job: {why}");
    }
}

/// The step has ended: its job's files may be removed some time after no other step lives.
pub(crate) fn step_has_ended() {
    if let Some(files) = STATE.job_files.get() {
        job_files::renew(&files.dir, files.owner, files.job);
    }
}

fn write(record: &StepRecord<'_>) -> Result<(), String> {
    let node = record.node_name().unwrap_or_default();
    // Both of Slurm's records must have the layout of the table.
    if node::name().as_deref() != Some(node.as_str()) {
        return Err("slurmstepd's records name different nodes".into());
    }
    let dir = node::state_dir(&node)?;
    let job = record.step_id().job_id;
    let mut facts = NodeFacts {
        job,
        uid: record.uid(),
        cores: record.job_alloc_cores().unwrap_or_default(),
        memory: Some(record.job_mem().saturating_mul(MIB)).filter(|bytes| *bytes > 0),
        gres: gres(record),
        node,
        ..NodeFacts::default()
    };
    let living = job_files::begin_step(&dir, job).map_err(|why| why.to_string())?;
    // Slurm calls pre_setuid once; a second call would be about the same job.
    let files = STATE.job_files.get_or_init(|| JobFiles {
        dir,
        owner: facts.uid,
        job,
        _living: living,
    });
    let known = job_files::read_of(&files.dir, facts.uid, (job, Kind::Node)).ok();
    let known = known.and_then(|text| NodeFacts::read(&text, job, &facts.node));
    let known = known.filter(|known| known.is_same_allocation(&facts));
    if known.as_ref().is_some_and(NodeFacts::knows_limits) {
        return Ok(());
    }
    let limits = job_cgroup::limits_of_this_process(job);
    (facts.memory_limit, facts.swap_limit) = (limits.memory, limits.swap);
    facts.limits_asked = known
        .map_or(0, |known| known.limits_asked)
        .saturating_add(1);
    let put = job_files::put(
        &files.dir,
        (job, Kind::Node),
        facts.uid,
        facts.text().as_bytes(),
    );
    put.map_err(|why| why.to_string())
}

fn gres(record: &StepRecord<'_>) -> Vec<Gres> {
    let all = record.job_gres().unwrap_or_else(|why| {
        log::debug!("{why}");
        Vec::new()
    });
    Gres::bounded(all.into_iter().map(one).collect())
}

fn one(of_type: TypedGres) -> Gres {
    let devices = of_type.gres.devices.into_iter();
    let numbers: CpuSet = devices
        .flat_map(|devices| devices.allocated)
        .map(CpuId)
        .collect();
    Gres {
        name: of_type.gres.name,
        kind: of_type.kind,
        indices: numbers.to_string(),
        ..Gres::default()
    }
}
