//! A job as `scontrol show job -d` shows it.
//! In: its output. Out: NumCPUs, and where slurmctld logs no cores, the job's nodes and cores.

use berth_srun::node_lists::{Most, expand};

use super::log::LoggedJob;
use super::record::numbers;

fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_whitespace()
        .find_map(|word| word.strip_prefix(name))
}

/// NumCPUs.
pub(super) fn cpus(output: &str) -> Option<u32> {
    field(output, "NumCPUs=")?.parse().ok()
}

/// The job, which has whole nodes; `counts` are the threads of a core and the CPUs of each node.
/// `CPU_IDs` has so many numbers for a core as the core has threads.
pub(super) fn job(output: &str, counts: &[(u32, u32)]) -> Option<LoggedJob> {
    let mut job = LoggedJob {
        id: field(output, "JobId=")?.parse().ok()?,
        ..LoggedJob::default()
    };
    for line in output.lines().filter(|line| line.contains(" CPU_IDs=")) {
        let ids = numbers(field(line, "CPU_IDs=")?)?;
        for name in expand(field(line, "Nodes=")?, Most::COMMAND_LINE).ok()? {
            let number: usize = name.rsplit('n').next()?.parse().ok()?;
            let (threads, cpus) = *counts.get(number.checked_sub(1)?)?;
            let mut cores: Vec<_> = ids.iter().map(|id| id / threads).collect();
            cores.dedup();
            job.nodes.insert(name.clone(), (cores, cpus));
            job.names.push(name);
        }
    }
    (!job.names.is_empty()).then_some(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job() {
        let text = "JobId=4 JobName=x\n  NumNodes=2 NumCPUs=6 NumTasks=2\n\
                    \x20    Nodes=b7n[1-2] CPU_IDs=0-3 Mem=10 GRES=\n";
        let job = job(text, &[(2, 4), (1, 4)]).unwrap();
        assert_eq!((cpus(text), job.id, job.names.len()), (Some(6), 4, 2));
        assert_eq!(job.nodes["b7n1"], (vec![0, 1], 4));
        assert_eq!(job.nodes["b7n2"], (vec![0, 1, 2, 3], 4));
        assert_eq!(super::job("JobId=4\n", &[(1, 1)]), None);
    }
}
