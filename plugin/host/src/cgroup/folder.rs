//! One cgroup's folder behind a descriptor: its files are read and written, and children are made and
//! removed, without following a link.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use berth_placement::CpuSet;
use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, fstat, mkdirat};
use nix::sys::statfs::{CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, fstatfs};
use nix::unistd::{UnlinkatFlags, unlinkat, write};

use super::{FenceError, Place, Version, Written};

/// A list of every CPU that Linux can have is shorter.
const MOST: u64 = 512 << 10;
/// Who may look into a child: what Slurm gives its own.
const MODE: Mode = Mode::from_bits_truncate(0o755);

/// An open folder of a cgroup.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    /// For messages alone.
    pub(super) path: String,
}

impl Place {
    /// The folder itself.
    ///
    /// # Errors
    /// [`FenceError::File`]
    pub fn open(&self) -> Result<Folder, FenceError> {
        Folder::open(self)
    }
}

impl Folder {
    /// Opens each folder of a place in turn.
    pub(super) fn open(place: &Place) -> Result<Self, FenceError> {
        let path = place.to_string();
        let failed = |why: Errno| error(&path, "it cannot be opened", why);
        let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let mut fd = nix::fcntl::open(&place.point, flags, Mode::empty()).map_err(failed)?;
        for name in &place.folders {
            fd = folder_at(&fd, name).map_err(failed)?;
        }
        let found = fstatfs(&fd).map_err(failed)?.filesystem_type();
        let expected = match place.version {
            Version::V1 => CGROUP_SUPER_MAGIC,
            Version::V2 => CGROUP2_SUPER_MAGIC,
        };
        if !place.is_made_up && found != expected {
            let why = io::Error::other("another file system hides the cgroups");
            return Err(FenceError::File {
                path,
                what: "it is no cgroup",
                why,
            });
        }
        Ok(Self { fd, path })
    }

    /// Reads a file, without the line's end.
    ///
    /// # Errors
    /// [`FenceError::File`]
    pub fn read(&self, name: &str) -> Result<String, FenceError> {
        let path = self.file(name);
        let what = "it cannot be read";
        let file = self.file_at(name, OFlag::O_RDONLY);
        let file = file.map_err(|why| error(&path, what, why))?;
        let mut text = Vec::new();
        let read = File::from(file).take(MOST).read_to_end(&mut text);
        read.map_err(|why| FenceError::File { path, what, why })?;
        Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
    }

    /// The CPUs that a file lists; none if it cannot be read.
    #[must_use]
    pub fn cpus(&self, name: &str) -> CpuSet {
        let text = self.read(name).unwrap_or_default();
        CpuSet::from_list(&text).unwrap_or_default()
    }

    /// Writes a file by one call, as the kernel reads its files.
    ///
    /// # Errors
    /// [`FenceError::File`]
    pub fn write(&self, name: &str, value: &str) -> Result<(), FenceError> {
        let failed = |why: Errno| error(&self.file(name), "it cannot be written", why);
        let file = self.file_at(name, OFlag::O_WRONLY).map_err(failed)?;
        let line = format!("{value}\n");
        match write(&file, line.as_bytes()).map_err(failed)? {
            all if all == line.len() => Ok(()),
            _ => Err(failed(Errno::EIO)),
        }
    }

    /// Writes a file, and reads it back.
    pub(super) fn put(&self, name: &str, value: &str) -> Result<Written, FenceError> {
        self.write(name, value)?;
        Ok(Written {
            file: self.file(name),
            value: value.into(),
            now: self.read(name)?,
        })
    }

    /// Opens a file to be read again and again.
    pub(super) fn open_file(&self, name: &str) -> Result<OwnedFd, FenceError> {
        let fd = self.file_at(name, OFlag::O_RDONLY);
        fd.map_err(|why| error(&self.file(name), "it cannot be opened", why))
    }

    /// Makes a child that is not there yet.
    pub(super) fn make(&self, name: &str) -> Result<Self, FenceError> {
        let path = self.file(name);
        mkdirat(&self.fd, name, MODE).map_err(|why| error(&path, "it cannot be made", why))?;
        self.child(name).inspect_err(|_| {
            let _ = self.remove(name);
        })
    }

