//! `--tres-per-task`: what each task gets, as a list. Its CPUs are `-c`. Source: `_validate_tres_per_task`,
//! `_set_tres_per_task_from_sibling_opt`, and before 24.05 `_validate_cpus_per_task`.

use crate::line::LineOption;
use crate::number;
use crate::reading::Refused;
use crate::reading::state::State;
use crate::release::Release;

const OPTION: &str = "tres-per-task";

/// Resources of which srun takes no number for each task, since 23.11.
const NEVER: [&str; 8] = [
    "mem", "energy", "node", "billing", "fs", "vmem", "pages", "bb",
];

/// The text behind the CPUs of a list: `4` of `cpu:4`, from 24.05 on also of `cpu=4`.
fn text_of_cpus(list: &str, release: Release) -> Option<&str> {
    let of_part = |part: &'_ str| -> Option<usize> {
        let name = part.get(..3)?.eq_ignore_ascii_case("cpu");
        let is_sign = |sign: u8| sign == b':' || sign == b'=' && release >= Release::V24_05;
        (name && part.as_bytes().get(3).is_some_and(|sign| is_sign(*sign))).then_some(4)
    };
    list.split(',').find_map(|part| part.get(of_part(part)?..))
}

/// The CPUs of each task that a list has.
#[must_use]
pub fn cpus(list: &str, release: Release) -> Option<u32> {
    let count = number::leading(text_of_cpus(list, release)?).0;
    u32::try_from(count).ok().filter(|count| *count > 0)
}

/// Whether a list has CPUs alone.
#[must_use]
pub fn has_only_cpus(list: &str, release: Release) -> bool {
    list.split(',').all(|part| cpus(part, release).is_some())
}

/// Takes the CPUs of the list for `-c`, and refuses what srun refuses.
pub(super) fn take(state: &mut State<'_>) -> Result<(), Refused> {
    let Some(list) = state.last(OPTION).map(LineOption::text) else {
        return Ok(());
    };
    let release = state.release;
    let begins = |part: &str, name: &str| {
        let first = part.get(..name.len());
        first.is_some_and(|first| first.eq_ignore_ascii_case(name))
    };
    let is_in = |name: &&&str| list.split(',').any(|part| begins(part, name));
    if let Some(name) = NEVER.iter().find(is_in)
        && release >= Release::V23_11
    {
        let why =
            format!("it takes no {name} for a task, only cpu, gres and license; leave {name} out");
        return Err(Refused::value(OPTION, list, why));
    }
    if text_of_cpus(list, release).is_none() {
        return Ok(());
    }
    let Some(count) = cpus(list, release) else {
        let why = "the CPUs of a task are a number from 1 on, as in cpu:4";
        return Err(Refused::value(OPTION, list, why));
    };
    // The line goes over a variable; a job sets both of its variables to one number.
    let by_line = state.on_line("cpus-per-task");
    match (by_line, state.on_line(OPTION)) {
        (true, true) => Err(Refused::together(
            "srun takes --tres-per-task=cpu or --cpus-per-task (-c), not both; leave out one of the two",
        )),
        (true, false) => Ok(()),
        (false, on_line) if on_line && beside_gpus(state) => Err(Refused::together(
            "srun takes --tres-per-task=cpu or --cpus-per-gpu, not both; leave out one of the two",
        )),
        (false, _) => {
            state.cpus_per_task = Some(count);
            Ok(())
        }
    }
}

/// `_validate_cpus_per_tres`
fn beside_gpus(state: &State<'_>) -> bool {
    state.release >= Release::V23_11 && state.on_line("cpus-per-gpu")
}
