//! Which system calls a launch costs: a process calls the launch hook for launches of several kinds, each between two
//! marks, and strace writes down what it asks of the kernel. A list says what it may.

use std::fs;
use std::path::Path;
use std::process::Command;

use slurm_sys::layout::Constants;

use crate::case::Case;
use crate::machine::{Class, Machine};
use crate::message::{JobOption, Message, Text};
use crate::object::{Object, slurm};
use crate::slurmd::Launch;
use crate::stepd::Step;

/// The kinds of launches.
const KINDS: [&str; 5] = ["plain", "list", "refused", "overcommit", "binding"];
/// The settings that sites have.
const SETTINGS: [&str; 3] = ["compat=berth", "compat=affinity", "shadow=on"];
/// The first launches of a process may ask for more.
const FIRST: u32 = 5;
/// Launches of each kind after those.
const LAUNCHES: usize = 60;
/// `getpriority` for nobody's priorities: what is between these two is a launch.
const MARKS: [u64; 2] = [0x6265_0001, 0x6265_0002];
/// Jobs in turn.
const JOBS: u32 = 5;

fn message(kind: &str, turn: u32, c: &Constants) -> Message {
    let tasks = if kind == "overcommit" { 200 } else { 1 };
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u16);
    let mut case = Case::plain(Machine::regular(1, cpus, 1), tasks, c);
    case.overcommit = tasks > 1;
    case.cpu_bind_type = match kind {
        "list" | "refused" => c.CPU_BIND_MASK as u16,
        "binding" => 0,
        _ => c.CPU_BIND_TO_CORES as u16,
    };
    case.cpu_bind = match kind {
        "list" => Some("0x1".into()),
        "refused" => Some("0x1,zz".into()),
        _ => None,
    };
    let mut message = Message::of(case, c);
    message.step = [1 + turn % JOBS, turn % 4, c.NO_VAL];
    message.nodes = Some(Text::of(&message.case.cred.hosts));
    message.env = ["PATH=/usr/bin", "BERTH_NOTE=a user's"]
        .map(Text::of)
        .into();
    if kind == "binding" {
        // Every other one asks for all cores, of which somebody has some.
        let cores = match turn.is_multiple_of(2) {
            true => 1,
            false => message.case.machine.core_count(),
        };
        let option = JobOption::of_berth("binding", &format!("linear:{cores}"));
        message.options.push(option);
    }
    message
}

/// Calls the hook for the launches of each kind, each time between two marks. The object's state and Slurm's log go to
/// a folder.
///
/// # Errors
/// Where something is missing.
pub fn call(folder: &Path, settings: &str) -> Result<(), String> {
    let (slurm, object) = (slurm()?, Object::ours()?);
    object.set(&[settings], Class::Ldoms(0), folder)?;
    slurm.set_log(Some(&folder.join("log")))?;
    let hooks = object.hooks()?;
    for turn in 0..FIRST + LAUNCHES as u32 {
        for (number, kind) in (0u64..).zip(KINDS) {
            let message = message(kind, turn, &slurm.layout.constants);
            let mut launch = Launch::new(&message, slurm);
            let mark = |which: usize| {
                // SAFETY: takes two numbers; there is no such kind of priority.
                unsafe { libc::syscall(libc::SYS_getpriority, MARKS[which], number) };
            };
            if turn >= FIRST {
                mark(0);
            }
            // SAFETY: a launch hook of an object for the running release.
            unsafe { launch.call(hooks.launch) };
            if turn >= FIRST {
                mark(1);
            }
            // Now and then a slurmstepd says that its step is there.
            if kind == "binding" && turn.is_multiple_of(3) {
                let mut record = Step::new(&mut launch, &message.case, std::process::id() as i32);
                // SAFETY: slurmstepd's hooks of the same object.
                unsafe { record.time(hooks, 0, &mut launch) };
            }
        }
    }
    Ok(())
}

/// Follows a process of this program under each of the settings; whether the launches kept to the list of a file.
///
/// # Errors
/// A process that failed.
pub fn prove(list: &Path) -> Result<bool, String> {
    let text = fs::read_to_string(list).map_err(|why| format!("{}: {why}", list.display()))?;
    let allowed = read(&text)?;
    let mut is_right = true;
    for settings in SETTINGS {
        let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
        let trace = trace(folder.path(), settings, list).map_err(|why| why.to_string())?;
        let wrong = judge(&allowed, &trace);
        println!("{settings}: {} calls are wrong", wrong.len());
        wrong.iter().for_each(|why| println!("  {why}"));
        is_right &= wrong.is_empty();
    }
    Ok(is_right)
}

