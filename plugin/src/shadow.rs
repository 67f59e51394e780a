//! `shadow=on`: one behaviour is applied, and the log says what the other would have given:
//! task/affinity's beside berth's default, and the reverse. One line a step, with the
//! `berth plan` line that shows it; `ci/shadow-sum` adds a log up.

use std::sync::atomic::{AtomicU64, Ordering};

use berth_placement::{Allocation, Fix, Fixes, Host, Request, plan};

use crate::slurm_log::VERBOSE;

/// Steps after which the counts are logged, for logs that leave out the steps without a difference.
const EVERY: u64 = 1000;
/// Lists beyond this length are cut in the log.
const SHOWN: usize = 400;

static STEPS: AtomicU64 = AtomicU64::new(0);
static DIFFER: AtomicU64 = AtomicU64::new(0);

/// Logs what a step gets and would get.
pub(crate) fn look(step: &str, ask: &Request, host: &Host) {
    let with = |fixes: Fixes| {
        let mut ask = ask.clone();
        ask.rules.fixes = fixes;
        answer(&ask, host)
    };
    let ours = ask.rules.fixes;
    let theirs = if ours == Fixes::NONE {
        Fixes::ALL
    } else {
        Fixes::NONE
    };
    let (applied, other) = (with(ours), with(theirs));
    let steps = STEPS.fetch_add(1, Ordering::Relaxed) + 1;
    if applied == other {
        log::log!(target: VERBOSE, log::Level::Info, "shadow: {step} same");
    } else {
        DIFFER.fetch_add(1, Ordering::Relaxed);
        let alone =
            Fix::table().filter(|(fix, _, _)| with(ours.with(*fix, !ours.has(*fix))) != applied);
        let alone: Vec<_> = alone.map(|(_, name, _)| name).collect();
        let fixes = match alone.is_empty() {
            true => "several".into(),
            false => alone.join(","),
        };
        log::info!(
            "shadow: {step} differs fixes={fixes} applied={} other={} plan=\"{}\"",
            cut(&applied),
            cut(&other),
            plan_line(ask)
        );
    }
    if steps.is_multiple_of(EVERY) {
        say();
    }
}

/// The counts since slurmd started.
pub(crate) fn say() {
    let (steps, differ) = (
        STEPS.load(Ordering::Relaxed),
        DIFFER.load(Ordering::Relaxed),
    );
    if steps > 0 {
        log::info!("shadow: {steps} steps, {differ} differ");
    }
}

/// What slurmd would go on with, as `berth plan --format masks` prints it.
fn answer(ask: &Request, host: &Host) -> String {
    match plan(ask, host) {
        Ok(plan) => plan.message.text().unwrap_or("none").to_owned(),
        Err(_) => "refused".into(),
    }
}

fn cut(list: &str) -> String {
    match list.get(..SHOWN) {
        Some(head) if list.len() > SHOWN => format!("{head}…"),
        _ => list.to_owned(),
    }
}

/// The request for `berth plan`; what the command has no words for stands behind a `#`.
fn plan_line(ask: &Request) -> String {
    let mut words = vec![format!(
        "berth plan -n {} -c {}",
        ask.tasks, ask.cpus_per_task
    )];
    let bind = ask.cpu_bind.to_string();
    let bind = bind
        .strip_prefix("auto,")
        .or(bind.strip_prefix("auto"))
        .unwrap_or(&bind);
    if !bind.is_empty() {
        words.push(format!("--cpu-bind={bind}"));
    }
    words.push(format!("-m '{}'", ask.distribution));
    for (name, value) in [
        ("threads-per-core", ask.threads_per_core),
        ("ntasks-per-core", ask.ntasks_per_core),
        ("ntasks-per-socket", ask.ntasks_per_socket),
    ] {
        words.extend(value.map(|value| format!("--{name}={value}")));
    }
    if ask.overcommit {
        words.push("-O".into());
    }
    if let Some(binding) = &ask.binding {
        words.push(format!("--binding='{binding}'"));
    }
    if ask.mem_bind.policy.is_some() {
        words.push(format!("--mem-bind={}", ask.mem_bind));
    }
    if let Allocation::Cores { cores, .. } = &ask.allocation {
        let cores: Vec<_> = cores.iter().map(ToString::to_string).collect();
        words.push(format!("--cores {}", cores.join(",")));
    }
    words.extend(unspoken(ask));
    let line: String = words.join(" ");
    line.chars().take(4000).collect()
}

/// Rules of the site and the job that `berth plan` has no option for.
fn unspoken(ask: &Request) -> Option<String> {
    let rules = &ask.rules;
    let mut found = Vec::new();
    if let Some(level) = rules.autobind {
        found.push(format!("autobind={level}"));
    }
    if rules.block_by_default {
        found.push("block by default".into());
    }
    if ask.core_spec != berth_placement::CoreSpec::None {
        found.push(format!("{:?}", ask.core_spec));
    }
    (!found.is_empty()).then(|| format!("# beside {}", found.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use berth_placement::{CoreIdx, CpuBind};

    #[test]
    fn a_line_that_a_shell_takes() {
        let mut ask = Request {
            tasks: 4,
            allocation: Allocation::Cores {
                cores: vec![CoreIdx(0), CoreIdx(3)],
                configured: 8,
            },
            ..Request::default()
        };
        let line = "berth plan -n 4 -c 1 -m '*' --cores 0,3";
        assert_eq!(plan_line(&ask), line);
        ask.cpu_bind = CpuBind {
            one_thread: true,
            ..CpuBind::default()
        };
        ask.rules.block_by_default = true;
        let line = "berth plan -n 4 -c 1 --cpu-bind=one_thread -m '*' --cores 0,3 # beside block by default";
        assert_eq!(plan_line(&ask), line);
    }
}
