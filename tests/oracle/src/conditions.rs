//! When each named fix may change an answer: a predicate over the request, the machine and the
//! allocation, written from task/affinity's source and not from our placement. Where it does
//! not hold, the fix must change nothing.

use slurm_sys::layout::Constants;

use crate::case::{Case, given};
use crate::machine::Class;
use crate::walk::{Outcome, Walk};

/// The facts that the predicates look at.
struct Facts<'a> {
    case: &'a Case,
    c: &'a Constants,
    /// Tasks are laid out by a level, or may be.
    placed: bool,
    /// A task keeps the rest of its last core, or may.
    whole_cores: bool,
    own: u32,
    /// `-c` as it can be had.
    each: u32,
    threads: u32,
    limited: bool,
    one_thread: bool,
}

/// When a fix may change an answer.
pub struct Condition {
    /// The fix.
    pub fix: &'static str,
    /// How often it may hold for nothing, of a hundred requests where it alone holds: it says where a fix can matter,
    /// and with few tasks there is room enough anyway.
    pub idle: u64,
    holds: fn(&Facts<'_>) -> bool,
}

const fn may(fix: &'static str, idle: u64, holds: fn(&Facts<'_>) -> bool) -> Condition {
    Condition { fix, idle, holds }
}

/// Of every fix that the comparison can show.
pub const CONDITIONS: [Condition; 17] = [
    may("smt-neighbours", 75, |facts| facts.smt_neighbours()),
    may("fcyclic-cores", 70, |facts| facts.fcyclic_cores()),
    may("socket-limit", 70, |facts| facts.socket_limit()),
    may("count-touched", 85, |facts| facts.count_touched()),
    may("ldoms-inside", 60, |facts| facts.ldoms_inside()),
    may("spec-lists", 50, |facts| facts.spec_lists()),
    may("real-sockets", 80, |facts| facts.real_sockets()),
    may("hole-numbers", 50, |facts| facts.hole_numbers()),
    may("missing-ldom", 20, |facts| facts.missing_ldom()),
    may("third-level", 70, |facts| facts.third_level()),
    may("say-shrunk", 40, |facts| facts.say_shrunk()),
    may("clean-type", 30, |facts| facts.clean_type()),
    may("empty-mask", 50, |facts| facts.empty_mask()),
    may("no-cpu-left", 40, |facts| facts.no_cpu_left()),
    may("core-threads", 60, |facts| facts.core_threads()),
    may("spread-limits", 75, |facts| facts.spread_limits()),
    may("say-shared", 60, |facts| facts.say_shared()),
];

/// The names of the fixes whose condition holds.
#[must_use]
pub fn holding(case: &Case, c: &Constants) -> Vec<&'static str> {
    let facts = Facts::of(case, c);
    let held = CONDITIONS
        .iter()
        .filter(|condition| (condition.holds)(&facts));
    held.map(|condition| condition.fix).collect()
}

/// Whether task/affinity exceeds a limit.
#[must_use]
pub fn exceeds(case: &Case, c: &Constants) -> bool {
    Facts::of(case, c).spread_limits()
}

/// Abstract CPUs of the step (`_get_avail_map`); `twice`: after specialised threads were taken
/// a second time, as for a task bound to all of them (`_alloc_mask`).
#[must_use]
pub fn own_slots(case: &Case, twice: bool) -> Vec<u32> {
    let machine = &case.machine;
    let (size, threads) = (machine.map.len() as u32, u32::from(machine.threads));
    let cores = (case.cred.count as u32).min(machine.core_count()).max(1);
    let mut own = vec![false; size as usize];
    for core in case.cred.cores() {
        let first = core % cores % size * threads;
        for thread in 0..threads {
            own[((first + thread) % size) as usize] = true;
        }
    }
    for lowest in 0..=u32::from(twice) {
        let mut left = spec_threads(case);
        for thread in (lowest..threads).rev() {
            for core in (lowest..machine.cores.into()).rev() {
                for socket in (0..u32::from(machine.sockets)).rev() {
                    if left > 0 {
                        let core = socket * u32::from(machine.cores) + core;
                        own[((core * threads + thread) % size) as usize] = false;
                        left -= 1;
                    }
                }
            }
        }
    }
    (0..size).filter(|slot| own[*slot as usize]).collect()
}

/// CORE_SPEC_THREAD
const SPEC_THREAD: u16 = 0x8000;

fn spec_threads(case: &Case) -> u32 {
    let spec = case.job_core_spec;
    let threads = spec < 0xfffe && spec & SPEC_THREAD != 0;
    u32::from(if threads { spec & !SPEC_THREAD } else { 0 })
}

