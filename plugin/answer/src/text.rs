//! Text for people, which may come from somebody's file: it never acts as a command to a terminal, and it has a bounded
//! length. Rows of cells become lines, each column as wide as it must be. Where the lines would be too long, lists and
//! masks go on below themselves. Sentences stay in one line, for `grep`.

use std::borrow::Cow;
use std::io::{self, Write};

/// Whether a list in words has a word.
#[must_use]
pub fn has_word(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Text of several lines without other control characters.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    without(text, |letter| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
    })
}

/// Text of one line.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    without(text, char::is_control)
}

fn without(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    match text.contains(&bad) {
        true => text.replace(bad, "\u{fffd}").into(),
        false => text.into(),
    }
}

/// A text that is cut at a number of letters; a cut is marked.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into(),
    }
}

/// The letters at each end of a message that is too long.
const END: usize = 700;

/// A message that may repeat somebody's value: its beginning and its end, where the reason is.
#[must_use]
pub fn short(text: &str) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= 3 * END {
        return text.into();
    }
    let head = text.chars().take(END);
    let tail = text.chars().skip(count - END);
    head.chain(['…']).chain(tail).collect()
}

/// Columns between two cells.
const GAP: usize = 2;
/// A column is made no narrower, because nobody could read it.
const NARROWEST: usize = 12;
/// Hexadecimal digits of a 32-bit word.
const WORD: usize = 8;

/// Widths of columns; a later row with a longer list is folded.
#[derive(Default)]
pub struct Columns(Vec<Column>);

#[derive(Clone, Copy, Default)]
struct Column {
    width: usize,
    has_sentences: bool,
}

impl Columns {
    /// Makes room for a row.
    pub fn fit<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) {
        for (at, cell) in cells.into_iter().enumerate() {
            if self.0.len() <= at {
                self.0.push(Column::default());
            }
            let column = &mut self.0[at];
            column.width = column.width.max(cell.chars().count());
            column.has_sentences |= cell.contains(' ');
        }
    }

    /// Whether a line has more letters.
    pub(crate) fn are_wider_than(&self, letters: usize) -> bool {
        let used: usize = self.0.iter().map(|column| column.width + GAP).sum();
        used > letters + GAP
    }

    /// Takes room from the widest lists until a line has at most so many letters.
    pub(crate) fn fold_to(&mut self, letters: usize) {
        while self.are_wider_than(letters) {
            let lists = self.0.iter_mut().filter(|column| !column.has_sentences);
            let widest = lists.max_by_key(|column| column.width);
            let Some(widest) = widest.filter(|column| column.width > NARROWEST) else {
                return;
            };
            widest.width -= 1;
        }
    }

    /// Writes a row.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write<'a>(
        &self,
        out: &mut impl Write,
        cells: impl IntoIterator<Item = &'a str>,
    ) -> io::Result<()> {
        let lines = self.lines(0, cells);
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    }

    /// The lines of a row's cells from a column on, for [`Self::write_before`].
    pub fn lines<'a>(&self, from: usize, cells: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let columns = self.0.get(from..).unwrap_or_default();
        // A row from a user's file must stay one.
        let cells: Vec<_> = cells.into_iter().map(one_line).collect();
        let parts = cells.iter().enumerate().map(|(at, cell)| {
            let list = columns.get(at).filter(|column| !column.has_sentences);
            folded(cell, list.map_or(usize::MAX, |column| column.width))
        });
        let parts: Vec<_> = parts.collect();
        let count = parts.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let line = |line: usize| {
            let cells = parts
                .iter()
                .map(|part| part.get(line).map_or("", |cell| &**cell));
            padded(columns, cells)
        };
        (0..count).map(line).collect()
    }

    /// Writes a row whose first cells stand before lines that are ready.
    ///
    /// # Errors
    /// Those of `out`.
    pub(crate) fn write_before(
        &self,
        out: &mut impl Write,
        first: &[String],
        lines: &[String],
    ) -> io::Result<()> {
        let columns = self.0.iter().take(first.len());
        let before: usize = columns.clone().map(|column| column.width + GAP).sum();
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                writeln!(out, "{:before$}{line}", "")?;
                continue;
            }
            if line.is_empty() {
                let cells = first.iter().map(|cell| &**cell);
                writeln!(out, "{}", padded(&self.0, cells))?;
                continue;
            }
            for (cell, column) in first.iter().zip(columns.clone()) {
                write!(out, "{:1$}", one_line(cell), column.width + GAP)?;
            }
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

/// One line of cells, without blanks at its end.
fn padded<'a>(columns: &[Column], cells: impl Iterator<Item = &'a str>) -> String {
    let (mut line, mut blanks) = (String::new(), 0);
    for (at, cell) in cells.enumerate() {
        if !cell.is_empty() {
            line.extend(std::iter::repeat_n(' ', blanks));
            line.push_str(cell);
            blanks = 0;
        }
        let width = columns.get(at).map_or(0, |column| column.width);
        blanks += width.saturating_sub(cell.chars().count()) + GAP;
    }
    line
}

