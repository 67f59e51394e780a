//! What the user reads of a step that slurmstepd does not start. srun shows what every task writes,
//! so slurmstepd writes it once on each node, at its first task: in full on the step's first node, and in short on
//! the others, whose cores may be taken by other steps.

/// The place of a task in its step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// The task's number on its node.
    pub local_id: u32,
    /// The node's number in the step; 0 is the first.
    pub node_id: u32,
    pub node_name: &'a str,
}

/// The text for the user, if this task has one to write. `what` is "the task" or "the script".
pub(crate) fn text(place: Place<'_>, what: &str, why: &str) -> Option<String> {
    match (place.local_id, place.node_id) {
        (0, 0) => Some(format!("{what} is not started: {why}")),
        // The advice behind the first part is the same on every node.
        (0, _) => {
            let reason = why.split("; ").next().unwrap_or(why);
            Some(format!(
                "node {}: {what} is not started: {reason}",
                place.node_name
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_a_node_and_in_full_on_the_first() {
        let note = |local_id, node_id| {
            let place = Place {
                local_id,
                node_id,
                node_name: "n7",
            };
            text(place, "the task", "no core is free; ask for less")
        };
        let full = "the task is not started: no core is free; ask for less";
        assert_eq!(note(0, 0).as_deref(), Some(full));
        let short = "node n7: the task is not started: no core is free";
        assert_eq!(note(0, 6).as_deref(), Some(short));
        assert_eq!((note(1, 0), note(1, 6)), (None, None));
    }
}
