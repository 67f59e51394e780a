//! The running Slurm in one value: release, table, symbols. It is found out once per process.
//! The line comes from `slurm_api_version()`. The micro number comes from the stock plugins
//! that are loaded beside us, or else from a stock plugin's file.

use std::ffi::{CString, OsStr, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::layout::{Chosen, Layout, choose};
use crate::line::{Line, UnknownLine, Version};
use crate::loaded::{self, Identity};
use crate::symbols::Symbols;

/// Plugins that Slurm's own packages have; a missing one is skipped.
const STOCK_FILES: [&str; 5] = [
    "task_none.so",
    "auth_munge.so",
    "select_cons_tres.so",
    "hash_k12.so",
    "proctrack_linuxproc.so",
];

/// The release that we run in.
///
/// # Errors
/// [`UnknownLine`] for a release line without a table, with the numbers that were found.
pub fn version(symbols: &Symbols) -> Result<Version, UnknownLine> {
    let api_version = api_version(symbols);
    match api_version.and_then(Line::from_api_version) {
        Some(line) => {
            let micro = stock_version(symbols, Some(line))
                .and_then(|number| u8::try_from(number & 0xff).ok());
            Ok(Version { line, micro })
        }
        None => Err(UnknownLine {
            api_version,
            plugin_version: stock_version(symbols, None),
        }),
    }
}

/// The `plugin_version` with which the loader takes us: the running line with micro 0,
/// or in an unknown line the number of its stock plugins; 0 if neither can be found.
pub fn claimed_version() -> u32 {
    match Symbols::api_version().and_then(Line::from_api_version) {
        Some(line) => line.plugin_version(),
        None => stock_version(Symbols::get(), None).unwrap_or(0),
    }
}

fn api_version(symbols: &Symbols) -> Option<u32> {
    // SAFETY: slurm_api_version takes nothing and returns a constant.
    symbols
        .slurm_api_version
        .and_then(|get| u32::try_from(unsafe { get() }).ok())
}

/// The `plugin_version` of a stock plugin; if `line` is given, only of that line.
fn stock_version(symbols: &Symbols, line: Option<Line>) -> Option<u32> {
    let ours = loaded::own_file();
    let fits = |plugin: &Identity| is_witness(plugin, line);
    loaded::object_names()
        .into_iter()
        .filter(|file| file.to_bytes().ends_with(b".so") && Some(file) != ours.as_ref())
        .filter_map(|file| loaded::identity_of_loaded(&file))
        .find(fits)
        .or_else(|| {
            stock_files(symbols, ours.as_ref())
                .filter_map(|file| loaded::identity_of_file(&file))
                .find(fits)
        })
        .map(|plugin| plugin.version & 0x00ff_ffff)
}

/// Whether the loader compared this plugin's whole version with its own: it does so for all but
/// "spank", whose micro number may be that of another release.
fn is_witness(plugin: &Identity, line: Option<Line>) -> bool {
    plugin.kind != "spank"
        && !plugin.name.to_ascii_lowercase().contains("berth")
        && plugin.version != 0
        && line.is_none_or(|line| Line::from_plugin_version(plugin.version) == Some(line))
}

/// Stock plugin files beside us and beside Slurm's library.
fn stock_files(symbols: &Symbols, ours: Option<&CString>) -> impl Iterator<Item = CString> {
    let library = symbols
        .slurm_api_version
        .and_then(|get| loaded::file_of(get as *const c_void));
    let folders: Vec<PathBuf> = [ours.cloned(), library]
        .into_iter()
        .flatten()
        .filter_map(folder)
        .collect();
    folders.into_iter().flat_map(|folder| {
        STOCK_FILES
            .iter()
            .map(move |name| folder.join(name))
            .filter(|path| path.is_file())
            .filter_map(|path| CString::new(path.into_os_string().into_vec()).ok())
    })
}

/// The folder of a file, if the linker knows one; a bare name is the program itself.
fn folder(file: CString) -> Option<PathBuf> {
    let folder = Path::new(OsStr::from_bytes(file.to_bytes())).parent()?;
    folder.is_absolute().then(|| folder.to_owned())
}

/// The Slurm that we run in.
pub struct Slurm {
    /// The release, or the numbers of a Slurm without a table.
    pub version: Result<Version, UnknownLine>,
    /// Its functions and variables.
    pub symbols: &'static Symbols,
    lenient: Chosen,
    strict: Chosen,
}

impl Slurm {
    /// The running Slurm.
    pub fn get() -> &'static Slurm {
        static SLURM: OnceLock<Slurm> = OnceLock::new();
        SLURM.get_or_init(|| {
            let symbols = Symbols::get();
            Slurm::new(version(symbols), symbols)
        })
    }

    /// A Slurm of a given release.
    pub fn new(version: Result<Version, UnknownLine>, symbols: &'static Symbols) -> Slurm {
        let line = version.map(|version| version.line);
        let micro = version.ok().and_then(|version| version.micro);
        Slurm {
            version,
            symbols,
            lenient: choose(line, micro, false),
            strict: choose(line, micro, true),
        }
    }

    /// The table, or the reason why no record may be touched. `strict` is the setting of
    /// that name: only releases that were checked.
    ///
    /// # Errors
    /// The reason, in words for the log.
    pub fn layout(&self, strict: bool) -> Result<&'static Layout, &str> {
        match self.chosen(strict) {
            Chosen::Known(layout) | Chosen::Flagged(layout, _) => Ok(layout),
            Chosen::Inert(why) => Err(why),
        }
    }

    /// The text to log once if the table is used but was not checked for this very release.
    pub fn flag(&self) -> Option<&str> {
        match &self.lenient {
            Chosen::Flagged(_, why) => Some(why),
            Chosen::Known(_) | Chosen::Inert(_) => None,
        }
    }

    /// The choice itself.
    pub fn chosen(&self, strict: bool) -> &Chosen {
        if strict { &self.strict } else { &self.lenient }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plugins_whose_whole_version_was_compared_are_witnesses() {
        let plugin = |name: &str, kind: &str, version| Identity {
            name: name.into(),
            kind: kind.into(),
            version,
        };
        let line = Some(Line::V24_11);
        assert!(is_witness(&plugin("MUNGE", "auth/munge", 0x18_0b_05), line));
        assert!(
            is_witness(&plugin("MUNGE", "auth/munge", 0x1a_0b_02), None),
            "a line that nobody knows"
        );
        assert!(
            !is_witness(&plugin("x11", "spank", 0x18_0b_01), line),
            "built for another micro"
        );
        assert!(
            !is_witness(&plugin("task BERTH", "task/berth", 0x18_0b_00), line),
            "ourselves"
        );
        assert!(
            !is_witness(&plugin("old", "auth/old", 0x18_05_05), line),
            "of another line"
        );
        assert!(!is_witness(&plugin("none", "auth/none", 0), None));
    }
}
