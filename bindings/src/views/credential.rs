//! The job's credential: which cores of which nodes the job and the step own.
//! Slurm locks it for readers; the guard here unlocks it on every path.
//! Source: src/common/slurm_cred.c (22.05), src/interfaces/cred.c (from 23.11 on).

use super::gres::{self, Gres, Owner};
use super::values;
use super::values::CoreSpec;
use crate::error::Error;
use crate::layout::{Field, Layout};
use crate::record::{Record, c_text};
use crate::symbols::Symbols;
use std::ffi::c_void;

/// A credential, locked for reading.
pub struct Credential<'a> {
    handle: *mut c_void,
    arguments: Record,
    layout: &'static Layout,
    symbols: &'a Symbols,
}

/// One node's part in the credential's bit strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCores {
    /// Sockets, as slurm.conf has them.
    pub sockets: u16,
    /// Cores in each.
    pub cores_per_socket: u16,
    /// Where the node's bits begin.
    pub first_bit: usize,
}

impl NodeCores {
    /// The number of bits of the node, one for each core.
    pub fn core_count(&self) -> usize {
        usize::from(self.sockets) * usize::from(self.cores_per_socket)
    }
}

impl<'a> Credential<'a> {
    /// Locks a credential.
    ///
    /// # Errors
    /// [`Error::Absent`] if the record holds none, [`Error::MissingSymbol`] if this process lacks
    /// Slurm's functions for credentials.
    ///
    /// # Safety
    /// `handle` is null or a credential in a record of Slurm's that it keeps until the hook
    /// returns; `layout` is the running release's.
    pub unsafe fn lock(
        handle: *mut c_void,
        layout: &'static Layout,
        symbols: &'a Symbols,
    ) -> Result<Self, Error> {
        if handle.is_null() {
            return Err(Error::Absent {
                record: "launch request",
                what: "credential",
            });
        }
        let get = symbols
            .slurm_cred_get_args
            .ok_or(Error::MissingSymbol("slurm_cred_get_args"))?;
        let unlock = symbols
            .slurm_cred_unlock_args
            .ok_or(Error::MissingSymbol("slurm_cred_unlock_args"))?;
        // SAFETY: the caller promises the credential; the lock is given back in `drop`.
        let arguments = unsafe { get(handle) };
        // SAFETY: the arguments stay while the lock is held.
        match unsafe { Record::new(arguments) } {
            Some(arguments) => Ok(Credential {
                handle,
                arguments,
                layout,
                symbols,
            }),
            None => {
                // SAFETY: locked just above.
                unsafe { unlock(handle) };
                Err(Error::Absent {
                    record: "credential",
                    what: "arguments",
                })
            }
        }
    }

    /// The job's nodes, as Slurm writes host lists.
    pub fn job_hostlist(&self) -> Option<String> {
        self.arguments.text(self.layout.cred.job_hostlist)
    }

    /// The job's user.
    pub fn uid(&self) -> u32 {
        self.arguments.read(self.layout.cred.uid)
    }

    /// The job's account, if Slurm keeps accounts.
    pub fn job_account(&self) -> Option<String> {
        self.arguments.text(self.layout.cred.job_account)
    }

    /// The partition that the job runs in.
    pub fn job_partition(&self) -> Option<String> {
        self.arguments.text(self.layout.cred.job_partition)
    }

    /// The job's reservation, if it runs in one.
    pub fn job_reservation(&self) -> Option<String> {
        self.arguments.text(self.layout.cred.job_reservation)
    }

    /// The job's QOS; only from 26.05 on, and not from every command that makes a credential.
    pub fn job_qos(&self) -> Option<String> {
        self.arguments.text(self.layout.cred.job_qos?)
    }

    /// The number of these nodes.
    pub fn job_nhosts(&self) -> u32 {
        self.arguments.read(self.layout.cred.job_nhosts)
    }

    /// The job's `--core-spec` or `--thread-spec`.
    pub fn job_core_spec(&self) -> Option<CoreSpec> {
        CoreSpec::from_raw(
            self.arguments.read(self.layout.cred.job_core_spec),
            self.layout,
        )
    }

    /// The generic resources (GRES) that Slurm gave the step on the job's node with that place.
    ///
    /// # Errors
    /// [`Error::MissingSymbol`] where this process cannot walk Slurm's lists; [`Error::Nonsense`]
    /// if the list is no list of such records.
    pub fn step_gres(&self, index: u32) -> Result<Vec<Gres>, Error> {
        let list = self.arguments.read(self.layout.cred.step_gres_list);
        gres::read(list, (Owner::Step, index), self.layout, self.symbols)
    }

    /// Those of the job.
    ///
    /// # Errors
    /// As [`Self::step_gres`].
    pub fn job_gres(&self, index: u32) -> Result<Vec<Gres>, Error> {
        let list = self.arguments.read(self.layout.cred.job_gres_list);
        gres::read(list, (Owner::Job, index), self.layout, self.symbols)
    }

