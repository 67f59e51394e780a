//! slurmd's use of the ledger: it plans a step with a `--binding` beside the bindings of others, and
//! records it, while nobody else writes. A step with a `--mem-bind` alone only reads.
//! slurmd waits for nobody: the step's slurmstepd decides what slurmd cannot decide at once
//! (`settle.rs` of slurmstepd). If the ledger fails, the step starts without accounting, and the log
//! reports it.

use berth_host::{LedgerError, StateDir};
use berth_placement::{Claims, CpuSet, Fixes, Node, Refusal, Request};

use crate::message::handover::Settle;
use crate::planning::ledger::{Door, UNKNOWN_OTHERS};
use crate::slurmd::settled::{Planned, Who, settled_now};
use crate::slurmd::{in_cpuset, launching, open_ledger};

/// Plans a step, and accounts for it.
pub(crate) fn plan(
    who: &Who<'_>,
    (ask, node, door): (&Request, &Node, Door),
) -> Result<Planned, Refusal> {
    let accounted = accounted(who, (ask, node, door));
    launching::begins(who.step);
    match accounted {
        Ok(planned) => planned,
        Err(why) => {
            log::error!("{why}; berth binds cores without knowing which cores other steps have");
            let mut planned = Planned::alone(door(ask, node, &Claims::default())?);
            planned.said = Some(UNKNOWN_OTHERS.into());
            Ok(planned)
        }
    }
}

/// The memory nodes that other jobs' cpusets want for themselves, for a step that binds memory and
/// records nothing. Without the ledger there are none.
pub(crate) fn memory_claims(who: &Who<'_>, ask: &Request, node: &Node) -> Claims {
    if ask.mem_bind.policy.is_none() || node.rules().fixes == Fixes::NONE {
        return Claims::default();
    }
    let looked = StateDir::new(&who.settings.state_dir, who.node_name)
        .map_err(|why| why.to_string())
        .and_then(|dir| {
            open_ledger::with(&dir, who.node_name, |ledger| {
                let session = ledger.session_now();
                let mut session = session.map_err(|why| why.to_string())?;
                match session.is_empty() {
                    true => Ok(CpuSet::new()),
                    false => Ok(session.memory_cpus(who.step.job)),
                }
            })
        });
    let cpus = looked.unwrap_or_else(|why| {
        log::debug!("whose memory other cpusets want is unknown: {why}");
        CpuSet::new()
    });
    Claims {
        memory: node.numa_nodes_of(&cpus),
        ..Claims::default()
    }
}

fn accounted(
    who: &Who<'_>,
    asked: (&Request, &Node, Door),
) -> Result<Result<Planned, Refusal>, String> {
    let dir = StateDir::new(&who.settings.state_dir, who.node_name);
    let dir = dir.map_err(|why| why.to_string())?;
    let text = |why: LedgerError| why.to_string();
    open_ledger::with(&dir, who.node_name, |ledger| {
        let mut session = ledger.session_now().map_err(text)?;
        let is_in_pool = who.is_in_pool(&mut session);
        session.ask_for_pool(is_in_pool);
        let planned = match who.cpuset {
            Some(wanted) => in_cpuset::settled_now(&mut session, (who, wanted), asked),
            None => settled_now(&mut session, (who.step, who.kind), asked),
        };
        planned.map_err(text)
    })
}

/// The facts that slurmstepd needs to plan a step with a `--binding` again, whether it must or only if it comes late.
pub(crate) fn settle(planned: &Planned, ask: &Request, overlaps: bool) -> Option<Settle> {
    let one = ask.cpu_bind.one_thread;
    Some(Settle {
        binding: ask.binding.clone()?,
        tasks: ask.tasks,
        cpus_per_task: ask.cpus_per_task,
        threads_per_core: ask.threads_per_core.or(one.then_some(1)),
        core_spec: ask.core_spec,
        core_kind: ask.core_kind,
        near: ask.near.clone(),
        gres: ask.gres.clone().filter(|_| ask.near.is_some()),
        overlaps,
        if_late: !planned.unsettled,
    })
}
