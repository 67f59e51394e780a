//! The step's SPANK options, which srun sends with the launch request whatever `--export` says.
//! Source: src/common/job_options.h, type and text as src/common/plugstack.c writes them.

use crate::error::Error;
use crate::layout::Layout;
use crate::record::{Record, for_each};
use crate::symbols::Symbols;
use std::ffi::c_void;
use std::ops::ControlFlow;

/// One option of one SPANK plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpankOption {
    /// The option's name without dashes.
    pub option: String,
    /// The user's value for it.
    pub argument: Option<String>,
}

/// OPT_TYPE_SPANK of src/common/plugstack.c (spank.c from 23.02 on).
const SPANK: i32 = 0x4400;
/// More names than a plugin registers.
const MOST: usize = 64;
/// More options than the plugins of any site register, of which srun sends each once. slurmd walks the list under
/// locks for which every launch of the node waits.
const MOST_OF_ALL: usize = 1024;
/// Bytes of `OPTION:PLUGIN`; a longer name is no option of ours.
const NAME: usize = 255;

/// A plugin's options in a list of `job_option_info`; none for a null list. If an argument is
/// longer than `most_bytes`, one byte more is copied, which shows that to its reader.
///
/// # Errors
/// [`Error::TooMany`] for a list of more items than any srun sends; what follows them is not read.
pub(crate) fn read(
    list: *mut c_void,
    (plugin, most_bytes): (&str, usize),
    layout: &'static Layout,
    symbols: &Symbols,
) -> Result<Vec<SpankOption>, Error> {
    let mut seen = 0;
    let mut found = Vec::new();
    let mut too_many = None;
    let visit = |item| {
        seen += 1;
        if seen <= MOST_OF_ALL {
            found.extend(ours(item, (plugin, most_bytes), layout));
        }
        too_many = match (seen > MOST_OF_ALL, found.len() > MOST) {
            (true, _) => Some(("SPANK options", MOST_OF_ALL)),
            (false, true) => Some(("options of one SPANK plugin", MOST)),
            (false, false) => None,
        };
        match too_many {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    };
    // SAFETY: the request's own list.
    unsafe { for_each(list, symbols, visit) }?;
    match too_many {
        Some((what, limit)) => Err(Error::TooMany { what, limit }),
        None => Ok(found),
    }
}

/// The option that an item of the list is, if it is one of the plugin's.
fn ours(
    item: *mut c_void,
    (plugin, most_bytes): (&str, usize),
    layout: &'static Layout,
) -> Option<SpankOption> {
    let fields = &layout.job_option;
    // SAFETY: the list holds job_option_info records, which live as long as the list.
    let record = unsafe { Record::new(item) }?;
    let text = record.text_within(fields.option, "option", NAME).ok()??;
    let (option, of) = text.split_once(':')?;
    let is_ours = record.read(fields.r#type) == SPANK && of == plugin;
    is_ours.then(|| SpankOption {
        option: option.to_owned(),
        argument: record.beginning(fields.optarg, most_bytes.saturating_add(1)),
    })
}
