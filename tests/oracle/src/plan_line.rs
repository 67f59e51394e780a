//! A request as a `berth plan` command line, where its options can say it.

use slurm_sys::layout::Constants;

use crate::case::{Case, given};

/// The command line that gives our answer again; `None` where `berth plan` has no words for it.
#[must_use]
pub fn plan_line(case: &Case, c: &Constants) -> Option<String> {
    let machine = &case.machine;
    let as_configured = u32::from(machine.cpus) == machine.pu_count()
        && machine.is_permutation()
        && case.cred.fits(machine);
    let defaults =
        case.task_plugin_param == 0 && case.select_type_param == 0 && case.job_core_spec >= 0xfffe;
    if !as_configured || !defaults {
        return None;
    }
    let cores: Vec<_> = case.cred.cores().iter().map(ToString::to_string).collect();
    let mut words = vec![
        format!("berth plan --machine \"{}\"", machine.synthetic()),
        format!("--cores {}", cores.join(",")),
        format!("-n {} -c {}", case.tasks(), case.cpus_per_task),
        format!("-m {}", distribution(case.task_dist)?),
    ];
    let bind = cpu_bind(case, c);
    if !bind.is_empty() {
        words.push(format!("--cpu-bind={bind}"));
    }
    for (name, value) in [
        ("threads-per-core", case.threads_per_core),
        ("ntasks-per-core", case.ntasks_per_core),
        ("ntasks-per-socket", case.ntasks_per_socket),
    ] {
        if let Some(value) = given(value) {
            words.push(format!("--{name}={value}"));
        }
    }
    if case.overcommit {
        words.push("-O".into());
    }
    if c.CPU_BIND_RANK
        .is_some_and(|rank| u32::from(case.cpu_bind_type) & rank != 0)
    {
        words.push("--slurm 22.05".into());
    }
    words.push("--compat affinity --format masks".into());
    Some(words.join(" "))
}

/// An `-m` with the same order on the node, in srun's words; where a client other than srun sent
/// what has none, `None`.
fn distribution(bits: u32) -> Option<String> {
    let hosts = match bits & 0xf00f {
        1 => "cyclic",
        4 if bits & 0xf0 == 0 => return Some("plane=1".into()),
        // On the node a list of hosts, or nothing at all, means the same as blocks.
        2 | 3 | 0x2000 => "block",
        _ => return None,
    };
    let has_levels = matches!(bits & 0xf00f, 1 | 2);
    let order = |digit: u32| ["*", "cyclic", "block", "fcyclic"].get(digit as usize & 0xf);
    let sockets = match has_levels {
        true => order(bits >> 4)?,
        false => "cyclic",
    };
    Some(match (bits & 0xf0, bits & 0xf00) {
        (0, 0) => hosts.into(),
        (0, _) => return None,
        (_, 0) => format!("{hosts}:{sockets}"),
        _ => format!("{hosts}:{sockets}:{}", order(bits >> 8)?),
    })
}

fn cpu_bind(case: &Case, c: &Constants) -> String {
    let is = |bit: u32| u32::from(case.cpu_bind_type) & bit != 0;
    let list = case.cpu_bind.as_deref().unwrap_or_default();
    let mut words = Vec::new();
    for (bit, word) in [
        (c.CPU_BIND_TO_THREADS, "threads"),
        (c.CPU_BIND_TO_CORES, "cores"),
        (c.CPU_BIND_TO_SOCKETS, "sockets"),
        (c.CPU_BIND_TO_LDOMS, "ldoms"),
        (c.CPU_BIND_ONE_THREAD_PER_CORE, "one_thread"),
        (c.CPU_BIND_NONE, "none"),
        (c.CPU_BIND_RANK.unwrap_or(0), "rank"),
        (c.CPU_BIND_LDRANK, "rank_ldom"),
    ] {
        if is(bit) {
            words.push(word.to_owned());
        }
    }
    for (bit, word) in [
        (c.CPU_BIND_MAP, "map_cpu"),
        (c.CPU_BIND_MASK, "mask_cpu"),
        (c.CPU_BIND_LDMAP, "map_ldom"),
        (c.CPU_BIND_LDMASK, "mask_ldom"),
    ] {
        if is(bit) {
            words.push(format!("{word}:{list}"));
        }
    }
    words.join(",")
}
