//! Memory in the form of one of Slurm's records, filled through the tables of slurm-sys.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

use slurm_sys::layout::Field;

use crate::blocks::entries;
use crate::host;
use crate::message::Text;
use crate::slurmd::Slurm;

/// Where a request has its environment, and the number of its entries.
pub(crate) type EnvFields = (Field<*mut *mut c_char>, Field<u32>);

/// More than the largest of the records has, in words.
const WORDS: usize = 2048;

/// A record, all zero at first.
pub struct Record(Vec<u64>);

impl Default for Record {
    fn default() -> Self {
        Self(vec![0; WORDS])
    }
}

impl Record {
    /// Where it is; the memory stays there as long as the value lives.
    pub fn base(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }

    /// Writes a field.
    pub fn put<T: Copy>(&mut self, field: Field<T>, value: T) {
        self.put_at(field.offset(), value);
    }

    /// Writes at an offset.
    ///
    /// # Panics
    /// Outside the record.
    pub fn put_at<T: Copy>(&mut self, offset: usize, value: T) {
        assert!(offset + size_of::<T>() <= self.0.len() * size_of::<u64>());
        // SAFETY: inside the record, as just seen.
        unsafe { ptr::write_unaligned(self.base().byte_add(offset).cast(), value) };
    }

    /// Reads a field.
    ///
    /// # Panics
    /// Outside the record.
    pub fn get<T: Copy>(&mut self, field: Field<T>) -> T {
        self.get_at(field.offset())
    }

    /// Reads at an offset.
    ///
    /// # Panics
    /// Outside the record.
    pub fn get_at<T: Copy>(&mut self, offset: usize) -> T {
        assert!(offset + size_of::<T>() <= self.0.len() * size_of::<u64>());
        // SAFETY: inside the record, as just seen; fields are numbers and pointers.
        unsafe { ptr::read_unaligned(self.base().byte_add(offset).cast()) }
    }

    /// Writes the parts of a step id: job, step and component.
    pub(crate) fn put_step_id(&mut self, slurm: Slurm, offset: usize, step: [u32; 3]) {
        let ids = &slurm.layout.step_id;
        let places = [ids.job_id, ids.step_id, ids.step_het_comp];
        for (place, value) in places.into_iter().zip(step) {
            self.put_at(offset + place.offset(), value);
        }
    }

    /// Gives a request an environment; none for no entries.
    pub(crate) fn put_env(&mut self, slurm: Slurm, (env, count): EnvFields, entries: &[Text]) {
        if !entries.is_empty() {
            self.put(
                env,
                slurm.array(entries.iter().map(|entry| entry.0.as_slice())),
            );
            self.put(count, entries.len() as u32);
        }
    }

    /// Why a request that a hook has had is wrong: its environment, or the lock of the credential.
    pub(crate) fn wrong(&mut self, (env, count): EnvFields) -> Option<String> {
        let (said, found) = (self.get(count), entries(self.get(env)).count());
        if said as usize != found {
            return Some(format!(
                "envc is {said}, and the environment has {found} entries"
            ));
        }
        let locked = host::LOCKED.swap(0, Ordering::Relaxed);
        (locked != 0).then(|| format!("the credential was locked {locked} times too often"))
    }
}
