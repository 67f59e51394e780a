//! The process that calls the hooks: messages of one class under one site's settings, one after
//! the other. It may die; then the file it keeps says over which message.

use std::io::Write;

use crate::fuzz::child::{Ended, Hooks, judge, message};
use crate::fuzz::{making, memory};
use crate::message::{JobOption, Kind, Message};
use crate::part::{END, Part, Progress, WRONG, Whose};
use crate::sums::Sums;

/// How the messages ended, in the order in which [`Tally`] counts them.
pub const KINDS: [&str; 3] = ["launches that go on", "launches refused", "batch scripts"];
/// What is measured of each message, in the order in which [`Tally`] has it.
const MEASURES: [&str; 5] = ["memory", "multiple", "text", "line", "microseconds"];

/// Sums that take no memory as they grow: what the hooks lose is found by counting it.
#[derive(Default)]
struct Tally {
    kinds: [u64; 3],
    wrong: u64,
    computed: u64,
    /// The highest of each measure, and whose it is.
    most: [(u64, u64); 5],
}

impl Tally {
    fn message(&mut self, number: u64, message: &Message, ended: &Ended) {
        let kind = match (message.kind, ended.outcome.rc) {
            (Kind::Tasks, 0) => 0,
            (Kind::Tasks, _) => 1,
            (Kind::Batch, _) => 2,
        };
        self.kinds[kind] += 1;
        let computed = ended.time.as_micros() as u64;
        self.computed += computed;
        let (peak, size) = (ended.usage.peak, message.size().max(4096) as u64);
        let (told, line) = (ended.outcome.told as u64, ended.written.longest as u64);
        let measures = [peak, peak / size, told, line, computed];
        for (most, value) in self.most.iter_mut().zip(measures) {
            *most = (*most).max((value, number));
        }
    }

    fn sums(&self, part: &Part) -> Sums {
        let mut sums = Sums::default();
        for (kind, count) in KINDS.into_iter().zip(self.kinds) {
            sums.counts.many(kind, count);
        }
        sums.counts.many("wrong", self.wrong);
        sums.counts.many("microseconds in the hooks", self.computed);
        for (what, (value, number)) in MEASURES.into_iter().zip(self.most) {
            sums.measure(what, value, || part.replay(number));
        }
        sums
    }
}

/// Sends the messages of a part; tells of each defect on stdout and of the sums at the end.
///
/// # Errors
/// A pipe that nobody reads.
pub fn run(hooks: &mut Hooks, part: &Part, progress: &Progress) -> Result<(), String> {
    let mut tally = Tally::default();
    warm_up(hooks, part);
    let (before, descriptors) = (settled(hooks, part), memory::descriptors());
    for number in part.numbers() {
        progress.note(number, Whose::Ours);
        let message = message(part, number, hooks.slurm.layout);
        let ended = hooks.call(&message);
        tally.message(number, &message, &ended);
        if let Some(why) = judge(&ended) {
            say(part, number, &why, &message)?;
            tally.wrong += 1;
        }
    }
    let (after, open) = (settled(hooks, part), memory::descriptors());
    if after > before
        && let Some(number) = leaking(hooks, part, progress)
    {
        let message = message(part, number, hooks.slurm.layout);
        say(
            part,
            number,
            "each time it is sent, memory is lost",
            &message,
        )?;
        tally.wrong += 1;
    }
    progress.end();
    let mut sums = tally.sums(part);
    sums.counts
        .many("looked through for leaks", u64::from(after > before));
    let more = open.saturating_sub(descriptors) as u64;
    sums.measure("descriptors", more, || part.replay(part.first));
    writeln!(std::io::stdout(), "{sums}{END}").map_err(|why| why.to_string())
}

fn say(part: &Part, number: u64, why: &str, message: &Message) -> Result<(), String> {
    let replay = part.replay(number);
    let text = format!("{WRONG}{why}\n{message}\n  again with: launch-fuzz {replay}\n");
    writeln!(std::io::stdout(), "{text}").map_err(|why| why.to_string())
}

/// What the hooks keep in memory from their first calls on: the machine.
fn warm_up(hooks: &mut Hooks, part: &Part) {
    let mut message = making::plain(0, part.class, hooks.slurm.layout);
    message
        .options
        .push(JobOption::of_berth("binding", "linear:1"));
    message.env = vec![b"_SLURM_SPANK_OPTION_berth_binding=linear:1".to_vec()];
    for kind in [Kind::Tasks, Kind::Batch, Kind::Tasks] {
        message.kind = kind;
        hooks.call(&message);
    }
    message.cpu_bind = Some(b"no list".to_vec());
    message.case.cpu_bind_type = u16::MAX;
    hooks.call(&message);
}

/// What is allocated once the hooks have seen one and the same message again: what they keep of
/// the last machine is then the same.
fn settled(hooks: &mut Hooks, part: &Part) -> isize {
    let message = making::plain(0, part.class, hooks.slurm.layout);
    for _ in 0..2 {
        hooks.call(&message);
    }
    memory::live().unwrap_or(0)
}

/// The first message of a part with which memory grows each time it is sent. Threads of the plugin's allocate meanwhile,
/// so that a few numbers in order prove nothing.
fn leaking(hooks: &mut Hooks, part: &Part, progress: &Progress) -> Option<u64> {
    let mut grows = |number: u64| {
        progress.note(number, Whose::Ours);
        let message = message(part, number, hooks.slurm.layout);
        let mut before = isize::MIN;
        (0..12).all(|_| {
            hooks.call(&message);
            let live = settled(hooks, part);
            live > std::mem::replace(&mut before, live)
        })
    };
    part.numbers().find(|number| grows(*number))
}
