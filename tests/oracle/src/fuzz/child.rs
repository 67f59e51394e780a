//! Calls a hook with a message under a site's settings, and judges how that ended.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use slurm_sys::Layout;

use crate::child::pretend_domains;
use crate::fuzz::batch::Script;
use crate::fuzz::log::{LogFile, Written};
use crate::fuzz::making;
use crate::fuzz::memory::{self, Usage};
use crate::fuzz::message::{Kind, Message};
use crate::fuzz::record::{Outcome, Tasks};
use crate::machine::Class;
use crate::object::{BatchHook, Hook, Log, Object, set_log, slurm};
use crate::random::Random;
use crate::slurmd::Slurm;

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

/// What one process does.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Class of all its messages.
    pub class: Class,
    /// Which of [`SETTINGS`].
    pub settings: usize,
    /// From which each message's own seed comes.
    pub seed: u64,
    /// First message's number.
    pub first: u64,
    /// How many.
    pub count: u64,
}

impl Part {
    /// The seed of one message.
    #[must_use]
    pub fn seed_of(&self, number: u64) -> u64 {
        Random::new(self.seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d)).number()
    }

    /// One message.
    #[must_use]
    pub fn message(&self, number: u64, layout: &Layout) -> Message {
        making::message(self.seed_of(number), self.class, layout)
    }

    /// The options that show one message again.
    #[must_use]
    pub fn replay(&self, number: u64) -> String {
        let (class, settings) = (self.class, self.settings);
        let seed = self.seed_of(number);
        format!("--replay {seed} --class {class} --settings {settings}")
    }
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
    pub fn load(
        (plugins, object): (&Path, &Path),
        (state, command): (&Path, &Path),
        part: &Part,
    ) -> Result<Self, String> {
        let slurm = slurm(plugins)?;
        let ours = Object::load(object, libc::RTLD_LAZY)?;
        let settings = SETTINGS.get(part.settings).ok_or("no such settings")?;
        let mut words: Vec<_> = settings.iter().map(ToString::to_string).collect();
        words.push(format!("state_dir={}", state.display()));
        words.push(format!("command={}", command.display()));
        ours.set(&words)?;
        let log = state.join("log");
        std::fs::write(&log, []).map_err(|why| why.to_string())?;
        let name = CString::new(log.as_os_str().as_bytes()).map_err(|why| why.to_string())?;
        set_log(slurm.layout.line, Log::InfoTo(&name));
        pretend_domains(part.class);
        Ok(Self {
            slurm,
            launch: ours.hook()?,
            batch: ours.batch_hook()?,
            log: LogFile::open(&log)?,
        })
    }

    /// Calls the hook of a message.
    pub fn call(&mut self, message: &Message) -> Ended {
        let mut ended = match message.kind {
            Kind::Tasks => {
                let mut records = Tasks::new(message, self.slurm);
                // SAFETY: a launch hook of an object for the running release.
                limited(|| unsafe { records.run(self.launch) })
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
