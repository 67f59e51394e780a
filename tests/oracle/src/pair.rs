//! Both objects in one process, and their answers to one request.

use slurm_sys::layout::Constants;

use crate::answer::Answer;
use crate::case::Case;
use crate::compare::{Verdict, judge, resolved_by_us};
use crate::machine::Class;
use crate::message::Message;
use crate::object::{GetCpuset, Hooks, Object, genuine, slurm};
use crate::run::Here;
use crate::slurmd::{Launch, Slurm};

/// Both, ready.
pub struct Pair {
    /// The running Slurm.
    pub slurm: Slurm,
    /// task/affinity's.
    pub theirs: Hooks,
    /// Ours.
    pub ours: Hooks,
    look_up: GetCpuset,
    object: Object,
    class: Class,
    here: Here,
}

/// A judgement, with both answers in words.
pub type Judged = (Verdict, String);

impl Pair {
    /// Loads both. Our object has the settings, and finds a machine of the class.
    ///
    /// # Errors
    /// Where one is missing.
    pub fn load(settings: &[&str], class: Class, here: Here) -> Result<Self, String> {
        let slurm = slurm()?;
        let (theirs, object) = (genuine()?, Object::ours()?);
        let pair = Self {
            slurm,
            theirs: theirs.hooks()?,
            ours: object.hooks()?,
            look_up: theirs.get_cpuset()?,
            object,
            class,
            here,
        };
        pair.set(settings)?;
        Ok(pair)
    }

    /// Gives our object other settings.
    ///
    /// # Errors
    /// Words that it cannot be given.
    pub fn set(&self, settings: &[&str]) -> Result<(), String> {
        self.object.set(settings, self.class, &self.here.folder)
    }

    /// The numbers of the running Slurm.
    #[must_use]
    pub fn constants(&self) -> &'static Constants {
        &self.slurm.layout.constants
    }

    fn answer(&self, case: &Case, hooks: Hooks, theirs: Option<&Answer>) -> Answer {
        let message = Message::of(case.clone(), self.constants());
        let mut launch = Launch::new(&message, self.slurm);
        // SAFETY: a launch hook of an object for the running release.
        let mut answer = unsafe { launch.answer(hooks.launch) };
        let by = theirs.unwrap_or(&answer);
        if answer.rc == 0 && resolved_by_us(case, by, self.constants()) {
            // SAFETY: the look-up of the running release's task/affinity.
            answer.resolved = unsafe { launch.resolve(case, self.look_up) };
        }
        answer
    }

    /// task/affinity's answer to the request of this number.
    #[must_use]
    pub fn theirs(&self, number: u64, case: &Case) -> Answer {
        self.here.progress.note(number, "task/affinity");
        self.answer(case, self.theirs, None)
    }

    /// Ours beside an answer of theirs.
    #[must_use]
    pub fn judge(&self, number: u64, case: &Case, theirs: &Answer) -> Judged {
        self.here.progress.note(number, "task/berth");
        let ours = self.answer(case, self.ours, Some(theirs));
        let verdict = judge(case, theirs, &ours, self.constants());
        (verdict, format!("{case:?}\n  {theirs:?}\n  {ours:?}"))
    }
}
