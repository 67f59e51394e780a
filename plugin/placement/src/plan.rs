//! The one door: a request on a node gives a plan. Pure: no other inputs.
//! `berth plan` and the shared object both call this. Source: `lllp_distribution`.

use std::fmt;

use crate::answer::memory;
use crate::answer::note::{Note, ReservedNote};
use crate::answer::plan::Plan;
use crate::answer::refusal::Refusal;
use crate::owned::{Owned, Reserved};
use crate::request::cpu_bind::{CpuBind, Mode};
use crate::request::cpuset::CpusetRequest;
use crate::request::grid_engine::{Binding, Instance};
use crate::request::keyword_options::CoreKindWish;
use crate::request::mem_bind::MemBind;
use crate::request::near::Near;
use crate::request::wish::Wish;
use crate::request::{Claims, Request};
use crate::sets::limits::LIST_BYTES;
use crate::sets::text::repeated;
use crate::strategy::cpuset::CpusetPart;
use crate::strategy::{self, situation::Situation};
use crate::topology::node::Node;

/// Plans a step on a node, beside what others claim there.
///
/// ```
/// use berth_placement::*;
///
/// let machine = Machine::regular(2, 4, 2, Numbering::Block).unwrap();
/// let node = Node::of(machine, SocketKind::Package, Rules::default());
/// let request = Request {
///     tasks: 2,
///     cpu_bind: CpuBind {
///         level: Some(Level::Cores),
///         ..CpuBind::default()
///     },
///     ..Request::default()
/// };
/// let plan = plan(&request, &node, &Claims::default()).unwrap();
/// assert_eq!(plan.text().unwrap(), "0x0003,0x0300");
/// ```
///
/// # Errors
/// [`Refusal`] if the step must not run as requested.
pub fn plan(request: &Request, node: &Node, claims: &Claims) -> Result<Plan, Refusal> {
    if request.tasks == 0 {
        return Err(Refusal::NoTasks);
    }
    if let Some((without, note)) = beside_near(request)? {
        let mut plan = plan(&without, node, claims)?;
        plan.notes.push(note);
        return Ok(plan);
    }
    planned(request, node, claims, strategy::choose)
}

/// Plans with a strategy, which chooses among what the step may use inside its job's cpuset.
fn planned(
    request: &Request,
    node: &Node,
    claims: &Claims,
    strategy: impl Fn(&Situation<'_>) -> Result<Plan, Refusal>,
) -> Result<Plan, Refusal> {
    let node = planned_on(request, node);
    let owned = Owned::of(request, node);
    has_core_kind(request, node, &owned)?;
    let inside = CpusetPart::of(request, node, claims, owned)?;
    let owned = &inside.owned;
    let here = Situation {
        request,
        node,
        claims,
        owned,
    };
    let mut plan = match &inside.without {
        Some(why) => here.without_cpuset(why),
        None => strategy(&here)?,
    };
    if let Some(why) = unread(&plan) {
        plan = here.wish_failed(why)?;
    }
    plan.notes.extend(only_reserved(owned));
    memory::bind(&mut plan, (request, node), owned, claims)?;
    inside.put_into(&mut plan)?;
    Ok(plan)
}

/// Why slurmstepd would not read a plan's list of masks.
fn unread(plan: &Plan) -> Option<String> {
    // A user's own list was read within the same bound, and is never written longer.
    let length = plan.masks()?.length();
    let tasks = plan.tasks.len();
    (length > LIST_BYTES).then(|| {
        format!(
            "the masks of the {tasks} tasks on this node would have {length} bytes, and slurmstepd reads \
             {LIST_BYTES}; use fewer tasks on this node, or bind to a wider level"
        )
    })
}

/// The node as a request is planned on it: a wish that only berth knows counts by the tree, whatever
/// `compat` says.
#[must_use]
pub fn planned_on<'a>(request: &Request, node: &'a Node) -> &'a Node {
    if node.is_by_tree() {
        return node;
    }
    match Wish::of(request) {
        _ if request.cpuset.is_some() => node.by_tree(),
        Ok(wish) if wish.is_only_berths() => node.by_tree(),
        _ => node,
    }
}

/// Plans a batch script: one task on all CPUs of its allocation, or, if the job
/// has a single task, as its `--binding` says. The job's `--cpu-bind` is for its steps.
///
/// ```
/// use berth_placement::*;
///
/// let machine = Machine::regular(1, 4, 2, Numbering::Block).unwrap();
/// let node = Node::of(machine, SocketKind::Package, Rules::default());
/// let mut job = Request {
///     tasks: 4,
///     allocation: Allocation::Cpus(CpuSet::from_list("0-3").unwrap()),
///     ..Request::default()
/// };
/// let script = plan_batch(&job, &node, &Claims::default()).unwrap();
/// assert_eq!(script.tasks.len(), 1);
/// assert_eq!(script.tasks[0].cpus.to_string(), "0-3");
///
/// job.binding = Some("linear:1".parse().unwrap());
/// let bound = plan_batch(&job, &node, &Claims::default()).unwrap();
/// assert_eq!(bound.tasks[0].cpus.to_string(), "0-1");
/// ```
///
/// # Errors
/// [`Refusal`] as for a step.
pub fn plan_batch(request: &Request, node: &Node, claims: &Claims) -> Result<Plan, Refusal> {
    let binding = request.binding.clone().filter(Binding::binds_scripts);
    // A parallel environment will start all tasks of the node from the script.
    let is_pe = matches!(&binding, Some(binding) if binding.instance == Instance::Pe);
    let script = Request {
        tasks: if is_pe { request.tasks } else { 1 },
        cpus_per_task: 1,
        cpu_bind: CpuBind {
            mode: binding.is_none().then_some(Mode::Free),
            one_thread: request.cpu_bind.one_thread,
            ..CpuBind::default()
        },
        near: None,
        mem_bind: MemBind::default(),
        binding,
        ..request.clone()
    };
    if script.binding.is_some() {
        return plan(&script, node, claims);
    }
    planned(&script, node, claims, |here| here.batch())
}

