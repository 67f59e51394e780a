//! `--explain`'s line on the order of sockets: what `-m` asks, and what it has led to.

use berth_placement::{Order, Rule};

use super::step::Planned;
use crate::Question;
use crate::parents::Parents;

/// The line; none where no level decides.
pub(super) fn line(
    args: &Question,
    planned: &Planned,
    parents: Option<&Parents<'_>>,
) -> Option<String> {
    let Rule::Level { order, .. } = planned.plan.decision.rule else {
        return None;
    };
    let requested = planned.request.distribution.sockets;
    let by = match (&args.srun.distribution, requested) {
        (Some(requested), Some(_)) => format!("-m {requested}"),
        (Some(requested), None) if requested.plane_size.is_some() => format!("-m {requested}"),
        (Some(requested), None) => format!("-m {requested} leaves the sockets to the default"),
        (None, _) => "the default".into(),
    };
    let of_task = |parents: &Parents<'_>| -> Vec<String> {
        let tasks = planned.plan.tasks.iter();
        tasks
            .map(|task| parents.of(&task.cpus)[0].clone())
            .collect()
    };
    let sockets = parents.map(of_task).unwrap_or_default();
    let means = means(order, &sockets);
    Some(format!(
        "order       {order} over the sockets ({by}): {means}"
    ))
}

/// What an order has led to, as far as the tasks' sockets show it.
fn means(order: Order, sockets: &[String]) -> &'static str {
    let changes = sockets.windows(2).filter(|two| two[0] != two[1]).count();
    let mut different = sockets.to_vec();
    different.sort_unstable();
    different.dedup();
    let one_place = different.len() == 1 && sockets.len() > 1;
    let takes_turns = changes + 1 == sockets.len();
    match order {
        _ if one_place && different[0].contains(['-', ',']) => "every task is on the same sockets",
        _ if one_place => "all tasks are on the same socket",
        Order::Block if changes + 1 == different.len() => "one socket is filled, then the next",
        Order::Block => "one socket is filled, then the next, and then again from the first",
        Order::Cyclic if takes_turns => "each task goes to the next socket",
        Order::Cyclic => "tasks go to the sockets in turn, but some neighbours are on one socket",
        Order::Fcyclic => "CPUs are taken from the sockets in turn, also within a task",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_what_happened() {
        let sentence = |order, sockets: &str| {
            let sockets: Vec<_> = sockets.split(' ').map(String::from).collect();
            means(order, &sockets)
        };
        for (order, sockets, says) in [
            (
                Order::Block,
                "0 0 1 1",
                "one socket is filled, then the next",
            ),
            (Order::Block, "0 1 0 1", "again from the first"),
            (
                Order::Cyclic,
                "0 1 0 1",
                "each task goes to the next socket",
            ),
            (
                Order::Cyclic,
                "0 1 1 0",
                "some neighbours are on one socket",
            ),
            (Order::Cyclic, "0 0 0", "all tasks are on the same socket"),
            (Order::Cyclic, "0", "each task goes to the next socket"),
            (
                Order::Fcyclic,
                "0-1 0-1",
                "every task is on the same sockets",
            ),
            (Order::Fcyclic, "0 1", "in turn, also within a task"),
        ] {
            assert!(
                sentence(order, sockets).contains(says),
                "{sockets}: {}",
                sentence(order, sockets)
            );
        }
    }
}
