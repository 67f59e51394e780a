//! `--mem-bind` in slurmd: the launch request's bits to a wish, and the planned
//! node masks back into the launch message, where slurmstepd finds them.
//! Source: `get_memset` for the order in which the bits count.

use berth_host::memory;
use berth_placement::sets::limits::LIST_BYTES;
use berth_placement::{MemBind, MemPolicy, Plan};
use berth_srun::inherited;
use slurm_sys::{LaunchRequest, Layout};

const UNAVAILABLE: &str = "memory binding is not available on this node (its kernel was built \
                           without NUMA); --mem-bind is not applied: leave it out, or ask for \
                           another node";

/// The wish in a launch request, and what the user should know of it.
///
/// # Errors
/// A list that cannot be read, as a text for the user.
pub(crate) fn requested(
    launch: &LaunchRequest<'_>,
    layout: &Layout,
) -> Result<(MemBind, Option<&'static str>), String> {
    let bits = u32::from(launch.mem_bind_type());
    // How mpirun starts its daemons: they keep the allocation.
    if launch.external_launcher() {
        return Ok((MemBind::default(), None));
    }
    let text = match has_list(bits, layout) {
        true => launch.mem_bind(LIST_BYTES).map_err(|why| why.to_string())?,
        false => None,
    };
    let mut bind = mem_bind(bits, text.as_deref(), layout)?;
    let outer = |policy| inherited::outer_memory(policy, |name| launch.env().get(name, LIST_BYTES));
    if let Some(outer) = bind.policy.as_ref().and_then(outer) {
        bind.policy = Some(outer);
    }
    let unserved = bind.policy.is_some() && !memory::is_available();
    if unserved {
        bind.policy = None;
    }
    Ok((bind, unserved.then_some(UNAVAILABLE)))
}

/// The option from its bits and text.
///
/// # Errors
/// A list that is missing or cannot be read.
pub(crate) fn mem_bind(bits: u32, text: Option<&str>, layout: &Layout) -> Result<MemBind, String> {
    let c = &layout.constants;
    let is = |bit: u32| bits & bit != 0;
    let policy = if is(c.MEM_BIND_NONE) {
        None
    } else if is(c.MEM_BIND_LOCAL) {
        Some(MemPolicy::Local)
    } else if is(c.MEM_BIND_RANK) {
        Some(MemPolicy::Rank)
    } else if is(c.MEM_BIND_MASK) {
        Some(list("mask_mem", text)?)
    } else if is(c.MEM_BIND_MAP) {
        Some(list("map_mem", text)?)
    } else {
        None
    };
    Ok(MemBind {
        policy,
        prefer: is(c.MEM_BIND_PREFER),
        verbose: is(c.MEM_BIND_VERBOSE),
        sort: is(c.MEM_BIND_SORT),
    })
}

fn list(name: &str, text: Option<&str>) -> Result<MemPolicy, String> {
    let text = text.filter(|text| !text.is_empty()).ok_or_else(|| {
        format!(
            "--mem-bind={name} has no list in the launch request; give one, as in \
             --mem-bind={name}:0,1"
        )
    })?;
    let read = MemPolicy::read(name, text).unwrap_or(Ok(MemPolicy::Local));
    read.map_err(|why| format!("--mem-bind={name}: {why}"))
}

fn has_list(bits: u32, layout: &Layout) -> bool {
    bits & (layout.constants.MEM_BIND_MASK | layout.constants.MEM_BIND_MAP) != 0
}

/// Puts the planned masks into the message; bits and text stay where no memory is bound.
///
/// # Errors
/// A record that cannot be changed.
pub(crate) fn write(
    launch: &mut LaunchRequest<'_>,
    plan: &Plan,
    layout: &Layout,
) -> Result<(), slurm_sys::Error> {
    let Some(masks) = plan.memory_masks() else {
        return Ok(());
    };
    let bits = masked(launch.mem_bind_type().into(), layout);
    launch.set_mem_bind(bits as u16, Some(&masks))
}

/// Whether the bits say that the list is one of node masks.
pub(crate) fn is_masks(bits: u32, layout: &Layout) -> bool {
    bits & layout.constants.MEM_BIND_MASK != 0
}

/// The bits after planning: every policy has become masks.
fn masked(came: u32, layout: &Layout) -> u32 {
    let c = &layout.constants;
    let policies = c.MEM_BIND_RANK | c.MEM_BIND_LOCAL | c.MEM_BIND_MAP;
    (came & !policies) | c.MEM_BIND_MASK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_texts_are_what_srun_wrote() {
        for layout in Layout::all() {
            let c = &layout.constants;
            for (bits, text, means) in [
                (0, None, "none"),
                (c.MEM_BIND_VERBOSE | c.MEM_BIND_SORT, None, "none"),
                (c.MEM_BIND_NONE | c.MEM_BIND_LOCAL, None, "none"),
                (c.MEM_BIND_LOCAL, None, "local"),
                (c.MEM_BIND_RANK | c.MEM_BIND_PREFER, None, "prefer,rank"),
                (c.MEM_BIND_MAP, Some("0x1,2"), "map_mem:1,2"),
                (c.MEM_BIND_MASK, Some("3,0x4"), "mask_mem:0x3,0x4"),
            ] {
                let bind = mem_bind(bits, text, layout).map(|bind| bind.to_string());
                assert_eq!(bind.as_deref(), Ok(means), "{bits}");
            }
            for (bits, text) in [
                (c.MEM_BIND_MAP, None),
                (c.MEM_BIND_MAP, Some("x")),
                (c.MEM_BIND_MASK, Some("0xg")),
            ] {
                assert!(mem_bind(bits, text, layout).is_err(), "{text:?}");
            }
            let kept = c.MEM_BIND_PREFER | c.MEM_BIND_VERBOSE | c.MEM_BIND_SORT;
            let all = kept | c.MEM_BIND_LOCAL | c.MEM_BIND_RANK | c.MEM_BIND_MAP;
            assert_eq!(masked(all, layout), kept | c.MEM_BIND_MASK);
        }
    }
}
