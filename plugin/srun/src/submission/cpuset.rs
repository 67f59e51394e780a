//! What the submitting command works out for a `--cpuset`: the number of CPUs on each node where the
//! request has none, what can never fit, and where there is little to choose from.
//! In: the request, the command's own words, its environment. Out: a number, a text. Pure.

use berth_placement::CpusetRequest;
use berth_placement::request::cpuset::{Attribute, Dynamic};
use berth_placement::sets::text::counted;

use crate::reading::SrunRequest;
use crate::submission::Words;

/// The number of CPUs on each node that a line asks for: tasks on a node × `-c`. Tasks on a node are
/// `--ntasks-per-node`, else all tasks over the nodes. `None` if the number of nodes is open, and for a line
/// that says nothing of tasks and CPUs: its job has all that it gets.
#[must_use]
pub fn ncpus(requested: &SrunRequest) -> Option<u32> {
    if (
        requested.ntasks,
        requested.ntasks_per_node,
        requested.cpus_per_task,
    ) == (None, None, None)
    {
        return None;
    }
    let nodes = requested.nodes.map(|nodes| (nodes.least, nodes.most));
    on_a_node(
        requested.tasks(),
        requested.ntasks_per_node,
        nodes,
        requested.cpus_per_task,
    )
}

/// The number of CPUs on each node, from the numbers of a line; `nodes` are the least and the most. `None` if the
/// number of nodes is open.
#[must_use]
pub fn on_a_node(
    tasks: u32,
    per_node: Option<u32>,
    nodes: Option<(u32, Option<u32>)>,
    cpus_per_task: Option<u32>,
) -> Option<u32> {
    let here = match (per_node, nodes) {
        (Some(count), _) => count,
        (None, None) => tasks,
        (None, Some((least, most))) if most == Some(least) => tasks.div_ceil(least.max(1)),
        (None, Some(_)) => return None,
    };
    here.max(1).checked_mul(cpus_per_task.unwrap_or(1).max(1))
}

/// The number of CPUs on each node that a command's words ask for.
#[must_use]
pub fn ncpus_of(words: &Words, env: impl Fn(&str) -> Option<String>) -> Option<u32> {
    if words.is_unsure() {
        return None;
    }
    ncpus(&words.request(env)?)
}

/// The reason why a cpuset can never be had, if that is sure.
#[must_use]
pub fn never_fits(
    request: &CpusetRequest,
    words: &Words,
    env: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let CpusetRequest::Dynamic(set) = request else {
        return None;
    };
    if words.is_unsure() {
        return None;
    }
    let requested = words.request(env)?;
    let least = requested.nodes.as_ref().map_or(1, |nodes| nodes.least);
    if set.max_radius.is_some() && least > 1 {
        return Some(format!(
            "--cpuset={set}: MAX_RADIUS means one node, and the line asks for at least {least}; use -N1, \
             or leave MAX_RADIUS out"
        ));
    }
    let listed = set.cpu_list.as_ref()?.cpus().count() as u32;
    if words.is_srun && requested.exact && requested.exclusive.is_some() {
        return Some(format!(
            "--cpuset={set}: with --exclusive srun's own step gets cores of slurmctld's choice, and CPU_LIST may not \
             name them; make the job with salloc: salloc --exclusive --cpuset='{set}' srun …"
        ));
    }
    let needed = set.ncpus.or_else(|| ncpus(&requested))?;
    (listed < needed).then(|| {
        format!(
            "--cpuset={set}: CPU_LIST names {}, and {needed} are needed on each node; list at least as \
             many, or request fewer (NCPUS)",
            counted(listed, "CPU")
        )
    })
}

/// Whether slurmctld has to be asked for one node: `MAX_RADIUS` means one, and the line leaves the number open.
#[must_use]
pub fn needs_one_node(
    request: &CpusetRequest,
    words: &Words,
    env: impl Fn(&str) -> Option<String>,
) -> bool {
    let has_radius = matches!(request, CpusetRequest::Dynamic(set) if set.max_radius.is_some());
    let named = ["nodelist", "nodefile", "ntasks-per-node"];
    let is_open = |requested: SrunRequest| requested.nodes.is_none();
    has_radius
        && !words.is_unsure()
        && !named.iter().any(|option| words.has(option))
        && words.request(env).is_some_and(is_open)
}

