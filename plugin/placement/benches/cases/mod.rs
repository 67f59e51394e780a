//! Cases of a benchmark: a machine and a request as lines of text, planned in turn.

#[path = "../../tests/engine/harness/mod.rs"]
mod harness;

use std::hint::black_box;
use std::time::Instant;

use berth_placement::{Node, Plan};
use harness::ask::Ask;
use harness::machine_text::host;

/// Plans of each case; they take turns.
const TURNS: usize = 301;

pub struct Case {
    node: Node,
    ask: Ask,
}

impl Case {
    pub fn of(machine: &str, request: &str) -> Self {
        let (host, ask) = (host(machine), request.parse::<Ask>().expect("a request"));
        let node = ask.node(&host.machine, host.kind, host.shape);
        Self { node, ask }
    }

    fn planned(&self) -> Plan {
        black_box(black_box(&self.ask).plan(&self.node).expect("a plan"))
    }
}

/// Plans the one case that stands behind the command, `NAME TIMES CORES`; returns false where none does.
pub fn one_alone(case: impl Fn(&str, u32) -> Case) -> bool {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().filter(|word| *word != "--bench").collect();
    let [name, times, cores] = words[..] else {
        return false;
    };
    let number = |text: &String| text.parse::<u32>().expect("a number");
    let one = case(name, number(cores));
    (0..number(times)).for_each(|_| drop(one.planned()));
    true
}

/// The times of all cases for these numbers of cores, and each as a multiple of the first case's.
pub fn table(names: &[&str], all_cores: &[u32], case: impl Fn(&str, u32) -> Case) {
    let heads: Vec<_> = names
        .iter()
        .map(|name| format!("{name}, µs, times {}", names[0]))
        .collect();
    println!("| cores | {} |", heads.join(" | "));
    println!("|---:|{}", "---:|".repeat(names.len()));
    for cores in all_cores {
        let mut least = vec![f64::INFINITY; names.len()];
        let cases: Vec<_> = names.iter().map(|name| case(name, *cores)).collect();
        for _ in 0..TURNS {
            for (least, case) in least.iter_mut().zip(&cases) {
                let since = Instant::now();
                let plan = case.planned();
                *least = least.min(since.elapsed().as_secs_f64() * 1e6);
                drop(plan);
            }
        }
        let cells: Vec<_> = least
            .iter()
            .map(|time| format!("{time:.1}, {:.1}", time / least[0]))
            .collect();
        println!("| {cores} | {} |", cells.join(" | "));
    }
}
