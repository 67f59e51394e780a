//! The place of the fields that we use in each release, and the choice of the table for a running
//! Slurm. In: line and micro. Out: a table, or the reason why there is none. Pure. Source of the
//! tables: `layouts.json`, by way of `build.rs`.

use crate::line::{Line, UnknownLine, Version};
use std::ffi::{c_char, c_void};
use std::marker::PhantomData;

/// Where a record keeps one field of type `T`; `build.rs` checked that the C field has `T`'s size.
#[derive(Debug)]
pub struct Field<T> {
    offset: usize,
    kind: PhantomData<fn() -> T>,
}

impl<T> Field<T> {
    /// A field at `offset`: only the generated tables make one.
    const fn at(offset: usize) -> Field<T> {
        Field {
            offset,
            kind: PhantomData,
        }
    }

    /// Bytes from the start of the record.
    pub fn offset(self) -> usize {
        self.offset
    }
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

/// A record inside a record: it has an offset and is read through its own fields.
#[derive(Clone, Copy, Debug)]
pub struct Nested;

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

impl Layout {
    /// Every table, oldest release first.
    pub fn all() -> &'static [Layout] {
        &LAYOUTS
    }

    fn is_verified(&self, micro: u8) -> bool {
        micro <= self.last_verified_micro || self.also_checked.contains(&micro)
    }

    /// The last micro release this table was checked against.
    fn newest_checked(&self) -> u8 {
        self.also_checked
            .iter()
            .copied()
            .fold(self.last_verified_micro, u8::max)
    }
}

/// The choice of a table for a release.
#[derive(Clone, Debug)]
pub enum Chosen {
    /// The table was checked against this very release.
    Known(&'static Layout),
    /// The table is used, after a log line with this text: the micro is newer than our checks, or
    /// unknown.
    Flagged(&'static Layout, String),
    /// No record may be touched; the text gives the reason and what to do.
    Inert(String),
}

impl Chosen {
    /// The table, unless inert.
    pub fn layout(&self) -> Option<&'static Layout> {
        match self {
            Chosen::Known(layout) | Chosen::Flagged(layout, _) => Some(layout),
            Chosen::Inert(_) => None,
        }
    }
}

/// The table for a release. With `strict` only releases that were checked get one.
pub fn choose(line: Result<Line, UnknownLine>, micro: Option<u8>, strict: bool) -> Chosen {
    let line = match line {
        Ok(line) => line,
        Err(unknown) => return Chosen::Inert(unknown_line(unknown)),
    };
    let found = match micro {
        Some(micro) => by_micro(line, micro),
        None => without_micro(line),
    };
    match found {
        Err(why) => Chosen::Inert(why),
        Ok((layout, None)) => Chosen::Known(layout),
        Ok((_, Some(Doubt { found, cure }))) if strict => Chosen::Inert(format!(
            "{found}; because of strict=on no step is bound here; set strict=off or {cure}"
        )),
        Ok((layout, Some(Doubt { found, cure }))) => Chosen::Flagged(
            layout,
            format!("{found}; its tables are used after the sanity checks; {cure}"),
        ),
    }
}

/// Why a table may not fit the running release.
struct Doubt {
    found: String,
    cure: String,
}

/// A table, with what makes it doubtful; or why there is none.
type TableChoice = Result<(&'static Layout, Option<Doubt>), String>;

fn of_line(line: Line) -> impl DoubleEndedIterator<Item = &'static Layout> {
    Layout::all()
        .iter()
        .filter(move |layout| layout.line == line)
}

fn by_micro(line: Line, micro: u8) -> TableChoice {
    let Some(layout) = of_line(line).rfind(|layout| layout.first_micro <= micro) else {
        return Err(unknown_line(UnknownLine {
            api_version: None,
            plugin_version: Some(line.plugin_version() | u32::from(micro)),
        }));
    };
    if layout.is_verified(micro) {
        return Ok((layout, None));
    }
    let release = |micro| Version {
        line,
        micro: Some(micro),
    };
    let (is, newest) = (release(micro), release(layout.newest_checked()));
    let doubt = match micro > layout.newest_checked() {
        true => Doubt {
            found: format!("this is Slurm {is}, but berth was checked only up to {newest}"),
            cure: "look for a newer berth".into(),
        },
        false => Doubt {
            found: format!(
                "this is Slurm {is}, with which berth was not checked, while {newest} was"
            ),
            cure: format!("upgrade Slurm to {newest}"),
        },
    };
    Ok((layout, Some(doubt)))
}

fn without_micro(line: Line) -> TableChoice {
    if line == Line::V23_02 {
        return Err(format!(
            "this is Slurm {line}, but its micro release could not be found out, and 23.02.0 \
             keeps its records elsewhere than 23.02.1; no step is bound here; check that \
             PluginDir holds Slurm's own plugins"
        ));
    }
    let layout = of_line(line).next_back().ok_or_else(|| {
        unknown_line(UnknownLine {
            api_version: None,
            plugin_version: Some(line.plugin_version()),
        })
    })?;
    let doubt = Doubt {
        found: format!(
            "this is Slurm {line}, but its micro release could not be found out, and berth was \
             checked with {line}.{}",
            layout.last_verified_micro
        ),
        cure: "check that PluginDir holds Slurm's own plugins".into(),
    };
    Ok((layout, Some(doubt)))
}

fn unknown_line(unknown: UnknownLine) -> String {
    let known: Vec<String> = Line::all().map(|line| line.to_string()).collect();
    format!(
        "this is Slurm {unknown}, but berth knows only {}; no step is bound here; install a release \
         of berth that supports it, or remove task/berth from TaskPlugin",
        known.join(", ")
    )
}
