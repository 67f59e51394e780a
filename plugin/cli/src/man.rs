//! `berth man DIR`: the man pages. Those of the command come from the same definitions as --help;
//! `task_berth(8)` and `berth-binding(7)` are files, which are part of the command.
//!
//! `berth completions SHELL`: from the same definitions as --help.

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;

use berth_answer::args::{ignored, values_of};
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use roff::{Roff, bold, roman};

use crate::args::{Cli, CompletionArgs, ManArgs};
use crate::{Failure, say};

/// The day on which the pages last changed; pages of one release are the same everywhere.
const DATE: &str = "2026-12-02";

/// Pages that are written by hand.
const FILES: [(&str, &str); 2] = [
    ("task_berth.8", include_str!("../../man/task_berth.8")),
    ("berth-binding.7", include_str!("../../man/berth-binding.7")),
];

/// Writes `berth.1`, a page for each subcommand, and the others.
///
/// # Errors
/// A folder that cannot be written to.
pub(crate) fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    let write = |name: &str, text: &str| {
        let path = args.dir.join(name);
        fs::write(&path, text).map_err(|why| format!("{}: {why}", path.display()))
    };
    fs::create_dir_all(&args.dir).map_err(|why| format!("{}: {why}", args.dir.display()))?;
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write("berth.1", &page(&command, "berth")?)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = format!("berth-{}", sub.get_name());
        write(&format!("{name}.1"), &page(sub, &name)?)?;
    }
    for (name, text) in FILES {
        write(name, text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The page of one command: clap's sections, and ours behind them.
fn page(command: &Command, name: &str) -> io::Result<String> {
    // The usage of --help: with all options by name it would be longer than the page.
    let usage = command.clone().render_usage().to_string();
    let command = command
        .clone()
        .override_usage(usage.trim_start_matches("Usage: ").to_string())
        .mut_args(|arg| {
            let text = help(&arg);
            let arg = arg.hide_short_help(false).hide_possible_values(true);
            arg.long_help(text)
        });
    let man = Man::new(command.clone())
        .title(name.to_uppercase())
        .date(DATE)
        .source(concat!("berth ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    man.render_options_section(&mut page)?;
    let mut ours = Roff::new();
    if name == "berth-plan" {
        ours.control("SH", ["ACCEPTED AND IGNORED"]);
        ours.text([roman(
            "These options of srun have no influence on where a task runs among its step's cores. They are read, so that a \
             whole line of srun can be given.",
        )]);
        ours.control("PP", []);
        ours.text([roman(ignored().collect::<Vec<_>>().join(", ") + ".")]);
    }
    after(&mut ours, &command);
    environment(&mut ours, name);
    ours.control("SH", ["SEE ALSO"]);
    ours.text([roman(
        "berth(1), berth-plan(1), berth-binding(7), task_berth(8), srun(1)",
    )]);
    ours.to_writer(&mut page)?;
    // Readers of roff know only ASCII for sure.
    Ok(String::from_utf8_lossy(&page).replace('…', "..."))
}

/// The long help of one option with its values. roff breaks before a line that is indented, and warns of an empty one.
fn help(arg: &Arg) -> String {
    let text = arg.get_long_help().or(arg.get_help());
    let text = text.map(ToString::to_string).unwrap_or_default();
    let text = text.split("\n\nValues:").next().unwrap_or_default();
    let mut text = text.replace("\n\n", "\n");
    let described = values_of(arg.get_id().as_str());
    for value in &described {
        text += &format!("\n  {}{}: {}", value.word, value.rest, value.meaning);
    }
    for value in arg
        .get_possible_values()
        .iter()
        .filter(|_| described.is_empty())
    {
        text += &format!("\n  {}", value.get_name());
        text.extend(value.get_help().map(|meaning| format!(": {meaning}")));
    }
    text
}

/// The text behind the options of --help: examples, and the exit codes.
fn after(page: &mut Roff, command: &Command) {
    let Some(text) = command.get_after_help() else {
        return;
    };
    let text = text.to_string();
    let (examples, codes) = text.split_once("Exit code: ").unwrap_or((&text, ""));
    page.control("SH", ["EXAMPLES"]);
    page.control("nf", []);
    for line in examples.lines().filter(|line| *line != "Examples:") {
        page.text([roman(line)]);
    }
    page.control("fi", []);
    if !codes.is_empty() {
        page.control("SH", ["EXIT STATUS"]);
        page.text([roman(codes)]);
    }
}

/// The part of bash's script that completes values with a colon, such as `--cpu-bind=map_cpu:`.
const BASH: &str = include_str!("completions.bash");

/// Prints them.
///
/// # Errors
/// An output that cannot be written.
pub(crate) fn completions(args: &CompletionArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "berth", &mut script);
    let mut out = say::output();
    out.write_all(&script)?;
    if args.shell == Shell::Bash {
        out.write_all(BASH.as_bytes())?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
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
        page.control("TP", []);
        page.text([bold(name)]);
        page.text([roman(meaning)]);
    }
}
