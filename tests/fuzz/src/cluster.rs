//! The readers of a cluster's configuration, and lines that the model of slurmctld answers: neither a
//! file nor a line may make it panic, and what it gives are cores of the cluster.

use std::sync::OnceLock;

use berth_placement::controller::select::{Cluster, JobAnswer, JobGrant, SlurmLine, job, own_step};
use berth_srun::conf::Config;
use berth_srun::options::Command;
use berth_srun::reading;
use berth_srun::{Release, line};

use crate::Verdict;

/// A file, with the lines of another one that it includes.
pub fn configuration(text: &str) -> Verdict {
    let mut more = |_: &str| Ok("NodeName=m1 CPUs=4\n".to_string());
    let read = Config::read("slurm.conf", text, &mut more);
    // scontrol's reader takes what it can, and refuses little.
    let _ = Config::shown(text, text, text);
    match read.and_then(|config| config.choose(None, SlurmLine::V24_11)) {
        Ok(chosen) => match chosen.cluster.check() {
            Err(why) if !chosen.cluster.nodes.is_empty() => Verdict::Wrong(format!("{why:?}")),
            _ => Verdict::Accepted,
        },
        Err(why) => Verdict::Refused(why.to_string()),
    }
}

/// Unlike nodes, as every release line hands them out.
fn clusters() -> &'static [Cluster] {
    static ALL: OnceLock<Vec<Cluster>> = OnceLock::new();
    ALL.get_or_init(|| {
        let words = [
            "CR_Core",
            "CR_CPU",
            "CR_Socket_Memory",
            "CR_Core_Memory,CR_ONE_TASK_PER_CORE",
            "CR_Core,CR_CORE_DEFAULT_DIST_BLOCK,CR_Pack_Nodes",
        ];
        let lines = [SlurmLine::V22_05, SlurmLine::V24_11, SlurmLine::V26_05];
        let cluster = |words: &str, line| {
            let text = format!(
                "SelectType=select/cons_tres\nSelectTypeParameters={words}\n\
                 AllowSpecResourcesUsage=YES\nPartitionName=p Nodes=ALL Default=YES\n\
                 NodeName=n[1-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=1000\n\
                 NodeName=n3 CPUs=6 Sockets=3 CoresPerSocket=2 ThreadsPerCore=2 CoreSpecCount=2\n\
                 NodeName=n4 CPUs=2 Weight=2 RealMemory=300\n"
            );
            let config = Config::read("slurm.conf", &text, &mut |why| Err(why.into()));
            let chosen = config.and_then(|config| config.choose(None, line));
            chosen.expect("a configuration").cluster
        };
        words
            .iter()
            .flat_map(|words| lines.map(|line| cluster(words, line)))
            .collect()
    })
}

/// A line of sbatch or srun.
pub fn selection(text: &str) -> Verdict {
    let words: Vec<_> = text.split_whitespace().collect();
    let line = line::read(&words, Command::Srun, None);
    let found = match reading::selection::read(&line, Release::V22_05) {
        Ok(found) => found,
        Err(why) => return Verdict::Refused(why.to_string()),
    };
    // One cluster a text: which one follows from the text.
    let all = clusters();
    let sum: usize = text.bytes().map(usize::from).sum();
    let cluster = &all[sum % all.len()];
    let client = reading::selection::client(Command::Srun);
    let JobAnswer::Granted(grant) = job(cluster, client, &found.options) else {
        return Verdict::Accepted;
    };
    // `berth plan` looks at this before the step's nodes: Slurm counts to 65,535 on each.
    if grant.tasks > 4 * 65_535 {
        return Verdict::Refused("more tasks than these nodes start".into());
    }
    let _ = own_step(cluster, &found.options, &grant);
    impossible(cluster, &grant).map_or(Verdict::Accepted, Verdict::Wrong)
}

/// No job can have this: no node, a node without cores, or cores that are not there.
fn impossible(cluster: &Cluster, grant: &JobGrant) -> Option<String> {
    if grant.nodes.is_empty() {
        return Some("a job without nodes".into());
    }
    grant.nodes.iter().find_map(|given| {
        let node = cluster.nodes.get(given.node)?;
        let missing = given.cores.iter().find(|core| *core >= node.cores());
        // Later releases give nodes that get no task.
        let none = given.cores.is_empty() && cluster.line == SlurmLine::V22_05;
        let wrong = missing.map(|core| format!("core {core} of {}", node.name));
        wrong.or(none.then(|| format!("no core of {}", node.name)))
    })
}
