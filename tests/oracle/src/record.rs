//! Memory in the form of one of Slurm's records, filled through the tables of slurm-sys.

use std::ffi::c_void;
use std::ptr;

use slurm_sys::layout::Field;

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
}
