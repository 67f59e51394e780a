//! Answers that were recorded from a real slurmctld of each release line, compared with the model's.
//!
//! A file's paragraph is a cluster (`conf`, lines of slurm.conf) and what it was asked while nothing ran
//! (`ask LINE | ANSWER | LINE OF A STEP | ITS ANSWER`); an srun's own step has no line.

use berth_srun::Release;

use crate::world::World;

#[test]
fn the_model_answers_as_slurmctld_22_05_did() {
    compare(Release::V22_05, include_str!("real/22.05.txt"));
}

#[test]
fn the_model_answers_as_slurmctld_24_11_did() {
    compare(Release::V24_11, include_str!("real/24.11.txt"));
}

#[test]
fn the_model_answers_as_slurmctld_26_05_did() {
    compare(Release::V26_05, include_str!("real/26.05.txt"));
}

fn compare(release: Release, records: &str) {
    let mut differences = Vec::new();
    let mut requested = 0;
    for paragraph in records.split("\n\n") {
        let conf: Vec<&str> = with_prefix(paragraph, "conf ").collect();
        for question in with_prefix(paragraph, "ask ") {
            requested += 1;
            let mut fields = question.split('|').map(str::trim);
            let mut next = || fields.next().unwrap_or_default();
            let (job, answer, step, step_answer) = (next(), next(), next(), next());
            let world = World::new(release, conf.iter().copied());
            let mut job = job.to_string();
            let mut ours = world.job(&job);
            if ours != answer && answer.starts_with("granted") {
                // slurmctld chose other nodes: on these its cores are the model's.
                job += &exclusion(&world, answer);
                ours = world.job(&job);
            }
            let ours_step = match step_answer {
                "" => String::new(),
                _ if ours != answer => String::new(),
                _ => world.step(&job, step),
            };
            if ours != answer || ours_step != step_answer {
                differences.push(format!("{conf:#?}\n{question}\nmodel: {ours} {ours_step}"));
            }
        }
    }
    assert!(requested > 100, "{requested} questions were read");
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

/// `-x` with the nodes that an answer does not have.
fn exclusion(world: &World, answer: &str) -> String {
    let names = world.cluster.nodes.iter().map(|node| node.name.as_str());
    let others: Vec<_> = names
        .filter(|name| !answer.contains(&format!(" {name}=")))
        .collect();
    match others.is_empty() {
        true => String::new(),
        false => format!(" -x {}", others.join(",")),
    }
}

fn with_prefix<'a>(paragraph: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    paragraph
        .lines()
        .filter_map(move |line| line.strip_prefix(prefix))
}
