//! Checks before a table is trusted: does the record we see make sense at these offsets?
//! In: a view, and facts from outside Slurm. Out: nothing, or a text for the log.
//! The kernel first copies the memory behind a pointer, so a wrong table cannot crash slurmd.

use crate::layout::Field;
use crate::probe::{self, Probe};
use crate::process::Identity;
use crate::record::Record;
use crate::views::{LaunchRequest, SlurmdConf};

/// Whether the table has already been right in this process.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// No record has passed yet, so pointers are checked through the kernel.
    New,
    /// A record of this kind has passed, so pointers only must not be null.
    Proven,
}

/// Longest name of a node.
const NAME_LIMIT: usize = 255;
/// More nodes than any step has. The limit guards the memory that the checks read.
const NODE_LIMIT: u32 = 1 << 20;

/// The reason to doubt a record: it contradicts itself, or lies where no memory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The record, what was found in it, and what was expected.
    pub found: String,
}

/// For the administrator's log: also what follows from it, and what to do.
impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}; the record is not used, the step's tasks keep to the step's cores without placement; report this line and `slurmd -V`",
            self.found
        )
    }
}

fn doubt(record: &str, found: impl std::fmt::Display, expected: &str) -> Doubt {
    Doubt {
        found: format!("{record}: found {found}, expected {expected}"),
    }
}

const CONF: &str = "slurmd's settings (conf)";
const LAUNCH: &str = "launch request";

/// Whether `conf` can be what the table says. `possible_cpus`: how many CPU numbers the kernel has,
/// `None` where slurmd describes another machine than this one.
///
/// # Errors
/// [`Doubt`]: what was found, and what sound settings have.
pub fn conf_is_sane(
    conf: &SlurmdConf,
    who: &Identity,
    possible_cpus: Option<u32>,
) -> Result<(), Doubt> {
    let fields = &conf.layout.slurmd_conf;
    readable(
        Trust::New,
        conf.record.base().addr(),
        fields.extent,
        CONF,
        "the record",
    )?;
    let node_name = name(conf.record, fields.node_name, "node name")?;
    let hostname = name(conf.record, fields.hostname, "host name")?;
    if !who.is(&node_name, &hostname) {
        let expected = match &who.node_argument {
            Some(argument) => format!("-N {argument} or host {}", who.host),
            None => format!("host {}", who.host),
        };
        return Err(doubt(
            CONF,
            format!("node {node_name} on host {hostname}"),
            &expected,
        ));
    }
    shape_is_sane(conf)?;
    map_is_sane(conf, possible_cpus)
}

fn shape_is_sane(conf: &SlurmdConf) -> Result<(), Doubt> {
    let shape = [conf.sockets(), conf.cores(), conf.threads()];
    let product: u64 = shape.iter().map(|count| u64::from(*count)).product();
    if conf.cpus() == 0 || product == 0 || product > u64::from(u16::MAX) {
        let [sockets, cores, threads] = shape;
        let found = format!(
            "{} CPUs in {sockets} sockets of {cores} cores of {threads} threads",
            conf.cpus()
        );
        return Err(doubt(
            CONF,
            found,
            "at least 1 of each and no more than 65535 threads",
        ));
    }
    Ok(())
}

/// Duplicates are no sign of a wrong table: slurmd makes them on machines with holes.
fn map_is_sane(conf: &SlurmdConf, possible_cpus: Option<u32>) -> Result<(), Doubt> {
    let size = usize::from(conf.block_map_size());
    let map = conf.record.read(conf.layout.slurmd_conf.block_map);
    if size == 0 || map.is_null() {
        return Err(doubt(
            CONF,
            "an empty block map",
            "one entry for each hardware thread",
        ));
    }
    readable(
        Trust::New,
        map.addr(),
        size * size_of::<u16>(),
        CONF,
        "the block map",
    )?;
    let wrong = conf
        .block_map()
        .into_iter()
        .flatten()
        .find(|cpu| possible_cpus.is_some_and(|cpus| u32::from(*cpu) >= cpus));
    match wrong {
        Some(cpu) => Err(doubt(
            CONF,
            format!("CPU {cpu} in the block map"),
            &format!("CPU numbers below {}", possible_cpus.unwrap_or(0)),
        )),
        None => Ok(()),
    }
}

