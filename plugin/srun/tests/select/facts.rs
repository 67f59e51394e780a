//! The rules of slurmctld's selection, each as a cluster, a line and the answer.

use berth_placement::controller::select::{
    Client, Cluster, ClusterNode, Gap, JobAnswer, LineOptions, Partition, Select, SlurmLine, job,
};
use berth_placement::sets::limits::MAX_CPUS;

use berth_srun::Release;

use crate::lines::hold;
use crate::world::World;

#[test]
fn rules_of_nodes_and_cores() {
    hold(include_str!("facts.txt"), |context, question| {
        let (words, nodes) = context.split_once(": ").unwrap();
        let mut releases: Vec<Release> = Vec::new();
        let mut settings = Vec::new();
        for word in words.split(' ') {
            match word.parse() {
                Ok(release) => releases.push(release),
                Err(_) => settings.push(word),
            }
        }
        if releases.is_empty() {
            releases.push(Release::V22_05);
        }
        let answer = |release| answer(&World::of(release, &settings, nodes), question);
        let answers: Vec<_> = releases.into_iter().map(answer).collect();
        answers.join(" / ")
    });
}

/// The answer to `JOB`, `JOB | STEP`, or `JOB @VIEW`.
fn answer(world: &World, question: &str) -> String {
    if let Some((job, step)) = question.split_once(" |") {
        return world.step(job, step.trim());
    }
    let Some((job, view)) = question.split_once(" @") else {
        return world.job(question);
    };
    match view {
        "tasks" => world.grant(job).tasks.to_string(),
        "assumed" => world.grant(job).nodes_assumed.to_string(),
        "why" => format!("{:?}", world.answer(job).unwrap()),
        _ => panic!("{view} is no view of a job"),
    }
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