impl<'a> Facts<'a> {
    fn of(case: &'a Case, c: &'a Constants) -> Self {
        let bits = u32::from(case.cpu_bind_type);
        let placed = bits & modes(c) == 0;
        let levels = c.CPU_BIND_TO_THREADS | c.CPU_BIND_TO_SOCKETS | c.CPU_BIND_TO_LDOMS;
        // Auto binding may choose cores.
        let cores = bits & levels == 0;
        let own = own_slots(case, false).len() as u32;
        let tasks = u32::from(case.tasks()).max(1);
        let cpus_per_task = u32::from(case.cpus_per_task).max(1);
        let cpus_are_cores = u32::from(case.machine.cpus) == case.machine.core_count();
        Self {
            case,
            c,
            placed,
            whole_cores: placed && (cores || case.ntasks_per_core == 1),
            own,
            each: cpus_per_task.min(own / tasks),
            threads: case.machine.threads.into(),
            limited: given(case.ntasks_per_core).is_some()
                || given(case.ntasks_per_socket).is_some(),
            one_thread: given(case.threads_per_core).is_some()
                || bits & c.CPU_BIND_ONE_THREAD_PER_CORE != 0
                || cpus_are_cores,
        }
    }

    fn has(&self, bit: u32) -> bool {
        u32::from(self.case.cpu_bind_type) & bit != 0
    }

    /// Only beside block and cyclic; an arbitrary layout over hosts makes it cyclic.
    fn is_fcyclic(&self) -> bool {
        matches!(self.case.task_dist & 0xf0ff, 0x31 | 0x32)
    }

    fn several_tasks(&self) -> bool {
        self.placed && self.case.tasks() > 1
    }

    fn fcyclic_cores(&self) -> bool {
        self.several_tasks() && self.whole_cores && self.is_fcyclic()
    }

    fn ldoms_inside(&self) -> bool {
        let all = self.case.machine.map.len() as u32;
        self.has(self.c.CPU_BIND_TO_LDOMS) && (own_slots(self.case, true).len() as u32) < all
    }

    fn is_block(&self) -> bool {
        let by_default =
            u32::from(self.case.select_type_param) & self.c.CR_CORE_DEFAULT_DIST_BLOCK != 0;
        match self.case.task_dist & 0xf0ff {
            0x21 | 0x22 | 0x04 => true,
            0x01..=0x03 | 0x2000 => by_default,
            _ => false,
        }
    }

    /// The formula that skips the rest of a core is right where tasks begin on a core, and end
    /// on its last thread or half-way.
    fn smt_neighbours(&self) -> bool {
        let uneven = self.each > self.threads
            && !(2 * (self.each % self.threads)).is_multiple_of(self.threads);
        let broken =
            self.each > 1 && (self.one_thread || self.limited || spec_threads(self.case) > 0);
        let whole = self.several_tasks() && self.whole_cores;
        whole && !self.is_fcyclic() && self.threads > 1 && (uneven || broken)
    }

    fn socket_limit(&self) -> bool {
        self.several_tasks() && given(self.case.ntasks_per_socket).is_some() && !self.is_block()
    }

    fn count_touched(&self) -> bool {
        self.several_tasks() && self.limited && self.each > 1
    }

    /// A limit on tasks may not hold for all, or tasks are piled within it.
    fn spread_limits(&self) -> bool {
        self.limited && self.walks().iter().any(|walk| walk.shares)
    }

    /// Tasks share although something is idle, or all are on everything.
    fn say_shared(&self) -> bool {
        let c = self.c;
        let wide = self.has(c.CPU_BIND_TO_SOCKETS | c.CPU_BIND_TO_LDOMS);
        let narrow = self.has(c.CPU_BIND_TO_THREADS | c.CPU_BIND_TO_CORES);
        let many = self.own < u32::from(self.case.tasks()) && !self.case.overcommit;
        let crowded = self.placed && self.own > 0 && many && !wide && !narrow;
        // Auto binding may choose sockets too.
        let idle = |walk: &Outcome| walk.piled || (!wide && walk.beside_idle);
        crowded || self.walks().iter().any(idle)
    }

    /// Abstract CPUs of what masks grow to beyond cores, and of a core where only the site requests threads.
    fn per_object(&self) -> Option<u32> {
        let machine = &self.case.machine;
        let per_socket = u32::from(machine.cores) * self.threads;
        let per_domain = per_socket / u32::from(machine.domains.max(1));
        let narrow = self.has(self.c.CPU_BIND_TO_THREADS | self.c.CPU_BIND_TO_CORES);
        let site = self.case.task_plugin_param & self.c.CPU_AUTO_BIND_TO_SOCKETS != 0;
        // Auto binding chooses sockets where the tasks' CPUs are as many.
        let wanted = u32::from(self.case.tasks()) * u32::from(self.case.cpus_per_task);
        let fits = wanted <= u32::from(machine.sockets);
        let ldoms = self.has(self.c.CPU_BIND_TO_LDOMS).then_some(per_domain);
        // It takes threads before sockets.
        let threads = self.case.task_plugin_param & self.c.CPU_AUTO_BIND_TO_THREADS != 0;
        let by_site = !threads && site || fits;
        let sockets = self.has(self.c.CPU_BIND_TO_SOCKETS) || (!narrow && by_site);
        let sockets = sockets.then_some(per_socket);
        let is_open = threads && !narrow && self.case.task_dist & 0xf0 == 0;
        let core = is_open.then_some(self.threads);
        ldoms.or(sockets).or(core).map(|count| count.max(1))
    }

