//! What the tests share: records built byte by byte from `layouts.json`, and functions that stand
//! in for Slurm's. The numbers come from the JSON here, not from the tables under test.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod fakes;

use serde_json::Value;
use slurm_sys::views::Change;
use slurm_sys::{
    BatchRequest, Chosen, LaunchRequest, Layout, Line, SlurmConf, SlurmdConf, StepRecord, choose,
};
use std::ffi::{CString, c_char, c_void};

pub const LAUNCH: &str = "launch_tasks_request_msg_t";
pub const BATCH: &str = "batch_job_launch_msg_t";
pub const STEP: &str = "stepd_step_rec_t";
/// More than any text has that is read here.
pub const LIMIT: usize = 64;

pub fn launch<'a>(bytes: &mut Bytes, variant: &Variant) -> LaunchRequest<'a> {
    // SAFETY: the test keeps the record longer than the view.
    unsafe { LaunchRequest::from_raw(bytes.base(), variant.layout, fakes::symbols()) }.unwrap()
}

pub fn batch<'a>(bytes: &mut Bytes, variant: &Variant) -> BatchRequest<'a> {
    // SAFETY: the test keeps the record longer than the view.
    unsafe { BatchRequest::from_raw(bytes.base(), variant.layout, fakes::symbols()) }.unwrap()
}

pub fn step<'a>(bytes: &mut Bytes, variant: &Variant) -> StepRecord<'a> {
    // SAFETY: the test keeps the record longer than the view.
    unsafe { StepRecord::from_raw(bytes.base(), variant.layout, fakes::symbols()) }.unwrap()
}

pub fn slurmd_conf(bytes: &mut Bytes, variant: &Variant) -> SlurmdConf {
    // SAFETY: the test keeps the record longer than the view.
    unsafe { SlurmdConf::from_raw(bytes.base(), variant.layout) }.unwrap()
}

pub fn slurm_conf(bytes: &mut Bytes, variant: &Variant) -> SlurmConf {
    // SAFETY: the test keeps the record longer than the view.
    unsafe { SlurmConf::from_raw(bytes.base(), variant.layout) }.unwrap()
}

/// A change of an environment that sets some variables, and nothing more.
pub fn set<'a>(set: &'a [(&'a str, &'a str)]) -> Change<'a> {
    Change {
        prefix: "",
        remove: &[],
        remove_others: |_| Vec::new(),
        set,
        reserve: &[],
    }
}

/// The table that `build.rs` takes for this processor.
const TABLE: &str = if cfg!(target_arch = "aarch64") {
    include_str!("../../layouts.aarch64.json")
} else {
    include_str!("../../layouts.json")
};

/// `layouts.json`.
pub fn variants() -> Vec<Variant> {
    let json: Value = serde_json::from_str(TABLE).unwrap();
    let variants: Vec<Variant> = json["variants"]
        .as_array()
        .unwrap()
        .iter()
        .cloned()
        .map(Variant::new)
        .collect();
    assert_eq!(
        variants.len(),
        9,
        "a new variant: is it in Line and in choose's tests?"
    );
    variants
}

/// One variant, and the table that `choose` gives its last release.
pub struct Variant {
    pub json: Value,
    pub layout: &'static Layout,
}

impl Variant {
    fn new(json: Value) -> Variant {
        let line = line(json["line"].as_str().unwrap());
        let micro = json["last_verified_micro"].as_u64().unwrap() as u8;
        match choose(Ok(line), Some(micro), true) {
            Chosen::Known(layout) => Variant { json, layout },
            other => panic!("{line}.{micro}: {other:?}"),
        }
    }

    pub fn name(&self) -> String {
        format!("{} from {}", self.json["line"], self.json["first_micro"])
    }

    /// Offset and size of a field, where the release has it.
    pub fn field(&self, record: &str, field: &str) -> Option<(usize, usize)> {
        let at = &self.json["structs"][record][field];
        Some((
            at["offset"].as_u64()? as usize,
            at["size"].as_u64()? as usize,
        ))
    }

    pub fn constant(&self, name: &str) -> u32 {
        self.json["constants"][name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name}")) as u32
    }
}

pub fn line(text: &str) -> Line {
    Line::all()
        .find(|line| line.to_string() == text)
        .unwrap_or_else(|| panic!("no line {text}"))
}