/// A step all of whose CPUs the site keeps free runs there: only `CpuSpecList=` of slurm.conf keeps
/// slurmctld from giving them away.
fn only_reserved(owned: &Owned) -> Option<Note> {
    let own = || Note::Reserved(ReservedNote::OnlyReserved(owned.cpus.clone()));
    (owned.reserved == Reserved::All).then(own)
}

/// Refuses a `--near` beside a cpuset's `CPU_LIST`: both choose the CPUs. One that is a default gives way instead.
fn beside_near(request: &Request) -> Result<Option<(Request, Note)>, Refusal> {
    let near = request.near.as_ref().filter(|near| near.asks());
    let set = request.cpuset.as_ref().filter(|set| set.has_cpu_list());
    let (Some(near), Some(set)) = (near, set) else {
        return Ok(None);
    };
    let without = || Request {
        near: None,
        ..request.clone()
    };
    match Wish::of(request)? {
        Wish::Unbound => Ok(None),
        _ if request.near_by_default => Ok(Some((
            without(),
            Note::Reserved(ReservedNote::NoNear {
                near: repeated(near),
                cpuset: repeated(set),
            }),
        ))),
        _ => Err(both_choose(near, set)),
    }
}

/// Why a typed `--near` and a typed `--cpuset` do not go together, if that is so: both choose the CPUs.
#[must_use]
pub fn near_beside_cpuset(near: &Near, cpuset: &CpusetRequest) -> Option<Refusal> {
    let both = near.asks() && cpuset.has_cpu_list();
    both.then(|| both_choose(near, cpuset))
}

fn both_choose(near: &Near, cpuset: impl fmt::Display) -> Refusal {
    Refusal::Contradiction {
        one: format!("--near={}", repeated(near)),
        other: format!("--cpuset={}", repeated(cpuset)),
    }
}

/// Refuses a kind of cores that is not there.
fn has_core_kind(request: &Request, node: &Node, owned: &Owned) -> Result<(), Refusal> {
    let requested = request.core_kind;
    if requested == CoreKindWish::Any {
        return Ok(());
    }
    let on_machine = node.cpus_of_kind(requested).is_some();
    match on_machine && owned.count > 0 {
        true => Ok(()),
        false => Err(Refusal::NoCoreKind {
            requested,
            on_machine,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::mapping::MappingTexts;
    use crate::{Level, Machine, Mapping, Numbering, Rules, SocketKind};

    /// slurmstepd reads lists up to a bound. A step with a longer one is not bound, and says so.
    #[test]
    fn a_list_that_slurmstepd_would_not_read_is_not_written() {
        for (cores, level, is_read) in [
            (2048, Level::Threads, true),
            (4096, Level::Threads, false),
            (4096, Level::Sockets, true),
        ] {
            let machine = Machine::regular(2, cores, 1, Numbering::Block).unwrap();
            let node = Node::of(machine, SocketKind::Package, Rules::default());
            let request = Request {
                tasks: 2 * cores,
                cpu_bind: CpuBind {
                    level: Some(level),
                    ..CpuBind::default()
                },
                ..Request::default()
            };
            let plan = plan(&request, &node, &Claims::default()).unwrap();
            let text = plan.text().unwrap();
            assert!(text.len() <= LIST_BYTES, "{}", text.len());
            let notes = plan.notes.iter().map(ToString::to_string);
            let is_noted = notes.clone().any(|note| note.contains("no task is bound"));
            assert_eq!(is_noted, !is_read, "{cores} {level:?} {:?}", plan.notes);
            let is_failed = plan.decision.rule == crate::Rule::BindingFailed;
            assert_eq!(is_failed, !is_read, "{cores} {level:?}");
        }
    }

    /// A step of 65,535 tasks would otherwise have the CPUs of a wide node as often.
    #[test]
    fn tasks_with_the_same_cpus_share_one_set() {
        let machine = Machine::regular(1, 128, 1, Numbering::Block).unwrap();
        let node = Node::of(machine, SocketKind::Package, Rules::default());
        for (map, bind) in [
            ("slot:pe=127", ":overload-allowed"),
            ("package:pe=127", ":overload-allowed"),
            ("package", "package"),
        ] {
            let mapping = Mapping::read(MappingTexts {
                map: Some(map),
                bind: Some(bind),
                rank: None,
            });
            let request = Request {
                tasks: 2,
                mapping: mapping.unwrap(),
                ..Request::default()
            };
            let tasks = plan(&request, &node, &Claims::default()).unwrap().tasks;
            let [one, other] = [&tasks[0].cpus, &tasks[1].cpus];
            assert!(one.shares_memory(other) && one.count() > 64, "{map}");
        }
    }
}
