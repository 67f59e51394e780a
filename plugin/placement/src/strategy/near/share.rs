//! Divides cores among groups of tasks, and each group's cores among its tasks.
//! In: the rings of each group, the usable cores, the CPUs that a task requests. Out: each task's
//! hardware threads. Pure.
//!
//! Without `-c` a task gets an even share of what is next to its devices. With it the task gets the
//! first CPUs of that share; where shares are smaller than `-c`, tasks are packed, and those that no
//! longer fit go to the next ring.

use crate::sets::ids::PuIdx;
use crate::strategy::near::places::{Core, Group};

/// The CPUs that each task requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// `-c`; 1 requests an even share.
    pub(super) cpus: u32,
    /// Whether a task gets exactly these hardware threads, and not whole cores.
    pub(super) exact: bool,
}

/// Each task's hardware threads, by local id.
pub(super) fn tasks(
    groups: &[Group],
    cores: &[Core],
    wanted: Wanted,
    count: u32,
) -> Vec<Vec<PuIdx>> {
    let (all, given): (Vec<_>, Vec<_>) = by_group(groups, cores).into_iter().unzip();
    let shares = by_task(&all, cores, &given, count, split);
    let fits = |tasks: &[Vec<PuIdx>]| tasks.iter().all(|pus| pus.len() >= wanted.cpus as usize);
    if wanted.cpus <= 1 {
        return shares;
    }
    let shares = match fits(&shares) {
        true => shares,
        false => {
            let packed = packed(groups, cores, wanted.cpus);
            let pack = |own: &[&Core], tasks| pack(own, tasks, wanted.cpus);
            let packed = by_task(groups, cores, &packed, count, pack);
            if fits(&packed) { packed } else { shares }
        }
    };
    let first = |pus: Vec<PuIdx>| first_of(pus, cores, wanted);
    shares.into_iter().map(first).collect()
}

/// The cores of each group; all groups are one if some would get too few.
pub(super) fn by_group(groups: &[Group], cores: &[Core]) -> Vec<(Group, Vec<usize>)> {
    match even(groups, cores) {
        Some(given) => groups.iter().cloned().zip(given).collect(),
        None => vec![(together(groups, cores), (0..cores.len()).collect())],
    }
}

fn by_task(
    groups: &[Group],
    cores: &[Core],
    given: &[Vec<usize>],
    count: u32,
    divide: impl Fn(&[&Core], usize) -> Vec<Vec<PuIdx>>,
) -> Vec<Vec<PuIdx>> {
    let mut tasks = vec![Vec::new(); count as usize];
    for (group, given) in groups.iter().zip(given) {
        let mut near: Vec<usize> = given.clone();
        near.sort_by_key(|core| (group.rings[*core], *core));
        let own: Vec<_> = near.iter().map(|core| &cores[*core]).collect();
        for (task, pus) in group.tasks.iter().zip(divide(&own, group.tasks.len())) {
            tasks[*task as usize] = pus;
        }
    }
    tasks
}

/// The whole cores at the beginning of a task's share that have the CPUs it requests.
fn first_of(mut pus: Vec<PuIdx>, cores: &[Core], wanted: Wanted) -> Vec<PuIdx> {
    let least = wanted.cpus as usize;
    if least >= pus.len() || wanted.exact {
        pus.truncate(least);
        return pus;
    }
    // Cores stand in the share one after the other, so the last one that is touched is kept whole.
    let last = pus[least - 1];
    let rest = cores.iter().find(|core| core.contains(&last));
    let rest = rest.map_or(&[][..], Vec::as_slice);
    let whole = pus[least..].iter().take_while(|pu| rest.contains(pu));
    let end = least + whole.count();
    pus.truncate(end);
    pus
}

/// Runs of cores of nearly equal length; with more tasks than cores runs of hardware threads; with
/// more tasks than those all of them for every task.
fn split(own: &[&Core], tasks: usize) -> Vec<Vec<PuIdx>> {
    let pus: Vec<PuIdx> = own.iter().flat_map(|core| core.iter().copied()).collect();
    let run = |length: usize, task: usize| {
        let (each, more) = (length / tasks, length % tasks);
        let start = |task: usize| task * each + task.min(more);
        start(task)..start(task + 1)
    };
    let of_task = |task| {
        if own.len() >= tasks {
            let cores = own[run(own.len(), task)].iter();
            cores.flat_map(|core| core.iter().copied()).collect()
        } else if pus.len() >= tasks {
            pus[run(pus.len(), task)].to_vec()
        } else {
            pus.clone()
        }
    };
    (0..tasks).map(of_task).collect()
}

/// Each task gets the next cores, until it has the CPUs it requests.
fn pack(own: &[&Core], tasks: usize, each: u32) -> Vec<Vec<PuIdx>> {
    let mut cores = own.iter();
    let next = |_| {
        let mut pus = Vec::new();
        while pus.len() < each as usize
            && let Some(core) = cores.next()
        {
            pus.extend_from_slice(core);
        }
        pus
    };
    (0..tasks).map(next).collect()
}