/// A record of one variant, all zero at first. Keeps what its pointers point to.
pub struct Bytes<'v> {
    variant: &'v Variant,
    pub record: &'static str,
    words: Vec<u64>,
    texts: Vec<CString>,
    arrays: Vec<Vec<u64>>,
}

impl<'v> Bytes<'v> {
    pub fn new(variant: &'v Variant, record: &'static str) -> Bytes<'v> {
        Bytes {
            variant,
            record,
            words: vec![0; 1024],
            texts: Vec::new(),
            arrays: Vec::new(),
        }
    }

    pub fn base(&mut self) -> *mut c_void {
        self.words.as_mut_ptr().cast()
    }

    fn place(&self, field: &str) -> (usize, usize) {
        self.variant
            .field(self.record, field)
            .unwrap_or_else(|| panic!("{}: {}.{field}", self.variant.name(), self.record))
    }

    /// Writes a number at a field's offset with the field's size.
    pub fn put(&mut self, field: &str, value: u64) -> &mut Self {
        let (offset, size) = self.place(field);
        self.put_at(offset, size, value)
    }

    pub fn put_at(&mut self, offset: usize, size: usize, value: u64) -> &mut Self {
        assert!(
            size == 8 || value >> (size * 8) == 0,
            "{value:#x} in {size} bytes"
        );
        for (index, byte) in value.to_le_bytes().into_iter().take(size).enumerate() {
            let (word, shift) = ((offset + index) / 8, (offset + index) % 8 * 8);
            self.words[word] = self.words[word] & !(0xff << shift) | u64::from(byte) << shift;
        }
        self
    }

    /// The number at a field.
    pub fn get(&self, field: &str) -> u64 {
        let (offset, size) = self.place(field);
        (0..size).rev().fold(0, |value, index| {
            let at = offset + index;
            value << 8 | (self.words[at / 8] >> (at % 8 * 8) & 0xff)
        })
    }

    pub fn put_pointer<T>(&mut self, field: &str, to: *const T) -> &mut Self {
        self.put(field, to.expose_provenance() as u64)
    }

    /// A text that the record does not own, as the views only read it.
    pub fn put_text(&mut self, field: &str, text: &str) -> &mut Self {
        self.texts.push(CString::new(text).unwrap());
        let at = self.texts.last().unwrap().as_ptr();
        self.put_pointer(field, at)
    }

    /// A text that the record owns: the views may free it.
    pub fn put_owned_text(&mut self, field: &str, text: &str) -> &mut Self {
        self.put_pointer(field, fakes::new_text(text))
    }

    /// An array of numbers of `size` bytes.
    pub fn put_array(&mut self, field: &str, size: usize, values: &[u64]) -> &mut Self {
        let mut words = vec![0u64; values.len() * size / 8 + 1];
        let bytes = words.as_mut_ptr().cast::<u8>();
        for (index, value) in values.iter().enumerate() {
            for (byte, part) in value.to_le_bytes().into_iter().take(size).enumerate() {
                // SAFETY: inside the words.
                unsafe { bytes.add(index * size + byte).write(part) };
            }
        }
        self.arrays.push(words);
        let at = self.arrays.last().unwrap().as_ptr();
        self.put_pointer(field, at)
    }

    /// Job, step and component at a field that holds a step id.
    pub fn put_step_id(
        &mut self,
        field: &str,
        (job, step, component): (u32, u32, u32),
    ) -> &mut Self {
        let (offset, _) = self.place(field);
        for (part, value) in [
            ("job_id", job),
            ("step_id", step),
            ("step_het_comp", component),
        ] {
            let (inner, size) = self.variant.field("slurm_step_id_t", part).unwrap();
            self.put_at(offset + inner, size, u64::from(value));
        }
        self
    }

    /// Frees the environment at a field, which is the last block that the record owns.
    pub fn free_env(&self, field: &str) {
        let at = std::ptr::with_exposed_provenance_mut(self.get(field) as usize);
        fakes::free_env(at);
        assert_eq!(fakes::LIVE_BLOCKS.get(), 0);
    }

    /// The text a field points to now.
    pub fn text_at(&self, field: &str) -> Option<String> {
        let at = std::ptr::with_exposed_provenance::<c_char>(self.get(field) as usize);
        if at.is_null() {
            return None;
        }
        // SAFETY: a text of ours or of the fakes'.
        let text = unsafe { std::ffi::CStr::from_ptr(at) };
        Some(text.to_str().unwrap().to_owned())
    }
}
