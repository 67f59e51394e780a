//! The machine file: the machine as discovered once, in the state directory, for
//! slurmd, slurmstepd and the command. It also holds the proof that it is current.
//! In: a path. Out: the machine, or the reason why it must not be used. At most 16 MiB.

use std::io;
use std::path::{Path, PathBuf};

use berth_placement::Machine;
use thiserror::Error;

use crate::atomic_file::{self, WriteError};
use crate::machine_json;
pub use crate::machine_json::{FormatError, MachineFile, devices_from_json, devices_to_json};
use crate::online::Proof;
use crate::trust::TrustError;
use crate::trust::{self, ReadError};

/// Its name in the state directory.
pub const NAME: &str = "machine.json";

/// Largest file read, in bytes: 65536 CPUs need less than four million.
const MAX_SIZE: u64 = 16 << 20;

/// Its mode: everybody may read the description of the machine.
const MODE: u32 = 0o644;

/// The reason why a machine is not the one that we run on now.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Stale {
    /// The host was started again.
    #[error(
        "the machine was found before the last boot; discover it again (berth discover \
         --output FILE, or restart slurmd)"
    )]
    OtherBoot,
    /// CPUs went online or offline.
    #[error(
        "the machine was found with CPUs {then} online, but now CPUs {now} are online; discover \
         it again (berth discover --output FILE, or restart slurmd)"
    )]
    OtherCpus {
        /// The list when it was found.
        then: String,
        /// The list now.
        now: String,
    },
}

impl MachineFile {
    /// A file of this release of berth. Take the proof before you discover the machine.
    #[must_use]
    pub fn new(machine: Machine, this_system: bool, source: String, proof: Proof) -> Self {
        Self {
            machine,
            this_system,
            source,
            proof,
            written_by: env!("CARGO_PKG_VERSION").into(),
            notes: Vec::new(),
        }
    }

    /// Whether the machine is still the one we run on. Of another machine than
    /// this host (a synthetic one), only the boot is compared.
    ///
    /// # Errors
    /// [`Stale`] names what has changed.
    pub fn check_current(&self, now: &Proof) -> Result<(), Stale> {
        if self.proof.boot_id != now.boot_id {
            return Err(Stale::OtherBoot);
        }
        if self.this_system && self.proof.online != now.online {
            return Err(Stale::OtherCpus {
                then: self.proof.online.clone(),
                now: now.online.clone(),
            });
        }
        Ok(())
    }

    /// The file's text, for printing.
    ///
    /// # Errors
    /// [`io::Error`]; no case is known.
    pub fn to_json(&self) -> io::Result<String> {
        machine_json::write(self).map_err(io::Error::other)
    }
}

/// A machine file that could not be written or read.
#[derive(Debug, Error)]
pub enum MachineFileError {
    /// The file could not be replaced.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Nobody has written it yet.
    #[error("there is no machine file {0}; {again}", again = again(.0))]
    Absent(PathBuf),
    /// A user could have written it.
    #[error("the machine file cannot be trusted: {0}")]
    Untrusted(#[from] TrustError),
    /// The system cannot read it.
    #[error("the machine file {0}")]
    Unreadable(ReadError),
    /// The file is larger than any machine needs.
    #[error(
        "the machine file {0} has more than {MAX_SIZE} bytes, so another program wrote it; {again}",
        again = again(.0)
    )]
    TooLarge(PathBuf),
    /// The text is not that of a machine file.
    #[error("the machine file {path} is not usable: {why}; {again}", again = again(path))]
    Format {
        /// The file.
        path: PathBuf,
        /// The first error in it.
        why: FormatError,
    },
}

fn again(path: &Path) -> String {
    let path = path.display();
    format!("run: berth discover --output {path}")
}

/// Replaces the file at once; everybody can read it.
///
/// # Errors
/// [`MachineFileError::Write`]; an older file then still exists.
pub fn write(path: &Path, file: &MachineFile) -> Result<(), MachineFileError> {
    let text = file.to_json().map_err(|why| WriteError {
        path: path.into(),
        action: "making the text",
        why,
    })?;
    atomic_file::write(path, text.as_bytes(), MODE)?;
    Ok(())
}

/// Reads a file that only root or we can have written, in a directory of which
/// the same holds. Whether it is current is another question.
///
/// # Errors
/// [`MachineFileError`]: each says what to do.
pub fn read(path: &Path) -> Result<MachineFile, MachineFileError> {
    let bytes = trust::read(path, MAX_SIZE).map_err(|why| match why {
        ReadError::Absent(path) => MachineFileError::Absent(path),
        ReadError::Untrusted(why) => why.into(),
        ReadError::TooLarge { path, .. } => MachineFileError::TooLarge(path),
        ReadError::Unreadable { .. } => MachineFileError::Unreadable(why),
    })?;
    machine_json::read(&bytes).map_err(|why| MachineFileError::Format {
        path: path.into(),
        why,
    })
}
