//! The real srun's reading of a line: what it says with `-vvv`, and what slurmctld logs of the
//! request that arrives. A line of which slurmctld never heard was refused by srun.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::file::Case;
use super::ours::plain;
use super::{Said, Told};
use crate::{Cluster, Done};

/// Lines at once; slurmctld's log tells their requests apart by its threads.
const AT_ONCE: usize = 3;

/// Runs so far: each has names of its own in slurmctld's log.
static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Runs every line.
pub(super) fn run(cluster: &Cluster, cases: &[Case]) -> Vec<Said> {
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let next = AtomicUsize::new(0);
    let said = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(at) else {
                        return;
                    };
                    let one = one(cluster, case, format!("run{run}line{at}."));
                    said.lock()
                        .expect("no thread panics with it")
                        .insert(at, one);
                }
            });
        }
    });
    let said = said.into_inner().expect("no thread panics with it");
    said.into_values().collect()
}

fn one(cluster: &Cluster, case: &Case, job: String) -> Said {
    let mut command = cluster.program("timeout");
    command.args(["--kill-after=5", "60", "srun", "-vvv", "-J", &job]);
    // Nothing that the line means may depend on the program.
    command.args(&case.words).arg("true");
    command.envs(case.variables.iter().cloned());
    let output = command.output().expect("srun can be run");
    Said {
        job,
        done: Done::from(output),
    }
}

/// What each line was understood to mean.
pub(super) fn read(cluster: &Cluster, said: &[Said]) -> Vec<Result<Told, String>> {
    let log = cluster.slurmctld_log();
    said.iter().map(|said| told(said, &log)).collect()
}

fn told(said: &Said, log: &str) -> Result<Told, String> {
    let err = &said.done.stderr;
    let Some(block) = block(log, &said.job) else {
        let why = err
            .lines()
            .find(|line| line.contains("error:") || line.contains("fatal:"));
        assert!(
            !said.done.ok(),
            "srun ran what slurmctld never saw: {:#?}",
            said.done
        );
        return Err(why.or(err.lines().next()).unwrap_or_default().into());
    };
    let mut told = of_request(&block);
    told.insert(
        "distribution",
        option(err, "distribution").unwrap_or("-".into()),
    );
    if let Some(bind) = after(err, "CpuBindType=") {
        told.insert("cpu-bind", bind.into());
        let list =
            option(err, "cpu-bind").filter(|_| bind.contains("map_") || bind.contains("mask_"));
        told.extend(list.map(|list| ("list", plain(&list))));
    }
    let tasks = err.lines().find(|line| line.contains("debug:  cpus "));
    let tasks = tasks.and_then(|line| after(line, " tasks "));
    told.extend(tasks.map(|tasks| ("tasks", tasks.trim_end_matches(',').into())));
    Ok(told)
}

/// The word behind a mark.
fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(mark)?;
    let end = match mark {
        "CpuBindType=" => rest.find('\n'),
        _ => rest.find(char::is_whitespace),
    };
    Some(&rest[..end.unwrap_or(rest.len())])
}

/// A line of the "defined options".
fn option(err: &str, name: &str) -> Option<String> {
    err.lines().find_map(|line| {
        let (known, value) = line.strip_prefix("srun: ")?.split_once(" : ")?;
        (known.trim() == name).then(|| value.trim().to_string())
    })
}

/// slurmctld's log of a request, up to the last line that matters here: the lines of the thread
/// that reads the request, since those of another one may stand between them.
fn block(log: &str, job: &str) -> Option<String> {
    let name = format!(" name={job}");
    let mut lines = log.lines().skip_while(|line| !line.ends_with(&name));
    let thread = thread(lines.next()?)?;
    let own = lines.filter(|line| self::thread(line) == Some(thread));
    let mut block = String::new();
    for line in own {
        block.extend([line, "\n"]);
        if line.contains("mem_bind=") {
            break;
        }
    }
    Some(block)
}

/// The thread that wrote a line of the log. Source: `LogTimeFormat=thread_id`.
fn thread(line: &str) -> Option<&str> {
    let (stamp, _) = line.strip_prefix('[')?.split_once("] ")?;
    stamp.split_whitespace().last()
}

fn of_request(block: &str) -> Told {
    // What is not set is the largest number of its field, or one less, or -1.
    let unset = ["4294967294", "65534", "-1"];
    let number = |mark: &str| {
        let found = after(block, mark).unwrap_or("-1");
        if unset.contains(&found) {
            "-".into()
        } else {
            found.to_string()
        }
    };
    let spec = ["core", "thread"].into_iter().find_map(|kind| {
        let count = after(block, &format!(" {kind}_spec="))?;
        Some(format!("{kind}={count}"))
    });
    let mem = after(block, "mem_bind=").unwrap_or_default();
    let (bits, list) = mem.split_once(':').unwrap_or((mem, ""));
    // `none` is written down, and asks for nothing.
    let bits = bits.parse::<u32>().unwrap_or(0) & !2;
    let list = if list == "(null)" {
        String::new()
    } else {
        plain(list)
    };
    Told::from([
        ("ntasks", number(" num_tasks=")),
        ("sockets", number("Sock/Node=")),
        ("cores", number("Core/Sock=")),
        ("threads", number("Thread/Core=")),
        ("ntasks-per-node", number("ntasks_per_node=")),
        ("ntasks-per-core", number("ntasks_per_core=")),
        ("ntasks-per-socket", number("ntasks_per_socket=")),
        ("cpus-per-task", number("cpus_per_task=")),
        ("overcommit", number("overcommit=")),
        ("mem-bind", format!("{bits}:{list}")),
        ("spec", spec.unwrap_or("core=-1".into())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_requests_at_once_are_told_apart() {
        let log = "\
[Nov 22 19:57:40.000001 10 srvcn 0x7f01] debug3: JobDesc: user_id=0 name=a
[Nov 22 19:57:40.000002 10 srvcn 0x7f02] debug3: JobDesc: user_id=0 name=b
[Nov 22 19:57:40.000003 10 srvcn 0x7f01] debug3:    Sock/Node=1
[Nov 22 19:57:40.000004 10 srvcn 0x7f01] debug3:    mem_bind=0:(null)
[Nov 22 19:57:40.000005 10 srvcn 0x7f02] debug3:    Sock/Node=2
[Nov 22 19:57:40.000006 10 srvcn 0x7f02] debug3:    mem_bind=0:(null)
[Nov 22 19:57:40.000007 10 srvcn 0x7f02] debug3:    Sock/Node=3
";
        let sockets = |job| block(log, job).map(|block| of_request(&block)["sockets"].clone());
        assert_eq!(sockets("a").as_deref(), Some("1"));
        assert_eq!(sockets("b").as_deref(), Some("2"));
        assert_eq!(sockets("c"), None);
    }
}
