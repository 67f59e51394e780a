//! A step's `--cpuset`, from the option's text and the submitting command's word beside it.

use berth_placement::CpusetRequest;
use berth_placement::request::cpuset::{Keyword, Words};
use berth_placement::sets::bounded::shown;
use berth_placement::sets::limits::USER_TEXT;

use crate::step::cpuset_size::Size;

/// A request as the job made it, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpusetOption {
    words: Words,
    /// Whether it is the cpuset of all steps of the job.
    pub of_job: bool,
    /// CPUs on each node, where the request does not say how many.
    cpus: Option<u32>,
}

impl CpusetOption {
    /// Reads the option's text.
    ///
    /// # Errors
    /// What is wrong with the request, for the user.
    pub(crate) fn read(text: Option<&str>, size: Size) -> Result<Option<Self>, String> {
        let Some(text) = text else {
            return Ok(None);
        };
        let words: Words = text.parse().map_err(|why| wrong(&why))?;
        CpusetRequest::of(&words).map_err(|why| wrong(&why))?;
        Ok(Some(Self {
            words,
            of_job: size.of_job,
            cpus: size.cpus,
        }))
    }

    /// Its words, with the number of CPUs.
    pub(crate) fn words(&self) -> Words {
        let words = self.words.clone();
        match self.cpus {
            Some(cpus) => words.with_ncpus(cpus),
            None => words,
        }
    }

    /// Whether the user wrote the number of CPUs.
    pub(crate) fn has_ncpus(&self) -> bool {
        self.words.get(Keyword::Ncpus).is_some()
    }

    /// The request, with the number of CPUs.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(crate) fn request(&self) -> Result<CpusetRequest, String> {
        CpusetRequest::of(&self.words()).map_err(|why| wrong(&why))
    }
}

fn wrong(why: &impl ToString) -> String {
    shown(USER_TEXT, why.to_string())
}
