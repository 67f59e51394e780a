//! Slurm's own commands as children with bounds: no input, a time limit, and no more output than they can rightly have. So
//! slurmctld is asked about a job: its fields, and the cores, memory and generic resources that it has on each of its nodes
//! (`scontrol show job -d`).

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use berth_answer::world::OnNode;
use berth_host::{StateDir, announcement};

use super::job_record::{Job, Part, gpus_of, seconds};
use super::state::{self, nodes_of};
use crate::child::{Trouble, run};

/// The most that a program prints as its version, or of a field.
pub(super) const MOST_OF_A_WORD: u64 = 1 << 12;
/// The time that a command gets; slurmctld answers in milliseconds, or not at all.
const LIMIT: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 3000 });

/// Its output, or the reason why there is none, as a part of a sentence.
pub(super) fn output(program: &str, arguments: &[&str], most: u64) -> Result<String, String> {
    let bytes = bytes(program, arguments, most, LIMIT)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The output as it was printed, with a time limit of the caller's, or the reason why there is none. A prolog has no
/// PATH, and Slurm's commands may lie beside its daemons.
fn bytes(program: &str, arguments: &[&str], most: u64, limit: Duration) -> Result<Vec<u8>, String> {
    let run = |program: PathBuf| run(Command::new(program).args(arguments), most, limit);
    let ran = match run(program.into()) {
        Err(Trouble::Start(why)) if why.kind() == io::ErrorKind::NotFound => {
            beside_slurmd(program).map_or(Err(Trouble::Start(why)), run)
        }
        ran => ran,
    };
    ran.map_err(|why| match why {
        Trouble::Start(why) => format!("{program} cannot be started: {why}"),
        Trouble::Slow => {
            let seconds = limit.as_secs_f64();
            format!("{program} gave no answer within {seconds:.0} s")
        }
        Trouble::Failed(_) => format!("{program} failed"),
        Trouble::Long => format!("{program} gave more than {most} bytes"),
    })
}

/// Slurm's command in the folder of the slurmd that announced itself here, or in the `bin` beside that.
fn beside_slurmd(program: &str) -> Option<PathBuf> {
    let base = state::base(None);
    let mut slurmds = nodes_of(&base, None).into_iter().filter_map(|name| {
        let dir = StateDir::new(&base, &name).ok()?;
        Some(PathBuf::from(announcement::read(&dir).ok()?.program))
    });
    slurmds.find_map(|slurmd| {
        let folder = slurmd.parent()?;
        let mut places = [folder.join("../bin"), folder.into()].into_iter();
        places.find_map(|place| Some(place.join(program)).filter(|found| found.is_file()))
    })
}

/// A job of ten thousand unlike nodes has far less.
const MOST: u64 = 4 << 20;
/// All questions about a job together take no longer.
const JOB_LIMIT: Duration = Duration::from_millis(if cfg!(test) { 500 } else { 4000 });
/// A record that changes while it is read is read again.
const TRIES: usize = 3;

/// Asks for a job's part of its nodes.
///
/// # Errors
/// Why slurmctld gave no answer, or none about cores.
pub(super) fn job(id: u32) -> Result<Vec<OnNode>, String> {
    let by = Deadline::new();
    let found = jobs(&id.to_string(), &by)?;
    let job = found.into_iter().find(|job| job.id == id);
    let nodes: Vec<_> = job
        .iter()
        .flat_map(Job::hosts)
        .map(|(name, part)| on_node(name, part))
        .collect();
    match nodes.is_empty() {
        true => Err(format!("scontrol names no cores of job {id}")),
        false => Ok(nodes),
    }
}

fn on_node(name: String, part: &Part) -> OnNode {
    OnNode {
        name,
        cpus: part.cpus(),
        gpus: gpus_of(&part.gres),
    }
}

/// The time by which everything is answered.
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn new() -> Self {
        Self(Instant::now() + JOB_LIMIT)
    }

    fn scontrol(&self, words: &[&str]) -> Result<Vec<u8>, String> {
        let left = self.0.saturating_duration_since(Instant::now());
        bytes("scontrol", words, MOST, left)
    }
}

