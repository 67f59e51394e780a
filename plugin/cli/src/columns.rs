//! Rows of cells as lines of text, each column as wide as it must be.

use std::io::{self, Write};

use crate::say::one_line;

/// Widths of columns; a later row with wider cells only looks less tidy.
#[derive(Default)]
pub(crate) struct Columns(Vec<usize>);

impl Columns {
    /// Makes room for a row.
    pub(crate) fn fit<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) {
        for (at, cell) in cells.into_iter().enumerate() {
            if self.0.len() <= at {
                self.0.push(0);
            }
            self.0[at] = self.0[at].max(cell.chars().count());
        }
    }

    /// Writes a row.
    ///
    /// # Errors
    /// Those of `out`.
    pub(crate) fn write<'a>(
        &self,
        out: &mut impl Write,
        cells: impl IntoIterator<Item = &'a str>,
    ) -> io::Result<()> {
        let mut blanks = 0;
        for (at, cell) in cells.into_iter().enumerate() {
            if !cell.is_empty() {
                // A row from a user's file must stay one.
                write!(out, "{:blanks$}{}", "", one_line(cell))?;
                blanks = 0;
            }
            let width = self.0.get(at).copied().unwrap_or_default();
            blanks += width.saturating_sub(cell.chars().count()) + 2;
        }
        writeln!(out)
    }
}

/// All rows at once.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write_rows(out: &mut impl Write, rows: &[Vec<String>]) -> io::Result<()> {
    let mut columns = Columns::default();
    rows.iter()
        .for_each(|row| columns.fit(row.iter().map(String::as_str)));
    rows.iter()
        .try_for_each(|row| columns.write(out, row.iter().map(String::as_str)))
}