/// The pieces of a text, each at most so many letters long. Together they are the whole text, but
/// for the blanks between words of different pieces.
fn folded(text: &str, letters: usize) -> Vec<Cow<'_, str>> {
    if text.chars().nth(letters).is_none() {
        return vec![text.into()];
    }
    if let Some(digits) = text.strip_prefix("0x").filter(|_| letters > 2 + WORD) {
        return mask(digits, letters);
    }
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((end, _)) = rest.char_indices().nth(letters.max(1)) {
        let (piece, more) = rest.split_at(place(rest, end));
        pieces.push(piece.trim_end().into());
        rest = more.trim_start();
    }
    if !rest.is_empty() {
        pieces.push(rest.into());
    }
    pieces
}

/// Where a text is cut that may go on to `end`: at a blank, behind a part of a list, before a socket or core
/// of a topology string, or just there.
fn place(text: &str, end: usize) -> usize {
    // The next letter may be the blank.
    let within = text.get(..=end).unwrap_or(text);
    let behind = |letter: char| text[..end].rfind(letter).map(|at| at + 1);
    // SOCKET,CORE:SOCKET,CORE: a pair stays together.
    let list = behind(':').or_else(|| behind(','));
    let is_topology = text.chars().all(|letter| "SCTsct".contains(letter));
    let object = |letters: [char; 2]| within.rfind(letters).filter(|_| is_topology);
    let all = [
        within.rfind(' ').max(list),
        object(['S', 's']),
        object(['C', 'c']),
    ];
    let cut = all.into_iter().flatten().find(|at| *at > 0);
    cut.unwrap_or(end)
}

/// Hexadecimal digits of a mask in pieces of whole 32-bit words, below each other.
fn mask(digits: &str, letters: usize) -> Vec<Cow<'_, str>> {
    let words = digits.len().div_ceil(WORD);
    let lines = words.div_ceil((letters - 2) / WORD);
    let each = words.div_ceil(lines) * WORD;
    let first = digits.len() - (lines - 1) * each;
    let (head, rest) = digits.split_at(first);
    let mut pieces = vec![Cow::from(format!("0x{head:>each$}"))];
    if first < each {
        pieces = vec![format!("0x{head}").into()];
    }
    let rest = rest.as_bytes().chunks(each).map(String::from_utf8_lossy);
    pieces.extend(rest.map(|digits| Cow::from(format!("  {digits}"))));
    pieces
}

/// `name        text`, folded beside its name.
///
/// # Errors
/// Those of `out`.
pub fn write_named(out: &mut impl Write, width: usize, name: &str, text: &str) -> io::Result<()> {
    const NAME: usize = 12;
    let room = width.saturating_sub(NAME).max(NARROWEST);
    let text = one_line(text);
    for (at, piece) in folded(&text, room).iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        writeln!(out, "{name:<11} {piece}")?;
    }
    Ok(())
}

/// Rows below the heads of their columns.
///
/// # Errors
/// Those of `out`.
pub fn write_table<T: Into<String>>(
    out: &mut impl Write,
    width: usize,
    heads: impl IntoIterator<Item = T>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> io::Result<()> {
    let heads = heads.into_iter().map(Into::into).collect();
    let rows: Vec<_> = std::iter::once(heads).chain(rows).collect();
    write_rows(out, width, &rows)
}

/// All rows at once, in at most so many columns where that can be.
///
/// # Errors
/// Those of `out`.
pub fn write_rows(out: &mut impl Write, width: usize, rows: &[Vec<String>]) -> io::Result<()> {
    let mut columns = Columns::default();
    rows.iter()
        .for_each(|row| columns.fit(row.iter().map(String::as_str)));
    columns.fold_to(width);
    rows.iter()
        .try_for_each(|row| columns.write(out, row.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_break_behind_commas_and_nothing_is_lost() {
        for (text, letters, pieces) in [
            ("0-3,64-67", 20, &["0-3,64-67"][..]),
            ("0-3,64-67", 9, &["0-3,64-67"]),
            ("0-3,64-67", 8, &["0-3,", "64-67"]),
            ("0x0123456789", 5, &["0x012", "34567", "89"]),
            ("0x0123456789ABCDEF", 11, &["0x01234567", "  89ABCDEF"]),
            ("SCTTCTTSCTTCTT", 12, &["SCTTCTT", "SCTTCTT"]),
            ("SCTTCTTCTTCTT", 9, &["SCTTCTT", "CTTCTT"]),
            ("a word and more", 6, &["a word", "and", "more"]),
            ("", 6, &[""]),
            ("äöü,äöü", 4, &["äöü,", "äöü"]),
        ] {
            assert_eq!(folded(text, letters), pieces, "{text}");
        }
    }

    #[test]
    fn the_widest_columns_give_way() {
        let mut columns = Columns::default();
        columns.fit(["", "", "", "a sentence of some length"]);
        let row = ["17", "0-15,64-79,128-143", "0x00000000FFFFFFFF", "x"];
        columns.fit(row);
        columns.fold_to(60);
        let mut out = Vec::new();
        columns.write(&mut out, row).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "17  0-15,64-79,     0x00000000     x\n    128-143           FFFFFFFF\n"
        );
    }
}
