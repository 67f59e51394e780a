//! A file of the site in slurmd: read when slurmd starts, and after `berth reload`. A launch hook gets what is in force,
//! and waits for no reading.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use berth_host::site_file::{self, FileError, LastGoodConfig};

use crate::site::node::state_dir;
use crate::slurmd::complaints::{self, About};

/// One of the site's files, by the key that names it.
pub(crate) struct SiteFile<T> {
    key: &'static str,
    about: About,
    last_good: LastGoodConfig,
    /// The rule of a node that has never read the file.
    without: &'static str,
    in_force: Mutex<Option<InForce<T>>>,
}

/// The last content that could be read.
struct InForce<T> {
    content: Arc<T>,
    path: PathBuf,
    /// The stamp of the file as it was read; empty where another slurmd read it.
    stamp: String,
}

/// Where a text comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// The file as it is now.
    File,
    /// The slurmd before this one, for which it held.
    SlurmdBefore,
}

impl<T> SiteFile<T> {
    pub(crate) const fn new(
        key: &'static str,
        about: About,
        last_good: LastGoodConfig,
        without: &'static str,
    ) -> Self {
        Self {
            key,
            about,
            last_good,
            without,
            in_force: Mutex::new(None),
        }
    }

    /// Held for a clone or an exchange, never while a file is read.
    fn known(&self) -> MutexGuard<'_, Option<InForce<T>>> {
        self.in_force.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The content in force; nothing without the key, or if the file has never been readable.
    pub(crate) fn in_force(&self) -> Option<Arc<T>> {
        self.known().as_ref().map(|known| known.content.clone())
    }

    /// The stamp of the file as it was read; empty where another slurmd read it.
    pub(crate) fn stamp(&self) -> String {
        let known = self.known();
        known
            .as_ref()
            .map_or_else(String::new, |known| known.stamp.clone())
    }

    /// Reads the file that the settings name and puts it in force. One that does not hold leaves what was in force, also for
    /// the slurmd before this one. `doubts` logs what a file has, and gives what the administrator should know of it.
    /// Never in a launch hook: it may take long, because the file can lie on another machine.
    pub(crate) fn read(
        &self,
        named: Option<&Path>,
        node_name: &str,
        parse: impl Fn(&Path, &[u8], From) -> Result<T, FileError>,
        doubts: impl Fn(&T) -> Vec<String>,
    ) {
        let Some(path) = named else {
            *self.known() = None;
            if let Ok(dir) = state_dir(node_name) {
                self.last_good.forget(&dir);
            }
            complaints::set(self.about, None, None);
            return;
        };
        // It is taken first: a file that changes while it is read has another one.
        let stamp = site_file::stamp(path);
        let read = site_file::text(self.key, path)
            .and_then(|text| Ok((parse(path, &text, From::File)?, text)));
        match read {
            Ok((content, text)) => {
                self.keep(node_name, &text);
                complaints::set(self.about, None, doubts(&content));
                self.put(content, path, stamp);
            }
            Err(why) => {
                if self.known().is_none()
                    && let Ok(dir) = state_dir(node_name)
                    && let Some(text) = self.last_good.text(&dir)
                    && let Ok(content) = parse(path, &text, From::SlurmdBefore)
                {
                    doubts(&content);
                    self.put(content, path, String::new());
                }
                self.complain(&why.to_string(), path);
            }
        }
    }

    /// For the slurmd after this one, which may find a file that does not hold.
    fn keep(&self, node_name: &str, text: &[u8]) {
        if let Err(why) = state_dir(node_name).and_then(|dir| self.last_good.put(&dir, text)) {
            log::debug!("{why}");
        }
    }

    fn put(&self, content: T, path: &Path, stamp: String) {
        *self.known() = Some(InForce {
            content: Arc::new(content),
            path: path.into(),
            stamp,
        });
    }

    /// Says what is wrong with the file, and what is in force instead. The log has each reason once.
    fn complain(&self, why: &str, path: &Path) {
        let instead = match &*self.known() {
            Some(known) if known.path == path => "the file as it was read before stays in force",
            Some(_) => "the file that was named before stays in force",
            None => self.without,
        };
        let why = format!("{why}; {instead}");
        if complaints::set(self.about, Some(why.clone()), None) {
            log::error!("{why}");
        }
    }
}
