//! Finds a `--binding` or a mapping that can never fit in the submitting command, such as
//! `-n N --binding=linear:N` from users who want one process with N threads.
//! In: the request, the command's own words, its environment. Out: a text, if that is sure.

use berth_placement::request::grid_engine::{Scope, Strategy};
use berth_placement::sets::text::counted;
use berth_placement::{Binding, Mapping};

use crate::node_lists::each_node;
use crate::submission::Words;

/// The reason why the binding can never fit, with the line to use instead.
#[must_use]
pub fn why(
    binding: &Binding,
    words: &Words,
    env: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let (amount, shared) = match &binding.strategy {
        Strategy::None | Strategy::Auto(_) => return None,
        Strategy::Linear { amount, .. } | Strategy::Striding { amount, .. } => {
            (*amount, binding.scope == Scope::Host)
        }
        Strategy::Explicit(places) => (places.len() as u32, true),
    };
    let Known { tasks, limit } = Known::of(words, &env)?;
    let takers = if shared { 1 } else { tasks };
    let cores = counted(amount, "core");
    let requested = match takers {
        1 => cores,
        _ => format!("{tasks} tasks × {cores}"),
    };
    let needed = u64::from(takers) * u64::from(amount);
    let each = match limit {
        Limit::Allocation(cpus) => {
            return (needed > cpus).then(|| {
                format!(
                    "--binding={binding} asks for {requested}; this allocation has {}: ask for fewer, or for a \
                     larger allocation",
                    counted(cpus, "CPU")
                )
            });
        }
        Limit::Job(each) => each,
    };
    (needed > u64::from(tasks) * u64::from(each)).then(|| {
        let instead = match shared {
            true => format!("-n{tasks} -c{}", amount.div_ceil(tasks.max(1))),
            false if tasks > 1 => {
                format!(
                    "-n1 -c{amount} for one process with {amount} threads, or -n{tasks} -c{amount}"
                )
            }
            false => format!("-n1 -c{amount}"),
        };
        format!(
            "--binding={binding} asks for {requested}; this job asks for {tasks} × {} and can never have \
             them; use {instead}; in a job of whole nodes (sbatch --exclusive) it may fit",
            counted(each, "CPU")
        )
    })
}

/// The reason why a mapping with `pe=N` can never fit: each CPU that it counts is a core, and
/// Slurm counts at least one CPU for each.
#[must_use]
pub fn mapping(
    mapping: &Mapping,
    words: &Words,
    env: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let each = mapping.each().filter(|each| *each > 1)?;
    let overload = mapping.bind.as_ref().is_some_and(|bind| bind.overload);
    // A job may get more hardware threads than it asks for: Slurm gives whole cores.
    if overload || mapping.takes_threads() {
        return None;
    }
    let Known { tasks, limit } = Known::of(words, &env)?;
    let wanted = u64::from(tasks) * u64::from(each);
    let (all, cpus) = (counted(tasks, "task"), counted(each, "CPU"));
    let requested = format!("{mapping} asks for {all} × {cpus}");
    match limit {
        Limit::Allocation(cpus) => (wanted > cpus).then(|| {
            let fewer = match cpus / u64::from(each) {
                0 => String::new(),
                fits => format!("at most -n{fits}, "),
            };
            format!(
                "{requested}; this allocation has {}: use {fewer}a smaller pe=, or a larger allocation",
                counted(cpus, "CPU")
            )
        }),
        Limit::Job(own) => (wanted > u64::from(tasks) * u64::from(own)).then(|| {
            format!(
                "{requested}; this job asks for {tasks} × {own} CPUs and can never have them; use -n{tasks} \
                 -c{each}; in a job of whole nodes (sbatch --exclusive) it may fit"
            )
        }),
    }
}

/// What the tasks of a step can have at the most.
enum Limit {
    /// The CPUs of the allocation in which srun starts them.
    Allocation(u64),
    /// The most CPUs of each task, in a job of their own.
    Job(u32),
}

/// What is sure of a command's tasks.
struct Known {
    tasks: u32,
    limit: Limit,
}

