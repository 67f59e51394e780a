//! The kernel's online CPUs and its boot id, which prove that a
//! machine found earlier is still the same. A launch costs one `pread`.
//! In: the kernel's files. Out: their texts, unparsed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use berth_placement::{CpuSet, Machine};

use crate::kernel_text;

/// Where the kernel lists CPUs.
const LISTS: &str = "/sys/devices/system/cpu";
const ONLINE: &str = "/sys/devices/system/cpu/online";
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// sysfs never writes more than one page.
const PAGE: usize = 4096;

/// The kernel's list of online CPUs, behind a descriptor that is kept open.
#[derive(Debug)]
pub struct OnlineCpus {
    file: File,
}

impl OnlineCpus {
    /// Opens the kernel's file (close-on-exec). A process must not keep it open while it
    /// becomes a daemon.
    ///
    /// # Errors
    /// [`io::Error`] naming the file.
    pub fn open() -> io::Result<Self> {
        Self::open_at(Path::new(ONLINE))
    }

    /// Opens another file in place of the kernel's, as tests need it.
    ///
    /// # Errors
    /// [`io::Error`] naming the file.
    pub fn open_at(path: &Path) -> io::Result<Self> {
        let file = File::open(path).map_err(|why| named(path, &why))?;
        Ok(Self { file })
    }

    /// The list as the kernel writes it, without the line's end: `0-3,8`.
    ///
    /// # Errors
    /// [`io::Error`] from `pread`, or for a text that is no list.
    pub fn read(&self) -> io::Result<String> {
        let mut page = [0; PAGE];
        let text = self.read_into(&mut page)?;
        match CpuSet::from_list(text) {
            Ok(cpus) if !cpus.is_empty() => Ok(text.into()),
            _ => Err(io::Error::other(format!(
                "the kernel's list of online CPUs is \"{text}\""
            ))),
        }
    }

    /// Whether the list is unchanged, with one system call and no allocation.
    /// A list that cannot be read counts as changed.
    #[must_use]
    pub fn unchanged(&self, since: &str) -> bool {
        let mut page = [0; PAGE];
        self.read_into(&mut page).is_ok_and(|now| now == since)
    }

    fn read_into<'page>(&self, page: &'page mut [u8; PAGE]) -> io::Result<&'page str> {
        let length = self.file.read_at(page, 0)?;
        let bytes = page.get(..length).unwrap_or_default();
        std::str::from_utf8(bytes)
            .map(str::trim_end)
            .map_err(io::Error::other)
    }
}

/// The facts that were true when the machine was found. Take them *before* discovery: a CPU
/// that goes offline meanwhile then makes the machine outdated, but not wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The kernel's name for this boot.
    pub boot_id: String,
    /// The kernel's list of online CPUs.
    pub online: String,
}

impl Proof {
    /// The proof for this moment.
    ///
    /// # Errors
    /// [`io::Error`] naming the kernel's file that could not be read.
    pub fn now() -> io::Result<Self> {
        Ok(Self {
            boot_id: boot_id()?,
            online: OnlineCpus::open()?.read()?,
        })
    }
}

/// The part of a machine that is online by the kernel's list; `None` where that is all of it, or nothing.
#[must_use]
pub fn online_part(machine: &Machine, online: &str) -> Option<Machine> {
    let online = CpuSet::from_list(online).ok()?;
    let is_whole = machine.cpus().is_subset(&online);
    machine.only(&online).filter(|_| !is_whole)
}

/// One more than the highest CPU number that this kernel can ever have; `None` if
/// the kernel does not give it.
#[must_use]
pub fn possible_cpus() -> Option<u32> {
    Some(listed("possible").highest()?.0 + 1)
}

/// The CPUs of a list of the kernel's, such as `isolated`; none where the kernel has no such list, or `(null)` in it.
#[must_use]
pub fn listed(name: &str) -> CpuSet {
    let text = kernel_text::read(format!("{LISTS}/{name}")).unwrap_or_default();
    CpuSet::from_list(text.trim()).unwrap_or_default()
}

/// The kernel's name for this boot: 36 characters, another one after each boot.
///
/// # Errors
/// [`io::Error`] naming the file, also for a text that is no such name.
pub fn boot_id() -> io::Result<String> {
    let path = Path::new(BOOT_ID);
    let text = kernel_text::read(path).map_err(|why| named(path, &why))?;
    let id = text.trim();
    let plain = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    if id.is_empty() || id.len() > 64 || !id.bytes().all(plain) {
        return Err(io::Error::other(format!("{BOOT_ID} holds no boot id")));
    }
    Ok(id.into())
}

fn named(path: &Path, why: &io::Error) -> io::Error {
    io::Error::new(why.kind(), format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use berth_placement::Numbering;

    use super::*;

    #[test]
    fn this_kernel_tells_its_cpus_and_its_boot() {
        let online = OnlineCpus::open().unwrap();
        let text = online.read().unwrap();
        assert!(online.unchanged(&text));
        assert!(!online.unchanged("0-99999"));
        let cpus = CpuSet::from_list(&text).unwrap();
        let possible = possible_cpus().unwrap();
        assert!(cpus.highest().unwrap().0 < possible);
        assert_eq!(boot_id().unwrap().len(), 36);
        assert_eq!(boot_id().unwrap(), Proof::now().unwrap().boot_id);
    }

    #[test]
    fn a_change_is_seen_through_the_kept_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("online");
        fs::write(&path, "0-3\n").unwrap();
        let online = OnlineCpus::open_at(&path).unwrap();
        assert!(online.unchanged("0-3"));
        fs::write(&path, "0-2\n").unwrap();
        assert!(!online.unchanged("0-3"));
        assert_eq!(online.read().unwrap(), "0-2");
        fs::write(&path, "nonsense\n").unwrap();
        let told = online.read().unwrap_err().to_string();
        assert!(told.contains("nonsense"), "{told}");
    }

    #[test]
    fn a_machine_without_what_went_offline() {
        let machine = Machine::regular(1, 4, 2, Numbering::Block).unwrap();
        let part = |online| online_part(&machine, online).map(|part| part.cpus().to_string());
        assert_eq!(part("0-7"), None);
        assert_eq!(part("0-63"), None);
        assert_eq!(part("0,4-7").as_deref(), Some("0,4-7"));
        assert_eq!(part("8"), None, "the list is another machine's");
        let cores = online_part(&machine, "0-2,5-7").map(|part| part.core_count());
        assert_eq!(cores, Some(4), "a core lives on with one thread");
    }

    #[test]
    fn a_missing_file_is_named() {
        let told = OnlineCpus::open_at(Path::new("/no/online")).unwrap_err();
        assert!(told.to_string().contains("/no/online"), "{told}");
    }
}
