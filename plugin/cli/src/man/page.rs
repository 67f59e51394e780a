//! One man page of the command, as man(7) has it. In: clap's definition. Out: roff.

use clap::builder::StyledStr;
use clap::{Arg, Command};
use roff::{Inline, Roff, bold, italic, roman};

use berth_answer::args::{ignored, values_of};

/// The day on which the pages last changed; pages of one release are the same everywhere.
const DATE: &str = "2026-11-22";

/// The whole page.
pub(super) fn render(command: &Command, name: &str) -> String {
    let mut page = Roff::new();
    let release = format!("berth {}", env!("CARGO_PKG_VERSION"));
    page.control(
        "TH",
        [&*name.to_uppercase(), "1", DATE, &release, "User Commands"],
    );
    let about = plain(command.get_about());
    page.control("SH", ["NAME"]);
    page.text([roman(format!("{name} - {}", first_small(&about)))]);
    synopsis(&mut page, command, name);
    page.control("SH", ["DESCRIPTION"]);
    sentences(
        &mut page,
        &match command.get_long_about() {
            Some(long) => long.to_string(),
            None => format!("{about}."),
        },
    );
    let text = After::of(command);
    if !text.sentences.is_empty() {
        page.control("PP", []);
        page.text([roman(&*text.sentences)]);
    }
    subcommands(&mut page, command);
    options(&mut page, command);
    if name == "berth-plan" {
        page.control("SS", ["Accepted and ignored"]);
        let all: Vec<_> = ignored().collect();
        page.text([roman(
            "These options of srun have no influence on where a task runs among its step's cores. They are read, so that a \
             whole line of srun can be given.",
        )]);
        page.control("PP", []);
        page.text([roman(all.join(", ") + ".")]);
    }
    after(&mut page, text);
    environment(&mut page, name);
    see_also(&mut page, name);
    ascii(&page.render())
}

/// Our own letters beyond ASCII, for readers of roff that know only that.
fn ascii(text: &str) -> String {
    text.replace('…', "...").replace('×', "x")
}

