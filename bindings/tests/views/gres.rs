//! The generic resources in every release's credential: which devices, and what makes no sense.

use super::fields::put_all;
use crate::common::{Bytes, Variant, fakes, variants};
use slurm_sys::{Credential, Error, Gres, GresDevices};
use std::ffi::c_void;

const STATE: &str = "gres_state_t";
const JOB: &str = "gres_job_state_t";
const STEP: &str = "gres_step_state_t";

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

    /// A record with one entry for each node: its devices on the node and those given, or a count
    /// alone.
    fn with(mut self, name: &str, nodes: &[Result<(u64, &[usize]), u64>]) -> Self {
        let mut data = Bytes::new(self.variant, self.kind);
        let strings: Vec<u64> = nodes.iter().map(|node| self.bits(*node)).collect();
        let counts = nodes.iter().map(|node| match node {
            Ok((_, given)) => given.len() as u64,
            Err(count) => *count,
        });
        data.put("node_cnt", nodes.len() as u64)
            .put_array("gres_bit_alloc", 8, &strings)
            .put_array("gres_cnt_node_alloc", 8, &counts.collect::<Vec<_>>());
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

    fn bits(&mut self, node: Result<(u64, &[usize]), u64>) -> u64 {
        let Ok((length, given)) = node else { return 0 };
        let mut words = vec![0u64; 2 + length.div_ceil(64) as usize];
        (words[0], words[1]) = (0x4243_4445, length);
        for bit in given {
            words[2 + bit / 64] |= 1 << (bit % 64);
        }
        self.strings.push(words);
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

fn gres(name: &str, devices: Option<(u32, &[u32])>) -> Gres {
    Gres {
        name: name.into(),
        devices: devices.map(|(on_node, given)| GresDevices {
            on_node,
            allocated: given.to_vec(),
        }),
    }
}

#[test]
fn each_node_has_its_own_devices() {
    for variant in variants() {
        for kind in [JOB, STEP] {
            let list = List::new(&variant, kind)
                .with("gpu", &[Ok((2, &[0])), Ok((70, &[1, 64, 69])), Err(0)])
                .with("nic", &[Err(0), Ok((1, &[0])), Err(2)]);
            let at = |node| list.found(node).unwrap();
            let name = variant.name();
            assert_eq!(at(0), [gres("gpu", Some((2, &[0])))], "{name}");
            let second = [
                gres("gpu", Some((70, &[1, 64, 69]))),
                gres("nic", Some((1, &[0]))),
            ];
            assert_eq!(at(1), second, "{name}");
            // A count without files is no device that anybody knows.
            assert_eq!(at(2), [gres("nic", None)], "{name}");
            assert_eq!(at(3), [], "{name}: a node that the record does not have");
        }
    }
}

#[test]
fn types_of_one_name_are_united() {
    for variant in variants() {
        let list = List::new(&variant, STEP)
            .with("gpu", &[Ok((4, &[3]))])
            .with("gpu", &[Ok((4, &[0, 3]))])
            .with("gpu", &[Err(0)]);
        assert_eq!(list.found(0).unwrap(), [gres("gpu", Some((4, &[0, 3])))]);
        let differing = List::new(&variant, STEP)
            .with("gpu", &[Ok((4, &[3]))])
            .with("gpu", &[Ok((2, &[0]))]);
        assert_eq!(differing.found(0).unwrap(), [gres("gpu", None)]);
    }
}

#[test]
fn arrays_may_be_missing() {
    for variant in variants() {
        let mut data = Bytes::new(&variant, STEP);
        data.put("node_cnt", 1);
        let list = List::new(&variant, STEP).record("gpu", data);
        assert_eq!(list.found(0).unwrap(), [gres("gpu", None)]);
        assert_eq!(List::new(&variant, STEP).found(0).unwrap(), []);
    }
}

#[test]
fn nonsense_is_an_error_and_no_crash() {
    for variant in variants() {
        let nonsense = |list: List| {
            let error = list.found(0).unwrap_err();
            assert!(matches!(error, Error::Nonsense { .. }), "{error}");
        };
        let changed = |change: &str| {
            let mut data = Bytes::new(&variant, STEP);
            put_all(&variant, &mut data, &format!("node_cnt=1; {change}"));
            List::new(&variant, STEP).record("gpu", data)
        };
        let long = "g".repeat(200);
        for name in ["", "g p u", "g\u{1b}", &long] {
            nonsense(List::new(&variant, STEP).with(name, &[Ok((1, &[0]))]));
        }
        nonsense(List::new(&variant, STEP).with("gpu", &[Ok((5000, &[]))]));
        for change in [
            "node_cnt=4294967295",
            "gres_bit_alloc=8",
            "gres_cnt_node_alloc=8",
            "gres_bit_alloc=longs:8",
        ] {
            nonsense(changed(change));
        }
        for string in &[[7, 1, 1], [0x4243_4445, u64::MAX, 1]] {
            let at = string.as_ptr().expose_provenance();
            nonsense(changed(&format!("gres_bit_alloc=longs:{at}")));
        }
        let mut without_data = List::new(&variant, STEP).with("gpu", &[Ok((1, &[0]))]);
        without_data.kept[0].put("gres_data", 16);
        nonsense(without_data);
        let many = (0..257).fold(List::new(&variant, STEP), |list, _| {
            list.with("gpu", &[Ok((1, &[0]))])
        });
        nonsense(many);
    }
}
