//! Memory to which the records of a launch point, other than blocks of Slurm's allocator.

use std::any::Any;
use std::ffi::c_char;

/// First words of Slurm's bit strings (src/common/bitstring.h).
const BITSTR_MAGIC: i64 = 0x4243_4445;

/// It goes with its value; nothing in it moves.
#[derive(Default)]
pub(crate) struct Arena(Vec<Box<dyn Any>>);

impl Arena {
    pub(crate) fn list<T: 'static>(&mut self, mut list: Vec<T>) -> *mut T {
        let first = list.as_mut_ptr();
        self.0.push(Box::new(list));
        first
    }

    pub(crate) fn text(&mut self, text: &str) -> *mut c_char {
        self.list([text.as_bytes(), &[0]].concat()).cast()
    }

    /// A bit string: magic number, number of bits, the bits.
    pub(crate) fn bits(&mut self, bits: &[bool]) -> *mut i64 {
        let mut words = vec![BITSTR_MAGIC, bits.len() as i64];
        words.extend(bits.chunks(64).map(|word| {
            let bits = word.iter().enumerate().filter(|(_, bit)| **bit);
            bits.fold(0i64, |word, (at, _)| word | 1 << at)
        }));
        self.list(words)
    }
}
