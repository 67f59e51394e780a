//! A list of masks that came back from the step around ([`berth_srun::inherited`]), in a launch request.

use berth_placement::{Fix, Fixes, Request};
use berth_srun::inherited;
use slurm_sys::LaunchRequest;

/// A mark's digits.
const MARK_BYTES: usize = 16;

/// Removes a list that came back from the request, and returns whether there was one.
pub(crate) fn forget(request: &mut Request, fixes: Fixes, launch: &LaunchRequest<'_>) -> bool {
    let mode = request.cpu_bind.mode.as_ref();
    let is_outer = |mode| inherited::is_outer_list(mode, |name| launch.env().get(name, MARK_BYTES));
    let came_back = fixes.has(Fix::InheritedMask) && mode.is_some_and(is_outer);
    if came_back {
        request.cpu_bind.mode = None;
    }
    came_back
}

#[cfg(test)]
mod tests {
    use super::inherited::{CPU_BIND, MEM, MEM_BIND};
    use crate::step::names;

    #[test]
    fn the_variables_are_those_that_berth_writes() {
        let written = [names::CPU_BIND, names::MEM, names::MEM_BIND];
        assert_eq!([CPU_BIND, MEM, MEM_BIND], written);
    }
}