/// Lines of strace; a descriptor has its file's name behind it.
fn trace(folder: &Path, settings: &str, list: &Path) -> std::io::Result<String> {
    let file = folder.join("trace");
    let done = Command::new("strace")
        .args(["-qq", "-y", "-e", "signal=none", "-o"])
        .arg(&file)
        .arg(std::env::current_exe()?)
        .arg("calls")
        .arg(list)
        .args(["--settings", settings, "--folder"])
        .arg(folder)
        .output()
        .map_err(|why| std::io::Error::other(format!("strace: {why}")))?;
    if !done.status.success() {
        let why = String::from_utf8_lossy(&done.stderr);
        return Err(std::io::Error::other(format!(
            "strace: {}: {why}",
            done.status
        )));
    }
    let text = String::from_utf8_lossy(&fs::read(file)?).into_owned();
    Ok(text.replace(&*folder.to_string_lossy(), "STATE"))
}

/// A call that launches may make.
struct Allowed<'a> {
    /// `*` for all.
    kinds: &'a str,
    /// The most of one launch.
    most: usize,
    /// How its line begins; `*` stands for any text.
    call: &'a str,
}

impl Allowed<'_> {
    fn fits(&self, kind: &str, line: &str) -> bool {
        let is_kind = self.kinds == "*" || self.kinds.split(',').any(|name| name == kind);
        let mut pieces = self.call.split('*');
        let rest = line.strip_prefix(pieces.next().unwrap_or_default());
        let rest = pieces.try_fold(rest, |rest, piece| {
            let rest = rest?;
            Some(rest.find(piece).map(|at| &rest[at + piece.len()..]))
        });
        is_kind && rest.flatten().is_some()
    }
}

fn read(text: &str) -> Result<Vec<Allowed<'_>>, String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let allowed = lines.map(|line| {
        let (kinds, rest) = line.split_once(' ')?;
        let (most, call) = rest.trim_start().split_once(' ')?;
        let most = match most {
            "*" => usize::MAX,
            most => most.parse().ok()?,
        };
        let call = call.trim_start();
        Some(Allowed { kinds, most, call })
    });
    let allowed: Option<_> = allowed.collect();
    allowed.ok_or_else(|| "expected lines of KINDS MOST CALL".into())
}

/// The calls of a trace that are not allowed, and launches that are not in it.
fn judge(allowed: &[Allowed<'_>], trace: &str) -> Vec<String> {
    let [begin, end] = MARKS.map(|mark| format!("getpriority({mark:#x}"));
    let (mut wrong, mut seen, mut lines) = (Vec::new(), [0; KINDS.len()], trace.lines());
    while let Some(mark) = lines.find(|line| line.starts_with(&begin)) {
        let of_mark = |number: &usize| mark.contains(&format!(", {number})"));
        let number = (0..KINDS.len()).find(of_mark).unwrap_or_default();
        let kind = KINDS[number];
        let calls: Vec<_> = lines
            .by_ref()
            .take_while(|line| !line.starts_with(&end))
            .collect();
        // A launch without any call was not looked at.
        seen[number] += usize::from(!calls.is_empty());
        let mut often = vec![0; allowed.len()];
        for line in calls {
            let place = allowed.iter().position(|call| call.fits(kind, line));
            let within = place.is_some_and(|at| {
                often[at] += 1;
                often[at] <= allowed[at].most
            });
            if !within {
                wrong.push(format!("{kind}: {line}"));
            }
        }
    }
    if seen != [LAUNCHES; KINDS.len()] {
        wrong.push(format!("launches of {KINDS:?} that were seen: {seen:?}"));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(list: &str, calls: &str) -> Vec<String> {
        let launches = (0..KINDS.len()).map(|kind| {
            let [begin, end] =
                MARKS.map(|mark| format!("getpriority({mark:#x} /* PRIO_??? */, {kind}) = -1"));
            format!("nanosleep()\n{begin}\n{calls}\n{end}\n").repeat(LAUNCHES)
        });
        let mut wrong = judge(&read(list).unwrap(), &launches.collect::<String>());
        wrong.sort();
        wrong.dedup();
        wrong
    }

    #[test]
    fn what_no_line_allows_is_forbidden() {
        let list = "# a list\n*  1  access(\"STATE/off\"\nplain,refused  *  futex(*WAKE\n";
        let none: [&str; 0] = [];
        assert_eq!(judged(list, "access(\"STATE/off\", F_OK) = -1"), none);
        let twice = "access(\"STATE/off\", F_OK) = 0\naccess(\"STATE/off\", R_OK) = 0";
        assert_eq!(judged(list, twice).len(), KINDS.len());
        assert_eq!(judged(list, "nanosleep()").len(), KINDS.len());
        let wake =
            ["binding", "list", "overcommit"].map(|kind| format!("{kind}: futex(0x1, WAKE, 1)"));
        assert_eq!(judged(list, "futex(0x1, WAKE, 1)"), wake);
        assert_eq!(judged(list, "futex(0x1, WAIT, 1)").len(), KINDS.len());
        assert_eq!(judge(&read(list).unwrap(), "").len(), 1);
        assert!(read("* 2").is_err() && read("* two brk").is_err());
    }
}
