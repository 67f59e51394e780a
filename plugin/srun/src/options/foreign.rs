//! Options that well-known SPANK plugins add to Slurm's commands, by plugin: facts of the tables of
//! `spank_option` in their sources. None is Slurm's own, and only some sites have each of them.
//!
//! - Pyxis: `args.c` of github.com/NVIDIA/pyxis
//! - uenv: `src/slurm/plugin.cpp` of github.com/eth-cscs/uenv2 and `src/plugin.cpp` of
//!   github.com/eth-cscs/slurm-uenv-mount
//! - the Container Engine of CSCS: docs/software/container-engine/run.md of github.com/eth-cscs/cscs-docs
//! - Shifter: `wlm_integration/slurm/wrapper.c` of github.com/NERSC/shifter
//! - Auks: `src/plugins/slurm/slurm-spank-auks.c` of github.com/cea-hpc/auks
//! - the others: the files of these names in github.com/chaos/slurm-spank-plugins

use super::Takes::{self, Attached, Nothing, Value};

/// An option of another SPANK plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Its long name; plugins have no letters.
    pub name: &'static str,
    /// Whether a value follows.
    pub takes: Takes,
    /// The plugin.
    pub plugin: &'static str,
}

const fn of(plugin: &'static str, name: &'static str, takes: Takes) -> Foreign {
    Foreign {
        name,
        takes,
        plugin,
    }
}

const ROWS: &[Foreign] = &[
    of("Pyxis", "container-entrypoint", Nothing),
    of("Pyxis", "container-entrypoint-log", Nothing),
    of("Pyxis", "container-env", Value),
    of("Pyxis", "container-image", Value),
    of("Pyxis", "container-mount-home", Nothing),
    of("Pyxis", "container-mounts", Value),
    of("Pyxis", "container-name", Value),
    of("Pyxis", "container-readonly", Nothing),
    of("Pyxis", "container-remap-root", Nothing),
    of("Pyxis", "container-save", Value),
    of("Pyxis", "container-workdir", Value),
    of("Pyxis", "container-writable", Nothing),
    of("Pyxis", "no-container-entrypoint", Nothing),
    of("Pyxis", "no-container-mount-home", Nothing),
    of("Pyxis", "no-container-remap-root", Nothing),
    of("uenv", "repo", Value),
    of("uenv", "uenv", Value),
    of("uenv", "uenv-uarch", Value),
    of("uenv", "view", Value),
    of("Container Engine", "environment", Value),
    of("Shifter", "ccm", Nothing),
    of("Shifter", "image", Value),
    of("Shifter", "module", Value),
    of("Shifter", "shifter.image", Value),
    of("Shifter", "shifter.module", Value),
    of("Shifter", "shifter.volume", Value),
    of("Shifter", "volume", Value),
    of("Auks", "auks", Attached),
    of("addr-no-randomize", "addr-randomize", Nothing),
    of("addr-no-randomize", "no-addr-randomize", Nothing),
    of("auto-affinity", "auto-affinity", Attached),
    of("cpuset", "use-cpusets", Attached),
    of("iorelay", "iorelay", Value),
    of("iotrace", "iotrace", Attached),
    of("mpibind", "mpibind", Attached),
    of("overcommit-memory", "overcommit-memory", Value),
    of("preserve-env", "preserve-slurm-env", Attached),
    of("private-mount", "fs-namespace", Value),
    of("private-mount", "private-mount", Value),
    of("renice", "renice", Value),
    of("setsched", "setsched", Attached),
    of("system-safe", "no-system-safe", Nothing),
    of("system-safe", "system-safe", Nothing),
    of("use-env", "use-env", Value),
];

/// The plugins that bind tasks themselves.
const BINDING: [&str; 3] = ["auto-affinity", "cpuset", "mpibind"];

impl Foreign {
    /// Whether its plugin sets the CPUs of tasks, which berth then does not know.
    #[must_use]
    pub fn binds_tasks(&self) -> bool {
        BINDING.contains(&self.plugin)
    }
}

/// Every option of the table.
pub fn all_foreign() -> impl Iterator<Item = &'static Foreign> {
    ROWS.iter()
}

/// The option of that name, in full or by an abbreviation that only it has.
#[must_use]
pub fn foreign(name: &str) -> Option<&'static Foreign> {
    let exact = ROWS.iter().find(|row| row.name == name);
    exact.or_else(|| {
        let mut rows = ROWS.iter().filter(|row| row.name.starts_with(name));
        rows.next().filter(|_| rows.next().is_none())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Command, Lookup, long};

    #[test]
    fn none_is_slurms_own() {
        for row in all_foreign() {
            let found = long(Command::Srun, None, row.name);
            assert_eq!(found, Lookup::Unknown, "{}", row.name);
            assert_eq!(foreign(row.name), Some(row));
        }
    }
}
