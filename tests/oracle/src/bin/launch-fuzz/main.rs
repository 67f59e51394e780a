//! `launch-fuzz`: whole launch messages at random through the real hooks, under an allocator that
//! refuses a hook more than 64 MB.

#[cfg(not(address_sanitizer))]
mod allocator;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use berth_oracle::fuzz::child::{self, Hooks, Part};
use berth_oracle::fuzz::parent::{Found, Runner, parts};
use berth_oracle::fuzz::sending::{self, KINDS};
use berth_oracle::fuzz::{making, memory};
use berth_oracle::machine::{Class, Machine};
use berth_oracle::random::Random;
use berth_oracle::{object, parent, paths};
use clap::Parser;

/// Send launch messages at random through the launch hook and the batch hook
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  launch-fuzz --messages 1000000                a million, from the clock's seed
  launch-fuzz --replay 7 --class threads        one of them, in words

Environment: BERTH_OBJECT and BERTH_COMMAND name the built object and command."
)]
struct Arguments {
    /// How many messages
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    messages: u64,
    /// From which they are made; the same seed gives the same messages [default: the clock]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Messages a process
    #[arg(long, value_name = "N", default_value_t = 2000)]
    chunk: u64,
    /// Processes at a time [default: one for each CPU]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Our object [default: BERTH_OBJECT, else the release build's]
    #[arg(long, value_name = "FILE")]
    object: Option<PathBuf>,
    /// Our command, for memory domains [default: BERTH_COMMAND, else the release build's]
    #[arg(long, value_name = "FILE")]
    command: Option<PathBuf>,
    /// Show one message and send it, by the seed, class and settings that were printed with it
    #[arg(long, value_name = "SEED")]
    replay: Option<u64>,
    /// threads, cores or ldoms:SEED
    #[arg(long, value_parser = Class::read)]
    class: Option<Class>,
    /// Number of the plugin's settings
    #[arg(long, value_name = "N", default_value_t = 0)]
    settings: usize,
    // The part of a process that sends.
    #[arg(long, hide = true, default_value_t = 0)]
    first: u64,
    #[arg(long, hide = true, requires_all = ["class", "state", "seed"])]
    progress: Option<PathBuf>,
    #[arg(long, hide = true)]
    state: Option<PathBuf>,
}

/// No Slurm to do this with; automake's number for a test that was not run.
const NOT_HERE: u8 = 77;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Some(plugins) = paths::plugin_dir() else {
        eprintln!("launch-fuzz: no slurmd is installed here");
        return ExitCode::from(NOT_HERE);
    };
    run(&arguments, &plugins).unwrap_or_else(|why| {
        eprintln!("launch-fuzz: {why}");
        ExitCode::from(2)
    })
}

fn run(a: &Arguments, plugins: &Path) -> Result<ExitCode, String> {
    let object = a.object.clone().unwrap_or_else(berth_tests::object);
    let part = Part {
        class: a.class.unwrap_or(Class::Threads),
        settings: a.settings,
        seed: a.seed.unwrap_or_else(clock),
        first: a.first,
        count: a.messages,
    };
    if let (Some(progress), Some(state)) = (&a.progress, &a.state) {
        let command = a.command.clone().unwrap_or_default();
        let mut hooks = Hooks::load((plugins, &object), (state, &command), &part)?;
        let file = OpenOptions::new().write(true).open(progress);
        let file = file.map_err(|why| format!("{}: {why}", progress.display()))?;
        sending::run(&mut hooks, &part, &file)?;
        return Ok(ExitCode::SUCCESS);
    }
    let layout = object::slurm(plugins)?.layout;
    if let Err(why) = object::can_stand_in(layout.line) {
        eprintln!("launch-fuzz: {why}");
        return Ok(ExitCode::from(NOT_HERE));
    }
    let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
    let command = a.command.clone().unwrap_or_else(berth_tests::command);
    if let Some(seed) = a.replay {
        return replay((plugins, &object), (folder.path(), &command), seed, &part);
    }
    let runner = Runner {
        object,
        command,
        layout,
        folder: folder.path().to_owned(),
        found: Found::default(),
    };
    all(a, &runner, part.seed)
}

fn clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |since| since.as_nanos() as u64)
}

/// One message, in this process.
fn replay(
    objects: (&Path, &Path),
    (state, command): (&Path, &Path),
    seed: u64,
    part: &Part,
) -> Result<ExitCode, String> {
    let machine = Machine::any(part.class, &mut Random::new(0));
    let (shown, value) = parent::show(&machine, state)?;
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var(shown, value) };
    let mut hooks = Hooks::load(objects, (state, command), part)?;
    let settings = child::SETTINGS[part.settings].join(" ");
    let message = making::message(seed, part.class, hooks.slurm.layout);
    println!("{message}\n  settings: {settings}");
    let ended = hooks.call(&message);
    println!("{ended:?}");
    let wrong = child::judge(&ended);
    println!("{}", wrong.as_deref().unwrap_or("nothing wrong"));
    Ok(ExitCode::from(u8::from(wrong.is_some())))
}

fn all(a: &Arguments, runner: &Runner, seed: u64) -> Result<ExitCode, String> {
    let (object, line) = (runner.object.display(), runner.layout.line);
    println!(
        "{} messages, --seed {seed}: {object} of Slurm {line}",
        a.messages
    );
    let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
    let start = Instant::now();
    let sums = runner.run(
        &parts(a.messages, seed, a.chunk),
        a.jobs.unwrap_or_else(cpus),
    )?;
    let seconds = start.elapsed().as_secs_f64();
    let of = |name| sums.counts.of(name);
    let sent: u64 =
        KINDS.iter().map(|name| of(name)).sum::<u64>() + of("sent before a process died");
    println!(
        "  {sent} sent in {seconds:.0} s, {:.0} a second",
        sent as f64 / seconds
    );
    let computed = of("microseconds in the hooks") as f64 / 1e6;
    println!("  the hooks computed for {computed:.1} s");
    for name in KINDS {
        println!("  {} {name}", of(name));
    }
    for (what, measure) in [
        ("bytes at a hook's worst moment", "memory"),
        ("times the message at that moment", "multiple"),
        ("bytes told the user", "text"),
        ("bytes in a line of the log", "line"),
        ("microseconds of computing", "microseconds"),
        ("descriptors that stayed open in a process", "descriptors"),
    ] {
        let (value, whose) = sums.most(measure);
        println!("  at most {value} {what}: {whose}");
    }
    let (wrong, died) = (of("wrong"), of("processes that died"));
    println!(
        "  {wrong} wrong ({died} of them killed their process); limit {} MB",
        memory::LIMIT >> 20
    );
    for (kind, count) in runner.found.kinds().under("") {
        println!("  {count} times: {kind}");
    }
    let proves = KINDS.iter().all(|name| of(name) > 0);
    if !proves {
        println!("  one kind was never seen, which proves nothing");
    }
    Ok(ExitCode::from(u8::from(wrong > 0 || !proves)))
}
