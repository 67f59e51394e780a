//! May berth work in this process? Only with a table for the running release and
//! without task/affinity beside it; a node never goes down for the answer.

use std::sync::OnceLock;

use slurm_sys::{Layout, Slurm, SlurmConf, Symbols};

use crate::settings;

/// What a hook needs to touch Slurm's records.
#[derive(Clone, Copy)]
pub(crate) struct Slurmish {
    pub layout: &'static Layout,
    pub symbols: &'static Symbols,
}

/// The table and symbols, or nothing: then a hook returns at once. Why is
/// logged once, by [`explain`].
pub(crate) fn working() -> Option<Slurmish> {
    judged().as_ref().ok().copied()
}

/// The table without judgement, before the settings were seen: enough to learn
/// this node's name and where plugstack.conf is.
pub(crate) fn unjudged() -> Option<Slurmish> {
    let slurm = Slurm::get();
    let layout = slurm.layout(false).ok()?;
    Some(Slurmish {
        layout,
        symbols: slurm.symbols,
    })
}

/// The reason for standing aside, if so.
pub(crate) fn aside() -> Option<&'static str> {
    judged().as_ref().err().map(String::as_str)
}

/// Judged once, at the first hook after the settings were seen.
fn judged() -> &'static Result<Slurmish, String> {
    static JUDGED: OnceLock<Result<Slurmish, String>> = OnceLock::new();
    JUDGED.get_or_init(judge)
}

fn judge() -> Result<Slurmish, String> {
    let slurm = Slurm::get();
    let symbols = slurm.symbols;
    let layout = slurm.layout(settings::current().strict)?;
    let found = Slurmish { layout, symbols };
    match task_plugin(found).filter(|list| has_affinity(list)) {
        None => Ok(found),
        Some(list) => Err(format!(
            "TaskPlugin={list} lists task/affinity, which binds every task a second time; berth \
             binds nothing here: take one of the two out of slurm.conf"
        )),
    }
}

fn task_plugin(slurm: Slurmish) -> Option<String> {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) }?;
    conf.task_plugin()
}

fn has_affinity(list: &str) -> bool {
    list.split(',')
        .map(|name| name.trim().trim_start_matches("task/"))
        .any(|name| name == "affinity")
}
