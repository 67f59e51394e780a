//! `shadow=on`: logs the masks that the other behaviour would have given.
//! In: the request, the host, the answer that was applied. Out: log lines only;
//! nothing here changes a launch.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::{
    AcrossHosts, Allocation, Claims, CoreSpec, CpuBind, Distribution, Fix, Fixes, Node, Order,
    Plan, Refusal, Request, Rules, Wish, plan,
};

use crate::site::slurm_log::VERBOSE;

/// The counts are logged after each of these numbers of steps, and every so many.
const EARLY: [u64; 3] = [1, 10, 100];
const EVERY: u64 = 1000;
const LONGEST_LINE: usize = 1000;
const LONGEST_MASKS: usize = 400;

static STEPS: AtomicU64 = AtomicU64::new(0);
static DIFFER: AtomicU64 = AtomicU64::new(0);
/// The steps at the last logged count.
static SAID: AtomicU64 = AtomicU64::new(0);
/// This slurmd among all whose logs somebody adds up: its node, and the second of its first such step.
static OWN: OnceLock<String> = OnceLock::new();

/// Compares the applied answer with the other behaviour's and logs the result.
/// `step` is the step as log lines name it, `step=1.0`.
pub(crate) fn compare(
    step: &str,
    (node_name, request, node): (&str, &Request, &Node),
    applied: &Result<Plan, Refusal>,
) {
    // task/affinity has nothing that could be compared.
    if Wish::of(request).is_ok_and(|wish| wish.is_only_berths()) {
        return;
    }
    let own = OWN.get_or_init(|| own(node_name));
    let line = difference(request, node, &answer(applied));
    let differ =
        DIFFER.fetch_add(u64::from(line.is_some()), Ordering::Relaxed) + u64::from(line.is_some());
    match line {
        None => log::log!(target: VERBOSE, log::Level::Info, "shadow: {step} same slurmd={own}"),
        Some(line) => log::info!("shadow: {step} differs slurmd={own} {line}"),
    }
    let steps = STEPS.fetch_add(1, Ordering::Relaxed) + 1;
    if steps.is_multiple_of(EVERY) || EARLY.contains(&steps) {
        say(steps, differ);
    }
}

/// Logs the last counts when slurmd ends, unless the log has them already.
pub(crate) fn at_end() {
    let steps = STEPS.load(Ordering::Relaxed);
    if steps != SAID.load(Ordering::Relaxed) {
        say(steps, DIFFER.load(Ordering::Relaxed));
    }
}

fn say(steps: u64, differ: u64) {
    SAID.store(steps, Ordering::Relaxed);
    let own = OWN.get().map(String::as_str).unwrap_or_default();
    log::info!("shadow: {steps} steps, {differ} differ slurmd={own}");
}

fn own(node_name: &str) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    format!("{node_name}@{}", since.map_or(0, |since| since.as_secs()))
}

fn answer(plan: &Result<Plan, Refusal>) -> String {
    match plan {
        Ok(plan) => plan.text().unwrap_or_else(|| "none".into()),
        Err(_) => "refused".into(),
    }
}

fn with(request: &Request, node: &Node, fixes: Fixes) -> String {
    let rules = Rules {
        fixes,
        ..node.rules()
    };
    answer(&plan(request, &node.with_rules(rules), &Claims::default()))
}

