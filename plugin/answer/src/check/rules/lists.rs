//! Lists of CPUs by number.

use crate::check::case::Case;
use crate::check::finding::Finding;

/// The largest list in the place of `rank`.
pub(super) fn on_several_nodes(case: &Case<'_>) -> Option<Finding> {
    let nodes = case.nodes().filter(|nodes| *nodes > 1)?;
    if !case.is_list() || case.is_whole() {
        return None;
    }
    let finding = case.hint(
        "list-on-several-nodes",
        format!("--cpu-bind={} on {nodes} nodes", case.cpu_bind()),
        "the list names CPUs by the kernel's numbers on every node; it fits if jobs get whole nodes \
         there (then give --site exclusive), else --cpu-bind=cores chooses among the job's CPUs",
    );
    Some(finding)
}

pub(super) fn on_part_of_a_node(case: &Case<'_>) -> Option<Finding> {
    (case.is_list() && case.nodes() == Some(1) && !case.is_whole()).then(|| {
        case.hint(
            "list-on-part-of-a-node",
            format!("--cpu-bind={} without --exclusive", case.cpu_bind()),
            "if the job shares its node, nobody knows beforehand which CPUs it gets, and a list that \
             names others is refused; in a job with --exclusive the list fits, --cpu-bind=cores needs none",
        )
    })
}

pub(super) fn rank(case: &Case<'_>) -> Option<Finding> {
    let bind = case.cpu_bind();
    let word = bind.split(',').find(|word| *word == "rank")?;
    let is_gone = case.around.release >= berth_srun::Release::V24_11;
    let finding = case.warning(
        "rank",
        format!("--cpu-bind={word}"),
        match is_gone {
            true => "Slurm 24.11 removed it, and srun ignores it",
            false => {
                "Slurm 24.11 removes it; --cpu-bind=threads gives each task a thread of its own"
            }
        },
    );
    let others = bind
        .split(',')
        .map(|one| if one == "rank" { "threads" } else { one });
    let others = others.collect::<Vec<_>>().join(",");
    Some(finding.hint_if(!is_gone).or(case.bind_to(&others)))
}
