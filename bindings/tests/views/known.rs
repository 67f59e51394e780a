//! Records captured from real daemons, read through the views and compared with what the srun
//! line and slurm.conf say they must hold.
//!
//! Each `known/*.json` (written by `known/capture.py`, expectations added by hand) has
//! - `release`: `YY.MM.micro` of the daemon; `node_id`: the launch hook's argument; `about`: the
//!   machine and the srun line;
//! - `blobs`: by name, stretches of memory: `bytes` in hex, and `pointers`: by offset the name of
//!   the blob that a pointer there leads to, or null. Pointers that are not listed stay as they
//!   were and must not be followed. Roots are `request`, `cred` (the arguments) and `conf`;
//! - `expected`: by `view.accessor` what it must give, as JSON (`None` is null). Every name must
//!   be one that `answers` below knows.

use crate::common::{fakes, line};
use serde_json::{Map, Value, json};
use slurm_sys::sanity::{conf_is_sane, launch_is_sane};
use slurm_sys::{Chosen, Error, Identity, LaunchRequest, Layout, SlurmdConf, StepId, choose};
use std::collections::BTreeMap;
use std::ffi::c_void;

/// The blobs, pointing to one another as they did in the daemon.
struct Memory(BTreeMap<String, Vec<u64>>);

impl Memory {
    fn rebuild(blobs: &Map<String, Value>, layout: &Layout) -> Memory {
        let mut memory = Memory(
            blobs
                .iter()
                .map(|(name, blob)| (name.clone(), words(blob["bytes"].as_str().unwrap())))
                .collect(),
        );
        // slurmd's lock lies beyond what was captured: one that nobody holds is all zeros.
        if let (Some(mutex), Some(conf)) =
            (layout.slurmd_conf.config_mutex, memory.0.get_mut("conf"))
        {
            let at = mutex.offset() / 8;
            conf.truncate(at);
            conf.resize(at + size_of::<libc::pthread_mutex_t>() / 8, 0);
        }
        for (name, blob) in blobs {
            for (offset, target) in blob["pointers"].as_object().unwrap() {
                let target = target
                    .as_str()
                    .map_or(0, |target| memory.base(target).expose_provenance());
                memory.point(name, offset.parse().unwrap(), target);
            }
        }
        // The fakes take for a credential what points to its arguments.
        let arguments = memory.base("cred").expose_provenance() as u64;
        memory.0.insert("handle".into(), vec![arguments]);
        let handle = memory.base("handle").expose_provenance();
        memory.point("request", layout.launch.cred.offset(), handle);
        memory
    }

    fn base(&mut self, name: &str) -> *mut c_void {
        self.0
            .get_mut(name)
            .unwrap_or_else(|| panic!("no blob {name}"))
            .as_mut_ptr()
            .cast()
    }

    fn point(&mut self, name: &str, offset: usize, target: usize) {
        assert_eq!(offset % 8, 0);
        self.0.get_mut(name).unwrap()[offset / 8] = target as u64;
    }
}

/// Hex as little-endian words.
fn words(hex: &str) -> Vec<u64> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let bytes: Vec<u8> = hex.as_bytes().chunks(2).map(byte).collect();
    let word = |part: &[u8]| {
        part.iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte))
    };
    bytes.chunks(8).map(word).collect()
}

pub fn step_id(id: StepId) -> Value {
    json!({"job": id.job_id, "step": id.step_id, "component": id.het_component, "kind": format!("{:?}", id.kind)})
}

/// What a launch request's accessor gives.
pub fn launch_answer(request: &LaunchRequest, node_id: u32, accessor: &str) -> Value {
    match accessor.split_once(' ').unwrap_or((accessor, "")) {
        ("step_id", _) => step_id(request.step_id()),
        ("nnodes", _) => request.nnodes().into(),
        ("ntasks", _) => request.ntasks().into(),
        ("tasks_here", _) => request.tasks_here(node_id).into(),
        ("cpus_per_task", _) => request.cpus_per_task().into(),
        ("threads_per_core", _) => request.threads_per_core().into(),
        ("ntasks_per_core", _) => request.ntasks_per_core().into(),
        ("ntasks_per_socket", _) => request.ntasks_per_socket().into(),
        ("task_dist", _) => request.task_dist().into(),
        ("overcommit", _) => request.overcommit().into(),
        ("external_launcher", _) => request.external_launcher().into(),
        ("job_core_spec", _) => request
            .job_core_spec()
            .map(|spec| format!("{spec:?}"))
            .into(),
        ("cpu_bind_type", _) => request.cpu_bind_type().into(),
        ("cpu_bind", _) => request.cpu_bind(1 << 20).unwrap().into(),
        ("mem_bind_type", _) => request.mem_bind_type().into(),
        ("mem_bind", _) => request.mem_bind(1 << 20).unwrap().into(),
        ("node_cpus", _) => request.node_cpus().into(),
        ("flags", _) => request.flags().into(),
        ("accel_bind_type", _) => request.accel_bind_type().into(),
        ("tres_bind", _) => request.tres_bind(1 << 20).unwrap().into(),
        ("options", plugin) => request.options(plugin, 64).unwrap().len().into(),
        ("lacks_cred", _) => matches!(request.cred().err(), Some(Error::Absent { .. })).into(),
        ("env_get", name) => request.env().get(name, 1 << 20).into(),
        other => panic!("launch.{other:?}: no such answer"),
    }
}