/// Whether the cpuset of a job on one node may be a part of the CPUs that the job has there. `counted` is the number that
/// the submitting command has worked out.
#[must_use]
pub fn is_part_of_job(
    request: &CpusetRequest,
    counted: Option<u32>,
    env: impl Fn(&str) -> Option<String>,
) -> bool {
    // It has one number for one node alone.
    let owned: Option<u32> = env("SLURM_JOB_CPUS_PER_NODE").and_then(|text| text.parse().ok());
    let count = request.ncpus().or(counted);
    match (request, owned, count) {
        (CpusetRequest::None, _, _) | (_, None, _) => false,
        (_, Some(owned), Some(count)) => count < owned,
        (_, Some(_), None) => true,
    }
}

/// Whether two texts ask for the same cpuset.
#[must_use]
pub fn is_same(one: &str, other: &str) -> bool {
    let read = |text: &str| text.parse::<CpusetRequest>().ok();
    read(one) == read(other)
}

/// The reason why a step is refused that asks for a cpuset inside a job with another one.
#[must_use]
pub fn other_than_job(own: &str, of_job: &str) -> Option<String> {
    (!is_same(own, of_job)).then(|| {
        format!(
            "--cpuset={own}: this job has the cpuset {of_job}, and its steps run inside it; leave --cpuset out, or \
             request another one for the job"
        )
    })
}

/// The note where a request has little to choose from: slurmctld gives a job its cores without a look at
/// the cpuset, and only a job of whole nodes has others.
#[must_use]
pub fn little_choice(request: &CpusetRequest, words: &Words) -> Option<String> {
    let CpusetRequest::Dynamic(set) = request else {
        return None;
    };
    let word = choosing_word(set)?;
    // srun's own --exclusive is about its step too, which then gets cores of slurmctld's choice.
    let way = if words.is_srun {
        "make the job with salloc"
    } else {
        "submit the job with"
    };
    (!words.has("exclusive")).then(|| {
        format!(
            "--cpuset: slurmctld chooses the job's cores without a look at {word}, so there is little to \
             choose from; {way} --exclusive"
        )
    })
}

