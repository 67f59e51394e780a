//! The comparing process: one class of requests, one after the other. It may crash; then the
//! file it keeps says over which request, and in whose hook.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use slurm_sys::Layout;

use crate::aim::aimed;
use crate::answer::Answer;
use crate::by_fix;
use crate::case::Case;
use crate::compare::{Verdict, judge, resolved_by_us};
use crate::counts::Counts;
use crate::generate::case;
use crate::machine::{Class, Machine};
use crate::numa;
use crate::object::{GetCpuset, Hook, Object, StepHooks, slurm};
use crate::paths::genuine;
use crate::plan_line::plan_line;
use crate::random::Random;
use crate::slurmd::{Launch, Slurm};

/// The last line of a process that came to its end.
pub const END: &str = "end";

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
    /// Compare berth's default, fix by fix, and not `compat=affinity`.
    pub by_fix: bool,
}

impl Chunk {
    /// The seed of one request.
    #[must_use]
    pub fn seed_of(&self, number: u64) -> u64 {
        Random::new(self.seed ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d)).number()
    }

    /// One request.
    #[must_use]
    pub fn case(&self, number: u64, layout: &Layout) -> Case {
        let make = if self.by_fix { aimed } else { case };
        make(self.seed_of(number), self.class, layout)
    }
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
    look_up: GetCpuset,
    object: Object,
    settings: [String; 2],
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
        let pair = Self {
            slurm,
            theirs: theirs.hook()?,
            ours: ours.hook()?,
            their_step: theirs.step_hooks()?,
            our_step: ours.step_hooks()?,
            look_up: theirs.get_cpuset()?,
            object: ours,
            settings: [
                format!("state_dir={}", state.display()),
                format!("command={}", command.display()),
            ],
        };
        pair.set(&format!("compat={compat}"), "fixes=")?;
        Ok(pair)
    }

    fn set(&self, compat: &str, fixes: &str) -> Result<(), String> {
        let [state, command] = self.settings.clone();
        self.object
            .set(&[compat.into(), fixes.into(), state, command])
    }

    fn answer(&self, case: &Case, hook: Hook, theirs: Option<&Answer>) -> Answer {
        let mut launch = Launch::new(case, self.slurm);
        // SAFETY: a launch hook of an object for the running release.
        let mut answer = unsafe { launch.run(hook) };
        let by = theirs.unwrap_or(&answer);
        if answer.rc == 0 && resolved_by_us(case, by, &self.slurm.layout.constants) {
            // SAFETY: the look-up of the running release's task/affinity.
            answer.resolved = unsafe { launch.resolve(case, self.look_up) };
        }
        answer
    }

    /// task/affinity's answer.
    pub fn theirs(&self, case: &Case, progress: &impl Fn(u8)) -> Answer {
        progress(THEIRS);
        self.answer(case, self.theirs, None)
    }

    fn against(&self, case: &Case, theirs: &Answer, progress: &impl Fn(u8)) -> (Verdict, String) {
        progress(OURS);
        let ours = self.answer(case, self.ours, Some(theirs));
        let verdict = judge(case, theirs, &ours, &self.slurm.layout.constants);
        (
            verdict,
            format!("  task/affinity: {theirs}\n  task/berth:    {ours}"),
        )
    }

    /// Ours with other fixes, the words of plugstack.conf, against an answer of theirs.
    ///
    /// # Errors
    /// Words that our object cannot be given.
    pub fn with_fixes(
        &self,
        compat: &str,
        fixes: &str,
        case: &Case,
        theirs: &Answer,
        progress: &impl Fn(u8),
    ) -> Result<(Verdict, String), String> {
        self.set(compat, fixes)?;
        let (verdict, answers) = self.against(case, theirs, progress);
        Ok((verdict, format!("{answers}\n  with {compat} {fixes}")))
    }

    /// One request through both: the judgement, and both answers as text.
    pub fn compare(&self, case: &Case, progress: impl Fn(u8)) -> (Verdict, String) {
        let theirs = self.theirs(case, &progress);
        self.against(case, &theirs, &progress)
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
    let mut counts = Counts::default();
    let mut out = std::io::stdout().lock();
    for number in chunk.first..chunk.first + chunk.count {
        let case = chunk.case(number, pair.slurm.layout);
        let note = |whose: u8| {
            let mut bytes = [whose; 9];
            bytes[..8].copy_from_slice(&number.to_le_bytes());
            // A note that is lost only makes a crash harder to place.
            let _ = progress.write_all_at(&bytes, 0);
            // SAFETY: takes a number.
            unsafe { libc::alarm(LIMIT) };
        };
        let found = if chunk.by_fix {
            by_fix::compare(pair, &case, &mut counts, &note)?
        } else {
            with_compat(pair, &case, &mut counts, &note)
        };
        if let Some((what, answers)) = found {
            counts.one("differ");
            let line = in_words(&case, pair);
            writeln!(out, "differ: {what}\n{case}\n{answers}\n  {line}\n")
                .map_err(|why| why.to_string())?;
        }
    }
    writeln!(out, "{counts}{END}").map_err(|why| why.to_string())
}

/// Under `compat=affinity` nothing differs.
fn with_compat(
    pair: &Pair,
    case: &Case,
    counts: &mut Counts,
    progress: &impl Fn(u8),
) -> Option<(String, String)> {
    let (verdict, answers) = pair.compare(case, progress);
    match verdict {
        Verdict::Same => counts.one("same"),
        Verdict::Refused => counts.one("refused"),
        Verdict::Aside(why) => counts.one(&format!("aside {why}")),
        Verdict::Differ(what) => return Some((what, answers)),
    }
    None
}

/// How to get our answer again with `berth plan`.
#[must_use]
pub fn in_words(case: &Case, pair: &Pair) -> String {
    plan_line(case, &pair.slurm.layout.constants)
        .unwrap_or_else(|| "berth plan has no words for it".into())
}
