//! `--binding` where plugstack.conf names berth and TaskPlugin does not: slurmstepd must count the node as slurmd does,
//! whichever line of slurm.conf says how. The masks must be those that task/berth gives.

use berth_srun::Release;
use berth_tests::{Builder, Cluster};

/// Requests for an idle node of at least eight CPUs.
const REQUESTS: [&[&str]; 5] = [
    &["-n1", "-c8", "--binding=linear:1"],
    &["-n1", "-c8", "--binding=linear:3"],
    &["-n1", "-c8", "--binding=striding:2:2"],
    &["-n2", "-c4", "--binding=task:linear:2"],
    &["-n1", "-c8", "--binding=linear:2:0,1"],
];

/// Whether the masks are the same with and without task/berth. `site` makes a site as the requests have it; `shape` is
/// the node as slurmctld has it there.
pub fn is_equal(
    site: impl Fn() -> Builder,
    shape: &str,
    release: Release,
    allows_ecores: bool,
) -> bool {
    let mut sites = vec![("SlurmdParameters", site())];
    // From 25.11 on a node has parameters of its own.
    if allows_ecores && release >= Release::V25_11 {
        let own = site().set("SlurmdParameters=config_overrides").shape(shape);
        sites.push(("Parameters", own.node("Parameters=allow_ecores")));
    }
    sites.into_iter().all(|(name, site)| {
        let with = masks(&site.clone().up());
        let alone = masks(&site.task_plugin("task/none").up());
        println!("{name}: task/berth {with:?}, SPANK alone {alone:?}");
        with == alone
    })
}

fn masks(cluster: &Cluster) -> Vec<Vec<String>> {
    let ask = |request: &&[&str]| {
        let exclusive = [&["-N1", "--exclusive"], *request].concat();
        cluster.wait_idle();
        cluster.task_masks(&exclusive)
    };
    REQUESTS.iter().map(ask).collect()
}
