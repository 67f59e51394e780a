//! berth's default against task/affinity: each difference is claimed by a named fix whose
//! condition holds, and gone with that fix switched off.

use crate::answer::Answer;
use crate::case::Case;
use crate::child::Pair;
use crate::compare::Verdict;
use crate::conditions::holding;
use crate::counts::Counts;
use crate::part::Whose;

/// How often a condition may hold for nothing, of a hundred requests where it alone holds.
/// A condition says where a fix can matter; with few tasks there is room enough anyway.
pub const IDLE: [(&str, u64); 17] = [
    ("smt-neighbours", 75),
    ("fcyclic-cores", 70),
    ("socket-limit", 70),
    ("count-touched", 85),
    ("ldoms-inside", 60),
    ("spec-lists", 50),
    ("real-sockets", 80),
    ("hole-numbers", 50),
    ("missing-ldom", 20),
    ("third-level", 70),
    ("say-shrunk", 40),
    ("clean-type", 30),
    ("empty-mask", 50),
    ("no-cpu-left", 40),
    ("core-threads", 60),
    ("spread-limits", 75),
    ("say-shared", 60),
];
/// Where a core has more threads than slurmd thinks, its map is longer than its shape, and where
/// one has fewer, the map has a number in its place: other fixes may act there too.
const NEVER_ALONE: &str = "core-threads";
/// At most so many of a hundred differing requests may have several fixes to claim them.
pub const SHARED: u64 = 25;

/// One request: what is wrong, with the answers, or nothing.
///
/// # Errors
/// The settings that our object does not take, in words.
pub fn compare(
    pair: &Pair,
    case: &Case,
    counts: &mut Counts,
    progress: &impl Fn(Whose),
) -> Result<Option<(String, String)>, String> {
    let held = holding(case, &pair.slurm.layout.constants);
    let off: Vec<_> = held.iter().map(|name| format!("-{name}")).collect();
    let theirs = pair.theirs(case, progress);
    let (all, answers) = pair.with_fixes("compat=berth", "fixes=all", case, &theirs, progress)?;
    let rest = format!("fixes={}", off.join(","));
    let restored = if held.is_empty() {
        (all.clone(), answers.clone())
    } else {
        pair.with_fixes("compat=berth", &rest, case, &theirs, progress)?
    };
    if let Verdict::Differ(what) = restored.0 {
        return Ok(Some((
            format!(
                "{what}; no condition holds but of [{}], which are off",
                held.join(", ")
            ),
            restored.1,
        )));
    }
    let differs = matches!(all, Verdict::Differ(_));
    counts.one(if differs {
        "differ on purpose"
    } else {
        "alike"
    });
    match held.as_slice() {
        [] => counts.one("no condition"),
        [only] => {
            counts.one(&format!("held {only}"));
            if differs {
                counts.one(&format!("claimed {only}"));
            }
        }
        several => {
            if differs {
                counts.one("claimed by several");
            }
            each_alone(pair, case, &theirs, several, counts, progress)?;
        }
    }
    Ok(None)
}

/// Where several conditions hold: what each fix does by itself.
fn each_alone(
    pair: &Pair,
    case: &Case,
    theirs: &Answer,
    held: &[&str],
    counts: &mut Counts,
    progress: &impl Fn(Whose),
) -> Result<(), String> {
    for name in held {
        let only = format!("fixes=+{name}");
        let alone = pair.with_fixes("compat=affinity", &only, case, theirs, progress)?;
        counts.one(&format!("beside {name}"));
        if matches!(alone.0, Verdict::Differ(_)) {
            counts.one(&format!("beside differ {name}"));
        }
    }
    Ok(())
}

/// The table, and what is wrong with it.
#[must_use]
pub fn summary(counts: &Counts) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut wrong = Vec::new();
    for (name, most) in IDLE {
        let held = counts.of(&format!("held {name}"));
        let claimed = counts.of(&format!("claimed {name}"));
        let idle = (held - claimed) * 100 / held.max(1);
        let beside = counts.of(&format!("beside differ {name}"));
        text.push_str(&format!(
            "  {name:15} alone: held {held}, differed and restored {claimed}, idle {idle}% (at \
             most {most}%); beside others: held {}, differed alone {}\n",
            counts.of(&format!("beside {name}")),
            beside,
        ));
        let shown = if name == NEVER_ALONE { beside } else { claimed };
        if shown == 0 {
            wrong.push(format!("{name}: no request showed it"));
        } else if idle > most {
            wrong.push(format!(
                "{name}: idle in {idle}% of its requests, more than {most}%"
            ));
        }
    }
    let differ = counts.of("differ on purpose");
    let several = counts.of("claimed by several");
    let share = several * 100 / differ.max(1);
    text.push_str(&format!(
        "  {several} of {differ} differences have several fixes to claim them, {share}% (at most \
         {SHARED}%)\n"
    ));
    if share > SHARED {
        wrong.push(format!(
            "{share}% of all differences have several claimants"
        ));
    }
    (text, wrong)
}
