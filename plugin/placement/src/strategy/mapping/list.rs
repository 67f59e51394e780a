//! `pe-list=LIST`: CPUs by their logical number within the share. In: the list. Out: a place for each
//! task, or why not. Pure.

use crate::answer::mapping_refusal::{MappingRefusal, Short};
use crate::request::mapping::PeList;
use crate::request::object_kind::ObjectKind;
use crate::strategy::mapping::Place;
use crate::strategy::mapping::resolved::Resolved;
use crate::strategy::mapping::share::Share;

/// The whole list for each task, or with `ordered` one entry for each.
pub(super) fn places(
    requested: &Resolved,
    share: &Share<'_>,
    (list, ordered): (&PeList, bool),
) -> Result<Vec<Place>, MappingRefusal> {
    let numbers: Vec<usize> = list.numbers().map(|number| number as usize).collect();
    if let Some(missing) = numbers.iter().find(|number| **number >= share.len()) {
        return Err(MappingRefusal::NoSuchCpu {
            requested: *missing as u32,
            count: share.len() as u32,
            threads: requested.threads,
        });
    }
    // A number that stands twice serves two tasks where nobody chose what to bind to.
    let twice = requested.overload || !(ordered || requested.is_explicit());
    let entries = match twice {
        true => numbers.len(),
        false => distinct(&numbers),
    };
    if requested.tasks as usize > entries {
        return Err(MappingRefusal::TooMany {
            tasks: requested.tasks,
            fits: entries as u32,
            short: Short::List,
            among: requested.counted(),
        });
    }
    let place = |cpus: &[usize]| {
        Ok(Place {
            object: 0,
            cpus: Some(share.set(cpus)),
        })
    };
    if ordered {
        let used = numbers.chunks(1).take(requested.tasks as usize);
        return used.map(place).collect();
    }
    let mut packages = numbers
        .iter()
        .map(|cpu| share.object(ObjectKind::Package, *cpu));
    let first = packages.next().flatten();
    if packages.any(|package| package != first) {
        return Err(MappingRefusal::TwoPackages);
    }
    let shared = place(&numbers)?.cpus;
    let one = || Place {
        object: 0,
        cpus: shared.clone(),
    };
    Ok((0..requested.tasks).map(|_| one()).collect())
}

fn distinct(numbers: &[usize]) -> usize {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len()
}