/// The jobs that scontrol shows for a name such as `12`, `12_3` or `12+1`: those of an array or a
/// heterogeneous job are several.
///
/// # Errors
/// Why slurmctld gave no answer.
pub(crate) fn jobs(name: &str, by: &Deadline) -> Result<Vec<Job>, String> {
    for _ in 0..TRIES {
        let several = ["-d", "show", "job", name];
        let one = ["-o", "-d", "show", "job", name];
        // Asked at the same time they differ least.
        let (several, one) = thread::scope(|scope| {
            let other = scope.spawn(|| by.scontrol(&one));
            (by.scontrol(&several), other.join())
        });
        let one = one.map_err(|_| "a thread of berth's has failed")?;
        if let Some(records) = aligned(&several?, &one?) {
            return Ok(records
                .iter()
                .filter_map(|lines| Job::read(lines))
                .collect());
        }
    }
    Err(format!(
        "slurmctld's record of job {name} changes while berth reads it"
    ))
}

/// The number of threads of a core by slurm.conf, for each of these nodes.
///
/// # Errors
/// Why slurmctld gave no answer.
pub(crate) fn threads(nodes: &str, by: &Deadline) -> Result<HashMap<String, u32>, String> {
    let shown = by.scontrol(&["-o", "show", "node", nodes])?;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let of_line = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?.strip_prefix("NodeName=")?;
        let threads = words.find_map(|word| word.strip_prefix("ThreadsPerCore="))?;
        Some((name.to_owned(), threads.parse().ok()?))
    };
    Ok(shown.lines().filter_map(of_line).collect())
}

/// The time until a job must end, by slurmctld; none if it has no limit or there is no answer.
pub(crate) fn time_left(job: u32) -> Option<Duration> {
    seconds(squeue("%L", job)?.trim()).map(Duration::from_secs)
}

fn squeue(field: &str, job: u32) -> Option<String> {
    let words = ["-h", "-o", field, "-j", &job.to_string()];
    output("squeue", &words, MOST_OF_A_WORD).ok()
}

/// Whether slurmctld says that a job is no longer running; none if there is no answer.
pub(crate) fn is_over(job: u32) -> Option<bool> {
    Some(!squeue("%T", job)?.contains("RUNNING"))
}

/// The end of a line of a record where scontrol prints a record in several lines.
const END: &[u8] = b"\n   ";
/// The beginning of a line about nodes: from 26.05 on its blanks stand only in that form.
const INDENT: &[u8] = b"  ";
const NODES: &[u8] = b"Nodes=";

/// The lines of each record of the two forms; `None` if they are not about the same.
///
/// A user chooses some of the texts in them, such as the job's name, and a text may look like a line. So scontrol is asked
/// for both of its forms: it ends a line of a record with a line break in one form and with a blank in the other, and a
/// user's text is the same in both.
fn aligned(several: &[u8], one: &[u8]) -> Option<Vec<Vec<String>>> {
    let (mut several, mut one) = (several, one);
    let (mut records, mut lines, mut line) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(byte) = several.first() {
        let other = one.first()?;
        if several.starts_with(END) && *other == b' ' {
            lines.push(text(&mut line));
            several = several.get(END.len()..)?;
            if is_indent(several, one.get(1..)?) {
                line.extend_from_slice(INDENT);
                several = several.get(INDENT.len()..)?;
            }
        } else if is_end_of_record(several, one) {
            lines.push(text(&mut line));
            records.push(std::mem::take(&mut lines));
            several = several.get(2..)?;
        } else if byte == other || is_time(*byte, *other) {
            line.push(*byte);
            several = several.get(1..)?;
        } else {
            return None;
        }
        one = one.get(1..)?;
    }
    let is_all = one.is_empty() && line.is_empty() && lines.is_empty();
    is_all.then_some(records)
}

/// A record ends with an empty line in one form and with a line break in the other, and another record
/// or nothing follows.
fn is_end_of_record(several: &[u8], one: &[u8]) -> bool {
    let follows = |rest: &[u8]| rest.is_empty() || rest.starts_with(b"JobId=");
    several.strip_prefix(b"\n\n").is_some_and(follows)
        && one.strip_prefix(b"\n").is_some_and(follows)
}

