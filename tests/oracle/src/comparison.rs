//! Random requests through both launch hooks: bit for bit under `compat=affinity`, or fix by fix.

use slurm_sys::Layout;

use crate::case::Case;
use crate::compare::Verdict;
use crate::machine::{Class, Machine};
use crate::pair::Pair;
use crate::part::Part;
use crate::random::Random;
use crate::report::Report;
use crate::run::{Here, Proof};
use crate::{aim, by_fix, generate, numa};

/// Requests on one machine that is discovered, or whose memory domains are asked for.
const PER_MACHINE: u64 = 50;

/// The comparison with task/affinity.
pub struct Comparison {
    /// Of berth's default with the named fixes, and not of `compat=affinity`.
    pub by_fix: bool,
    /// Slurm's tables.
    pub layout: &'static Layout,
}

impl Comparison {
    fn case(&self, part: &Part, number: u64) -> Case {
        let make = match self.by_fix {
            true => aim::aimed,
            false => generate::case,
        };
        make(part.seed_of(number), part.class, self.layout)
    }
}

impl Proof for Comparison {
    /// Seven of ten requests where CPUs are threads, two where they are cores, one for machines that our object
    /// discovers; of these most are for the fixes' sake.
    fn parts(&self, run: &Part, most: u64) -> Vec<Part> {
        let (cores, found) = (run.count / 5, run.count / 10);
        let (irregular, per_machine) = match self.by_fix {
            true => (found / 4 * 3, 3 * PER_MACHINE),
            false => (found / 2, PER_MACHINE),
        };
        let mut parts = Vec::new();
        let mut next = 0;
        let mut share = |count: u64, most: u64, class: &dyn Fn(u64) -> Class| {
            let end = next + count;
            while next < end {
                let class = class(Random::new(run.seed ^ next).number());
                let numbers = next..end.min(next + most);
                next = numbers.end;
                parts.push(Part {
                    class,
                    ..run.only(numbers)
                });
            }
        };
        share(run.count - cores - found, most, &|_| Class::Threads);
        share(cores, most, &|_| Class::Cores);
        share(irregular, per_machine, &Class::Irregular);
        share(found - irregular, per_machine, &Class::Ldoms);
        parts
    }

    fn send(&self, part: &Part, here: Here) -> Result<Report, String> {
        pretend_domains(part.class);
        let pair = Pair::load(&["compat=affinity", "fixes="], part.class, here)?;
        let mut report = Report::default();
        for number in part.numbers() {
            let case = self.case(part, number);
            match self.by_fix {
                true => by_fix::compare(&pair, number, &case, &mut report)?,
                false => bit_for_bit(&pair, number, &case, &mut report),
            }
        }
        Ok(report)
    }

    fn show(&self, part: &Part, number: u64) -> String {
        format!("request {number}: {:?}", self.case(part, number))
    }
}

/// Has libnuma's stand-in answer for the machine of a class.
pub(crate) fn pretend_domains(class: Class) {
    if let Class::Ldoms(_) = class {
        numa::pretend(Machine::any(class, &mut Random::new(0)).memory());
    }
}

/// Under `compat=affinity` nothing differs.
fn bit_for_bit(pair: &Pair, number: u64, case: &Case, report: &mut Report) {
    let theirs = pair.theirs(number, case);
    let (verdict, answers) = pair.judge(number, case, &theirs);
    match verdict {
        Verdict::Same => report.one("bound alike"),
        Verdict::Refused => report.one("refused alike"),
        Verdict::Aside(why) => report.one(&format!("not compared: {why}")),
        Verdict::Differ(what) => report.defect(&what, &format!("request {number}: {answers}")),
    }
}
