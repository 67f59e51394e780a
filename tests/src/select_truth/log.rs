//! The cores of jobs and first steps as slurmctld logs them under `DebugFlags=CPU_Bind`.
//! In: a part of slurmctld.log. Out: cores by node name, as (socket × cores of a socket + core).
//! Source: `log_job_resources` and `_dump_step_layout`.

use std::collections::BTreeMap;

use berth_srun::node_lists::{Most, expand};

use super::record::Cores;

/// A job in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LoggedJob {
    /// Its number.
    pub id: u32,
    /// Its nodes, in their order.
    pub names: Vec<String>,
    /// Cores and CPUs of each node.
    pub nodes: BTreeMap<String, (Vec<u32>, u32)>,
    /// Cores of a socket, of each node.
    pub per_socket: Vec<u32>,
}

/// The text of a line behind the time.
fn text(line: &str) -> &str {
    line.split_once("] ").map_or(line, |(_, text)| text)
}

/// The number behind a word such as `Cores:`.
fn behind(line: &str, word: &str) -> Option<u32> {
    let rest = line.split(word).nth(1)?;
    let end = rest
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// The first job that the log shows with its cores.
pub(super) fn job(log: &str) -> Option<LoggedJob> {
    let mut lines = log.lines().map(text);
    let head = lines.find(|line| line.starts_with("JobId=") && line.contains(" nhosts:"))?;
    let list = head.split(" nodes=").nth(1)?;
    let mut job = LoggedJob {
        id: behind(head, "JobId=")?,
        names: expand(list, Most::COMMAND_LINE).ok()?,
        ..LoggedJob::default()
    };
    for line in lines.take_while(|line| !line.starts_with("---") && !line.starts_with("===")) {
        if let Some(at) = behind(line, "Node[") {
            // One entry stands for successive nodes of the same shape only in its first line.
            job.per_socket.resize(at as usize, 0);
        } else if line.contains("Sockets:") {
            let at = job.per_socket.len();
            job.per_socket.push(behind(line, "Cores:")?);
            let name = job.names.get(at)?.clone();
            job.nodes.insert(name, (Vec::new(), behind(line, "CPUs:")?));
        } else if let Some(socket) = behind(line, "Socket[") {
            let core = socket * job.per_socket.last()? + behind(line, "Core[")?;
            let name = job.names.get(job.per_socket.len().checked_sub(1)?)?;
            job.nodes.get_mut(name)?.0.push(core);
        }
    }
    Some(job)
}

/// The cores of the job's first step, as the log shows it last.
pub(super) fn first_step(log: &str, job: &LoggedJob) -> Option<Cores> {
    let head = format!("JobId={} StepId=0", job.id);
    let lines: Vec<_> = log.lines().map(text).collect();
    let last = lines.iter().rposition(|line| *line == head)?;
    let mut cores = Cores::new();
    for line in lines.get(last + 1..)? {
        let Some(at) = behind(line, "JobNode[") else {
            break;
        };
        let core =
            behind(line, "Socket[")? * job.per_socket.get(at as usize)? + behind(line, "Core[")?;
        cores
            .entry(job.names.get(at as usize)?.clone())
            .or_default()
            .push(core);
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_and_its_step() {
        let log = "[t] JobId=7 nhosts:2 ncpus:9 node_req:1 nodes=a[1-2]\n[t] Node[0]:\n\
            [t]   Mem(MB):10:0  Sockets:2  Cores:4  CPUs:4:0\n\
            [t]   Socket[0] Core[1] is allocated\n[t]   Socket[1] Core[2] is allocated\n\
            [t] Node[1]:\n[t]   Mem(MB):0:0  Sockets:1  Cores:2  CPUs:2:0\n\
            [t]   Socket[0] Core[0] is allocated\n[t] --------------------\n\
            [t] ====================\n[t] JobId=7 StepId=0\n\
            [t] JobNode[0] Socket[1] Core[2] is allocated\n[t] ====================\n\
            [t] JobId=7 StepId=0\n[t] JobNode[0] Socket[1] Core[2] is allocated\n\
            [t] JobNode[1] Socket[0] Core[0] is allocated\n[t] ====================\n";
        let job = job(log).unwrap();
        assert_eq!(job.id, 7);
        assert_eq!(job.nodes["a1"], (vec![1, 6], 4));
        assert_eq!(job.nodes["a2"], (vec![0], 2));
        let step = first_step(log, &job).unwrap();
        assert_eq!((&step["a1"], &step["a2"]), (&vec![6], &vec![0]));
        assert_eq!(super::job("[t] JobId=7 StepId=0\n"), None);
    }
}
