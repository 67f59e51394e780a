//! Which of the step's GPUs Slurm binds to each task, by the text of `--tres-bind`, which `--gpu-bind`,
//! `--gpus-per-task` and `--ntasks-per-gpu` become as well.
//! In: the text as slurmd has it, the step's GPUs. Out: each task's, or that Slurm leaves the choice open.
//! Pure. Source: `_get_usable_gres` and what it calls, src/interfaces/gres.c (src/common/gres.c in 22.05).
//!
//! `closest`, and in part `single` and `per_task`, go by the CPUs of the tasks, which berth chooses. For
//! `closest` Slurm then follows berth. For the other two, berth takes the GPUs in the order in which Slurm
//! takes them when it knows no CPUs (no `Cores=` in gres.conf); a task on the CPUs next to its GPU then gets
//! the same GPU where it does know them.

use crate::request::near::Gres;
use crate::sets::limits::TRES_BIND_BYTES;

/// How a release line of Slurm reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// 22.05.
    First,
    /// 23.02: `single` counts the tasks on each GPU.
    Slots,
    /// From 23.11 on: names are `gres/gpu`, and there are `map`, `mask` and `none`.
    Named,
}

/// The meaning of the numbers of a `map` or `mask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indices {
    /// The node's GPUs.
    OfNode,
    /// The step's: task/cgroup with `ConstrainDevices=yes`, or `--gres-flags=allow-task-sharing`.
    OfStep,
}

/// Slurm's rule for the GPUs of each task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuBind {
    /// No task has GPUs of its own, or those closest to its CPUs.
    Open,
    /// A GPU's number, and the number of tasks in a row that have it.
    Map(Vec<(u64, u32)>),
    /// Bits, and the number of tasks in a row that have them.
    Mask(Vec<(u64, u32)>),
    /// This number for each task.
    PerTask(u32),
    /// One GPU for this number of tasks.
    Single(u32),
}

/// Reads what stands behind a word.
type Rule = fn(&str) -> Option<GpuBind>;

/// The words in the order in which Slurm looks for them.
const NAMED: [(&str, Rule); 8] = [
    ("map_gpu:", map),
    ("mask_gpu:", mask),
    ("map:", map),
    ("mask:", mask),
    ("single:", single),
    ("closest", open),
    ("per_task:", per_task),
    ("none", open),
];

/// Those of the older lines, which take a word that they do not know for none.
const OLDER: [(&str, Rule); 6] = [
    ("single:", single),
    ("closest", open),
    ("map_gpu:", map),
    ("mask_gpu:", mask),
    ("per_task:", typed_per_task),
    ("", open),
];

/// GRES that are parts of GPUs. How Slurm binds them to tasks depends on what is left of each GPU.
const SHARED: [&str; 2] = ["gres/shard:", "gres/mps:"];

/// The rule that a text has for GPUs; `None` if it has one that berth cannot read.
///
/// ```
/// use berth_placement::request::gres_bind::{GpuBind, Reading, gpu_bind};
///
/// let bind = |text| gpu_bind(text, Reading::Named);
/// assert_eq!(bind("gres/gpu:per_task:2"), Some(GpuBind::PerTask(2)));
/// assert_eq!(bind("gres/gpu:closest"), Some(GpuBind::Open));
/// assert_eq!(bind("gres/gpu:nearest"), None);
/// ```
#[must_use]
pub fn gpu_bind(text: &str, reading: Reading) -> Option<GpuBind> {
    if text.len() > TRES_BIND_BYTES {
        return None;
    }
    let named = reading == Reading::Named;
    if named && SHARED.iter().any(|name| has_rule(text, name)) {
        return None;
    }
    let (name, end, words) = match named {
        true => ("gres/gpu:", '+', &NAMED[..]),
        false => ("gpu:", ';', &OLDER[..]),
    };
    let Some((_, rule)) = text.split_once(name) else {
        return Some(GpuBind::Open);
    };
    let rule = rule.split(end).next().unwrap_or_default();
    let rule = after(rule, "verbose,").unwrap_or(rule);
    let known = |(word, read): &(&str, Rule)| after(rule, word).map(read);
    words.iter().find_map(known).flatten()
}

/// Whether there is a rule for this name, and not the one for all.
fn has_rule(text: &str, name: &str) -> bool {
    let rule = text.split_once(name).map(|(_, rule)| rule);
    rule.is_some_and(|rule| after(rule, "none").is_none())
}

fn open(_: &str) -> Option<GpuBind> {
    Some(GpuBind::Open)
}

fn map(list: &str) -> Option<GpuBind> {
    entries(list).map(GpuBind::Map)
}

fn mask(list: &str) -> Option<GpuBind> {
    entries(list).map(GpuBind::Mask)
}

fn single(count: &str) -> Option<GpuBind> {
    positive(count).map(GpuBind::Single)
}

