//! berth's own options of srun, sbatch and salloc: one table, which registration, the routes to
//! slurmd and slurmstepd and the submitting command's checks share. A new option is one row here,
//! one row in `plugin/srun/src/options/table.rs`, the names of its variables in
//! `plugin/srun/src/submission/by_default.rs`, and its reading in `planning/ours.rs`.

use std::ffi::CStr;

use berth_placement::sets::limits::{
    BINDING_BYTES, CPUSET_BYTES, MAPPING_BYTES, NEAR_BYTES, WORD_BYTES,
};
use berth_srun::submission::by_default;

/// An option of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    /// `--binding`.
    Binding,
    /// `--map-by`.
    MapBy,
    /// `--rank-by`.
    RankBy,
    /// `--bind-to`.
    BindTo,
    /// `--core-kind`.
    CoreKind,
    /// `--near`.
    Near,
    /// `--cpuset`.
    Cpuset,
    /// `--confine`.
    Confine,
    /// `--pool`.
    Pool,
}

/// Everything about an option but its value's meaning.
pub(crate) struct Row {
    pub own: Own,
    /// The short name, which another plugin may own, and the name that is surely ours.
    pub names: [&'static CStr; 2],
    /// Its variables, and what it chooses.
    pub default: &'static by_default::Names,
    pub argument: &'static CStr,
    pub usage: &'static CStr,
    /// Bytes that a value may have.
    pub most: usize,
}

/// Every option, by its number.
pub(crate) const OPTIONS: [Row; 9] = [
    Row {
        own: Own::Binding,
        names: [c"binding", c"berth-binding"],
        default: &by_default::BINDING,
        argument: c"[set:|env:|pe:][task:|host:][strict:]STRATEGY",
        usage: c"bind each task to cores of its own: linear:AMOUNT[:SOCKET,CORE], striding:AMOUNT:STEP[:SOCKET,CORE], explicit:SOCKET,CORE[:...] or none (Grid Engine's -binding); or give it an even share: auto[:pack][:smt=K] (berth)",
        most: BINDING_BYTES,
    },
    Row {
        own: Own::MapBy,
        names: [c"map-by", c"berth-map-by"],
        default: &by_default::MAP_BY,
        argument: c"LEVEL[:pe=N][:hwtcpus][:span]",
        usage: c"place tasks on the objects of a level, round and round: hwthread, core, l1cache, l2cache, l3cache, numa, package, slot, node; or ppr:N:LEVEL, pe-list=LIST[:ordered] (berth; Open MPI's --map-by)",
        most: MAPPING_BYTES,
    },
    Row {
        own: Own::RankBy,
        names: [c"rank-by", c"berth-rank-by"],
        default: &by_default::RANK_BY,
        argument: c"slot|node|fill|span",
        usage: c"which task gets which mapped place: in mapping order (slot), object by object (fill), or one of each object in turn (span) (berth; Open MPI's --rank-by)",
        most: MAPPING_BYTES,
    },
    Row {
        own: Own::BindTo,
        names: [c"bind-to", c"berth-bind-to"],
        default: &by_default::BIND_TO,
        argument: c"none|LEVEL[:limit=N][:if-supported][:overload-allowed]",
        usage: c"bind each task to an object inside the one it is mapped to: hwthread, core, l1cache, l2cache, l3cache, numa, package, or none (berth; Open MPI's --bind-to)",
        most: MAPPING_BYTES,
    },
    Row {
        own: Own::CoreKind,
        names: [c"core-kind", c"berth-core-kind"],
        default: &by_default::CORE_KIND,
        argument: c"performance|efficiency|any",
        usage: c"use only the fast cores or only the frugal ones, on a node that has both (berth)",
        most: WORD_BYTES,
    },
    Row {
        own: Own::Near,
        names: [c"near", c"berth-near"],
        default: &by_default::NEAR,
        argument: c"gpu|network|CLASS|NAME[:N][:strict][:own]",
        usage: c"cores next to each task's device: a GPU, a network adapter, a device of a PCI class such as 0302, the one with a name such as ib0; N devices for each task; or none (berth)",
        most: NEAR_BYTES,
    },
    Row {
        own: Own::Cpuset,
        names: [c"cpuset", c"berth-cpuset"],
        default: &by_default::CPUSET,
        argument: c"CPUSET[KEYWORD=VALUE;...]",
        usage: c"run the job in a cpuset: CPUSET_TYPE, CPUSET_NAME, NCPUS, CPU_LIST, MAX_RADIUS, MAX_CPU_PER_NODE, NODE_EX, MEM_LIST, RESUME_OPTION, CPUSET_OPTIONS (berth; LSF's bsub -extsched)",
        most: CPUSET_BYTES,
    },
    Row {
        own: Own::Confine,
        names: [c"confine", c"berth-confine"],
        default: &by_default::CONFINE,
        argument: c"task|off",
        usage: c"keep each bound task on its CPUs whatever it does, by the cpuset of its cgroup (task), or leave its mask as advice (off) (berth)",
        most: WORD_BYTES,
    },
    Row {
        own: Own::Pool,
        names: [c"pool", c"berth-pool"],
        default: &by_default::POOL,
        argument: c"none",
        usage: c"run a job that would be in one of the site's pools as a normal job (berth)",
        most: WORD_BYTES,
    },
];

/// The most bytes that a value of any of them may have.
pub(crate) const MOST: usize = longest(&OPTIONS);

const fn longest(mut rows: &[Row]) -> usize {
    let mut most = 0;
    while let [row, rest @ ..] = rows {
        if row.most > most {
            most = row.most;
        }
        rows = rest;
    }
    most
}

impl Own {
    /// Its place in the table.
    fn index(self) -> usize {
        OPTIONS.iter().position(|row| row.own == self).unwrap_or(0)
    }
}

/// The texts of the options that are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Texts([Option<String>; OPTIONS.len()]);

impl Texts {
    /// The options for which there is a text.
    pub(crate) fn find(mut text: impl FnMut(&'static Row) -> Option<String>) -> Self {
        let mut found = Self::default();
        for (place, row) in found.0.iter_mut().zip(&OPTIONS) {
            *place = text(row);
        }
        found
    }

    /// The text of an option.
    pub(crate) fn get(&self, own: Own) -> Option<&str> {
        self.0.get(own.index())?.as_deref()
    }

    /// An option is given; what was given before no longer counts.
    pub(crate) fn set(&mut self, own: Own, text: String) {
        if let Some(place) = self.0.get_mut(own.index()) {
            *place = Some(text);
        }
    }

    /// Whether one of them chooses CPUs, and does not only narrow what another one chooses.
    pub(crate) fn chooses(&self) -> bool {
        let mut given = OPTIONS.iter().zip(&self.0);
        given.any(|(row, text)| text.is_some() && row.default.choice.chooses())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_has_its_row() {
        for row in &OPTIONS {
            let mut texts = Texts::default();
            texts.set(row.own, "x".into());
            let only = Texts::find(|known| (known.own == row.own).then(|| "x".into()));
            assert_eq!((texts.get(row.own), &texts), (Some("x"), &only));
            let narrows = [Own::CoreKind, Own::Cpuset, Own::Confine, Own::Pool];
            assert_eq!(texts.chooses(), !narrows.contains(&row.own));
            let [short, sure] = row.names.map(|name| name.to_string_lossy());
            assert_eq!(sure, format!("berth-{short}"));
            let word = short.replace('-', "_");
            let variable = format!("BERTH_{}", word.to_uppercase());
            assert_eq!(row.default.own, variable);
            assert_eq!(row.default.mark, format!("{variable}_ROUTED"));
            let routed = format!("SLURM_SPANK__SLURM_SPANK_OPTION_berth_{word}");
            assert_eq!(row.default.routed, routed);
            let sure = format!("SLURM_SPANK__SLURM_SPANK_OPTION_berth_berth_{word}");
            assert_eq!(row.default.sure, sure);
            assert_eq!(row.default.option, short);
        }
        assert!(!Texts::default().chooses());
        assert_eq!(OPTIONS.map(|row| row.default), by_default::ALL);
    }
}
