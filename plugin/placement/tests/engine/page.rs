//! The page's table of mpirun's and srun's lines: each line of Slurm's own options gives what the mapper gives.

use crate::texts::planned;

const PAGE: &str = include_str!("../../../../docs/users/mapping.md");

/// The texts between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_pages_lines_give_what_the_mapper_gives() {
    let machine = "pack:2 numa:1 l3:1 core:4 pu:2";
    let mut compared = 0;
    for row in PAGE.lines().filter(|line| line.starts_with("| `--")) {
        let cells: Vec<_> = row.split('|').collect();
        let (mpirun, srun) = (quoted(cells[1]), quoted(cells[2]));
        let (Some(mpirun), Some(srun)) = (mpirun.first(), srun.first()) else {
            continue;
        };
        if !srun.contains("--cpu-bind") || mpirun.contains("none") {
            continue;
        }
        let slurms = planned(machine, &format!("-n4 {srun}"));
        let tasks = slurms.tasks.len();
        let mapped = planned(machine, &format!("-n{tasks} {mpirun}"));
        assert_eq!(slurms.tasks, mapped.tasks, "{row}");
        compared += 1;
    }
    assert_eq!(compared, 8, "rows of the table");
}
