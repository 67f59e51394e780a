//! The CPUs of a node that a new cpuset could have: online, not reserved, and of no job.

use berth_host::cgroup::{Mounts, Place, jobs, scopes};
use berth_host::ledger::{look, queries};
use berth_host::{StateDir, trust};
use berth_placement::{CpuSet, Machine, SocketKind};
use berth_site::Announcement;
use nix::unistd::Uid;

use super::MOST;
use crate::Failure;
use crate::slurmd::processes;

/// The free CPUs.
///
/// # Errors
/// Nobody can tell which CPUs the jobs have.
pub(super) fn of(
    dir: &StateDir,
    node: &str,
    machine: &Machine,
    words: &Announcement,
) -> Result<CpuSet, Failure> {
    let rules = words.site_rules().unwrap_or_default();
    let used = match words.constrain_cores {
        true => in_cgroups(node)?,
        false => in_ledger(dir, machine, rules.socket())?,
    };
    let online = machine.cpus();
    let free = online
        .difference(&rules.reserved())
        .difference(machine.held());
    Ok(free.difference(&used))
}

/// The CPUs in the cgroups of jobs.
fn in_cgroups(node: &str) -> Result<CpuSet, Failure> {
    let mounts = Mounts::read()?;
    let mut scopes = scopes::usual_scopes(&mounts, node);
    // A step's slurmstepd is below it wherever the site has put it.
    let places = processes().filter_map(|pid| Place::of(pid, &mounts).ok());
    for scope in places.filter_map(|place| scopes::scope_of(&place, node)) {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    let mut used = CpuSet::new();
    for scope in scopes {
        let cpus = jobs::cpus_of_jobs(&scope);
        used.insert_all(&cpus.map_err(|why| why.to_string())?);
    }
    Ok(used)
}

/// The CPUs in the ledger. Root alone reads it; everybody reads which cores are in use.
fn in_ledger(dir: &StateDir, machine: &Machine, kind: SocketKind) -> Result<CpuSet, Failure> {
    if Uid::effective().is_root() {
        let entries = look(dir)?;
        let bound = entries.iter().filter(|entry| !entry.pool);
        return Ok(bound.flat_map(|entry| entry.cpus.iter()).collect());
    }
    let path = dir.path().join(queries::TOPOLOGY_FILE);
    let Ok(bytes) = trust::read(&path, MOST) else {
        // Nothing was bound yet.
        return Ok(CpuSet::new());
    };
    let text = String::from_utf8_lossy(&bytes);
    let shown = text
        .lines()
        .find_map(|line| line.strip_prefix("m_topology_inuse="));
    let shown = shown.unwrap_or_default();
    in_use(shown, machine, kind).ok_or_else(|| {
        format!(
            "{} shows other cores than this machine has, so the free CPUs are unknown; ask root, or \
             wait until the next step with a --binding ends",
            path.display()
        )
        .into()
    })
}

/// The CPUs of the cores that a topology string has in small letters.
fn in_use(shown: &str, machine: &Machine, kind: SocketKind) -> Option<CpuSet> {
    let cores: Vec<_> = machine.sockets(kind).into_iter().flatten().collect();
    let letters: Vec<_> = shown
        .chars()
        .filter(|letter| "cC".contains(*letter))
        .collect();
    let mut used = CpuSet::new();
    for (core, letter) in cores.iter().zip(&letters) {
        if *letter == 'c' {
            machine
                .pus_of(*core)
                .iter()
                .for_each(|cpu| used.insert(*cpu));
        }
    }
    (cores.len() == letters.len()).then_some(used)
}

#[cfg(test)]
mod tests {
    use berth_placement::Numbering;

    use super::*;

    #[test]
    fn the_public_string_shows_cores_in_use() {
        let machine = Machine::regular(2, 2, 2, Numbering::Block).unwrap();
        let used = CpuSet::from_list("2-3,6").unwrap();
        let kind = SocketKind::Package;
        let shown = machine.topology_in_use(kind, &used);
        let found = in_use(&shown, &machine, kind).unwrap();
        assert_eq!(found.to_string(), "2-3,6-7", "{shown}");
        assert_eq!(in_use("SCC", &machine, kind), None);
        assert_eq!(in_use("NONE", &machine, kind), None);
    }
}
