//! Whether berth may work in this process: only with a table for the running release and
//! without task/affinity beside it. The answer never takes a node down.

use std::sync::OnceLock;

use berth_host::state;
use slurm_sys::{Layout, Slurm, SlurmConf, Symbols};

use crate::site::settings::{self, Settings};
use crate::site::slurm_log::VERBOSE;

/// Our name in slurm.conf, and part of the names under which SPANK carries our options.
pub(crate) const NAME: &str = "berth";

/// The layout of Slurm's records in the running release, and its functions. A hook needs both to
/// touch a record.
#[derive(Clone, Copy)]
pub(crate) struct Abi {
    pub layout: &'static Layout,
    pub symbols: &'static Symbols,
}

/// The table and symbols, or nothing: then a hook returns at once. slurmd logs the reason
/// when it starts.
pub(crate) fn working() -> Option<Abi> {
    judged().as_ref().ok().copied()
}

/// The table without judgement, before the settings are known: it gives
/// this node's name and the place of plugstack.conf.
pub(crate) fn unjudged() -> Option<Abi> {
    let slurm = Slurm::get();
    let layout = slurm.layout(false).ok()?;
    Some(Abi {
        layout,
        symbols: slurm.symbols,
    })
}

/// The reason why berth stands aside, if it does.
pub(crate) fn aside() -> Option<&'static str> {
    judged().as_ref().err().map(String::as_str)
}

/// Whether the running release has no table: then nothing is bound, also not by SPANK's hooks alone.
pub(crate) fn is_inert() -> bool {
    Slurm::get().layout(settings::current().strict).is_err()
}

/// Whether we stand aside because only `--binding` is configured.
pub(crate) fn serves_binding_only() -> bool {
    let Some(slurm) = unjudged() else {
        return false;
    };
    let list = task_plugin(slurm).unwrap_or_default();
    aside().is_some() && !is_listed(&list, &own_name())
}

/// The judgement; it is made once, at the first hook after the settings are known.
fn judged() -> &'static Result<Abi, String> {
    static JUDGED: OnceLock<Result<Abi, String>> = OnceLock::new();
    JUDGED.get_or_init(judge)
}

fn judge() -> Result<Abi, String> {
    let slurm = Slurm::get();
    let symbols = slurm.symbols;
    let layout = slurm.layout(settings::current().strict)?;
    let found = Abi { layout, symbols };
    match task_plugin(found) {
        Some(list) => may_stand_in(&list, &own_name())?,
        // From 23.02 on Slurm treats task/none as an empty list.
        None if slurm_sys::process::is_slurms_daemon() => may_stand_in("none", &own_name())?,
        None => {}
    }
    Ok(found)
}

/// Whether a TaskPlugin list has us, and not task/affinity beside us. `own` is the
/// name of our file, by which Slurm finds it: some sites give it another.
fn may_stand_in(list: &str, own: &str) -> Result<(), String> {
    if !is_listed(list, own) {
        return Err(format!(
            "TaskPlugin={list} does not list task/berth; berth serves only its own options here, as \
             --binding: add task/berth for other steps, or remove berth's line from plugstack.conf"
        ));
    }
    if own != "affinity" && names(list).any(|name| name == "affinity") {
        return Err(format!(
            "TaskPlugin={list} lists task/affinity, which binds every task a second time; berth \
             serves only its own options here, as --binding: remove one of the two from slurm.conf"
        ));
    }
    Ok(())
}

/// The plugins of a TaskPlugin list.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(|name| name.trim().trim_start_matches("task/"))
}

fn is_listed(list: &str, own: &str) -> bool {
    names(list).any(|name| name == own || name == NAME)
}

/// Whether Slurm's task/cgroup works beside us.
pub(crate) fn has_task_cgroup(slurm: Abi) -> bool {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) };
    conf.and_then(|conf| conf.settled_task_plugin(slurm.symbols))
        .is_some_and(|list| names(&list).any(|name| name == "cgroup"))
}

fn own_name() -> String {
    let file = slurm_sys::process::own_path().unwrap_or_default();
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    stem.trim_start_matches("task_").to_string()
}

fn task_plugin(slurm: Abi) -> Option<String> {
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmConf::current(slurm.layout, slurm.symbols) }?;
    conf.task_plugin()
}

/// Whether the administrator's switch-off file is there.
pub(crate) fn is_off(settings: &Settings) -> bool {
    let off = state::is_off(&settings.state_dir);
    if off {
        log::log!(target: VERBOSE, log::Level::Info, "the file {}/off switches berth off", settings.state_dir.display());
    }
    off
}

#[cfg(test)]
mod tests {
    use super::may_stand_in;

    #[test]
    fn listed_and_alone() {
        for (list, own, says) in [
            ("task/berth", "berth", None),
            ("berth", "berth", None),
            ("task/cgroup,task/berth", "berth", None),
            ("task/affinity", "affinity", None),
            ("task/affinity,task/berth", "berth", Some("a second time")),
            ("task/affinity", "berth", Some("does not list")),
            ("task/none", "berth", Some("does not list")),
        ] {
            let said = may_stand_in(list, own).err();
            match (said, says) {
                (None, None) => {}
                (Some(said), Some(says)) => assert!(said.contains(says), "{list}: {said}"),
                other => panic!("{list} as {own}: {other:?}"),
            }
        }
    }
}
