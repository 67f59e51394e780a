//! The step's SPANK options, which srun sends with the launch request whatever `--export` says.
//! Source: src/common/job_options.h, type and text as src/common/plugstack.c writes them.

use crate::error::Error;
use crate::layout::Layout;
use crate::list::for_each;
use crate::record::Record;
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
/// More names than a plugin registers; a list beyond is cut there.
const MOST: usize = 64;
/// Bytes of `OPTION:PLUGIN`; a longer name is no option of ours.
const NAME: usize = 255;

/// A plugin's options in a list of `job_option_info`; none for a null list. If an argument is
/// longer than `most_bytes`, one byte more is copied, which shows that to its reader.
pub(crate) fn read(
    list: *mut c_void,
    (plugin, most_bytes): (&str, usize),
    layout: &'static Layout,
    symbols: &Symbols,
) -> Result<Vec<SpankOption>, Error> {
    let fields = &layout.job_option;
    let mut found = Vec::new();
    let visit = |item| {
        // SAFETY: the list holds job_option_info records, which live as long as the list.
        let Some(record) = (unsafe { Record::new(item) }) else {
            return ControlFlow::Continue(());
        };
        let text = record.text_within(fields.option, "option", NAME);
        let text = text.ok().flatten().unwrap_or_default();
        if let (SPANK, Some((option, of))) = (record.read(fields.r#type), text.split_once(':'))
            && of == plugin
        {
            found.push(SpankOption {
                option: option.to_owned(),
                argument: record.beginning(fields.optarg, most_bytes.saturating_add(1)),
            });
        }
        match found.len() < MOST {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    // SAFETY: the request's own list.
    unsafe { for_each(list, symbols, visit) }?;
    Ok(found)
}
