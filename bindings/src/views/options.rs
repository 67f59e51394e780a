//! The step's SPANK options, which srun sends with the launch request whatever `--export` says.
//! Source: src/common/job_options.h, type and text as src/common/plugstack.c writes them.

use crate::error::Error;
use crate::layout::Layout;
use crate::record::Record;
use crate::symbols::Symbols;
use std::ffi::{c_int, c_void};

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

/// The data that the callback needs and gathers.
struct Walk<'a> {
    layout: &'static Layout,
    plugin: &'a str,
    most_bytes: usize,
    found: Vec<SpankOption>,
}

/// A plugin's options in a list of `job_option_info`; none for a null list. If an argument is
/// longer than `most_bytes`, one byte more is copied, which shows that to its reader.
pub(crate) fn read(
    list: *mut c_void,
    (plugin, most_bytes): (&str, usize),
    layout: &'static Layout,
    symbols: &Symbols,
) -> Result<Vec<SpankOption>, Error> {
    if list.is_null() {
        return Ok(Vec::new());
    }
    let for_each = symbols
        .slurm_list_for_each
        .ok_or(Error::MissingSymbol("slurm_list_for_each"))?;
    let mut walk = Walk {
        layout,
        plugin,
        most_bytes,
        found: Vec::new(),
    };
    // SAFETY: the request's own list; `visit` gets the pointer passed here, during the call only.
    unsafe { for_each(list, visit, (&raw mut walk).cast()) };
    Ok(walk.found)
}

/// Negative ends the walk (src/common/list.c).
unsafe extern "C" fn visit(item: *mut c_void, walk: *mut c_void) -> c_int {
    // SAFETY: `read` passes its Walk, and no other reference to it is used meanwhile.
    let walk = unsafe { &mut *walk.cast::<Walk<'_>>() };
    // SAFETY: the list holds job_option_info records, which live as long as the list.
    let Some(record) = (unsafe { Record::new(item) }) else {
        return 0;
    };
    let fields = &walk.layout.job_option;
    let text = record.text_within(fields.option, "option", NAME);
    let text = text.ok().flatten().unwrap_or_default();
    if let (SPANK, Some((option, plugin))) = (record.read(fields.r#type), text.split_once(':'))
        && plugin == walk.plugin
    {
        walk.found.push(SpankOption {
            option: option.to_owned(),
            argument: record.beginning(fields.optarg, walk.most_bytes.saturating_add(1)),
        });
    }
    if walk.found.len() < MOST { 0 } else { -1 }
}