/// The log's text about a difference; `None` if there is none.
fn difference(request: &Request, node: &Node, applied: &str) -> Option<String> {
    let fixes = node.rules().fixes;
    let opposite = if fixes == Fixes::NONE {
        Fixes::ALL
    } else {
        Fixes::NONE
    };
    let other = with(request, node, opposite);
    if other == applied {
        return None;
    }
    let alone: Vec<_> = Fix::table()
        .filter(|(fix, _, _)| fixes.has(*fix) != opposite.has(*fix))
        .filter(|(fix, _, _)| with(request, node, fixes.with(*fix, opposite.has(*fix))) != applied)
        .map(|(_, name, _)| name)
        .collect();
    let names = if alone.is_empty() {
        "several".into()
    } else {
        alone.join(",")
    };
    Some(format!(
        "fixes={names} applied={} other={} plan=\"{}\"",
        cut(applied, LONGEST_MASKS),
        cut(&other, LONGEST_MASKS),
        cut(&plan_line(request, node.rules()), LONGEST_LINE)
    ))
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.into(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// The request as a `berth plan` command line for this node, words quoted for a shell.
fn plan_line(request: &Request, rules: Rules) -> String {
    // Every field is named here, so that the compiler asks about a new one.
    let Request {
        tasks,
        cpus_per_task,
        cpu_bind: bind,
        distribution: order,
        threads_per_core,
        ntasks_per_core,
        ntasks_per_socket,
        overcommit,
        core_spec,
        binding,
        // Only berth has these, so shadow never compares them.
        mapping: _,
        near: _,
        near_by_default: _,
        cpuset: _,
        job_allocation: _,
        core_kind,
        mem_bind,
        // It has no option: `--mem-bind=rank` counts by the step's CPUs there.
        job_cpus: _,
        gres: _,
        allocation,
        reserved: _,
    } = request;
    let mut words = vec![
        // On this node the site's rules would hold.
        "berth plan --compat=berth".to_owned(),
        format!("-n {tasks} -c {cpus_per_task}"),
    ];
    words.push(owned(allocation));
    words.extend(cpu_bind(bind).map(|bind| format!("--cpu-bind={bind}")));
    if *order != Distribution::default() {
        words.push(format!("-m '{}'", distribution(*order)));
    }
    let limits = [
        ("threads-per-core", threads_per_core),
        ("ntasks-per-core", ntasks_per_core),
        ("ntasks-per-socket", ntasks_per_socket),
    ];
    let limit = |(name, value): (&str, &Option<u32>)| Some(format!("--{name}={}", (*value)?));
    words.extend(limits.into_iter().filter_map(limit));
    words.extend(overcommit.then(|| "-O".into()));
    let binding = binding.as_ref();
    words.extend(binding.map(|binding| format!("--binding='{binding}'")));
    if *core_kind != CoreKindWish::Any {
        words.push(format!("--core-kind={core_kind}"));
    }
    if mem_bind.policy.is_some() {
        words.push(format!("--mem-bind={mem_bind}"));
    }
    words.extend(site((*core_spec, bind), rules));
    words.join(" ")
}

/// The option for what the step owns.
fn owned(allocation: &Allocation) -> String {
    match allocation {
        Allocation::Cores { cores, .. } => {
            let cores: Vec<_> = cores.iter().map(|core| core.0.to_string()).collect();
            format!("--cores {}", cores.join(","))
        }
        Allocation::Cpus(cpus) => format!("--cpus {cpus}"),
        Allocation::Whole => "--whole".into(),
    }
}

/// The options that the job and the site's configuration add.
fn site((core_spec, bind): (CoreSpec, &CpuBind), rules: Rules) -> Vec<String> {
    let mut words = Vec::new();
    match core_spec {
        CoreSpec::None => {}
        CoreSpec::Cores(count) => words.push(format!("--core-spec={count}")),
        CoreSpec::Threads(count) => words.push(format!("--thread-spec={count}")),
    }
    if let Some(level) = rules.autobind {
        words.push(format!("--autobind={level}"));
    }
    if matches!(bind.mode, Some(berth_placement::Mode::Rank)) {
        // This is the last line whose srun has it.
        words.push("--slurm=24.05".into());
    }
    if rules.block_by_default {
        words.push("--block-by-default".into());
    }
    if rules.refuse_failed_binding {
        words.push("--binding-fail=refuse".into());
    }
    words
}

fn cpu_bind(bind: &CpuBind) -> Option<String> {
    let words: Vec<_> = [
        bind.level.map(|level| level.to_string()),
        bind.one_thread.then(|| "one_thread".to_owned()),
        bind.mode.as_ref().map(ToString::to_string),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!words.is_empty()).then(|| words.join(","))
}

/// An `-m` that srun accepts, with the same order on this host. Only a client other than srun sends
/// an order that has no such `-m`: a list or nothing with a second level, which slurmd treats as
/// cyclic, or a third level without a second.
fn distribution(requested: Distribution) -> String {
    let hosts = match requested.hosts {
        // The host's own order is the same for every size.
        AcrossHosts::Plane if requested.sockets.is_none() => return "plane=1".into(),
        AcrossHosts::Cyclic => "cyclic",
        _ => "block",
    };
    let has_levels = matches!(requested.hosts, AcrossHosts::Block | AcrossHosts::Cyclic);
    let sockets = requested.sockets.map(|order| match has_levels {
        true => order,
        false => Order::Cyclic,
    });
    match (sockets, requested.cores) {
        (None, _) => hosts.into(),
        (Some(sockets), None) => format!("{hosts}:{sockets}"),
        (Some(sockets), Some(cores)) => format!("{hosts}:{sockets}:{cores}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use berth_placement::CoreIdx;

    #[test]
    fn the_line_says_the_request() {
        let request = Request {
            tasks: 3,
            cpus_per_task: 2,
            cpu_bind: CpuBind {
                level: Some(berth_placement::Level::Cores),
                ..CpuBind::default()
            },
            distribution: Distribution {
                hosts: AcrossHosts::Block,
                sockets: Some(Order::Cyclic),
                cores: Some(Order::Block),
                ..Distribution::default()
            },
            ntasks_per_core: Some(1),
            overcommit: true,
            allocation: Allocation::Cores {
                cores: vec![CoreIdx(0), CoreIdx(2)],
                configured: 4,
            },
            ..Request::default()
        };
        assert_eq!(
            plan_line(&request, Rules::default()),
            "berth plan --compat=berth -n 3 -c 2 --cores 0,2 --cpu-bind=cores -m 'block:cyclic:block' \
             --ntasks-per-core=1 -O"
        );
        assert_eq!(
            plan_line(&Request::default(), Rules::default()),
            "berth plan --compat=berth -n 1 -c 1 --whole"
        );
    }

    #[test]
    fn every_distribution_is_read_back() {
        let hosts = [
            AcrossHosts::Block,
            AcrossHosts::Cyclic,
            AcrossHosts::Arbitrary,
            AcrossHosts::Plane,
            AcrossHosts::Unknown,
        ];
        let orders = [
            None,
            Some(Order::Block),
            Some(Order::Cyclic),
            Some(Order::Fcyclic),
        ];
        for (hosts, sockets) in hosts
            .iter()
            .flat_map(|one| orders.map(|order| (*one, order)))
        {
            let requested = Distribution {
                hosts,
                sockets,
                ..Distribution::default()
            };
            let text = distribution(requested);
            let again = berth_srun::spelling::distribution(&text).unwrap();
            for by_default in [false, true] {
                assert_eq!(
                    again.order(by_default),
                    requested.order(by_default),
                    "{text} {requested}"
                );
            }
        }
        let third = berth_srun::spelling::distribution("block:*:fcyclic").unwrap();
        assert_eq!(
            berth_srun::spelling::distribution(&distribution(third)),
            Ok(third)
        );
    }

    #[test]
    fn long_lists_are_cut_between_characters() {
        assert_eq!(cut("0x1,0x2", 3), "0x1…");
        assert_eq!(cut("…………", 2), "………");
        assert_eq!(cut("0x1", 3), "0x1");
    }
}
