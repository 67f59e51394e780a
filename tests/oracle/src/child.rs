//! The comparing process: one class of requests, one after the other. It may crash; then the
//! file it keeps says over which request, and in whose hook.

use std::io::Write;

use slurm_sys::Layout;

use crate::aim::aimed;
use crate::answer::Answer;
use crate::arguments::Files;
use crate::case::Case;
use crate::compare::{Verdict, judge, resolved_by_us};
use crate::counts::Counts;
use crate::machine::{Class, Machine};
use crate::message::Message;
use crate::numa;
use crate::object::{GetCpuset, Hook, Object, StepHooks, slurm};
use crate::part::{END, Part, Progress, WRONG, Whose};
use crate::paths::genuine;
use crate::random::Random;
use crate::slurmd::{Launch, Slurm};
use crate::{by_fix, generate};

/// The settings under which berth's default is compared, fix by fix, and not `compat=affinity`.
pub const BY_FIX: usize = 1;
/// Requests on one machine whose memory domains are asked for.
const PER_MACHINE: u64 = 50;

/// The parts of a run: seven of ten requests where CPUs are threads, two where they are cores, one for machines that
/// our object discovers. At most `most` requests a process.
#[must_use]
pub fn parts(run: &Part, most: u64) -> Vec<Part> {
    let (cores, ldoms) = (run.count / 5, run.count / 10);
    let mut parts = Vec::new();
    let mut next = 0;
    let mut share = |mut count: u64, most: u64, class: &dyn Fn(u64) -> Class| {
        while count > 0 {
            let size = count.min(most.max(1));
            parts.push(Part {
                class: class(Random::new(run.seed ^ next).number()),
                first: next,
                count: size,
                ..*run
            });
            next += size;
            count -= size;
        }
    };
    share(run.count - cores - ldoms, most, &|_| Class::Threads);
    share(cores, most, &|_| Class::Cores);
    if run.settings == BY_FIX {
        let (each, most) = (ldoms / 4, 3 * PER_MACHINE);
        share(each, most, &Class::Uneven);
        share(each, most, &Class::Holes);
        share(each, most, &Class::Irregular);
        share(ldoms - 3 * each, most, &Class::Ldoms);
    } else {
        let each = ldoms / 2;
        share(each, PER_MACHINE, &Class::Irregular);
        share(ldoms - each, PER_MACHINE, &Class::Ldoms);
    }
    parts
}

/// A request of a part, by its number.
#[must_use]
pub fn case(part: &Part, number: u64, layout: &Layout) -> Case {
    made(part, part.seed_of(number), layout)
}

fn made(part: &Part, seed: u64, layout: &Layout) -> Case {
    let make = match part.settings {
        BY_FIX => aimed,
        _ => generate::case,
    };
    make(seed, part.class, layout)
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
    /// Loads both; `compat` is whose behaviour our object has.
    ///
    /// # Errors
    /// What is missing.
    pub fn load(files: &Files, compat: &str) -> Result<Self, String> {
        let slurm = slurm(&files.plugins)?;
        let file = genuine(&files.plugins).ok_or("there is no task_affinity.so")?;
        let theirs = Object::load(&file, libc::RTLD_LAZY)?;
        let ours = Object::load(&files.object, libc::RTLD_LAZY)?;
        let pair = Self {
            slurm,
            theirs: theirs.hook()?,
            ours: ours.hook()?,
            their_step: theirs.step_hooks()?,
            our_step: ours.step_hooks()?,
            look_up: theirs.get_cpuset()?,
            object: ours,
            settings: [
                format!("state_dir={}", files.state.display()),
                format!("command={}", files.command.display()),
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
        let message = Message::of(case.clone(), &self.slurm.layout.constants);
        let mut launch = Launch::new(&message, self.slurm);
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
    pub fn theirs(&self, case: &Case, progress: &impl Fn(Whose)) -> Answer {
        progress(Whose::Theirs);
        self.answer(case, self.theirs, None)
    }

    fn against(
        &self,
        case: &Case,
        theirs: &Answer,
        progress: &impl Fn(Whose),
    ) -> (Verdict, String) {
        progress(Whose::Ours);
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
        progress: &impl Fn(Whose),
    ) -> Result<(Verdict, String), String> {
        self.set(compat, fixes)?;
        let (verdict, answers) = self.against(case, theirs, progress);
        Ok((verdict, format!("{answers}\n  with {compat} {fixes}")))
    }

    /// One request through both: the judgement, and both answers as text.
    pub fn compare(&self, case: &Case, progress: impl Fn(Whose)) -> (Verdict, String) {
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

/// Compares a part; tells of each difference on stdout, and of the sums at the end.
///
/// # Errors
/// A pipe that nobody reads.
pub fn compare(pair: &Pair, part: &Part, progress: &Progress) -> Result<(), String> {
    pretend_domains(part.class);
    let mut counts = Counts::default();
    let mut out = std::io::stdout().lock();
    for number in part.numbers() {
        let case = case(part, number, pair.slurm.layout);
        let note = |whose| progress.note(number, whose);
        let found = match part.settings {
            BY_FIX => by_fix::compare(pair, &case, &mut counts, &note)?,
            _ => with_compat(pair, &case, &mut counts, &note),
        };
        if let Some((what, answers)) = found {
            counts.one("wrong");
            let replay = part.replay(number);
            writeln!(
                out,
                "{WRONG}{what}\n{case}\n{answers}\n  again with: affinity-oracle {replay}\n"
            )
            .map_err(|why| why.to_string())?;
        }
    }
    writeln!(out, "{counts}{END}").map_err(|why| why.to_string())
}

/// One request in words, with both answers.
///
/// # Errors
/// Settings that our object does not take, in words.
pub fn replay(pair: &Pair, part: &Part, seed: u64) -> Result<String, String> {
    pretend_domains(part.class);
    let case = made(part, seed, pair.slurm.layout);
    if part.settings == BY_FIX {
        let found = by_fix::compare(pair, &case, &mut Counts::default(), &|_| {})?;
        return Ok(format!("{case}\n{found:?}"));
    }
    let (verdict, answers) = pair.compare(&case, |_| {});
    Ok(format!("{case}\n{answers}\n{verdict:?}"))
}

/// Under `compat=affinity` nothing differs.
fn with_compat(
    pair: &Pair,
    case: &Case,
    counts: &mut Counts,
    progress: &impl Fn(Whose),
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
