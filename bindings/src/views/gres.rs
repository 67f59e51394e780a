//! The generic resources (GRES) that Slurm gave a step or a job on one node.
//! Source: gres_state_t, gres_job_state_t and gres_step_state_t, src/interfaces/gres.h (src/common/gres.h in
//! 22.05); the lists in a credential have one entry for each of the job's nodes.
//! The kernel first copies what each pointer points to, so a wrong table cannot crash slurmd.

use super::values;
use crate::error::Error;
use crate::layout::{Field, Layout};
use crate::probe::{self, Probe};
use crate::record::{Record, for_each};
use crate::symbols::Symbols;
use std::ffi::{c_char, c_void};
use std::ops::ControlFlow;

/// More records than a node has names and types of GRES.
const MOST: usize = 256;
/// More devices than a node has of one name.
const MOST_DEVICES: usize = 4096;
/// More nodes than a job has.
const MOST_NODES: u32 = 1 << 20;
/// Bytes of a name.
const NAME: usize = 64;

/// The part of a GRES of one name that Slurm gave, with all types together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gres {
    /// The name in gres.conf, such as `gpu`.
    pub name: String,
    /// The devices; `None` where Slurm only counts them, or the records contradict each other.
    pub devices: Option<GresDevices>,
}

/// The part of a GRES of one name and one type that Slurm gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedGres {
    /// The type in gres.conf, such as `a100`; empty if there is none.
    pub kind: String,
    /// Its name and devices.
    pub gres: Gres,
}

/// Devices of a node. Number *i* is the *i*-th `File=` of that name in gres.conf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GresDevices {
    /// The number of devices that the node has.
    pub on_node: u32,
    /// The numbers of those given, ascending.
    pub allocated: Vec<u32>,
}

/// Whose list it is: the records differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The job's.
    Job,
    /// The step's.
    Step,
}

/// Where one kind of record keeps what is read of it.
struct Fields {
    extent: usize,
    node_cnt: Field<u32>,
    bits: Field<*mut *mut i64>,
    counts: Field<*mut u64>,
    /// The type's name; of a step's record nothing needs it.
    kind: Option<Field<*mut c_char>>,
}

impl Fields {
    fn of(owner: Owner, layout: &Layout) -> Self {
        let (job, step) = (&layout.gres_job, &layout.gres_step);
        match owner {
            Owner::Job => Self {
                extent: job.extent,
                node_cnt: job.node_cnt,
                bits: job.gres_bit_alloc,
                counts: job.gres_cnt_node_alloc,
                kind: Some(job.type_name),
            },
            Owner::Step => Self {
                extent: step.extent,
                node_cnt: step.node_cnt,
                bits: step.gres_bit_alloc,
                counts: step.gres_cnt_node_alloc,
                kind: None,
            },
        }
    }
}

/// One node's part of the records.
struct Walk {
    layout: &'static Layout,
    fields: Fields,
    node: u32,
}

/// The GRES of a list on the node with that place in the list's arrays; none for a null list. A
/// name of which the node gives nothing is left out.
pub(crate) fn read(
    list: *mut c_void,
    place: (Owner, u32),
    layout: &'static Layout,
    symbols: &Symbols,
) -> Result<Vec<Gres>, Error> {
    let typed = read_typed(list, place, layout, symbols)?;
    let mut found = Vec::new();
    typed.into_iter().for_each(|one| add(&mut found, one.gres));
    Ok(found)
}