    /// A node's place in the job's host list.
    ///
    /// # Errors
    /// [`Error::NotInHostList`] if it is not there; [`Error::Absent`] or [`Error::MissingSymbol`]
    /// if that cannot be found out.
    pub fn node_index(&self, node_name: &str) -> Result<u32, Error> {
        let find = self
            .symbols
            .nodelist_find
            .ok_or(Error::MissingSymbol("nodelist_find"))?;
        // Most jobs have one node, whose name is the list.
        let field = self.layout.cred.job_hostlist;
        if self.job_nhosts() > 0 && self.arguments.is_text(field, node_name) {
            return Ok(0);
        }
        let hosts = self.job_hostlist().ok_or(Error::Absent {
            record: "credential",
            what: "host list",
        })?;
        let (list, name) = (c_text(&hosts)?, c_text(node_name)?);
        // SAFETY: both are C strings, which nodelist_find only reads.
        let found = unsafe { find(list.as_ptr(), name.as_ptr()) };
        u32::try_from(found)
            .ok()
            .filter(|index| *index < self.job_nhosts())
            .ok_or_else(|| Error::NotInHostList {
                node: node_name.to_owned(),
                hosts,
            })
    }

    /// Shape and bits of the node with that place: the three arrays are a run-length code.
    ///
    /// # Errors
    /// [`Error::Nonsense`] if the arrays contradict each other or end before this node.
    pub fn node_cores(&self, index: u32) -> Result<NodeCores, Error> {
        let length = usize::from(self.arguments.read(self.layout.cred.core_array_size));
        let mut before = index;
        let mut first_bit = 0usize;
        for group in 0..length {
            let (mut node, nodes) = self.group(group, length)?;
            let per_node = node.core_count();
            let skipped = usize::try_from(before.min(nodes)).unwrap_or(usize::MAX);
            first_bit = per_node
                .checked_mul(skipped)
                .and_then(|bits| bits.checked_add(first_bit))
                .ok_or_else(|| self.nonsense("a number of cores", "one beyond all memory"))?;
            if before < nodes {
                node.first_bit = first_bit;
                return Ok(node);
            }
            before -= nodes;
        }
        Err(self.nonsense(
            &format!("node number {index}"),
            &format!("{length} groups of nodes that end before it"),
        ))
    }

    /// One group of equal nodes, and how many they are.
    fn group(&self, group: usize, length: usize) -> Result<(NodeCores, u32), Error> {
        let fields = &self.layout.cred;
        let sockets = self.arguments.item(fields.sockets_per_node, group, length);
        let cores = self.arguments.item(fields.cores_per_socket, group, length);
        let nodes = self
            .arguments
            .item(fields.sock_core_rep_count, group, length);
        match (sockets, cores, nodes) {
            (Some(sockets @ 1..), Some(cores_per_socket @ 1..), Some(nodes @ 1..)) => Ok((
                NodeCores {
                    sockets,
                    cores_per_socket,
                    first_bit: 0,
                },
                nodes,
            )),
            found => Err(self.nonsense(
                "sockets, cores and nodes of each group",
                &format!("{found:?} in group {group}"),
            )),
        }
    }

    /// The step's cores on a node, as abstract core numbers from 0.
    ///
    /// # Errors
    /// [`Error::Absent`] if there is no bitmap, [`Error::Nonsense`] if it has no room for the
    /// node's cores.
    pub fn step_cores(&self, node: &NodeCores) -> Result<Vec<u32>, Error> {
        self.cores(
            self.layout.cred.step_core_bitmap,
            node,
            "step's core bitmap",
        )
    }

    /// The job's cores on a node, as abstract core numbers from 0.
    ///
    /// # Errors
    /// As [`Self::step_cores`].
    pub fn job_cores(&self, node: &NodeCores) -> Result<Vec<u32>, Error> {
        self.cores(self.layout.cred.job_core_bitmap, node, "job's core bitmap")
    }

    fn cores(
        &self,
        field: Field<*mut i64>,
        node: &NodeCores,
        what: &'static str,
    ) -> Result<Vec<u32>, Error> {
        let end = node.first_bit.saturating_add(node.core_count());
        let bits = self.arguments.read(field);
        values::set_bits(bits, node.first_bit..end, what)
    }

    fn nonsense(&self, expected: &str, found: &str) -> Error {
        Error::Nonsense {
            record: "credential",
            expected: expected.to_owned(),
            found: found.to_owned(),
        }
    }
}

impl Drop for Credential<'_> {
    fn drop(&mut self) {
        if let Some(unlock) = self.symbols.slurm_cred_unlock_args {
            // SAFETY: locked in `lock`, unlocked once here; no reference into it was given out.
            unsafe { unlock(self.handle) };
        }
    }
}
