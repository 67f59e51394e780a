//! The memory policy: slurmstepd prepares it before the fork, and the task
//! sets it after the fork, because a process can set only its own policy. Between fork and
//! exec the task makes only system calls on prepared data, and writes at most one line. It
//! allocates nothing, takes no lock and logs nothing.

use std::ffi::c_void;
use std::fmt::Write;

use berth_host::memory::{self, Kind};
use berth_placement::sets::limits::LIST_BYTES;
use berth_placement::{Fixes, List, MemBind, MemPolicy, NodeSet};
use libc::c_int;
use slurm_sys::views::ChildIds;
use slurm_sys::{SUCCESS, SlurmdConf, StepRecord};

use crate::site::node;
use crate::site::settings::{self, Notes};
use crate::site::standing::Abi;
use crate::step::memory::mem_bind;
use crate::stepd::first_task::{Hex, StackLine};
use crate::stepd::report;

/// `pre_launch` not succeeding ends the task before its program starts.
const FAILED: c_int = -1;

/// The data that the tasks find after the fork.
pub(crate) struct Prepared {
    slurm: Abi,
    /// Each task's nodes, by local id; none if memory is only reported.
    tasks: List<NodeSet>,
    kind: Kind,
    /// Whether a refused node ends the task: so for named nodes, but not for near and preferred
    /// ones, and never with task/affinity's behaviour.
    strict: bool,
    /// Whether hwloc was told to show another machine: nodes are then shown, not applied.
    pretended: bool,
    /// Whether notes may go to the job's stderr.
    notes: bool,
    report: Option<Report>,
    /// This machine's name, for the report.
    host: String,
}

/// The fixed words of the verbose report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Report {
    mode: &'static str,
    kind: &'static str,
    action: &'static str,
}

/// In the parent, before the fork. `requested` is the requested `--mem-bind`, if slurmd's plan has put
/// each task's nodes into the record; `preferred` are the nodes of the job's cpuset, for tasks without a
/// `--mem-bind`. Returns those masks too, for the step's line in the log;
/// `None` if memory is neither bound nor reported.
pub(crate) fn prepare(
    slurm: Abi,
    record: &StepRecord<'_>,
    requested: Option<&MemBind>,
    preferred: Option<&NodeSet>,
) -> Option<(Prepared, String)> {
    let c = &slurm.layout.constants;
    let is_batch = record.is_batch();
    let bits = if is_batch { 0 } else { record.mem_bind_type() };
    if bits == 0 && preferred.is_none() || !memory::is_available() {
        return None;
    }
    let text = record.mem_bind(LIST_BYTES).ok().flatten();
    let text = text.unwrap_or_default();
    let requested = requested.cloned().unwrap_or_default();
    let tasks = match mem_bind(bits, Some(&text), slurm.layout) {
        Ok(MemBind {
            policy: Some(MemPolicy::Mask(list)),
            ..
        }) if requested.policy.is_some() => list,
        _ => List::default(),
    };
    let report = Report::of(bits, &requested, slurm);
    let preferred = preferred.filter(|_| tasks.is_empty());
    let tasks = preferred.map_or(tasks, |nodes| List::same(nodes.clone()));
    if tasks.is_empty() && report.is_none() {
        return None;
    }
    let masks = match preferred {
        Some(nodes) => nodes.to_short_hex(),
        None if tasks.is_empty() => String::new(),
        None => text,
    };
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = unsafe { SlurmdConf::current(slurm.layout, slurm.symbols) };
    let prefer = bits & c.MEM_BIND_PREFER != 0;
    let settings = settings::current();
    let prepared = Prepared {
        slurm,
        tasks,
        kind: match preferred {
            Some(_) => Kind::PreferMany,
            None if prefer => Kind::Prefer,
            None => Kind::Bind,
        },
        strict: preferred.is_none()
            && settings.fixes != Fixes::NONE
            && !prefer
            && requested.policy != Some(MemPolicy::Local),
        pretended: node::is_pretended(),
        notes: settings.notes == Notes::User
            && !report::are_notes_off(report::switch(record).as_deref()),
        report,
        host: conf.and_then(|conf| conf.hostname()).unwrap_or_default(),
    };
    Some((prepared, masks))
}

/// Whether a step requests a memory policy.
pub(crate) fn is_requested(slurm: Abi, record: &StepRecord<'_>) -> bool {
    let c = &slurm.layout.constants;
    let policies = c.MEM_BIND_RANK | c.MEM_BIND_LOCAL | c.MEM_BIND_MAP | c.MEM_BIND_MASK;
    record.mem_bind_type() & policies != 0
}

