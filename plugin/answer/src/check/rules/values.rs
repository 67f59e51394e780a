//! Values that srun refuses, lists of CPUs by number, and options that srun ignores.

use berth_placement::sets::text::nearest;
use berth_srun::{Own, OwnRequest, Release};

use crate::args::values_of;
use crate::check::case::{Case, MAPPING};
use crate::check::finding::Finding;
use crate::plan::controller::THREADS;

/// The most numbers that a repaired list has.
const MOST: u32 = 4096;

/// A value that srun or berth would not take.
pub(super) fn wrong(case: &Case<'_>) -> Option<Finding> {
    let mut all = Own::ALL.into_iter();
    let wrong_own = all.find_map(|own| {
        let read = OwnRequest::default().take(own, case.has(own.name)?);
        read.err().map(|why| first_line(&why))
    });
    let wrong_own = wrong_own
        .or_else(|| {
            let why = case.mapping().err().filter(|_| case.knows(&MAPPING))?;
            Some(first_line(&why.to_string()))
        })
        .or_else(|| own_values(case));
    if let Some(why) = wrong_own {
        return Some(case.warning("wrong-value", why, "srun refuses the line"));
    }
    if let Some(value) = wrong_time(case) {
        let found = format!("-t has the value {value}, which is no time");
        return Some(case.warning("wrong-value", found, "the command refuses the line"));
    }
    let refused = case.refused()?;
    let finding = case.warning("wrong-value", refused.to_string(), "srun refuses the line");
    let Some((option, value)) = refused.wrong_value() else {
        return Some(finding);
    };
    let Some(given) = case.command.option(option) else {
        // A wrong value that the step has from its job is named at the job.
        return case.job_option(option).is_none().then_some(finding);
    };
    let finding = case.on_line_of(given.words.start, finding);
    let repair = |value: String| case.command.revalue(&case.script.text, given, &value);
    let finding = finding.or(numbers(option, value).and_then(repair));
    Some(finding.or(words(option, value).and_then(repair)))
}

/// A time limit with letters, as letters behind one dash may become one: `-trace` is `-t race`.
/// Source: `time_str2mins`.
fn wrong_time<'a>(case: &'a Case<'_>) -> Option<&'a str> {
    let given = case.command.option("time")?;
    let value = given.value.as_deref()?;
    let words = ["infinite", "unlimited"];
    let is_word = words.iter().any(|word| value.eq_ignore_ascii_case(word));
    let is_sign = |letter: char| letter.is_ascii_digit() || ":-.".contains(letter);
    let is_time = is_word || value.chars().all(is_sign);
    (!is_time && !case.command.is_computed(given)).then_some(value)
}

/// The lines behind the first one show the place.
fn first_line(why: &str) -> String {
    why.lines().next().unwrap_or_default().into()
}

/// One option by both of its names, where the shell computes none of them.
fn own_values(case: &Case<'_>) -> Option<String> {
    let given = &case.command.line.options;
    let is_known = !given.iter().any(|one| case.command.is_computed(one));
    berth_srun::submission::own_values::two_values(given).filter(|_| is_known)
}

/// A list without the ranges that srun does not take, and with a colon before it.
fn numbers(option: &str, value: &str) -> Option<String> {
    let is_list = ["cpu-bind", "mem-bind"].contains(&option);
    let at = value.find("map_").filter(|_| is_list)?;
    let (before, list) = value.split_at(at);
    let end = list.find(|letter: char| !letter.is_ascii_lowercase() && letter != '_')?;
    let (kind, entries) = list.split_at(end);
    let entries = entries.trim_start_matches([':', '=']);
    let all: Option<Vec<_>> = entries.split([',', ';', ' ']).map(expanded).collect();
    Some(format!("{before}{kind}:{}", all?.join(",")))
}

/// `0-3` as `0,1,2,3`.
fn expanded(entry: &str) -> Option<String> {
    let Some((first, last)) = entry.split_once('-') else {
        return Some(entry.into());
    };
    let (last, step) = last.split_once(':').unwrap_or((last, "1"));
    let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
    let step = step.parse::<u32>().ok().filter(|step| *step > 0)?;
    let fits = first <= last && last - first < MOST;
    let all = (first..=last)
        .step_by(step as usize)
        .map(|number| number.to_string());
    fits.then(|| all.collect::<Vec<_>>().join(","))
}

