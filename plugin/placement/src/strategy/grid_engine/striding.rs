//! Strategy `striding`: cores at a distance.
//! In: the host's cores, number of takers, amount, step. Out: positions for each taker, all
//! or nothing. Pure; greedy in task order, no backtracking. Source: Grid Engine's job-to-core
//! binding specification, section 4.2.

use crate::request::grid_engine::Place;
use crate::strategy::grid_engine::cores::{Cores, Obstacle};

/// `striding:AMOUNT:STEP[:SOCKET,CORE]`: the first taker begins exactly at the start, or at the
/// first core from 0,0 on that fits; each later one begins at the next core that fits, going up.
///
/// # Errors
/// The core that stands in the way of a given start; [`Obstacle::TooFew`] or
/// [`Obstacle::NoStart`] where a search found none.
pub fn striding(
    cores: &Cores,
    takers: u32,
    (amount, step): (u32, u32),
    start: Option<Place>,
) -> Result<Vec<Vec<usize>>, Obstacle> {
    let (amount, step) = (amount as usize, step as usize);
    let mut mine = vec![false; cores.len()];
    let mut found: Vec<Vec<usize>> = Vec::new();
    let mut next = 0;
    if let Some(place) = start {
        let at = cores.find(place)?;
        let run = cores.run(at, amount, step)?;
        run.iter().for_each(|position| mine[*position] = true);
        found.push(run);
        next = at + 1;
    }
    while found.len() < takers as usize {
        let free = |run: &Vec<usize>| run.iter().all(|position| !mine[*position]);
        let fits = |at: usize| cores.run(at, amount, step).ok().filter(free);
        let Some((at, run)) = (next..cores.len()).find_map(|at| Some((at, fits(at)?))) else {
            let wanted = (takers as usize).saturating_mul(amount);
            let enough = wanted <= cores.free_count();
            return Err(if enough {
                Obstacle::NoStart
            } else {
                Obstacle::TooFew
            });
        };
        run.iter().for_each(|position| mine[*position] = true);
        found.push(run);
        next = at + 1;
    }
    Ok(found)
}