impl Prepared {
    /// The NUMA nodes that a task's memory is bound to strictly: for its cpuset.
    pub(crate) fn strict_nodes(&self, local_id: u32) -> Option<&NodeSet> {
        let is_bound = self.kind == Kind::Bind && !self.pretended;
        self.tasks.of_task(local_id).filter(|_| is_bound)
    }

    /// In the task, between fork and exec.
    ///
    /// # Safety
    /// The pointer is the one that slurmstepd passed to the running hook.
    pub(crate) unsafe fn in_task(&self, raw: *mut c_void) -> c_int {
        let slurm = self.slurm;
        // SAFETY: slurmstepd owns the record and keeps it until the hook returns.
        let record = unsafe { StepRecord::from_raw(raw, slurm.layout, slurm.symbols) };
        match record.and_then(|record| record.child_ids()) {
            Some(ids) => self.bind(ids),
            None => SUCCESS,
        }
    }

    fn bind(&self, ids: ChildIds) -> c_int {
        // Slurm's lists wrap.
        let local = u32::try_from(ids.localid).unwrap_or_default();
        let Some(wanted) = self.tasks.of_task(local) else {
            self.show(ids, None);
            return SUCCESS;
        };
        let wanted = memory::words(wanted);
        let wanted = trimmed(&wanted);
        match memory::set_policy(self.kind, wanted) {
            _ if self.pretended => self.report(ids, wanted),
            Ok(()) => self.show(ids, Some(wanted)),
            Err(errno) => {
                self.refused(ids, wanted, errno);
                return if self.strict { FAILED } else { SUCCESS };
            }
        }
        SUCCESS
    }

    /// Reads the policy back from the kernel, and reports a difference.
    fn show(&self, ids: ChildIds, wanted: Option<&[u64]>) {
        let Ok((found, now)) = memory::policy() else {
            return;
        };
        if self.report.is_some() {
            return self.report(ids, &now);
        }
        if let Some(wanted) = wanted
            && self.notes
            && trimmed(&now) != wanted
            && !is_one_of_many((self.kind, found), (&now, wanted))
        {
            let mut line = StackLine::new();
            let _ = writeln!(
                line,
                "berth: note: task {}: --mem-bind requests NUMA nodes 0x{}, but the kernel gives \
                 0x{}; compare with Mems_allowed in /proc/self/status",
                ids.procid,
                Hex(wanted),
                Hex(&now),
            );
            line.send();
        }
    }

    fn report(&self, ids: ChildIds, nodes: &[u64]) {
        if let Some(report) = &self.report {
            report.line(&self.host, ids, nodes).send();
        }
    }

    fn refused(&self, ids: ChildIds, wanted: &[u64], errno: i32) {
        if !self.strict && !self.notes {
            return;
        }
        let mut line = StackLine::new();
        let (kind, end) = if self.strict {
            ("error", "the task is not started")
        } else {
            ("note", "the task goes on with the kernel's choice")
        };
        let _ = writeln!(
            line,
            "berth: {kind}: task {}: --mem-bind requests NUMA nodes 0x{}; the kernel refuses them \
             (error {errno}): none has memory that this job may use, compare with Mems_allowed in \
             /proc/self/status; {end}",
            ids.procid,
            Hex(wanted),
        );
        line.send();
    }
}

/// Without the zero words behind the last node.
fn trimmed(nodes: &[u64]) -> &[u64] {
    let used = nodes.iter().rposition(|word| *word != 0);
    nodes
        .get(..used.map_or(0, |last| last + 1))
        .unwrap_or(nodes)
}

impl Report {
    /// `None` unless `verbose` was requested. Source: `slurm_chk_memset`.
    fn of(bits: u32, requested: &MemBind, slurm: Abi) -> Option<Self> {
        let c = &slurm.layout.constants;
        if bits & c.MEM_BIND_VERBOSE == 0 {
            return None;
        }
        let kind = match &requested.policy {
            Some(MemPolicy::Rank) => "RANK",
            Some(MemPolicy::Local) => "LOC",
            Some(MemPolicy::Map(_)) => "MAP",
            Some(MemPolicy::Mask(_)) => "MASK",
            None if bits & c.MEM_BIND_NONE != 0 => "NONE",
            None => "NULL",
        };
        let bound = requested.policy.is_some();
        let prefer = bound && bits & c.MEM_BIND_PREFER != 0;
        Some(Self {
            mode: if prefer { " PREFER " } else { "=" },
            kind,
            action: if bound { " set" } else { "" },
        })
    }

