//! Calls a hook with a message, and judges how that ended.

use std::time::Duration;

use crate::comparison::pretend_domains;
use crate::machine::Class;
use crate::message::{Kind, Message};
use crate::messages::log::LogFile;
use crate::messages::memory::{self, LIMIT, Usage};
use crate::messages::script::Script;
use crate::object::{Hooks, Object, slurm};
use crate::run::Here;
use crate::slurmd::{Launch, Slurm};

/// CPU time that no message may cost.
const MOST_TIME: Duration = Duration::from_secs(2);

/// Our object as a site has set it up.
pub struct Site {
    /// The running Slurm.
    pub slurm: Slurm,
    hooks: Hooks,
    log: LogFile,
}

/// How a message ended.
#[derive(Debug)]
pub struct Ended {
    /// Returned.
    pub rc: i32,
    /// Memory that it took.
    pub usage: Usage,
    /// How long it computed.
    pub time: Duration,
    /// How the record, the lock or the log is wrong.
    wrong: Option<String>,
}

impl Site {
    /// Loads our object with a site's settings.
    ///
    /// # Errors
    /// Where something is missing.
    pub fn load(settings: &[&str], class: Class, here: &Here) -> Result<Self, String> {
        let (slurm, ours) = (slurm()?, Object::ours()?);
        ours.set(settings, class, &here.folder)?;
        pretend_domains(class);
        let log = here.folder.join("log");
        let site = Self {
            slurm,
            hooks: ours.hooks()?,
            log: LogFile::create(&log)?,
        };
        slurm.set_log(Some(&log))?;
        Ok(site)
    }

    /// Calls the hook of a message.
    pub fn call(&mut self, message: &Message) -> Ended {
        let hooks = self.hooks;
        let mut ended = match message.kind {
            Kind::Tasks => {
                let mut records = Launch::new(message, self.slurm);
                // SAFETY: a launch hook of an object for the running release.
                let ended = limited(|| unsafe { records.call(hooks.launch) }.rc);
                Ended {
                    wrong: records.wrong(),
                    ..ended
                }
            }
            Kind::Batch => {
                let mut records = Script::new(message, self.slurm);
                // SAFETY: a batch hook of an object for the running release.
                let ended = limited(|| unsafe { records.call(hooks) });
                Ended {
                    wrong: records.wrong(),
                    ..ended
                }
            }
        };
        let in_log = self.log.wrong();
        ended.wrong = ended.wrong.or(in_log);
        ended
    }
}

fn limited(call: impl FnOnce() -> i32) -> Ended {
    let start = cpu_time();
    let (rc, usage) = memory::limited(call);
    Ended {
        rc,
        usage,
        time: cpu_time().saturating_sub(start),
        wrong: None,
    }
}

/// How long this process has computed so far: waiting for a CPU is nobody's fault.
fn cpu_time() -> Duration {
    // SAFETY: a record of numbers, which the call fills.
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut now) };
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

impl Ended {
    /// Why it is wrong.
    #[must_use]
    pub fn judge(&self) -> Option<String> {
        let peak = self.usage.peak;
        let refused = self.usage.refused.map(|bytes| {
            format!("the hook wanted {bytes} bytes, beyond {LIMIT} in sum, when it had {peak}")
        });
        let slow = self.time > MOST_TIME;
        let slow = slow.then(|| format!("the hook computed for {} ms", self.time.as_millis()));
        refused.or(slow).or_else(|| self.wrong.clone())
    }
}