fn per_task(count: &str) -> Option<GpuBind> {
    positive(count).map(GpuBind::PerTask)
}

/// srun of these lines passes a type on, as in `a100:2`, and slurmd then binds nothing.
fn typed_per_task(count: &str) -> Option<GpuBind> {
    match count.starts_with(|first: char| first.is_ascii_alphabetic()) {
        true => open(count),
        false => per_task(count),
    }
}

/// The text behind a word, which may be in upper or lower case.
fn after<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(word.len())?;
    head.eq_ignore_ascii_case(word).then_some(rest)
}

/// `NUMBER[*TIMES],…`; zero times count as one, as in Slurm.
fn entries(list: &str) -> Option<Vec<(u64, u32)>> {
    let entry = |entry: &str| {
        let (value, times) = entry.split_once('*').unwrap_or((entry, "1"));
        Some((number(value)?, u32::try_from(number(times)?).ok()?.max(1)))
    };
    list.split(',').map(entry).collect()
}

fn positive(text: &str) -> Option<u32> {
    let count = u32::try_from(number(text)?).ok();
    count.filter(|count| *count > 0)
}

/// A number as C's strtol reads it with base 0, without sign, blanks or anything behind it.
fn number(text: &str) -> Option<u64> {
    let (digits, base) = match (after(text, "0x"), text.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (text, 10),
    };
    let are_digits = digits.bytes().all(|digit| digit.is_ascii_alphanumeric());
    let value = u64::from_str_radix(digits, base).ok();
    // Slurm keeps it in an int.
    value.filter(|value| are_digits && *value <= i32::MAX as u64)
}

/// The bits of Slurm's masks.
const MASK_BITS: u32 = 31;

impl GpuBind {
    /// The GPUs of each task by local id, as [`Gres::tasks`] has them: none where Slurm leaves the choice
    /// open. `None` for a mask on a node with more GPUs than Slurm's own masks have bits.
    #[must_use]
    pub fn tasks(
        &self,
        gres: &Gres,
        count: u32,
        (reading, indices): (Reading, Indices),
    ) -> Option<Vec<Vec<u32>>> {
        let step = &gres.step[..];
        let Some(first) = step.first() else {
            return Some(Vec::new());
        };
        let on_node = gres.on_node;
        let numbers = 0..count;
        let mut tasks: Vec<Vec<u32>> = match self {
            Self::Open => return Some(Vec::new()),
            Self::Map(list) => listed(list, count)
                .map(|index| vec![index as u32])
                .map(|own| chosen(own, gres, indices))
                .collect(),
            Self::Mask(_) if on_node > MASK_BITS => return None,
            Self::Mask(list) => listed(list, count)
                .map(|mask| if mask >> on_node == 0 { mask } else { 0 })
                .map(|mask| (0..on_node).filter(|bit| mask >> bit & 1 == 1).collect())
                .map(|own| chosen(own, gres, indices))
                .collect(),
            Self::PerTask(each) => {
                let each = *each as usize;
                let own = |task: u32| step.iter().skip((task as usize).saturating_mul(each));
                numbers
                    .map(|task| own(task).take(each).copied().collect())
                    .collect()
            }
            Self::Single(share) => numbers
                .map(|task| single_gpu(task, *share, step.len() as u32, reading))
                .map(|at| step.get(at as usize).copied().into_iter().collect())
                .collect(),
        };
        // A task without any has the first of the step.
        for own in tasks.iter_mut().filter(|own| own.is_empty()) {
            own.push(*first);
        }
        Some(tasks)
    }
}

/// The number of each task: the list begins again where it ends.
fn listed(list: &[(u64, u32)], count: u32) -> impl Iterator<Item = u64> {
    let runs = list.iter().cycle();
    let all = runs.flat_map(|(value, times)| (0..*times).map(|_| *value));
    all.take(count as usize)
}

/// The step's GPUs of those numbers. A number beyond the node's GPUs is none.
fn chosen(mut own: Vec<u32>, gres: &Gres, indices: Indices) -> Vec<u32> {
    own.retain(|index| *index < gres.on_node);
    match indices {
        Indices::OfStep => {
            let given = own.iter().filter_map(|at| gres.step.get(*at as usize));
            given.copied().collect()
        }
        Indices::OfNode => {
            own.retain(|index| gres.step.contains(index));
            own
        }
    }
}

/// The place among the step's GPUs of the one that `single` gives a task.
fn single_gpu(task: u32, share: u32, gpus: u32, reading: Reading) -> u32 {
    match reading {
        Reading::First => task / share % gpus,
        // When each GPU has its tasks, the others go round.
        _ if task / share >= gpus => task % gpus,
        _ => task / share,
    }
}

#[cfg(test)]
#[path = "gres_bind_tests.rs"]
mod tests;