    /// How task/affinity's walk ends, with and without whole cores where it may be either.
    fn walks(&self) -> Vec<Outcome> {
        if !self.placed || self.each == 0 {
            return Vec::new();
        }
        let one = if self.one_thread { 1 } else { u32::MAX };
        let own = own_slots(self.case, false);
        let walk = |to_cores| Walk {
            case: self.case,
            own: &own,
            each: self.each,
            threads_per_core: given(self.case.threads_per_core).map_or(one, u32::from),
            whole_cores: to_cores || self.case.ntasks_per_core == 1,
            to_cores,
            block: self.is_block(),
            one_by_one: self.is_fcyclic(),
            per_object: self.per_object(),
        };
        // Auto binding may choose cores, or not.
        let levels: &[bool] = match self.has(self.c.CPU_BIND_TO_CORES) {
            true => &[true],
            false if self.has(self.c.CPU_BIND_TO_THREADS) => &[false],
            false => &[false, true],
        };
        levels.iter().map(|cores| walk(*cores).outcome()).collect()
    }

    fn spec_lists(&self) -> bool {
        let listed = self.c.CPU_BIND_MAP | self.c.CPU_BIND_MASK | self.c.CPU_BIND_RANK.unwrap_or(0);
        u32::from(self.case.job_core_spec) != self.c.NO_VAL16 && self.has(listed)
    }

    /// Whether our object has discovered the machine.
    fn knows_tree(&self) -> bool {
        !matches!(self.case.class, Class::Threads | Class::Cores)
    }

    fn hole_numbers(&self) -> bool {
        self.knows_tree() && self.case.machine.has_other_numbers()
    }

    fn core_threads(&self) -> bool {
        self.knows_tree() && self.case.machine.has_other_cores()
    }

    fn no_cpu_left(&self) -> bool {
        own_slots(self.case, true).is_empty()
    }

    fn real_sockets(&self) -> bool {
        let machine = &self.case.machine;
        let equal = machine.map.len() as u32 == machine.pu_count();
        let uneven = self.knows_tree() && machine.has_other_sockets();
        let domains = matches!(self.case.class, Class::Ldoms(_));
        // task/affinity widens to equal parts of its whole map.
        !equal || uneven || (domains && !machine.sockets_in_order())
    }

    fn missing_ldom(&self) -> bool {
        let text = self.case.cpu_bind.as_deref().unwrap_or_default();
        let count = u32::from(self.case.machine.sockets * self.case.machine.domains);
        let beyond = |number: u32| number >= count;
        let in_map = |word: &str| word.parse().is_ok_and(beyond);
        let in_mask = |word: &str| {
            let digits = word.trim_start_matches("0x");
            u64::from_str_radix(digits, 16).is_ok_and(|mask| mask >> count != 0)
        };
        (self.has(self.c.CPU_BIND_LDMAP) && text.split(',').any(in_map))
            || (self.has(self.c.CPU_BIND_LDMASK) && text.split(',').any(in_mask))
    }

    fn third_level(&self) -> bool {
        let said = matches!(self.case.task_dist & 0xf00, 0x100 | 0x300);
        let cores = self.has(self.c.CPU_BIND_TO_CORES) || self.case.ntasks_per_core == 1;
        self.placed && said && self.threads > 1 && !cores
    }

    /// Tasks get fewer CPUs, or one has a number twice.
    fn say_shrunk(&self) -> bool {
        let wanted = u32::from(self.case.cpus_per_task);
        let fewer = self.own > 0 && (self.own < wanted || (self.each > 0 && self.each < wanted));
        self.placed && (fewer || (wanted > 1 && self.walks().iter().any(|walk| walk.short)))
    }

    /// Placing is given up where tasks are more than CPUs, or a limit leaves too few.
    fn clean_type(&self) -> bool {
        let few = self.own < u32::from(self.case.tasks());
        let given_up = few || self.one_thread || self.limited;
        self.placed && self.case.overcommit && given_up
    }

    fn empty_mask(&self) -> bool {
        let zero = |word: &str| {
            word.trim_start_matches("0x")
                .bytes()
                .all(|digit| digit == b'0')
        };
        let text = self.case.cpu_bind.as_deref().unwrap_or_default();
        self.has(self.c.CPU_BIND_MASK) && text.split(',').any(zero)
    }
}

/// The bits of explicit modes.
#[must_use]
pub fn modes(c: &Constants) -> u32 {
    c.CPU_BIND_NONE
        | c.CPU_BIND_RANK.unwrap_or(0)
        | c.CPU_BIND_MAP
        | c.CPU_BIND_MASK
        | c.CPU_BIND_LDRANK
        | c.CPU_BIND_LDMAP
        | c.CPU_BIND_LDMASK
}