    /// A child that is there.
    pub(super) fn child(&self, name: &str) -> Result<Self, FenceError> {
        let path = self.file(name);
        let fd = folder_at(&self.fd, name);
        let fd = fd.map_err(|why| error(&path, "it cannot be opened", why))?;
        Ok(Self { fd, path })
    }

    /// Removes a child in which nobody lives. One that is gone already counts as removed.
    ///
    /// # Errors
    /// The kernel's answer: `EBUSY` while somebody lives there.
    pub fn remove(&self, name: &str) -> Result<(), Errno> {
        match unlinkat(&self.fd, name, UnlinkatFlags::RemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// Whether it belongs to root. systemd gives users cgroups of their own.
    pub(super) fn is_roots(&self) -> bool {
        fstat(&self.fd).is_ok_and(|found| found.st_uid == 0)
    }

    /// The names of at most so many children.
    pub(super) fn children(&self, most: usize) -> Vec<String> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
        let Ok(mut own) = Dir::openat(self.fd.as_fd(), ".", flags, Mode::empty()) else {
            return Vec::new();
        };
        let folders = own.iter().flatten().filter_map(|entry| {
            let name = entry.file_name().to_str().ok()?;
            let is_child = entry.file_type() == Some(Type::Directory) && !name.starts_with('.');
            is_child.then(|| name.to_owned())
        });
        folders.take(most).collect()
    }

    /// Its descriptor.
    pub(super) fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// Its own name.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The path of a file in it, for messages.
    pub(super) fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.path)
    }

    fn file_at(&self, name: &str, how: OFlag) -> Result<OwnedFd, Errno> {
        let flags = how | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        openat(&self.fd, name, flags, Mode::empty())
    }
}

fn folder_at(fd: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    openat(fd, name, flags, Mode::empty())
}

fn error(path: &str, what: &'static str, why: Errno) -> FenceError {
    FenceError::File {
        path: path.into(),
        what,
        why: why.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn place(point: &std::path::Path, folders: &[&str]) -> Place {
        let top = Place::made_up(point);
        folders.iter().fold(top, |at, name| at.below(name))
    }

    #[test]
    fn links_lead_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("inside");
        fs::create_dir(&inside).unwrap();
        fs::write(dir.path().join("secret"), "x\n").unwrap();
        symlink(dir.path(), inside.join("out")).unwrap();
        symlink(dir.path().join("secret"), inside.join("cpuset.cpus")).unwrap();
        let through = place(dir.path(), &["inside", "out"]);
        assert!(through.open().is_err());
        let folder = place(dir.path(), &["inside"]).open().unwrap();
        let read = folder.read("cpuset.cpus").unwrap_err();
        assert_eq!(read.errno(), Some(libc::ELOOP));
        let written = folder.write("cpuset.cpus", "0").unwrap_err();
        assert_eq!(written.errno(), Some(libc::ELOOP));
        assert_eq!(
            fs::read_to_string(dir.path().join("secret")).unwrap(),
            "x\n"
        );
        assert!(folder.child("out").is_err());
    }

    #[test]
    fn what_is_no_cgroup_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let real = Place {
            is_made_up: false,
            ..place(dir.path(), &[])
        };
        let error = Folder::open(&real).unwrap_err();
        assert!(error.to_string().contains("it is no cgroup"), "{error}");
    }

    #[test]
    fn files_are_never_made() {
        let dir = tempfile::tempdir().unwrap();
        let folder = place(dir.path(), &[]).open().unwrap();
        assert!(folder.write("cpuset.cpus", "0").is_err());
        assert!(!dir.path().join("cpuset.cpus").exists());
        fs::write(dir.path().join("cpuset.cpus"), "").unwrap();
        folder.write("cpuset.cpus", "0-3").unwrap();
        assert_eq!(folder.read("cpuset.cpus").unwrap(), "0-3");
        let child = folder.make("berth_1.0.0_2").unwrap();
        assert!(folder.make("berth_1.0.0_2").is_err(), "it is there");
        assert_eq!(folder.children(9), ["berth_1.0.0_2"]);
        assert!(child.path.ends_with("/berth_1.0.0_2"));
        folder.remove("berth_1.0.0_2").unwrap();
        folder.remove("berth_1.0.0_2").unwrap();
    }
}
