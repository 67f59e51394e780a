//! Whether a step's cores have room for its tasks, so that no CPU may be in two masks. Where this is
//! hard to say nothing is claimed.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::Core;

/// Whether each task can have CPUs of its own.
pub fn is_enough(request: &str, owned: &[Core]) -> bool {
    let words: Vec<&str> = request.split(' ').collect();
    let value = |name: &str| {
        let found = words.iter().find_map(|word| word.strip_prefix(name));
        found.and_then(|text| text.parse::<usize>().ok())
    };
    let (tasks, each) = (value("-n").unwrap_or(1), value("-c").unwrap_or(1));
    if let Some(binding) = words
        .iter()
        .find_map(|word| word.strip_prefix("--binding="))
    {
        // Each task has cores of its own, or nobody is bound.
        return !binding.contains("host:") && !binding.contains("explicit");
    }
    let one_thread = ["--hint=nomultithread", "--threads-per-core=1"];
    let one_thread = words.iter().any(|word| one_thread.contains(word));
    let threads = |core: &Core| if one_thread { 1 } else { core.cpus.len() };
    let a_core = value("--ntasks-per-core=");
    if let Some(limit) = value("--ntasks-per-socket=") {
        let mut sockets: BTreeMap<u32, usize> = BTreeMap::new();
        for core in owned {
            *sockets.entry(core.socket).or_default() += threads(core);
        }
        let fits = sockets.values().all(|room| *room >= limit * each);
        if !fits || tasks > limit * sockets.len() {
            return false;
        }
    }
    if a_core.is_some() && each > 1 {
        return false;
    }
    let level = words
        .iter()
        .find_map(|word| word.strip_prefix("--cpu-bind="));
    match level {
        Some("cores") => {
            let narrowest = owned.iter().map(threads).min().unwrap_or(1).max(1);
            tasks * each.div_ceil(narrowest) <= owned.len()
        }
        // srun then binds to whole sockets, which tasks share.
        None if value("--ntasks-per-socket=").is_some() => false,
        // As many tasks as sockets are bound to whole sockets, and block puts two in one.
        None if tasks * each == sockets(owned) => false,
        None | Some("threads") => {
            let most = |core: &Core| threads(core).min(a_core.unwrap_or(usize::MAX));
            tasks * each <= owned.iter().map(most).sum()
        }
        Some(_) => false,
    }
}

fn sockets(owned: &[Core]) -> usize {
    let sockets: BTreeSet<u32> = owned.iter().map(|core| core.socket).collect();
    sockets.len()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn cores() -> Vec<Core> {
        let core = |number: u32| Core {
            socket: number / 4,
            cpus: BTreeSet::from([number]),
        };
        (0..8).map(core).collect()
    }

    #[test]
    fn as_many_tasks_as_sockets_may_share_one() {
        let enough = |request: &str| is_enough(request, &cores());
        assert!(!enough("srun -n2 -m cyclic:block"));
        assert!(!enough("srun -n1 -c2"));
        assert!(enough("srun -n3"));
        assert!(enough("srun -n2 --cpu-bind=threads"));
        assert!(!enough("srun -n9"));
    }
}
