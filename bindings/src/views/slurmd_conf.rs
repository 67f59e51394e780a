//! slurmd's own settings and its map of the node; slurmstepd has a copy with fewer fields.
//! Source: slurmd_conf_t, src/slurmd/slurmd/slurmd.h. slurmd changes it in place on a
//! reconfiguration, so it is read each time.

use crate::layout::Layout;
use crate::record::{Record, items};
use crate::symbols::Symbols;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The record that `conf` points to.
#[derive(Clone, Copy)]
pub struct SlurmdConf {
    pub(crate) record: Record,
    pub(crate) layout: &'static Layout,
}

/// Makes one accessor per number.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        $($(#[$doc])* pub fn $name(&self) -> u16 {
            self.record.read(self.layout.slurmd_conf.$name)
        })+
    };
}

impl SlurmdConf {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `conf` is null or slurmd's record, which it keeps until the hook returns, and the view
    /// does not outlive that. `layout` is the running release's.
    pub unsafe fn from_raw(conf: *mut c_void, layout: &'static Layout) -> Option<Self> {
        // SAFETY: the caller's promise.
        unsafe { Record::new(conf) }.map(|record| SlurmdConf { record, layout })
    }

    /// The record that `conf` of this process points to now.
    ///
    /// # Safety
    /// `layout` is the running release's; the view does not outlive the hook.
    pub unsafe fn current(layout: &'static Layout, symbols: &Symbols) -> Option<Self> {
        let conf = symbols.conf?;
        // SAFETY: the symbol is a pointer variable of the program; it points to its record.
        unsafe { SlurmdConf::from_raw(ptr::read(conf.as_ptr()), layout) }
    }

    numbers! {
        /// CPUs, as slurm.conf has them.
        cpus,
        /// Sockets, as slurm.conf has them.
        sockets,
        /// Cores of a socket, as slurm.conf has them.
        cores,
        /// Threads of a core, as slurm.conf has them.
        threads,
        /// Sockets found; 0 in slurmstepd.
        actual_sockets,
        /// Cores of a socket found; 0 in slurmstepd.
        actual_cores,
        /// Threads of a core found; 0 in slurmstepd of the older releases.
        actual_threads,
        /// Entries of the block map.
        block_map_size,
    }

    /// Whether slurmd still has this map from abstract to kernel's CPU numbers, without a copy of
    /// it. A map that slurmd is just changing counts as the known one, as for [`Self::block_map`].
    pub fn has_block_map(&self, known: impl ExactSizeIterator<Item = u32>) -> bool {
        let fields = &self.layout.slurmd_conf;
        let lock = |mutex| ConfLock::take(self.record.nested(mutex).base().cast());
        let _unchanged = match fields.config_mutex.map(lock) {
            Some(None) => return true,
            Some(lock) => lock,
            None => None,
        };
        let map = self.record.read(fields.block_map);
        if map.is_null() || usize::from(self.block_map_size()) != known.len() {
            return false;
        }
        // SAFETY: slurmd keeps the map with block_map_size entries (xcpuinfo_hwloc_topo_get).
        let entry = |at| u32::from(unsafe { map.wrapping_add(at).read_unaligned() });
        // All are compared, whether they differ or not: that takes several at a time.
        (0..)
            .zip(known)
            .fold(0, |all, (at, cpu)| all | (entry(at) ^ cpu))
            == 0
    }

    /// Maps abstract to kernel's CPU numbers; `None` if slurmd has no map.
    ///
    /// Up to 23.02 slurmd gives the record another map while it serves launches (`_read_config`,
    /// called by `_reconfigure`), under a lock that it keeps while it reads its whole
    /// configuration. Nobody waits for that here: while the lock is not free, the map is the last
    /// one that was read. Later lines start a new slurmd instead.
    pub fn block_map(&self) -> Option<Vec<u16>> {
        let Some(mutex) = self.layout.slurmd_conf.config_mutex else {
            return self.read_map();
        };
        static LAST: Mutex<Option<Vec<u16>>> = Mutex::new(None);
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(_unchanged) = ConfLock::take(self.record.nested(mutex).base().cast()) {
            last.clone_from(&self.read_map());
        }
        last.clone()
    }

    fn read_map(&self) -> Option<Vec<u16>> {
        let map = self.record.read(self.layout.slurmd_conf.block_map);
        // SAFETY: slurmd keeps the map with block_map_size entries (xcpuinfo_hwloc_topo_get).
        unsafe { items(map, usize::from(self.block_map_size())) }
    }

    /// The node's name in slurm.conf.
    pub fn node_name(&self) -> Option<String> {
        self.record.text(self.layout.slurmd_conf.node_name)
    }

    /// The machine's host name.
    pub fn hostname(&self) -> Option<String> {
        self.record.text(self.layout.slurmd_conf.hostname)
    }
}

/// slurmd's lock of its record; dropping this value releases it.
struct ConfLock(*mut libc::pthread_mutex_t);

impl ConfLock {
    /// The lock, if nobody has it.
    fn take(mutex: *mut libc::pthread_mutex_t) -> Option<Self> {
        // SAFETY: a field of slurmd's record, which slurmd has made ready before it loads plugins
        // (`_init_conf`); in slurmstepd, where nobody locks it, it is all zeros, which is
        // PTHREAD_MUTEX_INITIALIZER. Of a record that is none the call at worst changes a word.
        let is_ours = unsafe { libc::pthread_mutex_trylock(mutex) } == 0;
        // Made for a lock that is ours alone: dropping one would release somebody else's.
        if is_ours { Some(Self(mutex)) } else { None }
    }
}

impl Drop for ConfLock {
    fn drop(&mut self) {
        // SAFETY: locked by this thread in `take`.
        unsafe { libc::pthread_mutex_unlock(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use std::cell::UnsafeCell;

    use super::ConfLock;

    /// slurmd packs what its slurmstepds read under this lock, and a launch beside it may look at the map.
    #[test]
    fn a_lock_that_somebody_has_stays_locked() {
        let mutex = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
        let held = ConfLock::take(mutex.get()).expect("nobody has it");
        assert!(ConfLock::take(mutex.get()).is_none());
        assert!(ConfLock::take(mutex.get()).is_none(), "it is still locked");
        drop(held);
        assert!(ConfLock::take(mutex.get()).is_some());
    }
}
