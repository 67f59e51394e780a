//! `launch-fuzz`: whole launch messages at random through the real hooks, under an allocator that
//! refuses a hook more than 64 MB.

#[cfg(not(address_sanitizer))]
mod allocator;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use berth_oracle::arguments::{Common, NOT_HERE};
use berth_oracle::fuzz::child::{self, Hooks};
use berth_oracle::fuzz::sending::{self, KINDS};
use berth_oracle::fuzz::{making, memory};
use berth_oracle::part::Part;
use berth_oracle::sums::Sums;
use berth_oracle::{object, paths};
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
    #[command(flatten)]
    common: Common,
}

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
    let mut part = a.common.part(clock());
    if let Some((progress, state)) = a.common.sends()? {
        let mut hooks = Hooks::load(&a.common.files(plugins, state), &part)?;
        sending::run(&mut hooks, &part, &progress)?;
        return Ok(ExitCode::SUCCESS);
    }
    let layout = object::slurm(plugins)?.layout;
    if let Err(why) = object::can_stand_in(layout.line) {
        eprintln!("launch-fuzz: {why}");
        return Ok(ExitCode::from(NOT_HERE));
    }
    let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
    if let Some(seed) = a.common.replay {
        a.common.pretend(folder.path())?;
        let mut hooks = Hooks::load(&a.common.files(plugins, folder.path()), &part)?;
        return Ok(replay(&mut hooks, &part, seed));
    }
    part.count = a.messages;
    let show = |part: &_, number| child::message(part, number, layout).to_string();
    let runner = a.common.runner(folder.path(), &show);
    let (object, line) = (runner.object.display(), layout.line);
    println!(
        "{} messages, --seed {}: {object} of Slurm {line}",
        part.count, part.seed
    );
    let start = Instant::now();
    let sums = runner.run(&child::parts(&part, a.common.chunk.unwrap_or(2000)))?;
    let is_right = report(&sums, start.elapsed().as_secs_f64());
    runner.found.print();
    Ok(ExitCode::from(u8::from(!is_right)))
}

fn clock() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |since| since.as_nanos() as u64)
}

/// One message, in this process.
fn replay(hooks: &mut Hooks, part: &Part, seed: u64) -> ExitCode {
    let settings = child::SETTINGS[part.settings].join(" ");
    let message = making::message(seed, part.class, hooks.slurm.layout);
    println!("{message}\n  settings: {settings}");
    let ended = hooks.call(&message);
    println!("{ended:?}");
    let wrong = child::judge(&ended);
    println!("{}", wrong.as_deref().unwrap_or("nothing wrong"));
    ExitCode::from(u8::from(wrong.is_some()))
}

/// Prints the sums; whether nothing is wrong with them.
fn report(sums: &Sums, seconds: f64) -> bool {
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
    let proves = KINDS.iter().all(|name| of(name) > 0);
    if !proves {
        println!("  one kind was never seen, which proves nothing");
    }
    wrong == 0 && proves
}
