//! The statements of each mode: which variables there are, their names and their order.

use super::facts::{Facts, Host};
use crate::args::EnvMode;
use crate::here::scontrol::gres;
use berth_answer::text;

/// A statement in no shell's words yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// One value for each host.
    Array(String, Vec<String>),
    Scalar(String, String),
    /// A line for the log, which shells print when they evaluate it.
    Echo(String),
}

/// The statements for all hosts, or for one.
pub(super) fn of(mode: EnvMode, facts: &Facts, only: Option<&Host>) -> Vec<Statement> {
    let prefix = match mode {
        EnvMode::Prolog => "BERTH_PROLOG_",
        EnvMode::Epilog => "BERTH_EPILOG_",
        EnvMode::Userenv => "BERTH_RESOURCE_",
    };
    let hosts: Vec<_> = match only {
        Some(host) => vec![of_host(host)],
        None => facts.hosts.iter().map(of_host).collect(),
    };
    let names = of_host(&Host::default()).into_iter().map(|(name, _)| name);
    let mut all: Vec<_> = names
        .enumerate()
        .map(|(at, name)| {
            let mut values = hosts.iter().map(|host| host[at].1.clone());
            let name = format!("{prefix}{name}");
            match only {
                Some(_) => Statement::Scalar(name, values.next().unwrap_or_default()),
                None => Statement::Array(name, values.collect()),
            }
        })
        .collect();
    let scalars = of_job(facts).into_iter();
    all.extend(scalars.map(|(name, value)| Statement::Scalar(format!("{prefix}{name}"), value)));
    if mode == EnvMode::Prolog {
        all.extend(log(facts, only).into_iter().map(Statement::Echo));
    }
    all
}

/// A host's values by name; an empty text where it has none.
fn of_host(host: &Host) -> [(&'static str, String); 11] {
    let numbers = |name: &str| {
        let numbers = host
            .indices(name)
            .into_iter()
            .map(|number| number.to_string());
        numbers.collect::<Vec<_>>().join(" ")
    };
    [
        ("HOSTS", host.name.clone()),
        ("NTASKS", known(host.task_count)),
        ("NCPUS", host.cpu_count.to_string()),
        ("CPUS", host.cpus.to_string()),
        ("CORES", host.cores.to_string()),
        ("MEM", known(host.memory)),
        ("MEMLIMIT", known(host.memory_limit)),
        ("SWAPLIMIT", known(host.swap_limit)),
        ("GPU", numbers("gpu")),
        ("NIC", numbers("nic")),
        ("GRES", gres::text(&host.gres)),
    ]
}

/// The job's values by name.
fn of_job(facts: &Facts) -> Vec<(&'static str, String)> {
    let job = &facts.job;
    let (array, task) = job.array.unzip();
    let (het, component) = job.component.unzip();
    vec![
        ("JOB_ID", job.id.to_string()),
        ("JOB_ARRAY_ID", known(array)),
        ("JOB_ARRAY_TASK", known(task)),
        ("JOB_HET_ID", known(het)),
        ("JOB_HET_OFFSET", known(component)),
        ("JOB_NAME", job.name.clone()),
        ("JOB_USER", job.user.clone()),
        ("JOB_UID", job.uid.to_string()),
        ("JOB_ACCOUNT", job.account.clone()),
        ("JOB_PARTITION", job.partition.clone()),
        ("JOB_QOS", job.qos.clone()),
        ("JOB_RESERVATION", job.reservation.clone()),
        ("JOB_MAXRT", known(job.most_seconds())),
        ("JOB_NHOSTS", facts.hosts.len().to_string()),
        ("JOB_NTASKS", known(job.tasks)),
    ]
}

fn known(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Lines for the log. Texts that a user chooses are not in them.
fn log(facts: &Facts, only: Option<&Host>) -> Vec<String> {
    let job = &facts.job;
    let first = format!(
        "berth: job {} of user {} in partition {}, {} hosts",
        job.id,
        job.user,
        job.partition,
        facts.hosts.len()
    );
    let hosts = match only {
        Some(host) => std::slice::from_ref(host),
        None => &facts.hosts,
    };
    let of_host = |host: &Host| {
        let known = of_host(host).into_iter().skip(1);
        let known = known.filter(|(_, value)| !value.is_empty());
        let words = known.map(|(name, value)| format!("{name}={value}"));
        format!(
            "berth: host {}: {}",
            host.name,
            words.collect::<Vec<_>>().join(", ")
        )
    };
    let lines = std::iter::once(first).chain(hosts.iter().map(of_host));
    // Some shells' echo takes a backslash for more.
    lines
        .map(|line| text::one_line(&line).replace('\\', "/"))
        .collect()
}