/// What the credential's accessor gives on the node `node`.
fn cred_answer(request: &LaunchRequest, node: &str, accessor: &str) -> Result<Value, Error> {
    let cred = request.cred()?;
    let cores = cred.node_cores(cred.node_index(node)?)?;
    Ok(match accessor {
        "job_hostlist" => cred.job_hostlist().into(),
        "job_nhosts" => cred.job_nhosts().into(),
        "job_core_spec" => cred.job_core_spec().map(|spec| format!("{spec:?}")).into(),
        "node_index" => cred.node_index(node)?.into(),
        "node_cores" => {
            json!({"sockets": cores.sockets, "cores_per_socket": cores.cores_per_socket, "first_bit": cores.first_bit})
        }
        "step_cores" => cred.step_cores(&cores)?.into(),
        "job_cores" => cred.job_cores(&cores)?.into(),
        other => panic!("cred.{other}: no such answer"),
    })
}

pub fn conf_answer(conf: &SlurmdConf, accessor: &str) -> Value {
    if let Some(list) = accessor.strip_prefix("has_block_map ") {
        let list: Vec<_> = list.split(',').map(|cpu| cpu.parse().unwrap()).collect();
        return conf.has_block_map(list.into_iter()).into();
    }
    match accessor {
        "node_name" => conf.node_name().into(),
        "hostname" => conf.hostname().into(),
        "cpus" => conf.cpus().into(),
        "sockets" => conf.sockets().into(),
        "cores" => conf.cores().into(),
        "threads" => conf.threads().into(),
        "actual_sockets" => conf.actual_sockets().into(),
        "actual_cores" => conf.actual_cores().into(),
        "actual_threads" => conf.actual_threads().into(),
        "block_map" => conf.block_map().into(),
        other => panic!("conf.{other}: no such answer"),
    }
}

/// The table for a file's release.
fn table(release: &str) -> &'static Layout {
    let (line_text, micro) = release.rsplit_once('.').unwrap();
    match choose(Ok(line(line_text)), Some(micro.parse().unwrap()), true) {
        Chosen::Known(layout) => layout,
        other => panic!("{release}: {other:?}"),
    }
}

fn check(file: &str, known: &Value) {
    let layout = table(known["release"].as_str().unwrap());
    let node_id = known["node_id"].as_u64().unwrap() as u32;
    let mut memory = Memory::rebuild(known["blobs"].as_object().unwrap(), layout);
    // SAFETY: `memory` keeps the records longer than the views.
    let (request, conf) = unsafe {
        (
            LaunchRequest::from_raw(memory.base("request"), layout, fakes::symbols()).unwrap(),
            SlurmdConf::from_raw(memory.base("conf"), layout).unwrap(),
        )
    };
    let node = conf.node_name().unwrap();
    let expected = known["expected"].as_object().unwrap();
    assert!(
        expected.len() > 30,
        "{file}: expectations are added by hand"
    );
    for (name, value) in expected {
        let answer = match name.split_once('.').unwrap() {
            ("launch", accessor) => launch_answer(&request, node_id, accessor),
            ("cred", accessor) => cred_answer(&request, &node, accessor).unwrap(),
            ("conf", accessor) => conf_answer(&conf, accessor),
            _ => panic!("{file}: {name}: no such view"),
        };
        assert_eq!(&answer, value, "{file}: {name}");
    }
    let who = Identity {
        node_argument: Some(node.clone()),
        host: conf.hostname().unwrap(),
    };
    let cpus = conf.block_map().unwrap().len() as u32;
    assert_eq!(conf_is_sane(&conf, &who, Some(cpus)), Ok(()), "{file}");
    let index = known["expected"]["cred.node_index"].as_u64().unwrap() as u32;
    assert_eq!(
        launch_is_sane(&request, node_id, &node),
        Ok(index),
        "{file}"
    );
    drop(memory);
}

#[test]
fn captured_records_hold_what_their_srun_lines_and_slurm_conf_say() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/known");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    assert!(files.len() >= 2, "{folder} has lost its captures");
    for path in files {
        let known = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        check(&path.display().to_string(), &known);
    }
}

/// Other tables must not fit: else the sanity checks would prove nothing.
#[test]
fn a_capture_read_by_another_release_s_table_fails_its_checks() {
    let known: Value = serde_json::from_str(include_str!("../known/22.05.8-cyclic.json")).unwrap();
    let right = table("22.05.8");
    let mut refused = Vec::new();
    for layout in Layout::all()
        .iter()
        .filter(|layout| layout.line > right.line)
    {
        let mut memory = Memory::rebuild(known["blobs"].as_object().unwrap(), right);
        // Other tables reach further than the record: there are zeros here.
        memory.0.get_mut("conf").unwrap().resize(1024, 0);
        // SAFETY: the block is as long as any table's record, and what is read of it is checked.
        let conf = unsafe { SlurmdConf::from_raw(memory.base("conf"), layout) }.unwrap();
        let who = Identity {
            node_argument: Some("n2".into()),
            host: "node1".into(),
        };
        refused.push((
            layout.line,
            layout.first_micro,
            conf_is_sane(&conf, &who, Some(12)).is_err(),
        ));
    }
    let same_as_22_05 = |layout: &Layout| {
        layout.slurmd_conf.block_map.offset() == right.slurmd_conf.block_map.offset()
    };
    let expected: Vec<_> = Layout::all()
        .iter()
        .filter(|layout| layout.line > right.line)
        .map(|layout| (layout.line, layout.first_micro, !same_as_22_05(layout)))
        .collect();
    assert_eq!(refused, expected);
}
