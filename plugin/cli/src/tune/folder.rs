//! The folder of a measurement: what was asked, each run as one line of `runs.jsonl`, and the output of each run.
//! A line is written when its run has ended, so nothing is lost whenever berth ends.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::args::TuneRequest;
use crate::{Failure, Unreadable};

/// A file of more runs than anybody makes.
const MOST: u64 = 64 << 20;

/// One run that counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub round: u32,
    pub line: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Why it has no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Whether the line is not run again.
    #[serde(default)]
    pub hangs: bool,
}

/// An open folder.
pub(super) struct Folder {
    pub path: PathBuf,
    runs: File,
}

impl Folder {
    /// Makes a new one; without a name, one that does not exist yet.
    pub(super) fn new(
        named: Option<&Path>,
        job: u32,
        request: &TuneRequest,
    ) -> Result<Self, Failure> {
        let mut own = (1..1000).map(|at| match at {
            1 => PathBuf::from(format!("berth-tune-{job}")),
            _ => PathBuf::from(format!("berth-tune-{job}-{at}")),
        });
        let own = || own.find(|name| !name.exists()).unwrap_or_default();
        let path = named.map_or_else(own, PathBuf::from);
        let why = |why: io::Error| {
            format!(
                "the folder {} cannot be made: {why}; name a new one with --folder",
                path.display()
            )
        };
        fs::create_dir(&path).map_err(why)?;
        let runs = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path.join("runs.jsonl"))
            .map_err(why)?;
        let mut folder = Self {
            path: path.clone(),
            runs,
        };
        folder.add(request).map_err(why)?;
        Ok(folder)
    }

    /// Opens one again, with what was asked and its runs.
    pub(super) fn open(path: &Path) -> Result<(Self, TuneRequest, Vec<Record>), Failure> {
        let file = path.join("runs.jsonl");
        let why = |why: String| {
            Unreadable(format!(
                "--resume {}: {} {why}",
                path.display(),
                file.display()
            ))
        };
        let runs = OpenOptions::new().read(true).append(true).open(&file);
        let runs = runs.map_err(|found| why(format!("cannot be opened: {found}")))?;
        let mut lines = BufReader::new((&runs).take(MOST)).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        let request: TuneRequest = serde_json::from_str(&first)
            .map_err(|found| why(format!("is not of berth tune: {found}")))?;
        if request.berth_tune != 1 {
            return Err(why("is of another release of berth".into()).into());
        }
        // The last line may have been cut off by a full disk.
        let records = lines
            .map_while(Result::ok)
            .filter_map(|line| serde_json::from_str(&line).ok());
        let records = records.collect();
        let mut folder = Self {
            path: path.into(),
            runs,
        };
        // The text after a line that was cut off begins a line of its own.
        folder.runs.write_all(b"\n")?;
        Ok((folder, request, records))
    }

    /// Adds a line.
    pub(super) fn add(&mut self, record: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(record)?;
        text.push(b'\n');
        self.runs.write_all(&text)?;
        self.runs.sync_data()
    }

    /// The file for the output of a run.
    pub(super) fn output(&self, name: &str) -> io::Result<File> {
        let path = self.path.join(name);
        OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|why| {
                io::Error::new(
                    why.kind(),
                    format!("{} cannot be written: {why}", path.display()),
                )
            })
    }

    /// Writes a file of the result.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        fs::write(self.path.join(name), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_cannot_be_written_is_an_error() {
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let mut folder = Folder {
            path: PathBuf::new(),
            runs: full,
        };
        let why = folder.add(&"a run").unwrap_err();
        assert_eq!(why.kind(), io::ErrorKind::StorageFull);
    }
}
