//! LSF's cpusets: `--cpuset=CPUSET[KEYWORD=VALUE;…]`. Only the text is read here.
//! In: what stands behind `bsub -extsched`. Out: [`CpusetRequest`], or an error that shows what may
//! stand there. Pure.
//!
//! It is read in two steps: a text becomes [`Words`], in which a keyword may have no value, and words,
//! perhaps merged with those of a partition, become a [`CpusetRequest`]. Blanks do not matter, nor do a
//! last `;`, an attribute that is repeated, and the case of anything but a cpuset's name.

mod attributes;
mod check;
mod cpu_list;
mod error;
mod fail;
mod keyword;
mod name;
mod request;
mod step;
#[cfg(test)]
mod tests;
mod values;
mod words;

pub use attributes::{Attribute, Attributes};
pub use cpu_list::CpuList;
pub use error::CpusetError;
pub use fail::CpusetFail;
pub use keyword::Keyword;
pub use name::CpusetName;
pub use request::{CpusetRequest, Dynamic, Static};
pub use step::{Choice, ExistingCpuset, StepCpuset};
pub use words::Words;

/// Longer texts are refused unread.
pub use crate::sets::limits::CPUSET_BYTES as MAX_LENGTH;