impl Known {
    fn of(words: &Words, env: &impl Fn(&str) -> Option<String>) -> Option<Self> {
        // Components have allocations of their own.
        if words.is_unsure() || env("SLURM_HET_SIZE").is_some() || words.is_unbound(env) {
            return None;
        }
        let tasks = words.tasks(env)?;
        let around = env("SLURM_JOB_CPUS_PER_NODE").filter(|_| words.is_srun);
        let limit = match around {
            Some(cpus) => {
                let inherited = env("SLURM_JOB_ID").is_some() && !words.has("jobid");
                Limit::Allocation(each_node(&cpus).filter(|_| inherited)?.sum())
            }
            None => Limit::Job(words.most_cpus_per_task(env)?),
        };
        Some(Self { tasks, limit })
    }
}

#[cfg(test)]
mod tests {
    use berth_placement::request::mapping::MappingTexts;

    use super::*;
    use crate::release::Release;

    fn says(binding: &str, line: &str, env: &[(&str, &str)]) -> String {
        let words = Words::read("srun", line.split(' '), Release::NEWEST);
        let env = |name: &str| {
            let found = env.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.to_string())
        };
        why(&binding.parse().unwrap(), &words, env).unwrap_or_default()
    }

    #[test]
    fn no_task_is_no_advice() {
        let words = Words::read("srun", ["-n2", "a"], Release::NEWEST);
        let requested = MappingTexts {
            map: Some("slot:pe=3"),
            ..MappingTexts::default()
        };
        let requested = Mapping::read(requested).unwrap().unwrap();
        for (cpus, says) in [
            ("2", ": use a smaller pe="),
            ("4", ": use at most -n1, a smaller"),
        ] {
            let env = |name: &str| match name {
                "SLURM_JOB_ID" => Some("1".into()),
                "SLURM_JOB_CPUS_PER_NODE" => Some(cpus.into()),
                _ => None,
            };
            let why = mapping(&requested, &words, env).unwrap();
            assert!(why.contains(says), "{why}");
        }
    }

    #[test]
    fn what_can_never_fit_and_what_may() {
        for (binding, line, text) in [
            (
                "linear:4",
                "-n4 a",
                "-n1 -c4 for one process with 4 threads",
            ),
            ("linear:4", "a", "use -n1 -c4;"),
            ("host:linear:8", "-n4 a", "use -n4 -c2;"),
            ("striding:3:2", "-n2 -c2 a", "2 tasks × 3 cores"),
            ("explicit:0,0:0,1", "-n1 a", "2 cores"),
        ] {
            assert!(says(binding, line, &[]).contains(text), "{binding} {line}");
        }
        for (binding, line) in [
            ("linear:4", "-n1 -c4 a"),
            ("host:linear:4", "-n4 a"),
            ("linear:4", "-n4 --exclusive a"),
            ("none", "-n4 a"),
            ("explicit:9,9", "a"),
            ("linear:4", "-n4 --cpu-bind=none a"),
            ("linear:4", "-n4 --cpu-bind=v,none a"),
        ] {
            assert_eq!(says(binding, line, &[]), "", "{binding} {line}");
        }
        let unbound = [("SLURM_CPU_BIND", "quiet,none")];
        assert_eq!(says("linear:4", "-n4 a", &unbound), "");
        let job = [("SLURM_JOB_ID", "1"), ("SLURM_JOB_CPUS_PER_NODE", "4")];
        assert_eq!(says("linear:4", "a", &job), "");
        assert!(says("linear:4", "-n4 a", &job).contains("this allocation has 4 CPUs"));
        let part = [job[0], job[1], ("SLURM_HET_SIZE", "2")];
        assert_eq!(says("linear:4", "-n4 a", &part), "");
        // A new job from within a job is not a step of it.
        let new = Words::read("sbatch", "-n1 -c8 a".split(' '), Release::NEWEST);
        let env = |name: &str| {
            let outer = [job[0], job[1], ("SLURM_NTASKS", "9")];
            let found = outer.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.to_string())
        };
        assert_eq!(why(&"linear:8".parse().unwrap(), &new, env), None);
    }
}
