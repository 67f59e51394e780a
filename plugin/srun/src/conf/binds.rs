//! The default binding of steps that request none: `CpuBind` of the job's nodes, else of its partition,
//! else of `TaskPluginParam`.
//! In: words of a configuration. Out: [`DefaultBind`]. Source: `_set_def_cpu_bind`,
//! `xlate_cpu_bind_str`.

use berth_placement::{CpuBind, Mode};

use super::Config;
use super::text::{ConfError, Line};
use crate::spelling::level;

/// A default binding, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultBind {
    /// The binding; of `CpuBind=off` the empty one.
    pub bind: CpuBind,
    /// Whose it is.
    pub from: BindFrom,
}

/// Whose default a binding is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindFrom {
    /// All nodes of the job that have one have this one.
    Nodes,
    /// The job's partition.
    Partition(String),
    /// `TaskPluginParam`.
    Cluster,
}

/// `CpuBind` of a line.
pub(super) fn read(line: &Line) -> Result<Option<CpuBind>, ConfError> {
    let Some(text) = line.value("cpubind") else {
        return Ok(None);
    };
    let mut bind = CpuBind::default();
    let mut kinds = 0;
    for word in text.split([',', ';']).filter(|word| !word.is_empty()) {
        let word = word.to_ascii_lowercase();
        kinds += usize::from(!["v", "verbose"].contains(&word.as_str()));
        match word.as_str() {
            "v" | "verbose" => bind.verbose = true,
            "off" => {}
            "no" | "none" => bind.mode = Some(Mode::Free),
            _ => match level(&word) {
                Some(level) => bind.level = Some(level),
                None => kinds = usize::MAX,
            },
        }
        if kinds > 1 {
            let why = format!(
                "CpuBind={text} is none of none, sockets, ldoms, cores, threads, off; write one of \
                 them, with verbose if you like"
            );
            return Err(line.place.error(&why));
        }
    }
    Ok(Some(bind))
}

impl Config {
    /// The default of a job's steps, with its partition (none for the default one) and its nodes.
    /// Nodes without a `CpuBind` are left out; nodes with different ones have none in common, and then
    /// the partition's holds.
    #[must_use]
    pub fn default_bind<'a>(
        &self,
        partition: Option<&str>,
        nodes: impl IntoIterator<Item = &'a str>,
    ) -> Option<DefaultBind> {
        let mut of_nodes = nodes.into_iter().filter_map(|name| self.bind_of(name));
        if let Some(bind) = of_nodes.next()
            && of_nodes.all(|other| other == bind)
        {
            return Some(DefaultBind {
                bind: bind.clone(),
                from: BindFrom::Nodes,
            });
        }
        let part = self.part(partition).ok();
        let of_part = part.and_then(|part| {
            Some(DefaultBind {
                bind: part.cpu_bind.clone()?,
                from: BindFrom::Partition(part.name.clone()),
            })
        });
        of_part.or_else(|| {
            Some(DefaultBind {
                bind: self.bind_of_all()?,
                from: BindFrom::Cluster,
            })
        })
    }

    fn bind_of(&self, name: &str) -> Option<&CpuBind> {
        let at = *self.by_name.get(name)?;
        let before = self.binds.partition_point(|(nodes, _)| nodes.end <= at);
        let (nodes, bind) = self.binds.get(before)?;
        nodes.contains(&at).then_some(bind)
    }

    /// That of `TaskPluginParam`, which knows no ldoms.
    fn bind_of_all(&self) -> Option<CpuBind> {
        let words = self.task_plugin_param.as_deref()?.to_ascii_lowercase();
        words.split(',').find_map(|word| match word.trim() {
            "none" => Some(CpuBind {
                mode: Some(Mode::Free),
                ..CpuBind::default()
            }),
            word @ ("sockets" | "cores" | "threads") => Some(CpuBind {
                level: level(word),
                ..CpuBind::default()
            }),
            _ => None,
        })
    }
}
