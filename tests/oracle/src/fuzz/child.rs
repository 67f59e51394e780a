//! Calls a hook with a message under a site's settings, and judges how that ended.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use slurm_sys::Layout;

use crate::arguments::Files;
use crate::child::pretend_domains;
use crate::fuzz::log::{LogFile, Written};
use crate::fuzz::making;
use crate::fuzz::memory::{self, Usage};
use crate::fuzz::record::{Outcome, Script};
use crate::machine::Class;
use crate::message::{Kind, Message};
use crate::object::{BatchHook, Hook, Log, Object, set_log, slurm};
use crate::part::Part;
use crate::random::Random;
use crate::slurmd::{Launch, Slurm};

/// CPU time that no message may cost.
const MOST_TIME: Duration = Duration::from_secs(2);

/// What sites set; a process has one of these.
pub const SETTINGS: [&[&str]; 7] = [
    &["compat=berth"],
    &["compat=affinity"],
    &["compat=berth", "shadow=on"],
    &["compat=affinity", "shadow=on"],
    &["binding_default=linear:1"],
    &["binding_default=linear:1", "binding_fail=refuse"],
    &["binding=off"],
];

/// The parts of a run: seven of ten messages where CPUs are threads, two where they are cores, one for memory domains;
/// the settings take turns.
#[must_use]
pub fn parts(run: &Part, most: u64) -> Vec<Part> {
    let most = most.max(1);
    let firsts = (0..run.count).step_by(most as usize);
    let part = |(turn, first): (usize, u64)| Part {
        class: match turn % 10 {
            0..=6 => Class::Threads,
            7..=8 => Class::Cores,
            _ => Class::Ldoms(Random::new(run.seed ^ first).number()),
        },
        settings: (turn / 10 + turn) % SETTINGS.len(),
        first,
        count: most.min(run.count - first),
        ..*run
    };
    firsts.enumerate().map(part).collect()
}

/// A message of a part, by its number.
#[must_use]
pub fn message(part: &Part, number: u64, layout: &Layout) -> Message {
    making::message(part.seed_of(number), part.class, layout)
}

/// Our hooks, ready.
pub struct Hooks {
    /// The running Slurm.
    pub slurm: Slurm,
    launch: Hook,
    batch: BatchHook,
    log: LogFile,
}

/// How a message ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// What the hook left in its record.
    pub outcome: Outcome,
    /// What it took.
    pub usage: Usage,
    /// How long it computed.
    pub time: Duration,
    /// What it logged.
    pub written: Written,
}

impl Hooks {
    /// Loads our object and gives it a site's settings.
    ///
    /// # Errors
    /// What is missing.
    pub fn load(files: &Files, part: &Part) -> Result<Self, String> {
        let settings = SETTINGS.get(part.settings).ok_or("no such settings")?;
        let (slurm, ours) = ours(files, settings)?;
        pretend_domains(part.class);
        Ok(Self {
            slurm,
            launch: ours.hook()?,
            batch: ours.batch_hook()?,
            log: LogFile::open(&files.log())?,
        })
    }

    /// Calls the hook of a message.
    pub fn call(&mut self, message: &Message) -> Ended {
        let mut ended = match message.kind {
            Kind::Tasks => {
                let mut records = Launch::new(message, self.slurm);
                // SAFETY: a launch hook of an object for the running release.
                limited(|| unsafe { records.outcome(self.launch) })
            }
            Kind::Batch => {
                let mut records = Script::new(message, self.slurm);
                // SAFETY: a batch hook of an object for the running release.
                limited(|| unsafe { records.run(self.batch) })
            }
        };
        ended.written = self.log.look();
        ended
    }
}

/// Loads Slurm's library and our object, which gets a site's settings and writes Slurm's log beside its state.
///
/// # Errors
/// What is missing.
pub fn ours(files: &Files, settings: &[&str]) -> Result<(Slurm, Object), String> {
    let slurm = slurm(&files.plugins)?;
    let ours = Object::load(&files.object, libc::RTLD_LAZY)?;
    let mut words: Vec<_> = settings.iter().map(ToString::to_string).collect();
    words.push(format!("state_dir={}", files.state.display()));
    words.push(format!("command={}", files.command.display()));
    ours.set(&words)?;
    let log = files.log();
    std::fs::write(&log, []).map_err(|why| why.to_string())?;
    let name = CString::new(log.as_os_str().as_bytes()).map_err(|why| why.to_string())?;
    set_log(slurm.layout.line, Log::InfoTo(&name));
    Ok((slurm, ours))
}

fn limited(call: impl FnOnce() -> Outcome) -> Ended {
    let start = cpu_time();
    let (outcome, usage) = memory::limited(call);
    Ended {
        outcome,
        usage,
        time: cpu_time().saturating_sub(start),
        written: Written::default(),
    }
}

/// What this process has computed so far: waiting for a CPU is nobody's fault.
fn cpu_time() -> Duration {
    // SAFETY: a record of numbers, which the call fills.
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// What is wrong with how a message ended.
#[must_use]
pub fn judge(ended: &Ended) -> Option<String> {
    let usage = ended.usage;
    if let Some(bytes) = usage.refused {
        let (limit, peak) = (memory::LIMIT, usage.peak);
        return Some(format!(
            "the hook asked for {bytes} bytes, beyond {limit} in sum, when it had {peak}"
        ));
    }
    if ended.time > MOST_TIME {
        return Some(format!(
            "the hook computed for {} ms",
            ended.time.as_millis()
        ));
    }
    ended
        .outcome
        .wrong
        .clone()
        .or_else(|| ended.written.wrong.clone())
}