/// The value with the nearest words that the option takes.
fn words(option: &str, value: &str) -> Option<String> {
    let known = values_of(option);
    let known = known.iter().flat_map(|value| value.word.split([':', '=']));
    let known: Vec<_> = known.filter(|word| !word.is_empty()).collect();
    let mut out = String::new();
    let mut rest = value;
    while !rest.is_empty() {
        let is_letter =
            |letter: char| letter.is_ascii_alphabetic() || letter == '_' || letter == '-';
        let end = rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out.push_str(near(word, &known).unwrap_or(word));
        let signs = after
            .find(|letter: char| letter.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (signs, next) = after.split_at(signs);
        out.push_str(signs);
        rest = next;
        // A list of masks has letters too, and ends the words.
        if out.ends_with(|letter: char| letter.is_ascii_digit()) {
            out.push_str(rest);
            break;
        }
    }
    (out != value).then_some(out)
}

fn near(word: &str, known: &[&'static str]) -> Option<&'static str> {
    let lower = word.to_ascii_lowercase().replace('-', "_");
    let most = if lower.len() > 4 { 2 } else { 1 };
    nearest(&lower, known.iter().copied(), most).filter(|near| *near != word && !word.is_empty())
}

/// A hint that srun ignores.
pub(super) fn hint_dropped(case: &Case<'_>) -> Option<Finding> {
    let requested = case.request.as_ref().ok()?;
    let hint = case.has("hint")?;
    let own = case.command.option("hint");
    let noted = requested
        .notes
        .iter()
        .find(|note| note.contains("ignores --hint beside"));
    let other = match (own, noted) {
        (Some(_), Some(note)) => note.split("beside ").nth(1)?.split(';').next()?.to_string(),
        (Some(_), None) => return None,
        (None, _) => of_the_job(case)?,
    };
    let finding = case.warning(
        "hint",
        format!("--hint={hint} beside {other}"),
        "srun silently ignores the hint beside that option",
    );
    // A list decides alone, with the hint or without.
    let finding = finding.hint_if(case.is_list());
    Some(match own {
        Some(_) => finding.or(case.remove("hint")),
        None => finding.or(case.remove(other.trim_start_matches('-'))),
    })
}

/// The step's option beside which a hint of the job does not count.
fn of_the_job(case: &Case<'_>) -> Option<String> {
    let names = ["extra-node-info", "ntasks-per-core", THREADS, "cpu-bind"];
    let requested = case.request.as_ref().ok()?;
    let by_hint = requested.level_from == Some(berth_srun::reading::LevelFrom::Hint);
    // The threads of the job's cores may be what its hint has set.
    let is_own = |name: &str| name != THREADS || case.command.option(name).is_some();
    let mut set = names.iter().filter(|name| case.is_set(name));
    let other = set.find(|name| is_own(name))?;
    (!by_hint).then(|| format!("--{other}"))
}

/// A list of CPUs where jobs share several nodes.
pub(super) fn on_several_nodes(case: &Case<'_>) -> Option<Finding> {
    let nodes = case.nodes().filter(|nodes| *nodes > 1)?;
    if !case.is_list() || case.is_whole() {
        return None;
    }
    let finding = case.hint(
        "list-on-several-nodes",
        format!("--cpu-bind={} on {nodes} nodes", case.cpu_bind()),
        "the list names CPUs by the kernel's numbers on every node; it fits if jobs get whole nodes \
         there (then give --site exclusive), else --cpu-bind=cores chooses among the job's CPUs",
    );
    Some(finding)
}

/// A list of CPUs in a job that has a part of a node. A list beside a `--cpuset` must also lie inside it, so `--exclusive`
/// would not cure it.
pub(super) fn on_part_of_a_node(case: &Case<'_>) -> Option<Finding> {
    let is_of_node = case.is_list() && !case.is_set(Own::Cpuset.name);
    (is_of_node && case.nodes() == Some(1) && !case.is_whole()).then(|| {
        case.hint(
            "list-on-part-of-a-node",
            format!("--cpu-bind={} without --exclusive", case.cpu_bind()),
            "if the job shares its node, nobody knows beforehand which CPUs it gets, and a list that \
             names others is refused; in a job with --exclusive the list fits, --cpu-bind=cores needs none",
        )
    })
}

/// `rank` has an end.
pub(super) fn rank(case: &Case<'_>) -> Option<Finding> {
    let bind = case.cpu_bind();
    let word = bind.split(',').find(|word| *word == "rank")?;
    let is_gone = case.around.release >= Release::V24_11;
    let finding = case.warning(
        "rank",
        format!("--cpu-bind={word}"),
        match is_gone {
            true => "Slurm 24.11 removed it, and srun ignores it",
            false => {
                "Slurm 24.11 removes it; --cpu-bind=threads gives each task a thread of its own"
            }
        },
    );
    let others = bind
        .split(',')
        .map(|one| if one == "rank" { "threads" } else { one });
    let others = others.collect::<Vec<_>>().join(",");
    Some(finding.hint_if(!is_gone).or(case.bind_to(&others)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_words_that_were_meant() {
        for (option, value, expected) in [
            ("cpu-bind", "map_cpu:0-3,8", "map_cpu:0,1,2,3,8"),
            (
                "cpu-bind",
                "verbose,map_cpu=0-6:2",
                "verbose,map_cpu:0,2,4,6",
            ),
            ("mem-bind", "map_mem:0-1", "map_mem:0,1"),
        ] {
            assert_eq!(numbers(option, value).as_deref(), Some(expected), "{value}");
        }
        for (option, value, expected) in [
            ("cpu-bind", "kores", Some("cores")),
            ("cpu-bind", "verbos,cors", Some("verbose,cores")),
            ("cpu-bind", "map-cpu:0,1", Some("map_cpu:0,1")),
            ("cpu-bind", "mask_cpu:0xff,0xfg", None),
            ("cpu-bind", "elephants", None),
            ("distribution", "blok:ciclic", Some("block:cyclic")),
            ("distribution", "plan=4", Some("plane=4")),
            ("hint", "nomultithreads", Some("nomultithread")),
            ("ntasks", "x", None),
        ] {
            assert_eq!(words(option, value).as_deref(), expected, "{value}");
        }
    }
}
