//! berth's default against task/affinity: every difference must be claimed by one named fix whose
//! condition holds, and go away when that fix alone is switched off.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use berth_placement::Fix;

use crate::answer::Answer;
use crate::case::Case;
use crate::child::Pair;
use crate::compare::{Verdict, judge};
use crate::conditions::{CONDITIONS, Request};
use crate::host;
use crate::object::{Hook, Object};
use crate::slurmd::Launch;
use crate::tally::Tally;

/// Our object several times in one process, each time with its own set of fixes: a copy of the
/// file is another object to the dynamic linker, with settings of its own.
pub struct Fleet<'a> {
    pair: &'a Pair,
    object: PathBuf,
    folder: PathBuf,
    settings: Vec<String>,
    hooks: HashMap<Vec<&'static str>, Hook>,
}

impl<'a> Fleet<'a> {
    /// None loaded yet. `folder` takes the copies, `settings` hold for each.
    #[must_use]
    pub fn new(pair: &'a Pair, object: PathBuf, folder: PathBuf, settings: Vec<String>) -> Self {
        Self {
            pair,
            object,
            folder,
            settings,
            hooks: HashMap::new(),
        }
    }

    /// The hook of berth's default without some fixes.
    fn without(&mut self, off: &[Fix]) -> Result<Hook, String> {
        let names: Vec<_> = off.iter().map(|fix| fix.name()).collect();
        if let Some(hook) = self.hooks.get(&names) {
            return Ok(*hook);
        }
        let copy = self.folder.join(format!("berth-{}.so", self.hooks.len()));
        std::fs::copy(&self.object, &copy).map_err(|why| why.to_string())?;
        let object = Object::load(&copy, libc::RTLD_LAZY)?;
        let words: Vec<_> = names.iter().map(|name| format!("-{name}")).collect();
        let mut settings = self.settings.clone();
        settings.push("compat=berth".into());
        if !words.is_empty() {
            settings.push(format!("fixes={}", words.join(",")));
        }
        // As in a slurmd that has just started; the last launch's record is gone.
        host::conf.store(std::ptr::null_mut(), Ordering::Relaxed);
        object.set(&settings)?;
        let hook = object.hook()?;
        self.hooks.insert(names, hook);
        Ok(hook)
    }

    fn answer(&mut self, case: &Case, off: &[Fix]) -> Result<Answer, String> {
        let hook = self.without(off)?;
        // SAFETY: a launch hook of an object for the running release.
        Ok(unsafe { Launch::new(case, self.pair.slurm).run(hook) })
    }

    fn equal(&mut self, case: &Case, theirs: &Answer, off: &[Fix]) -> Result<bool, String> {
        let ours = self.answer(case, off)?;
        Ok(self.is_equal(case, theirs, &ours))
    }

    fn is_equal(&self, case: &Case, theirs: &Answer, ours: &Answer) -> bool {
        let constants = &self.pair.slurm.layout.constants;
        let verdict = judge(case, theirs, ours, constants);
        // A refused step has no environment for a note.
        ours.note.is_none() && matches!(verdict, Verdict::Same | Verdict::Refused)
    }

    /// One request: what it adds to the tally; a text where no fix explains the difference.
    ///
    /// # Errors
    /// An object that cannot be loaded.
    pub fn compare(&mut self, case: &Case, tally: &mut Tally) -> Result<Option<String>, String> {
        // SAFETY: a launch hook of an object for the running release.
        let theirs = unsafe { Launch::new(case, self.pair.slurm).run(self.pair.theirs) };
        let ours = self.answer(case, &[])?;
        let request = Request::new(case, &self.pair.slurm.layout.constants);
        let holding: Vec<Fix> = CONDITIONS
            .iter()
            .filter(|condition| (condition.holds)(&request))
            .map(|condition| condition.fix)
            .collect();
        for fix in &holding {
            tally.of(*fix).held += 1;
        }
        if self.is_equal(case, &theirs, &ours) {
            if theirs.rc == 0 {
                tally.same += 1;
            } else {
                tally.refused += 1;
            }
            return Ok(None);
        }
        let answers = format!("  task/affinity: {theirs}\n  task/berth:    {ours}");
        let found = self.claim(case, &theirs, &holding, tally)?;
        Ok(found.map(|why| format!("{why}\n{case}\n{answers}")))
    }

    /// Finds the fix that a difference goes away with.
    fn claim(
        &mut self,
        case: &Case,
        theirs: &Answer,
        holding: &[Fix],
        tally: &mut Tally,
    ) -> Result<Option<String>, String> {
        let mut claimed = Vec::new();
        for fix in holding {
            if self.equal(case, theirs, &[*fix])? {
                claimed.push(*fix);
            }
        }
        let names: Vec<_> = holding.iter().map(|fix| fix.name()).collect();
        match claimed[..] {
            [fix] => {
                tally.claimed += 1;
                tally.of(fix).claimed += 1;
            }
            // Several at once: together they must explain all of it.
            _ if holding.len() > 1 && self.equal(case, theirs, holding)? => tally.several += 1,
            _ => {
                tally.differ += 1;
                let by = if names.is_empty() {
                    "no fix".into()
                } else {
                    names.join(", ")
                };
                return Ok(Some(format!("differ by default, and not by {by}")));
            }
        }
        Ok(None)
    }
}
