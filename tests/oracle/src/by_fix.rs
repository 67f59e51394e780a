//! berth's default against task/affinity: each difference is claimed by a named fix whose
//! condition holds, and gone with that fix switched off.

use crate::case::Case;
use crate::compare::Verdict;
use crate::conditions::{CONDITIONS, holding};
use crate::pair::Pair;
use crate::report::Report;

/// Where a core has more threads than slurmd thinks, its map is longer than its shape, and where
/// one has fewer, the map has a number in its place: other fixes may act there too.
const NEVER_ALONE: &str = "core-threads";
/// At most so many of a hundred differing requests may have several fixes to claim them.
const SHARED: u64 = 25;
const DIFFER: &str = "differ on purpose";
const SEVERAL: &str = "differ, claimed by several";

/// One request.
///
/// # Errors
/// The settings that our object does not take, in words.
pub fn compare(pair: &Pair, number: u64, case: &Case, report: &mut Report) -> Result<(), String> {
    let held = holding(case, pair.constants());
    let off: Vec<_> = held.iter().map(|name| format!("-{name}")).collect();
    let theirs = pair.theirs(number, case);
    let with = |compat: &str, fixes: &str| {
        pair.set(&[compat, fixes])?;
        Ok::<_, String>(pair.judge(number, case, &theirs))
    };
    let (all, _) = with("compat=berth", "fixes=all")?;
    let (restored, answers) = with("compat=berth", &format!("fixes={}", off.join(",")))?;
    if let Verdict::Differ(what) = restored {
        let held = held.join(", ");
        let text =
            format!("request {number}: {answers}\n  without the fixes that may claim it: [{held}]");
        report.defect(&what, &text);
        return Ok(());
    }
    let differs = matches!(all, Verdict::Differ(_));
    report.one(if differs { DIFFER } else { "alike" });
    match held.as_slice() {
        [] => report.one("no condition"),
        [only] => {
            report.one(&format!("held/{only}"));
            report.many(&format!("claimed/{only}"), differs.into());
        }
        several => {
            report.many(SEVERAL, differs.into());
            // Each fix by itself.
            for name in several {
                let (alone, _) = with("compat=affinity", &format!("fixes=+{name}"))?;
                let differs = matches!(alone, Verdict::Differ(_));
                report.many(&format!("beside/{name}"), differs.into());
            }
        }
    }
    Ok(())
}

/// A run of enough requests shows of every fix that it acts, and that its condition is no wider than it says: the
/// fixes of which it does not.
#[must_use]
pub fn missing(report: &Report) -> Vec<String> {
    let mut wrong = Vec::new();
    for condition in &CONDITIONS {
        let (name, most) = (condition.fix, condition.idle);
        let held = report.of(&format!("held/{name}"));
        let claimed = report.of(&format!("claimed/{name}"));
        let beside = report.of(&format!("beside/{name}"));
        let idle = (held - claimed) * 100 / held.max(1);
        println!(
            "  {name:15} alone: held {held}, claimed {claimed}, idle {idle}% (at most {most}%); beside others: {beside}"
        );
        let shown = if name == NEVER_ALONE { beside } else { claimed };
        if shown == 0 {
            wrong.push(format!("{name}: no request showed it"));
        } else if idle > most {
            wrong.push(format!("{name}: idle in {idle}% of its requests"));
        }
    }
    let share = report.of(SEVERAL) * 100 / report.of(DIFFER).max(1);
    if share > SHARED {
        wrong.push(format!(
            "{share}% of all differences have several claimants"
        ));
    }
    wrong
}