/// A host name that a field points to.
fn name(record: Record, field: Field<*mut std::ffi::c_char>, what: &str) -> Result<String, Doubt> {
    let expected = format!("a {what} of 1 to {NAME_LIMIT} letters, digits, '-', '_' and '.'");
    let address = record.read(field).addr();
    if address == 0 {
        return Err(doubt(CONF, format!("no {what}"), &expected));
    }
    let bytes = match probe::text(address, NAME_LIMIT) {
        Probe::Bytes(bytes) => bytes,
        Probe::Unreadable => {
            return Err(doubt(
                CONF,
                format!("{what} at {address:#x}, where no such text is"),
                &expected,
            ));
        }
        Probe::Unknown => record.text(field).unwrap_or_default().into_bytes(),
    };
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    if bytes.is_empty() || bytes.len() > NAME_LIMIT || !bytes.iter().all(is_name) {
        return Err(doubt(
            CONF,
            format!("{what} {:?}", String::from_utf8_lossy(&bytes)),
            &expected,
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a launch request can be what the table says, for the step's node number `node_id` on
/// the node `node_name`. Gives the node's index in the credential's host list, which costs a
/// search.
///
/// # Errors
/// [`Doubt`]: what was found, and what a sound request has.
pub fn launch_is_sane(
    request: &LaunchRequest,
    node_id: u32,
    node_name: &str,
) -> Result<u32, Doubt> {
    check_launch(request, node_id, node_name, Trust::New)
}

/// [`launch_is_sane`] without the looks through the kernel, which take 5 to 10 microseconds: for a
/// process where a request has passed that before, so that the table is known to be right.
///
/// # Errors
/// [`Doubt`]: the request contradicts itself, which no srun of Slurm's does.
pub fn launch_is_still_sane(
    request: &LaunchRequest,
    node_id: u32,
    node_name: &str,
) -> Result<u32, Doubt> {
    check_launch(request, node_id, node_name, Trust::Proven)
}

fn check_launch(
    request: &LaunchRequest,
    node_id: u32,
    node_name: &str,
    trust: Trust,
) -> Result<u32, Doubt> {
    let fields = &request.layout.launch;
    readable(
        trust,
        request.record.base().addr(),
        fields.extent,
        LAUNCH,
        "the record",
    )?;
    let nodes = request.nnodes();
    if node_id >= nodes || nodes > NODE_LIMIT {
        return Err(doubt(
            LAUNCH,
            format!("{nodes} nodes"),
            &format!("a step with a node number {node_id}"),
        ));
    }
    tasks_are_sane(request, node_id, trust)?;
    readable(
        trust,
        request.record.read(fields.cred).addr(),
        size_of::<usize>(),
        LAUNCH,
        "the credential",
    )?;
    let cred = request.cred().map_err(|error| Doubt {
        found: format!("{LAUNCH}: {error}"),
    })?;
    cred.node_index(node_name).map_err(|error| Doubt {
        found: format!("{LAUNCH}: {error}"),
    })
}

fn tasks_are_sane(request: &LaunchRequest, node_id: u32, trust: Trust) -> Result<(), Doubt> {
    let fields = &request.layout.launch;
    let (node, nodes) = (node_id as usize, request.nnodes() as usize);
    let counts = request.record.read(fields.tasks_to_launch);
    readable(
        trust,
        counts.addr(),
        nodes * size_of::<u16>(),
        LAUNCH,
        "the task counts",
    )?;
    let (tasks, all) = (request.tasks_here(node_id).unwrap_or(0), request.ntasks());
    if tasks == 0 || u32::from(tasks) > all {
        return Err(doubt(
            LAUNCH,
            format!("{tasks} tasks here"),
            &format!("1 to {all}, the step's tasks"),
        ));
    }
    let lists = request.record.read(fields.global_task_ids);
    readable(
        trust,
        lists.addr(),
        nodes * size_of::<usize>(),
        LAUNCH,
        "the lists of task ids",
    )?;
    let list = request
        .record
        .item(fields.global_task_ids, node, nodes)
        .map_or(0, |list| list.addr());
    readable(
        trust,
        list,
        usize::from(tasks) * size_of::<u32>(),
        LAUNCH,
        "this node's task ids",
    )?;
    match request
        .each_global_task_id(node_id)
        .into_iter()
        .flatten()
        .find(|id| *id >= all)
    {
        Some(id) => Err(doubt(
            LAUNCH,
            format!("task id {id}"),
            &format!("ids below {all}, the step's tasks"),
        )),
        None => Ok(()),
    }
}

/// Whether memory exists there; the answer is yes if the kernel does not let us ask.
fn readable(
    trust: Trust,
    address: usize,
    length: usize,
    record: &str,
    what: &str,
) -> Result<(), Doubt> {
    let is_there = match trust {
        Trust::New => probe::bytes(address, length) != Probe::Unreadable,
        Trust::Proven => address != 0,
    };
    if is_there {
        return Ok(());
    }
    Err(doubt(
        record,
        format!("{what} at {address:#x}, where no {length} bytes are"),
        "memory of Slurm's",
    ))
}
