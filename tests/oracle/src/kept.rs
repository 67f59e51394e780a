//! What the records of a launch point to, other than blocks of Slurm's allocator.

use std::ffi::{CString, c_char};
use std::ptr;

/// First words of Slurm's bit strings (src/common/bitstring.h).
const BITSTR_MAGIC: i64 = 0x4243_4445;

/// What the records point to; nothing in it moves.
#[derive(Default)]
pub(crate) struct Kept {
    texts: Vec<CString>,
    halves: Vec<Vec<u16>>,
    words: Vec<Vec<u32>>,
    bits: Vec<Vec<i64>>,
    pointers: Vec<Vec<*mut u32>>,
}

impl Kept {
    pub(crate) fn text(&mut self, text: impl Into<Vec<u8>>) -> *mut c_char {
        self.texts.push(CString::new(text).unwrap_or_default());
        self.texts
            .last_mut()
            .map_or(ptr::null_mut(), |text| text.as_ptr().cast_mut())
    }

    pub(crate) fn halves(&mut self, list: Vec<u16>) -> *mut u16 {
        self.halves.push(list);
        self.halves
            .last_mut()
            .map_or(ptr::null_mut(), |list| list.as_mut_ptr())
    }

    pub(crate) fn words(&mut self, list: Vec<u32>) -> *mut u32 {
        self.words.push(list);
        self.words
            .last_mut()
            .map_or(ptr::null_mut(), |list| list.as_mut_ptr())
    }

    pub(crate) fn pointers(&mut self, list: Vec<*mut u32>) -> *mut *mut u32 {
        self.pointers.push(list);
        self.pointers
            .last_mut()
            .map_or(ptr::null_mut(), |list| list.as_mut_ptr())
    }

    /// A bit string: magic number, number of bits, the bits.
    pub(crate) fn bits(&mut self, bits: &[bool]) -> *mut i64 {
        let mut words = vec![BITSTR_MAGIC, bits.len() as i64];
        words.extend(bits.chunks(64).map(|word| {
            let bits = word.iter().enumerate().filter(|(_, bit)| **bit);
            bits.fold(0i64, |word, (at, _)| word | 1 << at)
        }));
        self.bits.push(words);
        self.bits
            .last_mut()
            .map_or(ptr::null_mut(), |list| list.as_mut_ptr())
    }
}