/// The GRES of a list on the node with that place in the list's arrays, each type apart; none for a null list.
pub(crate) fn read_typed(
    list: *mut c_void,
    (owner, node): (Owner, u32),
    layout: &'static Layout,
    symbols: &Symbols,
) -> Result<Vec<TypedGres>, Error> {
    let fields = Fields::of(owner, layout);
    let walk = Walk {
        layout,
        fields,
        node,
    };
    let (mut found, mut seen, mut wrong) = (Vec::new(), 0, None);
    let visit = |item| {
        seen += 1;
        let one = match seen > MOST {
            true => Err("more records"),
            false => walk.one(item),
        };
        match one {
            Ok(one) => found.extend(one),
            Err(why) => wrong = Some(why),
        }
        match wrong {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    };
    // SAFETY: the list of a credential or of a step's record, which its owner keeps.
    unsafe { for_each(list, symbols, visit) }?;
    match wrong {
        None => Ok(found),
        Some(found) => Err(Error::Nonsense {
            record: "list of generic resources (GRES)",
            expected: format!("at most {MOST} records of one line's layout"),
            found: found.to_owned(),
        }),
    }
}

/// Types of one name have their bits in one string of the node's devices, so they are united.
fn add(found: &mut Vec<Gres>, one: Gres) {
    let Some(same) = found.iter_mut().find(|known| known.name == one.name) else {
        found.push(one);
        return;
    };
    same.devices = match (same.devices.take(), one.devices) {
        (Some(mut all), Some(more)) if all.on_node == more.on_node => {
            all.allocated.extend(more.allocated);
            all.allocated.sort_unstable();
            all.allocated.dedup();
            Some(all)
        }
        _ => None,
    };
}

impl Walk {
    /// The devices of one record on this node.
    fn one(&self, item: *mut c_void) -> Result<Option<TypedGres>, &'static str> {
        let record = record(item, self.layout.gres.extent).ok_or("a record without memory")?;
        let name = name(record, self.layout.gres.gres_name)?.ok_or("a record without a name")?;
        let data = record.read(self.layout.gres.gres_data);
        let data = self::record(data, self.fields.extent).ok_or("a record without data")?;
        let nodes = data.read(self.fields.node_cnt);
        if nodes > MOST_NODES {
            return Err("a number of nodes beyond all jobs");
        }
        if self.node >= nodes {
            return Ok(None);
        }
        let bits = entry(data, self.fields.bits, self.node)?;
        let count = entry(data, self.fields.counts, self.node)?;
        let devices = match bits.filter(|bits| !bits.is_null()) {
            Some(bits) => Some(devices(bits)?),
            None if count == Some(0) => return Ok(None),
            None => None,
        };
        let kind = match self.fields.kind {
            Some(field) => self::name(data, field)?.unwrap_or_default(),
            None => String::new(),
        };
        let gres = Gres { name, devices };
        Ok(Some(TypedGres { kind, gres }))
    }
}

/// A name that a record points to; `None` for a null pointer.
fn name(record: Record, field: Field<*mut c_char>) -> Result<Option<String>, &'static str> {
    let address = record.read(field).addr();
    if address == 0 {
        return Ok(None);
    }
    if probe::text(address, NAME) == Probe::Unreadable {
        return Err("a record without a name");
    }
    let name = record.text_within(field, "GRES name", NAME);
    let name = name.ok().flatten().unwrap_or_default();
    match name.is_empty() || name.contains(|letter: char| !letter.is_ascii_graphic()) {
        true => Err("a name that is none"),
        false => Ok(Some(name)),
    }
}

/// The devices of a bit string, each a bit.
fn devices(bits: *mut i64) -> Result<GresDevices, &'static str> {
    let word = size_of::<i64>();
    if !is_there(bits.addr(), values::BIT_STRING_HEAD * word) {
        return Err("a bit string without memory");
    }
    // SAFETY: the kernel has just read these words, and the list's owner keeps the string.
    let (magic, count) = unsafe { (bits.read_unaligned(), bits.wrapping_add(1).read_unaligned()) };
    let length = values::bit_string_length(magic, count).ok_or("no bit string")?;
    let words = values::BIT_STRING_HEAD + length.div_ceil(64);
    if length > MOST_DEVICES || !is_there(bits.addr(), words * word) {
        return Err("more devices than a node has");
    }
    let allocated =
        values::set_bits(bits, 0..length, "GRES bit string").map_err(|_| "no bit string")?;
    Ok(GresDevices {
        on_node: length as u32,
        allocated,
    })
}

/// A node's entry in an array that a field points to; `None` where there is no array.
fn entry<T: Copy>(
    data: Record,
    field: Field<*mut T>,
    node: u32,
) -> Result<Option<T>, &'static str> {
    let (array, node) = (data.read(field), node as usize);
    if array.is_null() {
        return Ok(None);
    }
    match is_there(array.wrapping_add(node).addr(), size_of::<T>()) {
        true => Ok(data.item(field, node, node + 1)),
        false => Err("an array without memory"),
    }
}

/// A record whose bytes are all there.
fn record(base: *mut c_void, extent: usize) -> Option<Record> {
    if base.is_null() || !is_there(base.addr(), extent) {
        return None;
    }
    // SAFETY: an item of Slurm's list, or what one points to: the list's owner keeps both while the
    // hook runs; the kernel has just read all bytes that the fields have.
    unsafe { Record::new(base) }
}

/// Whether memory is there; the answer is yes where the kernel does not let us ask.
fn is_there(address: usize, length: usize) -> bool {
    probe::bytes(address, length) != Probe::Unreadable
}
