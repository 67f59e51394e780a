//! Every command line that stands on a page: in blocks, in the text, in tables, and in `--help`.
//! In: Markdown, or a help text. Out: the lines with their places, as words.
//! Two crates read the pages with it: the command's tests run its own lines, and the cluster's tests
//! give the lines of srun and sbatch to the real ones.

use std::fs;
use std::path::{Path, PathBuf};

/// The commands whose lines are looked for.
const COMMANDS: [&str; 4] = ["berth", "srun", "sbatch", "salloc"];
/// Headings of columns whose cells are options of srun.
const SRUN_COLUMNS: [&str; 5] = ["srun", "options", "Slurm with berth", "here", "you write"];
/// The heading of a first column whose cells are lines of a log, and no commands.
const LOG_COLUMN: &str = "log line";
/// What a page writes where the reader puts something of his own: a whole word, and its stand-in.
const PLACEHOLDERS: [(&str, &str); 13] = [
    (
        "tests/topologies/name.xml",
        "tests/topologies/sibling-offline.xml",
    ),
    ("N", "2"),
    ("M", "2"),
    ("K", "2"),
    ("LINE", "22.05"),
    ("FILE", "report.json"),
    ("FORMAT", "masks"),
    ("ID", "1"),
    ("CMD", "plan"),
    ("WHERE", "sysfs"),
    ("PROGRAM", "./app"),
    ("NODE=CORES", "n1=0"),
    ("OPTIONS", "-n2"),
];

/// A command line of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLine {
    /// The page and the line's number in it.
    pub place: String,
    /// `berth`, `srun`, `sbatch`, `salloc`; `#SBATCH` for a line of a script; `options` for
    /// options of srun without the command.
    pub command: String,
    /// The words behind the command, with stand-ins for placeholders.
    pub words: Vec<String>,
    /// What the page shows below it.
    pub shown: Vec<String>,
    /// Whether the page calls it an error, in another cell of its row.
    pub is_called_wrong: bool,
}

impl PageLine {
    /// The line as somebody types it.
    pub fn text(&self) -> String {
        let words = self
            .words
            .iter()
            .map(|word| shlex::try_quote(word).unwrap());
        let words: Vec<_> = words.collect();
        format!("{} {}", self.command, words.join(" "))
    }

    /// Whether the page shows that the line is refused.
    pub fn is_shown_refused(&self) -> bool {
        let refused =
            |line: &String| line.starts_with("berth: refused") || line.contains("error: ");
        self.is_called_wrong || self.shown.iter().any(refused)
    }
}

