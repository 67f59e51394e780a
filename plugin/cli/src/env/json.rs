//! The facts as a JSON document.

use serde::Serialize;
use serde_json::{Map, Value};

use super::facts::{Facts, Host};
use super::statements::{Statement, of};
use crate::Failure;
use crate::args::EnvMode;

#[derive(Serialize)]
struct Document {
    mode: &'static str,
    job: Map<String, Value>,
    hosts: Vec<Map<String, Value>>,
}

/// The names that hold numbers; where nothing is known they are null.
const NUMBERS: [&str; 13] = [
    "ntasks",
    "ncpus",
    "mem",
    "memlimit",
    "swaplimit",
    "id",
    "array_id",
    "array_task",
    "het_id",
    "het_offset",
    "uid",
    "maxrt",
    "nhosts",
];

/// The document, with the same values in the same order as the statements.
pub(super) fn text(mode: EnvMode, facts: &Facts, only: Option<&Host>) -> Result<String, Failure> {
    let hosts: Vec<&Host> = match only {
        Some(host) => vec![host],
        None => facts.hosts.iter().collect(),
    };
    let statements = |host: &Host| of(EnvMode::Userenv, facts, Some(host));
    let is_jobs = |name: &str| name.starts_with("JOB_");
    let of_host = |host: &&Host| fields(&statements(host), |name| !is_jobs(name));
    let job = facts
        .hosts
        .first()
        .map(|host| fields(&statements(host), is_jobs));
    let document = Document {
        mode: match mode {
            EnvMode::Prolog => "prolog",
            EnvMode::Epilog => "epilog",
            EnvMode::Userenv => "userenv",
        },
        job: job.unwrap_or_default(),
        hosts: hosts.iter().map(of_host).collect(),
    };
    let mut text = Vec::new();
    berth_answer::json::write_all(&mut text, "berth-env", &document)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn fields(statements: &[Statement], wanted: impl Fn(&str) -> bool) -> Map<String, Value> {
    let field = |statement: &Statement| {
        let Statement::Scalar(name, value) = statement else {
            return None;
        };
        let name = name
            .strip_prefix("BERTH_RESOURCE_")
            .filter(|name| wanted(name))?;
        let name = name.strip_prefix("JOB_").unwrap_or(name).to_lowercase();
        let name = if name == "hosts" { "host".into() } else { name };
        let is_number = NUMBERS.contains(&name.as_str());
        let value = match (is_number, value.parse::<u64>()) {
            (true, Ok(number)) => Value::from(number),
            (true, Err(_)) => Value::Null,
            (false, _) => Value::from(value.as_str()),
        };
        Some((name, value))
    };
    statements.iter().filter_map(field).collect()
}
