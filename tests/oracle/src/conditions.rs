//! When each named fix may change an answer: read off the request and the machine alone, so that
//! a fix which reaches further than it says is found. Nothing here looks at our plan.

use berth_placement::Fix;
use slurm_sys::layout::Constants;

use crate::case::{Case, given};
use crate::machine::Class;

/// A fix, when it may speak, and in how many of 10,000 such requests it is at least seen to: a
/// condition that is much too wide proves nothing.
pub struct Condition {
    /// The fix.
    pub fix: Fix,
    /// Whether it may speak.
    pub holds: fn(&Request<'_>) -> bool,
    /// Of 10,000.
    pub seen: u64,
}

/// A request with the constants of its release.
pub struct Request<'a> {
    case: &'a Case,
    c: &'a Constants,
}

impl<'a> Request<'a> {
    /// Of a case.
    #[must_use]
    pub fn new(case: &'a Case, c: &'a Constants) -> Self {
        Self { case, c }
    }

    fn is(&self, bit: u32) -> bool {
        u32::from(self.case.cpu_bind_type) & bit != 0
    }

    fn listed(&self) -> bool {
        self.is(self.c.CPU_BIND_MAP | self.c.CPU_BIND_MASK)
    }

    /// No explicit mode: a level, asked for or found.
    fn placed(&self) -> bool {
        let c = self.c;
        let modes = c.CPU_BIND_NONE
            | c.CPU_BIND_RANK.unwrap_or(0)
            | c.CPU_BIND_LDRANK
            | c.CPU_BIND_LDMAP
            | c.CPU_BIND_LDMASK;
        !self.listed() && !self.is(modes)
    }

    /// Tasks may get whole cores: asked for, found, or one task a core.
    fn perhaps_cores(&self) -> bool {
        let c = self.c;
        let others = c.CPU_BIND_TO_THREADS | c.CPU_BIND_TO_SOCKETS | c.CPU_BIND_TO_LDOMS;
        let cores = self.is(c.CPU_BIND_TO_CORES) || !self.is(others);
        self.placed() && (cores || self.case.ntasks_per_core == 1)
    }

    fn sockets_order(&self) -> u32 {
        self.case.task_dist >> 4 & 0xf
    }

    /// Whether task/affinity fills socket after socket (the first `case` of `lllp_distribution`).
    fn in_blocks(&self) -> bool {
        matches!(self.case.task_dist & 0xff, 0x21 | 0x22 | 0x04)
    }

    /// CPUs of each task, where the step has enough.
    fn width(&self) -> u32 {
        u32::from(self.case.cpus_per_task)
    }

    fn limited(&self) -> bool {
        given(self.case.ntasks_per_core).is_some() || given(self.case.ntasks_per_socket).is_some()
    }

    fn specialised(&self) -> bool {
        u32::from(self.case.job_core_spec) != self.c.NO_VAL16
    }

    fn domains_known(&self) -> bool {
        matches!(self.case.class, Class::Ldoms(_))
    }

    fn wanted(&self) -> u64 {
        u64::from(self.case.tasks()) * u64::from(self.case.cpus_per_task.max(1))
    }

    fn own(&self) -> u64 {
        self.case.cred.cores().len() as u64 * u64::from(self.case.machine.threads)
    }
}

/// Every fix that a launch hook on this stand-in can show.
pub const CONDITIONS: &[Condition] = &[
    Condition {
        fix: Fix::SmtNeighbours,
        // Tasks that are wider than what they may use of a core of three and more threads.
        holds: |r| {
            let threads = u32::from(r.case.machine.threads);
            r.perhaps_cores() && threads > 2 && r.width() > threads.min(r.threads_per_core())
        },
        seen: 50,
    },
    Condition {
        fix: Fix::FcyclicCores,
        holds: |r| {
            r.perhaps_cores()
                && r.sockets_order() == 3
                && r.case.tasks() > 1
                && r.case.machine.threads > 1
        },
        seen: 300,
    },
    Condition {
        fix: Fix::SocketLimit,
        holds: |r| r.placed() && !r.in_blocks() && given(r.case.ntasks_per_socket).is_some(),
        seen: 300,
    },
    Condition {
        fix: Fix::CountTouched,
        holds: |r| r.placed() && r.limited() && r.case.cpus_per_task > 1,
        seen: 1,
    },
    Condition {
        fix: Fix::LdomsInside,
        // Also lists and shared masks beside the level are widened.
        holds: |r| {
            let part = r.surely_own() < u64::from(r.case.machine.pu_count());
            r.is(r.c.CPU_BIND_TO_LDOMS) && part
        },
        seen: 1500,
    },
    Condition {
        fix: Fix::SpecLists,
        holds: |r| r.specialised() && r.listed(),
        seen: 2000,
    },
    Condition {
        fix: Fix::RealSockets,
        // A machine that is not as slurm.conf has it.
        holds: |r| r.placed() && r.case.machine.map.len() as u32 != r.case.machine.pu_count(),
        seen: 100,
    },
    Condition {
        fix: Fix::MissingLdom,
        holds: |r| r.domains_known() && r.is(r.c.CPU_BIND_LDMAP | r.c.CPU_BIND_LDMASK),
        seen: 800,
    },
    Condition {
        fix: Fix::ThirdLevel,
        holds: |r| r.placed() && matches!(r.case.task_dist >> 8 & 0xf, 1 | 3),
        seen: 200,
    },
    Condition {
        fix: Fix::SayShrunk,
        holds: |r| r.placed() && r.case.cpus_per_task > 1 && r.wanted() > r.surely_own(),
        seen: 1500,
    },
    Condition {
        fix: Fix::CleanType,
        holds: |r| r.placed() && r.case.overcommit,
        seen: 900,
    },
    Condition {
        fix: Fix::EmptyMask,
        holds: |r| {
            let list = r.case.cpu_bind.as_deref().unwrap_or_default();
            r.is(r.c.CPU_BIND_MASK) && list.split(',').any(is_empty)
        },
        seen: 3500,
    },
    Condition {
        fix: Fix::NoCpuLeft,
        holds: |r| {
            let threads = u32::from(r.case.job_core_spec);
            r.specialised() && threads & r.c.CORE_SPEC_THREAD != 0
        },
        seen: 50,
    },
];

impl Request<'_> {
    /// CPUs that surely are the step's: a credential that does not fit the machine folds cores
    /// onto each other, and specialised threads may be the step's or not.
    fn surely_own(&self) -> u64 {
        let machine = &self.case.machine;
        let folds = !self.case.cred.fits(machine) || machine.map.len() as u32 != machine.pu_count();
        if folds || self.specialised() {
            0
        } else {
            self.own()
        }
    }

    fn threads_per_core(&self) -> u32 {
        let one = self.is(self.c.CPU_BIND_ONE_THREAD_PER_CORE) || self.case.class == Class::Cores;
        given(self.case.threads_per_core).map_or(if one { 1 } else { u32::MAX }, u32::from)
    }
}

fn is_empty(mask: &str) -> bool {
    let digits = mask.strip_prefix("0x").unwrap_or(mask);
    digits.bytes().all(|digit| digit == b'0')
}