/// clap's text without its styles.
fn plain(text: Option<&StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

fn first_small(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    first.to_lowercase() + rest
}

fn synopsis(page: &mut Roff, command: &Command, name: &str) {
    page.control("SH", ["SYNOPSIS"]);
    let mut line = vec![bold(name.replacen("berth-", "berth ", 1))];
    if command.has_subcommands() {
        line.extend([roman(" "), italic("COMMAND")]);
    }
    line.extend([roman(" ["), italic("OPTION"), roman("]...")]);
    for arg in command.get_positionals().filter(|arg| !arg.is_hide_set()) {
        let (open, close) = match arg.is_required_set() {
            true => ("", ""),
            false => ("[", "]"),
        };
        let dashes = if arg.is_last_set() { "-- " } else { "" };
        let open = roman(format!(" {open}{dashes}"));
        line.extend([open, italic(value_name(arg)), roman(close)]);
    }
    page.text(line);
}

/// Paragraphs; a line that is indented stays a line.
fn sentences(page: &mut Roff, text: &str) {
    for (at, paragraph) in text.split("\n\n").enumerate() {
        if at > 0 {
            page.control("PP", []);
        }
        page.text([roman(paragraph.replace('\n', " "))]);
    }
}

fn subcommands(page: &mut Roff, command: &Command) {
    let shown = |sub: &&Command| !sub.is_hide_set() && sub.get_name() != "help";
    let subs: Vec<_> = command.get_subcommands().filter(shown).collect();
    if subs.is_empty() {
        return;
    }
    page.control("SH", ["COMMANDS"]);
    for sub in subs {
        let name = vec![bold(format!("berth-{}", sub.get_name())), roman("(1)")];
        entry(page, name, &(plain(sub.get_about()) + "."));
    }
}

/// Every option that is not hidden, under its heading.
fn options(page: &mut Roff, command: &Command) {
    let shown = || command.get_arguments().filter(|arg| !arg.is_hide_set());
    page.control("SH", ["OPTIONS"]);
    let mut seen = Vec::new();
    for heading in shown().map(Arg::get_help_heading) {
        if seen.contains(&heading) {
            continue;
        }
        seen.push(heading);
        if let Some(heading) = heading {
            page.control("SS", [heading]);
        }
        let below = shown().filter(|arg| arg.get_help_heading() == heading);
        below.for_each(|arg| option(page, arg));
    }
}

/// A name in a list with what it means.
fn entry(page: &mut Roff, name: Vec<Inline>, meaning: &str) {
    page.control("TP", []);
    page.text(name);
    page.text([roman(meaning)]);
}

fn option(page: &mut Roff, arg: &Arg) {
    let text = plain(arg.get_long_help().or(arg.get_help()));
    // The values of the long help follow as a list.
    let text = text.split("\n\nValues:").next().unwrap_or_default();
    entry(page, names(arg), &sentence(&text.replace("\n\n", " ")));
    let takes_values = arg.get_action().takes_values();
    let defaults = arg.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && takes_values {
        page.text([roman(format!("The default is {}.", defaults.join(" ")))]);
    }
    let described = values_of(arg.get_id().as_str()).into_iter();
    let described = described.map(|one| (one.word.to_string(), one.rest, one.meaning.to_string()));
    let mut list: Vec<_> = described.collect();
    if list.is_empty() && takes_values {
        let known = arg.get_possible_values().into_iter();
        let known = known.map(|one| (one.get_name().into(), "", plain(one.get_help())));
        list = known.collect();
    }
    if list.is_empty() {
        return;
    }
    if list.iter().all(|(_, _, meaning)| meaning.is_empty()) {
        let words: Vec<_> = list.into_iter().map(|(word, ..)| word).collect();
        page.text([roman(format!("The values are {}.", words.join(", ")))]);
        return;
    }
    page.control("RS", []);
    for (word, rest, meaning) in list {
        entry(page, vec![bold(word), italic(rest)], &sentence(&meaning));
    }
    page.control("RE", []);
}

/// `-n, --ntasks N`
fn names(arg: &Arg) -> Vec<Inline> {
    let mut all = Vec::new();
    if let Some(letter) = arg.get_short() {
        all.push(bold(format!("-{letter}")));
    }
    if let Some(name) = arg.get_long() {
        all.extend((!all.is_empty()).then(|| roman(", ")));
        all.push(bold(format!("--{name}")));
    }
    if all.is_empty() {
        return vec![italic(value_name(arg))];
    }
    let count = arg.get_num_args().unwrap_or_default();
    if !arg.get_action().takes_values() || count.max_values() == 0 {
        return all;
    }
    let value = italic(value_name(arg));
    match (arg.is_require_equals_set(), count.min_values()) {
        (true, _) => all.extend([roman("[="), value, roman("]")]),
        (_, 0) => all.extend([roman(" ["), value, roman("]")]),
        _ => all.extend([roman(" "), value]),
    }
    all
}

fn value_name(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let name = names.first().map(ToString::to_string);
    name.unwrap_or_else(|| arg.get_id().as_str().to_uppercase())
}

/// A first large letter and a full stop. Names and words that are typed stay as they are.
fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    let mut letters = text.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    let stays = ["live,", "table,", "berth", "srun", "slurm"];
    let first = match stays.iter().any(|word| text.starts_with(word)) {
        true => first.to_string(),
        false => first.to_uppercase().to_string(),
    };
    let end = if text.ends_with('…') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// The text behind the options of --help: examples, sentences, and the exit codes.
struct After {
    examples: Vec<String>,
    sentences: String,
    codes: Vec<String>,
}

impl After {
    fn of(command: &Command) -> Self {
        let text = plain(command.get_after_help());
        let (examples, rest): (Vec<_>, Vec<_>) =
            text.lines().partition(|line| line.starts_with("  "));
        let rest = rest.into_iter().filter(|line| *line != "Examples:");
        let rest = rest.collect::<Vec<_>>().join(" ");
        let (sentences, codes) = rest.split_once("Exit code: ").unwrap_or((&rest, ""));
        Self {
            examples: examples.into_iter().map(|line| line[2..].into()).collect(),
            sentences: sentences.trim().into(),
            codes: codes_of(codes.trim_end_matches('.')),
        }
    }
}

/// `0 yes, 1 no, or never` as one text for each code.
fn codes_of(text: &str) -> Vec<String> {
    let mut codes: Vec<String> = Vec::new();
    for part in text.split(", ").filter(|part| !part.is_empty()) {
        match codes.last_mut() {
            Some(last) if !part.starts_with(|first: char| first.is_ascii_digit()) => {
                last.push_str(", ");
                last.push_str(part);
            }
            _ => codes.push(part.into()),
        }
    }
    codes
}

/// Exit codes, and examples as they are typed.
fn after(page: &mut Roff, after: After) {
    if !after.codes.is_empty() {
        page.control("SH", ["EXIT STATUS"]);
        for code in after.codes {
            let (number, meaning) = code.split_once(' ').unwrap_or((&code, ""));
            entry(page, vec![bold(number)], &sentence(meaning));
        }
    }
    if !after.examples.is_empty() {
        page.control("SH", ["EXAMPLES"]);
        page.control("nf", []);
        for line in after.examples {
            page.text([roman(line)]);
        }
        page.control("fi", []);
    }
}

fn environment(page: &mut Roff, name: &str) {
    let mut all = vec![(
        "LC_ALL, LC_CTYPE, LANG",
        "Text is in ASCII where the first of them that is set does not name UTF-8, as with --ascii.",
    )];
    if matches!(name, "berth-plan" | "berth-topo") {
        all.push((
            "NO_COLOR",
            "If it is set and not empty, trees have no colours.",
        ));
    }
    if matches!(name, "berth-plan" | "berth-tune") {
        all.push((
            "SLURM_HOSTFILE",
            "The file of hosts for -m arbitrary, as srun reads it.",
        ));
    }
    page.control("SH", ["ENVIRONMENT"]);
    for (name, meaning) in all {
        entry(page, vec![bold(name)], meaning);
    }
}

fn see_also(page: &mut Roff, name: &str) {
    page.control("SH", ["SEE ALSO"]);
    let all = [
        ("berth", "1"),
        ("berth-plan", "1"),
        ("berth-binding", "7"),
        ("task_berth", "8"),
        ("srun", "1"),
    ];
    let others = all.iter().filter(|(other, _)| *other != name);
    let mut line = Vec::new();
    for (other, section) in others {
        line.extend((!line.is_empty()).then(|| roman(", ")));
        line.extend([bold(*other), roman(format!("({section})"))]);
    }
    page.text(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_inside_of_a_code_s_meaning() {
        let codes = codes_of("0 yes, 1 no, or never, 2 a wrong option");
        assert_eq!(codes, ["0 yes", "1 no, or never", "2 a wrong option"]);
        assert!(codes_of("").is_empty());
    }
}
