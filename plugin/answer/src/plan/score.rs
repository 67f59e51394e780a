//! `--score`: the plan's figures in words, once for each number of tasks that a node may have.

use std::io::{self, Write};

use berth_placement::answer::quality::Range;
use berth_placement::{Quality, counted, either};

use super::step::Answered;

/// Writes the figures behind an answer.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut impl Write, of: Answered<'_>) -> io::Result<()> {
    let Answered { on, step, .. } = of;
    writeln!(out)?;
    for planned in &step.plans {
        if step.plans.len() > 1 {
            writeln!(out, "on a node with {} of the tasks:", planned.part.tasks)?;
        }
        match Quality::of(&planned.plan, planned.on(on)) {
            Some(quality) => lines(out, &quality)?,
            None => writeln!(out, "score       unknown: the machine's tree is not known")?,
        }
    }
    Ok(())
}

fn lines(out: &mut impl Write, quality: &Quality) -> io::Result<()> {
    let Quality {
        span_numa,
        span_l3,
        span_packages,
        shared_cores,
        idle_cores,
        tasks_per_numa,
        tasks_per_l3,
        far_cpus,
        neighbours_apart,
    } = quality;
    writeln!(
        out,
        "spanning    {} {} NUMA nodes, {span_l3} L3 caches, {span_packages} packages",
        counted(*span_numa, "task"),
        either(span_numa, "spans", "span")
    )?;
    writeln!(
        out,
        "cores       {shared_cores} {} shared by tasks, {idle_cores} of the step {} idle",
        either(shared_cores, "is", "are"),
        either(idle_cores, "stays", "stay")
    )?;
    let between = |range: &Range| match (range.least, range.most) {
        (least, most) if least == most => least.to_string(),
        (least, most) => format!("{least} to {most}"),
    };
    let caches = tasks_per_l3.as_ref().map(between);
    let caches = caches.map_or(String::new(), |tasks| format!(", {tasks} on each L3 cache"));
    writeln!(
        out,
        "tasks       {} on each NUMA node{caches}",
        between(tasks_per_numa)
    )?;
    writeln!(
        out,
        "memory      {} {} far from {} task's memory",
        counted(*far_cpus, "CPU"),
        either(far_cpus, "is", "are"),
        either(far_cpus, "its", "their")
    )?;
    writeln!(
        out,
        "neighbours  {} of successive tasks {} no NUMA node in common",
        counted(*neighbours_apart, "pair"),
        either(neighbours_apart, "has", "have")
    )
}
