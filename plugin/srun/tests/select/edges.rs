//! What the model does not know, and clusters that it refuses to count.

use berth_placement::controller::select::{
    Client, Cluster, ClusterNode, Gap, JobAnswer, LineOptions, SlurmLine, job,
};
use berth_placement::controller::select::{Partition, Select};
use berth_placement::sets::limits::MAX_CPUS;

use crate::world::World;

fn two() -> World {
    let node = |name: &str| format!("NodeName={name} Sockets=2 CoresPerSocket=2 ThreadsPerCore=2");
    let conf = [
        node("n1"),
        node("n2"),
        "SelectTypeParameters=CR_Core".to_string(),
    ];
    World::new(SlurmLine::V22_05, conf.iter().map(String::as_str))
}

#[test]
fn what_is_not_modelled_is_named() {
    let world = two();
    assert_eq!(world.job("srun -n2 -m arbitrary -w n1,n2"), "Arbitrary");
    assert_eq!(world.step("salloc -n2", "srun -n2 -x n1"), "StepExcludes");
}

#[test]
fn a_cluster_of_impossible_size_is_refused_before_anything_is_counted() {
    let answer = |nodes: Vec<ClusterNode>| {
        let cluster = Cluster {
            nodes,
            select: Select::default(),
            line: SlurmLine::V22_05,
            partition: Partition::default(),
        };
        job(&cluster, Client::Srun, &LineOptions::default())
    };
    let refused = |answer| matches!(answer, JobAnswer::NotModelled(Gap::Cluster(_)));
    assert!(refused(answer(Vec::new())));
    assert!(refused(answer(vec![ClusterNode::idle(
        "n1",
        u32::MAX,
        u32::MAX,
        1
    )])));
    assert!(refused(answer(vec![ClusterNode::idle("n1", 0, 1, 1)])));
    assert!(refused(answer(vec![ClusterNode::idle(
        "n1", 1, MAX_CPUS, 2
    )])));
    assert!(!refused(answer(vec![ClusterNode::idle(
        "n1", 1, MAX_CPUS, 1
    )])));
    let many = (0..100_000).map(|at| ClusterNode::idle(&format!("n{at}"), 8, 64, 2));
    assert!(refused(answer(many.collect())));
}
