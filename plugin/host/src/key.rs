//! slurmd's key, which proves to slurmstepd that a message comes from slurmd and not from a user's
//! own client. The first slurmd of a boot makes it, and restarts keep it, so a step that starts
//! meanwhile is still trusted.
//! In: the state directory. Out: a key, or an error; marks made with it.

use std::fs::{File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use siphasher::sip128::{Hasher128, SipHasher24};

use crate::atomic_file;
use crate::state::StateDir;
use crate::trust;

/// Its name in the state directory.
pub const NAME: &str = "key";
/// Only root may read it, because a process that reads it can make marks.
const MODE: u32 = 0o600;
const BYTES: usize = 16;

/// A key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; BYTES]);

/// The mark that a key gives to a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub u128);

impl Key {
    /// A key of known bytes.
    #[must_use]
    pub const fn new(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    /// The mark of some parts; it also depends on the place where one ends and the next begins.
    #[must_use]
    pub fn mark(&self, parts: &[&[u8]]) -> Mark {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        for part in parts {
            hasher.write_u64(part.len() as u64);
            hasher.write(part);
        }
        Mark(hasher.finish128().as_u128())
    }

    /// For slurmd: the key of this node, which is made if there is none that can be used.
    ///
    /// # Errors
    /// A directory that cannot be written or trusted, or a kernel without random numbers.
    pub fn read_or_make(dir: &StateDir) -> io::Result<Self> {
        if let Ok(key) = Self::read(dir) {
            return Ok(key);
        }
        let key = Self::random()?;
        key.write(dir)?;
        Ok(key)
    }

    /// For slurmd: puts its key where slurmstepd looks for it.
    ///
    /// # Errors
    /// A directory that cannot be written.
    pub fn write(&self, dir: &StateDir) -> io::Result<()> {
        let text: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = dir.path().join(NAME);
        // A launch may wait for this, so it waits for no disk: after a power cut slurmd makes another key.
        atomic_file::replace(&path, format!("{text}\n").as_bytes(), MODE).map_err(io::Error::other)
    }

    /// For slurmd: puts its key back where somebody has removed it, or another one stands there. Returns whether it
    /// has. If others may have read the key, it stays as it is: slurmstepd does not use it, and slurmd makes another one
    /// when it starts again.
    ///
    /// # Errors
    /// A directory that cannot be made, written or trusted.
    pub fn keep(&self, dir: &StateDir) -> io::Result<bool> {
        // Who can read or write the file does not matter here.
        let found = open(dir).and_then(text);
        if found.is_ok_and(|text| parse(&text) == Some(*self)) {
            return Ok(false);
        }
        dir.prepare().map_err(io::Error::other)?;
        self.write(dir)?;
        Ok(true)
    }

    /// For slurmstepd: the key that slurmd has made.
    ///
    /// # Errors
    /// No such file, or one that somebody else may have written or can read.
    pub fn read(dir: &StateDir) -> io::Result<Self> {
        let path = dir.path().join(NAME);
        let file = open(dir)?;
        let found = file.metadata()?;
        trust::check_file(&path, &found).map_err(io::Error::other)?;
        if found.mode() & 0o077 != 0 {
            let mode = found.mode() & 0o7777;
            return Err(wrong(
                &path,
                &format!("can be read by others (mode {mode:04o})"),
            ));
        }
        parse(&text(file)?).ok_or_else(|| wrong(&path, "holds no key"))
    }

    fn random() -> io::Result<Self> {
        let mut key = [0; BYTES];
        // SAFETY: the kernel writes at most as many bytes as the array has (getrandom(2)).
        let written = unsafe { libc::getrandom(key.as_mut_ptr().cast(), BYTES, 0) };
        match usize::try_from(written) {
            Ok(BYTES) => Ok(Self(key)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Opens it without following a link or waiting for a pipe.
fn open(dir: &StateDir) -> io::Result<File> {
    trust::check_directory(dir.path()).map_err(io::Error::other)?;
    trust::open(&dir.path().join(NAME), OpenOptions::new().read(true))
}

/// As much of it as a key has.
fn text(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(BYTES as u64 * 2 + 1).read_to_end(&mut bytes)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    text.truncate(text.trim_end().len());
    Ok(text)
}

fn wrong(path: &std::path::Path, what: &str) -> io::Error {
    let path = path.display();
    io::Error::other(format!(
        "{path} {what}; restart slurmd, which makes a new one"
    ))
}

fn parse(text: &str) -> Option<Key> {
    let digits = text.len() == BYTES * 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok().filter(|_| digits)?;
    Some(Key(number.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn one_key_for_all_who_may_read_it() {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        assert!(Key::read(&dir).is_err());
        let key = Key::read_or_make(&dir).unwrap();
        assert!(Key::read(&dir).unwrap() == key);
        assert!(
            Key::read_or_make(&dir).unwrap() == key,
            "it outlives slurmd"
        );
        let path = dir.path().join(NAME);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let told = Key::read(&dir).err().unwrap().to_string();
        assert!(told.contains("read by others"), "{told}");
        assert!(
            Key::read_or_make(&dir).unwrap() != key,
            "a leaked key is replaced"
        );
        for text in [
            "",
            "short",
            &"g".repeat(32),
            &"0".repeat(64),
            "+1234567890123456789012345678901",
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            assert!(text.len() == 64 || Key::read(&dir).is_err(), "{text:?}");
        }
    }

    #[test]
    fn slurmd_puts_a_lost_key_back() {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(&base.path().join("state"), "n1").unwrap();
        dir.prepare().unwrap();
        let path = dir.path().join(NAME);
        let (own, other) = (Key([1; BYTES]), Key([2; BYTES]));
        own.write(&dir).unwrap();
        assert!(!own.keep(&dir).unwrap(), "it is there");
        let lost: [&dyn Fn(); 4] = [
            &|| fs::remove_file(&path).unwrap(),
            &|| other.write(&dir).unwrap(),
            &|| fs::write(&path, "").unwrap(),
            &|| fs::remove_dir_all(base.path().join("state")).unwrap(),
        ];
        for lose in lost {
            lose();
            assert!(own.keep(&dir).unwrap());
            assert!(Key::read(&dir).unwrap() == own);
        }
    }

    /// slurmd makes another one when it starts again.
    #[test]
    fn a_key_that_others_may_know_does_not_become_a_good_one() {
        let base = tempfile::tempdir().unwrap();
        let dir = StateDir::new(base.path(), "n1").unwrap();
        dir.prepare().unwrap();
        let path = dir.path().join(NAME);
        let key = Key([1; BYTES]);
        key.write(&dir).unwrap();
        for mode in [0o640, 0o622] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert!(!key.keep(&dir).unwrap());
            assert!(Key::read(&dir).is_err(), "slurmstepd does not use it");
        }
    }

    #[test]
    fn a_mark_says_all_of_it() {
        let (one, other) = (Key([1; BYTES]), Key([2; BYTES]));
        let mark = one.mark(&[b"12", b"3"]);
        assert_eq!(one.mark(&[b"12", b"3"]), mark);
        for different in [
            one.mark(&[b"1", b"23"]),
            one.mark(&[b"123"]),
            other.mark(&[b"12", b"3"]),
        ] {
            assert_ne!(different, mark);
        }
    }
}