    /// The line of one task, in the very words that users know.
    fn line(&self, host: &str, ids: ChildIds, nodes: &[u64]) -> StackLine {
        let mut line = StackLine::new();
        let _ = writeln!(
            line,
            "mem-bind{}{} - {host}, task {:2} {:2} [{}]: mask 0x{}{}",
            self.mode,
            self.kind,
            ids.procid,
            ids.localid,
            ids.task_pid,
            Hex(nodes),
            self.action,
        );
        line
    }
}

/// Kernels before 5.15 prefer the lowest of several nodes alone, and cannot be asked for more.
fn is_one_of_many((wanted, found): (Kind, Option<Kind>), (now, nodes): (&[u64], &[u64])) -> bool {
    let outside = |(at, word): (usize, &u64)| word & !nodes.get(at).copied().unwrap_or(0) != 0;
    wanted == Kind::PreferMany
        && found == Some(Kind::Prefer)
        && !now.iter().enumerate().any(outside)
}

#[cfg(test)]
mod tests {
    use slurm_sys::{Layout, Symbols};

    use super::*;
    use crate::site::count_allocations::during;

    #[test]
    fn old_kernels_prefer_one_node() {
        let is = |kinds, now: &[u64]| is_one_of_many(kinds, (now, &[0b110]));
        let old = (Kind::PreferMany, Some(Kind::Prefer));
        assert!(is(old, &[0b010, 0]));
        assert!(!is(old, &[0b1000]) && !is(old, &[0, 1]));
        assert!(!is((Kind::PreferMany, Some(Kind::PreferMany)), &[0b010]));
        assert!(!is((Kind::Prefer, Some(Kind::Prefer)), &[0b010]));
    }

    /// Lines printed by task/affinity of Debian's 22.05.8, with other names and numbers.
    #[test]
    fn word_for_word() {
        let ids = ChildIds {
            procid: 12,
            localid: 1,
            task_pid: 4711,
        };
        for (mode, kind, action, text) in [
            (
                "=",
                "LOC",
                " set",
                "mem-bind=LOC - n1, task 12  1 [4711]: mask 0xc set\n",
            ),
            (
                " PREFER ",
                "MAP",
                " set",
                "mem-bind PREFER MAP - n1, task 12  1 [4711]: mask 0xc set\n",
            ),
            (
                "=",
                "NONE",
                "",
                "mem-bind=NONE - n1, task 12  1 [4711]: mask 0xc\n",
            ),
        ] {
            let report = Report { mode, kind, action };
            let line = report.line("n1", ids, &[12, 0]);
            assert_eq!(line.text(), text.as_bytes());
        }
    }

    /// On this machine, in a thread of its own: the policy goes with it.
    #[test]
    fn after_the_fork_nothing_is_allocated() {
        let Some(layout) = Layout::all().first() else {
            return;
        };
        let prepared = |nodes: &str, strict: bool, report: Option<Report>| Prepared {
            slurm: Abi {
                layout,
                symbols: Symbols::get(),
            },
            tasks: std::iter::once(NodeSet::from_hex(nodes).unwrap_or_default()).collect(),
            kind: Kind::Bind,
            strict,
            pretended: false,
            notes: true,
            report,
            host: "n1".into(),
        };
        let report = Report {
            mode: "=",
            kind: "MASK",
            action: " set",
        };
        let ids = ChildIds {
            procid: 0,
            localid: 0,
            task_pid: 1,
        };
        for (prepared, code) in [
            (prepared("0x1", true, None), SUCCESS),
            (prepared("0x1", true, Some(report)), SUCCESS),
            (prepared("0x8000000000000000", true, None), FAILED),
            (prepared("0x8000000000000000", false, None), SUCCESS),
        ] {
            let thread = std::thread::spawn(move || {
                let mut found = None;
                let calls = during(|| found = Some(prepared.bind(ids)));
                (calls, found)
            });
            let available = memory::is_available();
            let done = thread.join().ok().filter(|_| available);
            assert!(done.is_none() || done == Some((0, Some(code))), "{done:?}");
        }
    }

    #[test]
    fn zero_words_are_no_difference() {
        assert_eq!(trimmed(&[1, 0, 2, 0]), [1, 0, 2]);
        assert!(trimmed(&[0, 0]).is_empty());
    }
}