/// Whether a line about nodes begins here that is indented in one form alone. Only Slurm begins a line.
fn is_indent(several: &[u8], one: &[u8]) -> bool {
    several
        .strip_prefix(INDENT)
        .is_some_and(|rest| rest.starts_with(NODES))
        && one.starts_with(NODES)
}

/// A clock goes on between two questions.
fn is_time(one: u8, other: u8) -> bool {
    one.is_ascii_digit() && other.is_ascii_digit()
}

fn text(line: &mut Vec<u8>) -> String {
    String::from_utf8_lossy(&std::mem::take(line)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_bounds() {
        let shell = |line| output("sh", &["-c", line], 16);
        assert_eq!(shell("echo yes"), Ok("yes\n".into()));
        assert_eq!(shell("exit 3"), Err("sh failed".into()));
        assert!(shell("yes").unwrap_err().contains("more than 16 bytes"));
        assert!(shell("exec sleep 60").unwrap_err().contains("no answer"));
        assert!(output("/no/such", &[], 1).unwrap_err().contains("started"));
    }

    /// Both forms of records with these lines.
    fn forms(records: &[&[&str]]) -> (String, String) {
        let several = records.iter().map(|lines| lines.join("\n   ") + "\n\n");
        let one = records.iter().map(|lines| lines.join(" ") + "\n");
        (several.collect(), one.collect())
    }

    #[test]
    fn no_text_of_a_users_is_a_line() {
        let forged = "JobId=7 JobName=x\n   NodeList=forged\n     Nodes=forged CPU_IDs=0-63 \
                      Mem=0 GRES=\n\nJobId=8 JobName=y\n   UserId=root(0)\n\n";
        for records in [
            &[&[
                "JobId=7 JobName=a b",
                "UserId=u(1)",
                "  Nodes=n1 CPU_IDs=0 Mem=0 GRES=",
            ][..]][..],
            &[&[forged, "UserId=u(1) ", "", "WorkDir=\n   "]],
            &[&["JobId=7 JobName= \n", " x"], &["JobId=8 JobName=\n\n"]],
            &[&["JobId=7 JobName=\n   \n    \n", "\n   UserId=\n ", "  "]],
        ] {
            let (several, one) = forms(records);
            let found = aligned(several.as_bytes(), one.as_bytes()).unwrap();
            assert_eq!(found, records, "{several:?}");
        }
    }

    /// Slurm 26.05.5 prints such records.
    #[test]
    fn lines_about_nodes_are_indented_in_one_form_alone() {
        let forged = "JobId=7 JobName=x\n     Nodes=forged Nodes=forged CPU_IDs=0";
        let lines = [
            forged,
            "UserId=u(1)",
            "  Nodes=n1 CPU_IDs=0 Mem=0 GRES=",
            "x=1",
        ];
        let (several, _) = forms(&[&lines]);
        let one = lines.map(|line| line.trim_start()).join(" ") + "\n";
        let found = aligned(several.as_bytes(), one.as_bytes()).unwrap();
        assert_eq!(found, [lines]);
        // No other line loses its blanks.
        let (several, one) = ("a\n     b\n\n", "a b\n");
        assert_eq!(aligned(several.as_bytes(), one.as_bytes()), None);
    }

    #[test]
    fn only_a_clock_may_go_on_meanwhile() {
        let both = |several: &str, one: &str| aligned(several.as_bytes(), one.as_bytes());
        assert!(both("RunTime=00:00:09\n\n", "RunTime=00:00:10\n").is_some());
        for (several, one) in [
            ("JobName=a\n\n", "JobName=b\n"),
            ("JobName=a\n\n", "JobName=ab\n"),
            ("JobName=ab\n\n", "JobName=a\n"),
            ("JobName=a\n   b\n\n", "JobName=a b c\n"),
            ("JobName=a", "JobName=a"),
            ("a\n\n", "a\nb\n"),
            ("a\n\nb\n\n", "a\n"),
        ] {
            assert_eq!(both(several, one), None, "{several:?} {one:?}");
        }
        assert_eq!(both("", ""), Some(Vec::new()));
    }
}
