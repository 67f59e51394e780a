//! Whole launch messages at random through the real hooks of slurmd: whatever a client of a user's
//! own can put into one, but never the credential, which slurmctld has signed, and never an array
//! that is shorter than slurmd's own unpacking leaves it (`_unpack_launch_tasks_request_msg`).

pub mod calls;
pub mod environment;
pub mod log;
pub mod making;
pub mod memory;
pub mod script;
pub mod text;

use slurm_sys::Layout;

use crate::machine::Class;
use crate::message::{JobOption, Kind, Message, Text};
use crate::part::Part;
use crate::random::Random;
use crate::report::Report;
use crate::run::{Here, Proof};
use calls::Site;

/// The settings that sites have; a process has one of these.
const SETTINGS: [&[&str]; 7] = [
    &["compat=berth"],
    &["compat=affinity"],
    &["compat=berth", "shadow=on"],
    &["compat=affinity", "shadow=on"],
    &["binding_default=linear:1"],
    &["binding_default=linear:1", "binding_fail=refuse"],
    &["binding=off"],
];
/// How the messages end; a run sees each of them.
pub const KINDS: [&str; 3] = ["launches that go on", "launches refused", "batch scripts"];

const BYTES: &str = "bytes at a hook's worst moment";
const TIME: &str = "microseconds of computing";

/// The messages that no client sends.
pub struct Messages(pub &'static Layout);

impl Messages {
    fn message(&self, part: &Part, number: u64) -> Message {
        making::message(part.seed_of(number), part.class, self.0)
    }
}

impl Proof for Messages {
    /// Seven of ten messages where CPUs are threads, two where they are cores, one for memory domains;
    /// the settings take turns.
    fn parts(&self, run: &Part, most: u64) -> Vec<Part> {
        let firsts = (0..run.count).step_by(most as usize);
        let part = |(turn, first): (usize, u64)| Part {
            class: match turn % 10 {
                0..=6 => Class::Threads,
                7..=8 => Class::Cores,
                _ => Class::Ldoms(Random::new(run.seed ^ first).number()),
            },
            settings: (turn / 10 + turn) % SETTINGS.len(),
            ..run.only(first..run.count.min(first + most))
        };
        firsts.enumerate().map(part).collect()
    }

    fn send(&self, part: &Part, here: Here) -> Result<Report, String> {
        let mut site = Site::load(SETTINGS[part.settings], part.class, &here)?;
        let mut report = Report::default();
        // From here on the report takes no more memory: a hook's losses are found by counting it.
        KINDS.iter().for_each(|kind| report.many(kind, 0));
        report.measure(BYTES, 0, part.first);
        report.measure(TIME, 0, part.first);
        warm_up(&mut site, part);
        let (before, descriptors) = (settled(&mut site, part), memory::descriptors());
        for number in part.numbers() {
            here.progress.note(number, "task/berth");
            let message = self.message(part, number);
            let ended = site.call(&message);
            report.one(match (message.kind, ended.rc) {
                (Kind::Tasks, 0) => KINDS[0],
                (Kind::Tasks, _) => KINDS[1],
                (Kind::Batch, _) => KINDS[2],
            });
            report.measure(BYTES, ended.usage.peak, number);
            let computed = ended.time.as_micros() as u64;
            report.measure(TIME, computed, number);
            if let Some(why) = ended.judge() {
                report.defect(&why, &self.show(part, number));
            }
        }
        let leaks = settled(&mut site, part) > before;
        if leaks && let Some(number) = self.leaking(&mut site, part, &here) {
            let why = "each time it is sent, memory is lost";
            report.defect(why, &self.show(part, number));
        }
        let open = memory::descriptors();
        if open > descriptors {
            let why =
                format!("{descriptors} descriptors were open before a part, and {open} after it");
            report.defect(&why, &self.show(part, part.first));
        }
        Ok(report)
    }

    fn show(&self, part: &Part, number: u64) -> String {
        let settings = SETTINGS[part.settings].join(" ");
        let message = format!("{:?}", self.message(part, number));
        let message: String = message.chars().take(SHOWN).collect();
        format!("request {number} with {settings}: {message}")
    }
}

/// Letters of a message that are shown.
const SHOWN: usize = 5000;

/// The machine, which the hooks keep in memory from their first calls on.
fn warm_up(site: &mut Site, part: &Part) {
    let mut message = making::plain(0, part.class, site.slurm.layout);
    message
        .options
        .push(JobOption::of_berth("binding", "linear:1"));
    message.env = vec![Text::of("_SLURM_SPANK_OPTION_berth_binding=linear:1")];
    for kind in [Kind::Tasks, Kind::Batch, Kind::Tasks] {
        message.kind = kind;
        site.call(&message);
    }
    message.cpu_bind = Some(Text::of("no list"));
    message.case.cpu_bind_type = u16::MAX;
    site.call(&message);
}

/// Bytes that are allocated once the hooks have seen one and the same message again, so that they keep the same of
/// the last machine.
fn settled(site: &mut Site, part: &Part) -> isize {
    let message = making::plain(0, part.class, site.slurm.layout);
    for _ in 0..2 {
        site.call(&message);
    }
    memory::live()
}

impl Messages {
    /// The first message of a part with which memory grows each time it is sent. Threads of the plugin's allocate
    /// meanwhile, so that a few numbers in order prove nothing.
    fn leaking(&self, site: &mut Site, part: &Part, here: &Here) -> Option<u64> {
        let mut grows = |number: u64| {
            here.progress.note(number, "task/berth");
            let message = self.message(part, number);
            let mut before = isize::MIN;
            (0..12).all(|_| {
                site.call(&message);
                let live = settled(site, part);
                live > std::mem::replace(&mut before, live)
            })
        };
        part.numbers().find(|number| grows(*number))
    }
}
