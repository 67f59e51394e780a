//! The comparing process: one class of requests, one after the other. It may crash; then the
//! file it keeps says over which request, and in whose hook.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::case::Case;
use crate::compare::{Verdict, judge};
use crate::generate::case;
use crate::machine::{Class, Machine};
use crate::numa;
use crate::object::{Hook, Object, StepHooks, slurm};
use crate::paths::genuine;
use crate::plan_line::plan_line;
use crate::random::Random;
use crate::slurmd::{Launch, Slurm};

/// Seconds after which a request counts as hanging.
const LIMIT: u32 = 60;

/// Whose hook runs, in the progress file.
pub const THEIRS: u8 = 1;
/// Whose hook runs, in the progress file.
pub const OURS: u8 = 2;

/// What one process does.
pub struct Chunk {
    /// Class of all its requests.
    pub class: Class,
    /// From which each request's own seed comes.
    pub seed: u64,
    /// First request's number.
    pub first: u64,
    /// How many.
    pub count: u64,
}

impl Chunk {
    /// The seed of one request.
    #[must_use]
    pub fn seed_of(&self, number: u64) -> u64 {
        Random::new(self.seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d)).number()
    }
}

/// How many requests ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bound alike.
    pub same: u64,
    /// Refused alike.
    pub refused: u64,
    /// Different on purpose.
    pub known: u64,
    /// Different.
    pub differ: u64,
}

/// Both hooks, ready.
pub struct Pair {
    /// The running Slurm.
    pub slurm: Slurm,
    /// task/affinity's.
    pub theirs: Hook,
    /// Ours.
    pub ours: Hook,
    /// What slurmstepd calls of task/affinity.
    pub their_step: StepHooks,
    /// What slurmstepd calls of ours.
    pub our_step: StepHooks,
}

impl Pair {
    /// Loads both. `command` is what our object finds the machine with, `compat` whose
    /// behaviour it has.
    ///
    /// # Errors
    /// What is missing.
    pub fn load(
        plugins: &Path,
        object: &Path,
        state: &Path,
        command: &Path,
        compat: &str,
    ) -> Result<Self, String> {
        let slurm = slurm(plugins)?;
        let file = genuine(plugins).ok_or("there is no task_affinity.so")?;
        let theirs = Object::load(&file, libc::RTLD_LAZY)?;
        let ours = Object::load(object, libc::RTLD_LAZY)?;
        ours.set(&[
            format!("compat={compat}"),
            "notes=off".into(),
            format!("state_dir={}", state.display()),
            format!("command={}", command.display()),
        ])?;
        Ok(Self {
            slurm,
            theirs: theirs.hook()?,
            ours: ours.hook()?,
            their_step: theirs.step_hooks()?,
            our_step: ours.step_hooks()?,
        })
    }

    /// One request through both: the judgement, and both answers as text.
    pub fn compare(&self, case: &Case, progress: impl Fn(u8)) -> (Verdict, String) {
        progress(THEIRS);
        // SAFETY: both are launch hooks of objects for the running release.
        let theirs = unsafe { Launch::new(case, self.slurm).run(self.theirs) };
        progress(OURS);
        // SAFETY: as above.
        let ours = unsafe { Launch::new(case, self.slurm).run(self.ours) };
        let constants = &self.slurm.layout.constants;
        let verdict = judge(case, &theirs, &ours, constants);
        let answers = format!("  task/affinity: {theirs}\n  task/berth:    {ours}");
        (verdict, answers)
    }
}

/// Has libnuma's stand-in answer for the machine of a class.
pub fn pretend_domains(class: Class) {
    if let Class::Ldoms(_) = class {
        numa::pretend(Machine::any(class, &mut Random::new(0)).memory());
    }
}

/// Compares a chunk; tells of each difference on stdout and of the sum in the last line.
///
/// # Errors
/// A progress file that cannot be written.
pub fn compare(pair: &Pair, chunk: &Chunk, progress: &File) -> Result<(), String> {
    pretend_domains(chunk.class);
    let mut tally = Tally::default();
    let mut out = std::io::stdout().lock();
    for number in chunk.first..chunk.first + chunk.count {
        let case = case(chunk.seed_of(number), chunk.class, pair.slurm.layout);
        let note = |whose: u8| {
            let mut bytes = [whose; 9];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            // A note that is lost only makes a crash harder to place.
            let _ = progress.write_all_at(&bytes, 0);
            // SAFETY: takes a number.
            unsafe { libc::alarm(LIMIT) };
        };
        let (verdict, answers) = pair.compare(&case, note);
        match verdict {
            Verdict::Same => tally.same += 1,
            Verdict::Refused => tally.refused += 1,
            Verdict::Known(_) => tally.known += 1,
            Verdict::Differ(what) => {
                tally.differ += 1;
                let line = in_words(&case, pair);
                writeln!(out, "differ: {what}\n{case}\n{answers}\n  {line}\n")
                    .map_err(|why| why.to_string())?;
            }
        }
    }
    let Tally {
        same,
        refused,
        known,
        differ,
    } = tally;
    writeln!(out, "tally {same} {refused} {known} {differ}").map_err(|why| why.to_string())
}

/// How to get our answer again with `berth plan`.
#[must_use]
pub fn in_words(case: &Case, pair: &Pair) -> String {
    plan_line(case, &pair.slurm.layout.constants)
        .unwrap_or_else(|| "berth plan has no words for it".into())
}