/// All groups as one: tasks that stand near each other stay so.
fn together(groups: &[Group], cores: &[Core]) -> Group {
    Group {
        tasks: groups
            .iter()
            .flat_map(|group| group.tasks.clone())
            .collect(),
        rings: vec![0; cores.len()],
    }
}

/// All cores next to the devices, divided among the groups that are next to them. A group with too
/// few hardware threads there for its tasks also takes part in the next ring. `None` if some group
/// has too few in the end.
fn even(groups: &[Group], cores: &[Core]) -> Option<Vec<Vec<usize>>> {
    let mut reach = vec![0; groups.len()];
    let far = |group: &Group| group.rings.iter().max().copied().unwrap_or(0);
    loop {
        let given = divided(groups, cores, &reach);
        let (mut wider, mut lacks) = (false, false);
        for (at, group) in groups.iter().enumerate() {
            let pus: usize = given[at].iter().map(|core| cores[*core].len()).sum();
            let is_short = pus < group.tasks.len();
            lacks |= is_short;
            if is_short && reach[at] < far(group) {
                reach[at] += 1;
                wider = true;
            }
        }
        if !wider {
            return Some(given).filter(|_| !lacks);
        }
    }
}

fn divided(groups: &[Group], cores: &[Core], reach: &[u32]) -> Vec<Vec<usize>> {
    let all = (0..cores.len()).collect();
    let mut fill = Fill::new(groups, cores, u32::MAX);
    fill.hand_out(all, |group, core| groups[group].rings[core] <= reach[group]);
    fill.given
}

/// As many cores for each group as its tasks request, ring after ring.
fn packed(groups: &[Group], cores: &[Core], each: u32) -> Vec<Vec<usize>> {
    let rings = groups.iter().flat_map(|group| group.rings.iter().copied());
    let last = rings.max().unwrap_or(0);
    let mut fill = Fill::new(groups, cores, each);
    for ring in 0..=last {
        let left = (0..cores.len()).filter(|core| !fill.taken[*core]).collect();
        fill.hand_out(left, |group, core| groups[group].rings[core] <= ring);
    }
    fill.given
}

/// Cores being handed out to groups.
struct Fill<'a> {
    groups: &'a [Group],
    cores: &'a [Core],
    each: u32,
    given: Vec<Vec<usize>>,
    taken: Vec<bool>,
    /// Tasks of each group that lack CPUs, and how many the first of them lacks.
    lacks: Vec<(usize, u32)>,
}

impl<'a> Fill<'a> {
    fn new(groups: &'a [Group], cores: &'a [Core], each: u32) -> Self {
        Self {
            groups,
            cores,
            each,
            given: vec![Vec::new(); groups.len()],
            taken: vec![false; cores.len()],
            lacks: groups
                .iter()
                .map(|group| (group.tasks.len(), each))
                .collect(),
        }
    }

    /// Hands out cores, first those that few groups may have. Groups that may have the same cores get
    /// runs of them, as long as their tasks are many.
    fn hand_out(&mut self, cores: Vec<usize>, may: impl Fn(usize, usize) -> bool) {
        let all = 0..self.groups.len();
        let claim = |core: &usize| -> Vec<usize> {
            let lacks = |group: &usize| self.lacks[*group].0 > 0 && may(*group, *core);
            all.clone().filter(lacks).collect()
        };
        let mut claims: Vec<_> = cores.into_iter().map(|core| (claim(&core), core)).collect();
        claims.retain(|(groups, _)| !groups.is_empty());
        claims.sort_by(|(one, a), (two, b)| (one.len(), one, a).cmp(&(two.len(), two, b)));
        for same in claims.chunk_by(|(one, _), (two, _)| one == two) {
            let groups = &same[0].0;
            let mut next = same.iter().map(|(_, core)| *core);
            let counts = self.counts(groups, same);
            for (group, count) in groups.iter().zip(counts) {
                for core in next.by_ref().take(count) {
                    self.given[*group].push(core);
                    self.taken[core] = true;
                }
            }
        }
    }

    /// How many of these cores each of these groups gets: one after the other goes to the group
    /// with the fewest for its tasks.
    fn counts(&mut self, groups: &[usize], same: &[(Vec<usize>, usize)]) -> Vec<usize> {
        let mut counts = vec![0; groups.len()];
        for (_, core) in same {
            let has = |at: &usize| {
                let got = (self.given[groups[*at]].len() + counts[*at]) as u64;
                (got, self.groups[groups[*at]].tasks.len() as u64)
            };
            let fewest = (0..groups.len())
                .filter(|at| self.lacks[groups[*at]].0 > 0)
                .min_by(|a, b| {
                    let ((got, tasks), (other, others)) = (has(a), has(b));
                    (got * others).cmp(&(other * tasks))
                });
            let Some(at) = fewest else { break };
            counts[at] += 1;
            let (tasks, missing) = &mut self.lacks[groups[at]];
            *missing = missing.saturating_sub(match self.each {
                // An even share has no end.
                u32::MAX => 0,
                _ => self.cores[*core].len() as u32,
            });
            if *missing == 0 {
                (*tasks, *missing) = (*tasks - 1, self.each);
            }
        }
        counts
    }
}
