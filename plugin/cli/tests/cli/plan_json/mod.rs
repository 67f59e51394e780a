//! Plans as JSON.

use std::process::Command;

use serde_json::Value;

/// A plan, with variables in the environment.
pub fn plan(words: &[&str], variables: &[(&str, &str)]) -> Value {
    let done = Command::new(env!("CARGO_BIN_EXE_berth"))
        .arg("plan")
        .args(words)
        .arg("--format=json")
        .env("BERTH_STATE_DIR", "/nonexistent")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{words:?}: {stderr}");
    serde_json::from_slice(&done.stdout).unwrap()
}

#[allow(dead_code, reason = "not every test asks for the rule")]
/// The rule of a plan, and what the answer says of the site.
pub fn rule_and_site(plan: &Value) -> (String, String) {
    let rules = plan["rules"].as_object().unwrap();
    let rule = rules.values().next().unwrap().as_str().unwrap();
    let facts = plan["assumed"].as_array().unwrap().iter();
    let of_site = facts.filter(|fact| fact["what"] == "site");
    let values: Vec<_> = of_site.filter_map(|fact| fact["value"].as_str()).collect();
    (rule.into(), values.join(", "))
}
