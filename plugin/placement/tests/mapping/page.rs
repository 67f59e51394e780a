//! The page's table of mpirun's and srun's lines: each line of Slurm's own options gives what the mapper gives.

use berth_placement::*;
use berth_srun::Release;
use berth_srun::spelling::{cpu_bind, distribution};

use super::machines::{answer, regular};

const PAGE: &str = include_str!("../../../../docs/users/mapping.md");

/// Options of srun.
fn slurms(line: &str) -> Request {
    let words: Vec<_> = line.split([' ', '=']).collect();
    let mut request = Request {
        tasks: 4,
        ..Request::default()
    };
    for pair in words.chunks(2) {
        let [option, value] = pair else {
            panic!("{line}: {pair:?}");
        };
        match *option {
            "-n" => request.tasks = value.parse().unwrap(),
            "-c" => request.cpus_per_task = value.parse().unwrap(),
            "-m" => request.distribution = distribution(value).unwrap(),
            "--cpu-bind" => request.cpu_bind = cpu_bind(value, Release::NEWEST).unwrap(),
            "--ntasks-per-socket" => request.ntasks_per_socket = Some(value.parse().unwrap()),
            other => panic!("{line}: {other}"),
        }
    }
    request
}

/// The texts between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_pages_lines_give_what_the_mapper_gives() {
    let machine = regular(2, 1, 1, 4, 2);
    let node = Node::of(machine.clone(), SocketKind::Package, Rules::default());
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
        let request = slurms(srun);
        let mapped = answer(&machine, request.tasks, mpirun, Allocation::Whole);
        let plan = plan(&request, &node, &Claims::default()).unwrap();
        let cpus = plan.tasks.iter().map(|task| task.cpus.to_string());
        assert_eq!(cpus.collect::<Vec<_>>().join(" "), mapped, "{row}");
        compared += 1;
    }
    assert_eq!(compared, 8, "rows of the table");
}