/// The pages below a folder, without what was built.
pub fn pages(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let is_built = name == "target" || name.to_string_lossy().starts_with('.');
            if path.is_dir() && !path.is_symlink() && !is_built {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The lines of all pages below a folder. The log of changes is left out: old lines may stand there.
pub fn of_pages(root: &Path) -> Vec<PageLine> {
    let pages = pages(root).into_iter();
    let pages = pages.filter(|path| path.file_name().unwrap() != "CHANGELOG.md");
    pages
        .flat_map(|path| {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            of_markdown(&name, &fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// The lines of one page.
pub fn of_markdown(page: &str, text: &str) -> Vec<PageLine> {
    let mut found = Vec::new();
    let mut block: Option<Vec<(usize, &str)>> = None;
    let (mut columns, mut is_log) = (Vec::new(), false);
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            match block.take() {
                None => block = Some(Vec::new()),
                Some(lines) => found.extend(of_block(page, &lines)),
            }
        } else if let Some(lines) = &mut block {
            lines.push((number, line));
        } else {
            let place = format!("{page}:{number}");
            let cells = cells(line);
            is_log = cells
                .as_ref()
                .is_some_and(|cells| is_log || cells.first() == Some(&LOG_COLUMN));
            let text = match cells.as_ref().and_then(|cells| cells.first()) {
                Some(logged) if is_log => line.replacen(logged, "", 1),
                _ => line.to_owned(),
            };
            found.extend(of_text(&place, &text));
            if let Some(cells) = cells {
                if columns.is_empty() {
                    columns = cells
                        .iter()
                        .map(|cell| SRUN_COLUMNS.contains(cell))
                        .collect();
                }
                let is_wrong = cells.iter().any(|cell| is_error(cell));
                let ours = cells.iter().zip(&columns).filter(|(_, ours)| **ours);
                for (cell, _) in ours {
                    let mut lines = of_cell(&place, cell);
                    lines
                        .iter_mut()
                        .for_each(|line| line.is_called_wrong = is_wrong);
                    found.extend(lines);
                }
            } else {
                columns.clear();
            }
        }
    }
    found
}

/// The lines of a help text: they stand in its examples, with an explanation behind two blanks.
pub fn of_help(command: &str, text: &str) -> Vec<PageLine> {
    let examples = text.split("Examples:").nth(1).unwrap_or_default();
    let lines = (1..).zip(examples.lines());
    let place = |number: usize| format!("{command} --help, example {number}");
    let line = |text: &str| {
        text.trim()
            .split("  ")
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    lines
        .flat_map(|(number, text)| commands(&place(number), &line(text)))
        .collect()
}

/// A table's cells.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inside = line.strip_prefix('|')?.trim_end().strip_suffix('|')?;
    Some(inside.split('|').map(str::trim).collect())
}

/// A cell that calls the others an error.
fn is_error(cell: &str) -> bool {
    ["an error", "error"]
        .iter()
        .any(|word| cell.starts_with(word))
}

/// Spans of code outside of blocks, which are whole commands.
fn of_text(place: &str, line: &str) -> Vec<PageLine> {
    let spans = line.split('`').skip(1).step_by(2);
    let has_words = spans.filter(|span| span.contains(' '));
    has_words.flat_map(|span| commands(place, span)).collect()
}

/// Options of srun in a cell of a table: one line for each span that begins with a dash.
fn of_cell(place: &str, cell: &str) -> Vec<PageLine> {
    let spans = cell.split('`').skip(1).step_by(2);
    let options = spans.filter(|span| span.starts_with('-'));
    options
        .filter_map(|span| line(place, "options", span))
        .collect()
}

/// The lines of a block. With a `$` before one of them, the others are output; the output's
/// proposals (`instead`) are commands too.
fn of_block(page: &str, lines: &[(usize, &str)]) -> Vec<PageLine> {
    let has_prompt = lines.iter().any(|(_, line)| line.starts_with("$ "));
    let mut found: Vec<PageLine> = Vec::new();
    for (number, line) in lines {
        let place = format!("{page}:{number}");
        let command = match has_prompt {
            true => line.strip_prefix("$ "),
            false => Some(*line),
        };
        match (command, proposal(line)) {
            (Some(command), _) => found.extend(commands(&place, command)),
            (None, Some(proposal)) => {
                let shown = found.last_mut().map(|last| std::mem::take(&mut last.shown));
                found.extend(commands(&place, proposal));
                if let (Some(last), Some(shown)) = (found.last_mut(), shown) {
                    last.shown = shown;
                }
            }
            (None, None) => {
                if let Some(last) = found.last_mut() {
                    last.shown.push((*line).to_owned());
                }
            }
        }
    }
    found
}

/// The line that `berth check` proposes.
fn proposal(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("instead ")?;
    Some(rest.trim_start())
}

/// The commands of a shell line, at its pipes, loops and semicolons.
fn commands(place: &str, text: &str) -> Vec<PageLine> {
    let parts = split(text);
    let parts = parts.iter().filter_map(|part| {
        let part = part
            .trim()
            .trim_start_matches("do ")
            .trim_start_matches("time ");
        let (command, rest) = part.split_once(' ').unwrap_or((part, ""));
        // A word with two blanks behind it is a heading of a column.
        let is_ours =
            (COMMANDS.contains(&command) || command == "#SBATCH") && !rest.starts_with(' ');
        is_ours.then(|| line(place, command, rest)).flatten()
    });
    parts.collect()
}

/// A shell line at `|`, `;` and `&` outside of quotes.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for letter in text.chars() {
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (same, Some(open)) if same == open => quote = None,
            ('|' | ';' | '&', None) => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(letter);
    }
    parts
}

/// One command with stand-ins for its placeholders and without its redirections; `None` where the
/// words are no command line.
fn line(place: &str, command: &str, rest: &str) -> Option<PageLine> {
    let rest = rest.split(" > ").next().unwrap_or_default();
    let words = shlex::split(rest)?;
    let words = words
        .iter()
        .filter(|word| *word != "…")
        .map(|word| stand_in(word));
    Some(PageLine {
        place: place.into(),
        command: command.into(),
        words: words.collect(),
        shown: Vec::new(),
        is_called_wrong: false,
    })
}

fn stand_in(word: &str) -> String {
    let known = PLACEHOLDERS.iter().find(|(name, _)| *name == word);
    if let Some((_, value)) = known {
        return (*value).into();
    }
    if let Some((option, name)) = word.split_once('=')
        && let Some((_, value)) = PLACEHOLDERS.iter().find(|(known, _)| *known == name)
    {
        return format!("{option}={value}");
    }
    // `--binding=env:…`, `map_cpu:…`
    let rest = match word.starts_with("--binding=") {
        true => "linear:1",
        false => "0",
    };
    word.replace('…', rest)
}