/// The first word that needs CPUs to choose from.
#[must_use]
fn choosing_word(set: &Dynamic) -> Option<&'static str> {
    let words = [
        (set.cpu_list.is_some(), "CPU_LIST"),
        (set.max_radius.is_some(), "MAX_RADIUS"),
        (set.node_ex == Some(true), "NODE_EX"),
        (set.max_cpu_per_node.is_some(), "MAX_CPU_PER_NODE"),
        (
            set.has(Attribute::MemoryMandatory),
            "CPUSET_MEMORY_MANDATORY",
        ),
    ];
    let found = words.into_iter().find(|(is_there, _)| *is_there);
    found.map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::Release;

    fn words(line: &str) -> Words {
        let (command, words) = line.split_once(' ').unwrap_or((line, ""));
        Words::read(command, words.split(' '), Release::NEWEST)
    }

    #[test]
    fn cpus_on_each_node_are_tasks_there_times_c() {
        for (line, count) in [
            ("sbatch -n8 job", Some(8)),
            ("sbatch -n8 -c2 job", Some(16)),
            ("sbatch -N2 -n7 job", Some(4)),
            ("sbatch -N2 job", None),
            ("sbatch -c3 job", Some(3)),
            ("sbatch -N3 --ntasks-per-node=4 -c2 job", Some(8)),
            ("sbatch -N1-3 --ntasks-per-node=4 job", Some(4)),
            ("sbatch -N1-3 -n6 job", None),
            ("sbatch job", None),
            ("srun -n2 ./a : -n3 ./b", None),
        ] {
            assert_eq!(ncpus_of(&words(line), |_| None), count, "{line}");
        }
    }

    #[test]
    fn what_can_never_be_had_is_refused() {
        for (request, line, expected) in [
            (
                "MAX_RADIUS=1",
                "sbatch -N2 job",
                Some("MAX_RADIUS means one node"),
            ),
            ("MAX_RADIUS=1", "sbatch -N2-4 job", Some("at least 2")),
            ("MAX_RADIUS=1", "sbatch -N1 job", None),
            ("MAX_RADIUS=1", "sbatch -n4 job", None),
            (
                "CPU_LIST=0-2",
                "sbatch -n4 job",
                Some("names 3 CPUs, and 4 are needed"),
            ),
            ("CPU_LIST=0-2;NCPUS=2", "sbatch -n4 job", None),
            ("CPU_LIST=0-3", "sbatch -N2 -n8 job", None),
            ("CPUSET_NAME=A", "sbatch -N2 job", None),
            (
                "CPU_LIST=1",
                "srun --exclusive -N1 -n1 ./a",
                Some("salloc --exclusive --cpuset='CPUSET[CPU_LIST=1]' srun"),
            ),
            ("CPU_LIST=1", "srun --exclusive=user -N1 -n1 ./a", None),
            ("NCPUS=1", "srun --exclusive -N1 -n1 ./a", None),
            ("CPU_LIST=1", "salloc --exclusive -N1 -n1", None),
        ] {
            let found = never_fits(&request.parse().unwrap(), &words(line), |_| None);
            match expected {
                Some(text) => assert!(found.unwrap_or_default().contains(text), "{request} {line}"),
                None => assert_eq!(found, None, "{request} {line}"),
            }
        }
    }

    #[test]
    fn one_node_is_asked_for_where_the_line_leaves_the_number_open() {
        for (request, line, one) in [
            ("MAX_RADIUS=1", "sbatch -n4 job", true),
            ("MAX_RADIUS=1", "sbatch job", true),
            ("MAX_RADIUS=1", "sbatch -N1-2 job", false),
            ("MAX_RADIUS=1", "sbatch -w n[1-2] job", false),
            ("MAX_RADIUS=1", "sbatch -n4 --ntasks-per-node=2 job", false),
            ("NCPUS=2", "sbatch -n4 job", false),
        ] {
            let found = needs_one_node(&request.parse().unwrap(), &words(line), |_| None);
            assert_eq!(found, one, "{request} {line}");
        }
    }

    #[test]
    fn a_cpuset_is_a_part_of_its_job_where_the_job_has_more_cpus_on_its_node() {
        for (request, counted, owned, is_part) in [
            ("CPU_LIST=2-3", Some(2), Some("16"), true),
            ("CPU_LIST=2-3", Some(2), Some("2"), false),
            ("NCPUS=4", Some(16), Some("16"), true),
            ("CPU_LIST=2-3", None, Some("2"), true),
            ("CPU_LIST=2-3", Some(2), Some("16(x2)"), false),
            ("CPU_LIST=2-3", Some(2), None, false),
            ("CPUSET_TYPE=none", None, Some("16"), false),
        ] {
            let env = |name: &str| {
                assert_eq!(name, "SLURM_JOB_CPUS_PER_NODE");
                owned.map(String::from)
            };
            let found = is_part_of_job(&request.parse().unwrap(), counted, env);
            assert_eq!(found, is_part, "{request} {counted:?} {owned:?}");
        }
    }

    #[test]
    fn a_step_has_no_other_cpuset_than_its_job() {
        for (own, of_job, refused) in [
            ("NCPUS=4", "NCPUS=4", false),
            ("CPUSET[NCPUS=4;]", " NCPUS = 4", false),
            ("NCPUS=2", "NCPUS=4", true),
            ("CPUSET_TYPE=none", "NCPUS=4", true),
            ("NCPUS=4", "CPUSET_TYPE=none", true),
        ] {
            let why = other_than_job(own, of_job);
            assert_eq!(why.is_some(), refused, "{own} {of_job}: {why:?}");
        }
    }

    #[test]
    fn little_choice_is_said_once() {
        let choice =
            |request: &str, line: &str| little_choice(&request.parse().unwrap(), &words(line));
        assert!(
            choice("CPU_LIST=0-3", "sbatch job")
                .unwrap()
                .contains("CPU_LIST")
        );
        let mandatory = "CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY";
        assert!(
            choice(mandatory, "sbatch job")
                .unwrap()
                .contains("MANDATORY")
        );
        for (request, line) in [
            ("CPU_LIST=0-3", "sbatch --exclusive job"),
            ("NCPUS=4", "sbatch job"),
            ("NODE_EX=N", "sbatch job"),
            ("CPUSET_NAME=A", "sbatch job"),
        ] {
            assert_eq!(choice(request, line), None, "{request} {line}");
        }
    }
}
