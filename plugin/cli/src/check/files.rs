//! Job files that a line of sbatch names: read once, bounded, and only if they are regular files.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use berth_host::script_file::content;

/// The most files of one check.
const MOST: usize = 16;

/// A file's text, or why it was not read.
pub(super) type Content = Result<Rc<[u8]>, String>;

/// The files that a check may look at.
#[derive(Default)]
pub(crate) struct Files {
    /// The folder of the script that is checked.
    folder: Option<PathBuf>,
    /// Device and number of that script.
    own: Option<(u64, u64)>,
    /// What was read; none for the script itself.
    known: RefCell<HashMap<String, Option<Content>>>,
}

impl Files {
    /// Those beside a script, and in the working directory.
    pub(super) fn beside(script: Option<&Path>) -> Self {
        let own = script.and_then(|path| fs::metadata(path).ok());
        Self {
            folder: script.and_then(Path::parent).map(PathBuf::from),
            own: own.map(|found| (found.dev(), found.ino())),
            known: RefCell::default(),
        }
    }

    /// A file that was read before, by the name that a line has.
    pub(super) fn with(name: &str, text: &[u8]) -> Self {
        let files = Self::default();
        let known = (name.into(), Some(Ok(text.into())));
        files.known.borrow_mut().extend([known]);
        files
    }

    /// A file by the name that a line has; none for the script that is checked.
    pub(super) fn read(&self, name: &str) -> Option<Content> {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let found = self.look(name);
        self.known.borrow_mut().insert(name.into(), found.clone());
        found
    }

    fn look(&self, name: &str) -> Option<Content> {
        if self.known.borrow().len() == MOST {
            return Some(Err(format!("a check reads {MOST} job files at most")));
        }
        let beside = self.folder.as_ref().map(|folder| folder.join(name));
        let mut paths = beside.into_iter().chain([PathBuf::from(name)]);
        let Some(path) = paths.find(|path| fs::metadata(path).is_ok()) else {
            return Some(Err("there is no such file here".into()));
        };
        let found = fs::metadata(&path).ok();
        if found.map(|found| (found.dev(), found.ino())) == self.own && self.own.is_some() {
            return None;
        }
        Some(content(&path).map(Into::into))
    }
}
