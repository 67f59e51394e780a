//! The generic resources in every release's credential: which devices, and what makes no sense.

use super::credential::bit_string;
use super::fields::{of_every_release, put_all};
use super::lines::hold;
use crate::common::{Bytes, Variant, fakes, variants};
use slurm_sys::{Credential, Error, Gres};
use std::ffi::c_void;

const STATE: &str = "gres_state_t";
const JOB: &str = "gres_job_state_t";
const STEP: &str = "gres_step_state_t";

/// A record's devices on one node: `LENGTH:DEVICES`, where LENGTH is the number that the node has, or `-COUNT` without a list.
struct OnNode {
    length: Option<u64>,
    given: Vec<usize>,
    count: u64,
}

impl OnNode {
    fn read(text: &str) -> Self {
        let (length, given) = text.split_once(':').unwrap_or(("", ""));
        let given: Vec<_> = given
            .split(',')
            .filter_map(|bit| bit.parse().ok())
            .collect();
        let count = text.strip_prefix('-').map(|count| count.parse().unwrap());
        Self {
            length: length.parse().ok(),
            count: count.unwrap_or(given.len() as u64),
            given,
        }
    }
}

/// A list of records, with all that they point to.
struct List<'v> {
    variant: &'v Variant,
    kind: &'static str,
    kept: Vec<Bytes<'v>>,
    strings: Vec<Vec<u64>>,
    items: Vec<*mut c_void>,
}

impl<'v> List<'v> {
    fn new(variant: &'v Variant, kind: &'static str) -> Self {
        List {
            variant,
            kind,
            kept: Vec::new(),
            strings: Vec::new(),
            items: Vec::new(),
        }
    }

    /// A record with one entry for each node.
    fn with(mut self, name: &str, nodes: &[OnNode]) -> Self {
        let mut data = Bytes::new(self.variant, self.kind);
        let strings: Vec<u64> = nodes.iter().map(|node| self.bits(node)).collect();
        let counts: Vec<_> = nodes.iter().map(|node| node.count).collect();
        data.put("node_cnt", nodes.len() as u64)
            .put_array("gres_bit_alloc", 8, &strings)
            .put_array("gres_cnt_node_alloc", 8, &counts);
        self.record(name, data)
    }

    fn record(mut self, name: &str, mut data: Bytes<'v>) -> Self {
        let mut state = Bytes::new(self.variant, STATE);
        state
            .put_text("gres_name", name)
            .put_pointer("gres_data", data.base());
        self.items.push(state.base());
        self.kept.extend([state, data]);
        self
    }

    fn bits(&mut self, node: &OnNode) -> u64 {
        let Some(length) = node.length else { return 0 };
        self.strings.push(bit_string(length, &node.given));
        self.strings[self.strings.len() - 1]
            .as_ptr()
            .expose_provenance() as u64
    }

    /// What the view finds on a node.
    fn found(&self, node: u32) -> Result<Vec<Gres>, Error> {
        let mut cred = Bytes::new(self.variant, "slurm_cred_arg_t");
        let list = match self.kind {
            JOB => "job_gres_list",
            _ => "step_gres_list",
        };
        cred.put_pointer(list, &raw const self.items);
        let mut arguments = cred.base();
        let (layout, symbols) = (self.variant.layout, fakes::symbols());
        // SAFETY: the fakes take a pointer to the arguments for a credential.
        let cred = unsafe { Credential::lock((&raw mut arguments).cast(), layout, symbols) };
        let cred = cred.unwrap();
        let (one, other) = match self.kind {
            JOB => (cred.job_gres(node), cred.step_gres(node)),
            _ => (cred.step_gres(node), cred.job_gres(node)),
        };
        assert_eq!(other, Ok(Vec::new()), "no list, no resources");
        one
    }
}

/// Records `NAME NODE NODE | …`, or the fields of one.
fn list<'v>(variant: &'v Variant, kind: &'static str, records: &str) -> List<'v> {
    let empty = List::new(variant, kind);
    if let Some(fields) = records.strip_prefix("fields ") {
        let mut data = Bytes::new(variant, kind);
        put_all(variant, &mut data, fields);
        return empty.record("gpu", data);
    }
    let records = records.split(" | ").filter(|record| *record != "nothing");
    records.fold(empty, |list, record| {
        let (name, nodes) = record.split_once(' ').unwrap();
        let nodes: Vec<_> = nodes.split(' ').map(OnNode::read).collect();
        list.with(name, &nodes)
    })
}

fn shown(found: Result<Vec<Gres>, Error>) -> String {
    let one = |gres: &Gres| match &gres.devices {
        Some(devices) => format!(
            "{} {:?} of {}",
            gres.name, devices.allocated, devices.on_node
        ),
        None => gres.name.clone(),
    };
    match found {
        Ok(all) => all.iter().map(one).collect::<Vec<_>>().join("; "),
        Err(Error::Nonsense { .. }) => "nonsense".into(),
        Err(why) => why.to_string(),
    }
}

#[test]
fn facts() {
    let variants = variants();
    hold(include_str!("gres.txt"), |records, node| {
        let node = node.parse().unwrap();
        let of = |kind| {
            of_every_release(&variants, |variant| {
                shown(list(variant, kind, records).found(node))
            })
        };
        assert_eq!(of(JOB), of(STEP), "{records}");
        of(STEP)
    });
}

#[test]
fn nonsense_is_an_error_and_no_crash() {
    for variant in variants() {
        let nonsense = |list: List| assert_eq!(shown(list.found(0)), "nonsense");
        let one = [OnNode::read("1:0")];
        let long = "g".repeat(200);
        for name in ["", "g p u", "g\u{1b}", &long] {
            nonsense(List::new(&variant, STEP).with(name, &one));
        }
        for string in &[[7, 1, 1], [0x4243_4445, u64::MAX, 1]] {
            let at = string.as_ptr().expose_provenance();
            let fields = format!("fields node_cnt=1; gres_bit_alloc=longs:{at}");
            nonsense(list(&variant, STEP, &fields));
        }
        let mut without_data = List::new(&variant, STEP).with("gpu", &one);
        without_data.kept[0].put("gres_data", 16);
        nonsense(without_data);
        let many = (0..257).fold(List::new(&variant, STEP), |list, _| list.with("gpu", &one));
        nonsense(many);
    }
}
