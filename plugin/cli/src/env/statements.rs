//! The statements of each mode: which variables there are, their names and their order, and the forms of the shells. Any
//! text is quoted so that a shell reads exactly that text back, and nothing of it is a command. The JSON document has the
//! same values.

use berth_answer::text;
use serde::Serialize;
use serde_json::{Map, Value};

use super::gather::{Facts, Host};
use crate::args::{EnvFormat, EnvMode};
use crate::world::job_record::gres_text;
use crate::{Failure, say};

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
    let hosts: Vec<_> = facts.shown(only).iter().map(of_host).collect();
    let names = of_host(&Host::default()).into_iter().map(|(name, _)| name);
    let mut all: Vec<_> = names
        .enumerate()
        .map(|(at, name)| {
            let mut values = hosts.iter().map(|host| shown(&host[at].1));
            let name = format!("{prefix}{name}");
            match only {
                Some(_) => Statement::Scalar(name, values.next().unwrap_or_default()),
                None => Statement::Array(name, values.collect()),
            }
        })
        .collect();
    let scalars = of_job(facts).into_iter();
    all.extend(
        scalars.map(|(name, value)| Statement::Scalar(format!("{prefix}{name}"), shown(&value))),
    );
    if mode == EnvMode::Prolog {
        all.extend(log(facts, only).into_iter().map(Statement::Echo));
    }
    all
}

/// A host's values by name; an empty text where it has none.
fn of_host(host: &Host) -> [(&'static str, Value); 11] {
    let numbers = |name: &str| {
        let numbers = host
            .indices(name)
            .into_iter()
            .map(|number| number.to_string());
        numbers.collect::<Vec<_>>().join(" ").into()
    };
    [
        ("HOSTS", host.name.as_str().into()),
        ("NTASKS", number(host.task_count)),
        ("NCPUS", host.cpu_count.into()),
        ("CPUS", host.cpus.to_string().into()),
        ("CORES", host.cores.to_string().into()),
        ("MEM", number(host.memory)),
        ("MEMLIMIT", number(host.memory_limit)),
        ("SWAPLIMIT", number(host.swap_limit)),
        ("GPU", numbers("gpu")),
        ("NIC", numbers("nic")),
        ("GRES", gres_text(&host.gres).into()),
    ]
}

/// The job's values by name.
fn of_job(facts: &Facts) -> Vec<(&'static str, Value)> {
    let job = &facts.job;
    let (array, task) = job.array.unzip();
    let (het, component) = job.component.unzip();
    vec![
        ("JOB_ID", job.id.into()),
        ("JOB_ARRAY_ID", number(array)),
        ("JOB_ARRAY_TASK", number(task)),
        ("JOB_HET_ID", number(het)),
        ("JOB_HET_OFFSET", number(component)),
        ("JOB_NAME", job.name.as_str().into()),
        ("JOB_USER", job.user.as_str().into()),
        ("JOB_UID", job.uid.into()),
        ("JOB_ACCOUNT", job.account.as_str().into()),
        ("JOB_PARTITION", job.partition.as_str().into()),
        ("JOB_QOS", job.qos.as_str().into()),
        ("JOB_RESERVATION", job.reservation.as_str().into()),
        ("JOB_MAXRT", number(job.most_seconds())),
        ("JOB_NHOSTS", facts.hosts.len().into()),
        ("JOB_NTASKS", number(job.tasks)),
    ]
}

/// A number, or null where it is not known.
fn number(value: Option<impl Into<u64>>) -> Value {
    value.map_or(Value::Null, |value| value.into().into())
}

/// A value in a statement; nothing where it is not known.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        number => number.to_string(),
    }
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
    let of_host = |host: &Host| {
        let known = of_host(host).into_iter().skip(1);
        let known = known.map(|(name, value)| (name, shown(&value)));
        let known = known.filter(|(_, value)| !value.is_empty());
        let words = known.map(|(name, value)| format!("{name}={value}"));
        format!(
            "berth: host {}: {}",
            host.name,
            words.collect::<Vec<_>>().join(", ")
        )
    };
    let hosts = facts.shown(only).iter();
    let lines = std::iter::once(first).chain(hosts.map(of_host));
    // Some shells' echo takes a backslash for more.
    lines
        .map(|line| text::one_line(&line).replace('\\', "/"))
        .collect()
}

#[derive(Serialize)]
struct Document {
    mode: &'static str,
    job: Map<String, Value>,
    hosts: Vec<Map<String, Value>>,
}

/// The document, with the same values in the same order as the statements.
pub(super) fn json(mode: EnvMode, facts: &Facts, only: Option<&Host>) -> Result<String, Failure> {
    let hosts = facts.shown(only);
    let document = Document {
        mode: match mode {
            EnvMode::Prolog => "prolog",
            EnvMode::Epilog => "epilog",
            EnvMode::Userenv => "userenv",
        },
        job: fields(of_job(facts)),
        hosts: hosts.iter().map(|host| fields(of_host(host))).collect(),
    };
    let mut json = Vec::new();
    berth_answer::json::write_all(&mut json, "berth-env", &document)?;
    Ok(String::from_utf8_lossy(&json).into_owned())
}

fn fields(all: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    let field = |(name, value)| match name {
        "HOSTS" => ("host".into(), value),
        name => (
            name.strip_prefix("JOB_").unwrap_or(name).to_lowercase(),
            value,
        ),
    };
    all.into_iter().map(field).collect()
}

/// The statements in the form of a shell.
pub(super) fn in_shell(format: EnvFormat, statements: &[Statement]) -> String {
    let mut text = String::new();
    for statement in statements {
        match statement {
            Statement::Array(name, values) if format == EnvFormat::Bash => {
                let quoted: Vec<_> = values.iter().map(|value| sh(value)).collect();
                text += &format!("{name}=({})\n", quoted.join(" "));
            }
            // Each value has a name of its own, with its number from 0.
            Statement::Array(name, values) => {
                for (at, value) in values.iter().enumerate() {
                    text += &scalar(format, &format!("{name}_{at}"), value);
                }
            }
            Statement::Scalar(name, value) => text += &scalar(format, name, value),
            Statement::Echo(line) => {
                text += &match format {
                    EnvFormat::Csh => format!("echo {};\n", csh(line)),
                    EnvFormat::Taskprolog => format!("print {line}\n"),
                    _ => format!("echo {}\n", sh(line)),
                }
            }
        }
    }
    text
}

/// A value. `eval` of a command's output joins its lines in csh, so each ends with a semicolon there. Slurm takes the rest
/// of a TaskProlog's line as it is, so a line break in a value cannot be passed on.
fn scalar(format: EnvFormat, name: &str, value: &str) -> String {
    match format {
        EnvFormat::Csh => format!("set {name} = {};\n", csh(value)),
        EnvFormat::Taskprolog => {
            if value.contains('\n') {
                say::note(&format!("the line breaks in {name} are printed as blanks"));
            }
            format!("export {name}={}\n", value.replace('\n', " "))
        }
        _ => format!("{name}={}\n", sh(value)),
    }
}

/// For sh and bash: everything within single quotes is text, but a single quote.
fn sh(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// For csh and tcsh, which also find history and the end of a line within single quotes.
fn csh(text: &str) -> String {
    let text = text.replace('\'', r"'\''").replace('!', r"\!");
    format!("'{}'", text.replace('\n', "\\\n"))
}
