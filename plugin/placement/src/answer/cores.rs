//! The cores that a `--binding` chose, and their text, which travels from slurmd to
//! slurmstepd. `;` separates tasks, `:` separates cores, and each core is `SOCKET,CORE=CPUS`. Behind a
//! task's only core `*N+S` means N tasks: each has the next core, whose CPUs have numbers larger by S.
//! In: positions of cores. Out: logical and kernel numbers, and back from the text. Pure.

use std::fmt;
use std::str::FromStr;

use crate::request::grid_engine::Place;
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset_text::parse_number;
use crate::sets::ids::CpuId;
use crate::sets::limits::{MAX_CPUS, MAX_ENTRIES};
use crate::sets::text::TextError;

/// One core of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChosenCore {
    /// Where it is, as `--binding` names it.
    pub place: Place,
    /// Its hardware threads that the task is to use, by kernel number.
    pub cpus: CpuSet,
}

/// Every task's cores; a list of one is shared by all tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Chosen {
    /// One task's after the other's.
    cores: Vec<ChosenCore>,
    /// Where each task's end.
    ends: Vec<usize>,
}

impl Chosen {
    /// The cores of each task.
    pub fn new<M>(tasks: impl IntoIterator<Item = M>) -> Self
    where
        M: IntoIterator<Item = ChosenCore>,
    {
        let mut chosen = Self::default();
        for cores in tasks {
            chosen.cores.extend(cores);
            chosen.ends.push(chosen.cores.len());
        }
        chosen
    }

    /// Each list of cores, in order.
    pub fn lists(&self) -> impl ExactSizeIterator<Item = &[ChosenCore]> {
        (0..self.ends.len()).map(|at| self.list(at))
    }

    fn list(&self, at: usize) -> &[ChosenCore] {
        let Some(end) = self.ends.get(at) else {
            return &[];
        };
        let first = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.cores[first..*end]
    }

    /// A task's cores, by local id.
    #[must_use]
    pub fn of_task(&self, id: usize) -> &[ChosenCore] {
        self.list(if self.ends.len() == 1 { 0 } else { id })
    }

    /// A task's CPUs.
    #[must_use]
    pub fn cpus_of_task(&self, id: usize) -> CpuSet {
        union(self.of_task(id))
    }

    /// The CPUs of all tasks.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        union(&self.cores)
    }

    /// Counts the tasks from `first` on that have one core each, in the order of the cores, and returns by how much the
    /// numbers of their CPUs grow from one to the next.
    fn run(&self, first: usize) -> (usize, u32) {
        let only = |at: usize| match self.list(at) {
            [core] => Some(core),
            _ => None,
        };
        let pair = only(first).zip(only(first + 1));
        let step = pair.and_then(|(core, next)| core.step_to(next));
        let Some(step) = step else {
            return (1, 0);
        };
        let follows = |at: &usize| {
            let pair = only(*at).zip(only(at + 1));
            pair.and_then(|(core, next)| core.step_to(next)) == Some(step)
        };
        (1 + (first..).take_while(follows).count(), step)
    }
}

impl ChosenCore {
    /// By how much the CPUs' numbers grow to the next core of the same socket, if they all do.
    fn step_to(&self, next: &Self) -> Option<u32> {
        let after = self.place.core.checked_add(1)?;
        let follows = (self.place.socket, after) == (next.place.socket, next.place.core);
        let step = || self.cpus.step_to(&next.cpus).filter(|step| *step > 0);
        follows.then(step).flatten()
    }

    /// The core that so many steps lead to; none if there are no such numbers.
    fn after(&self, count: u32, step: u32) -> Option<Self> {
        let by = count.checked_mul(step)?;
        let moved = |cpu: CpuId| {
            let cpu = cpu.0.checked_add(by)?;
            (cpu < MAX_CPUS).then_some(CpuId(cpu))
        };
        Some(Self {
            place: Place {
                core: self.place.core.checked_add(count)?,
                ..self.place
            },
            cpus: self.cpus.iter().map(moved).collect::<Option<_>>()?,
        })
    }
}

fn union(cores: &[ChosenCore]) -> CpuSet {
    if let [one] = cores {
        return one.cpus.clone();
    }
    let mut words = Vec::new();
    for core in cores {
        core.cpus.add_to(&mut words);
    }
    CpuSet::from_words(words)
}

/// A task's cores as an `explicit` strategy and Grid Engine's pe_hostfile have them.
#[must_use]
pub fn places(cores: &[ChosenCore]) -> String {
    let places: Vec<_> = cores.iter().map(|core| core.place.to_string()).collect();
    places.join(":")
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut at = 0;
        while at < self.ends.len() {
            f.write_str(if at > 0 { ";" } else { "" })?;
            for (place, core) in self.list(at).iter().enumerate() {
                f.write_str(if place > 0 { ":" } else { "" })?;
                write!(f, "{}={}", core.place, core.cpus)?;
            }
            let (count, step) = self.run(at);
            if count > 1 {
                write!(f, "*{count}+{step}")?;
            }
            at += count;
        }
        Ok(())
    }
}

impl FromStr for Chosen {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut tasks: Vec<Vec<ChosenCore>> = Vec::new();
        for part in text.split(';') {
            let wrong = || TextError::new(part, "cores such as 0,1=2-3 or 0,1=2-3*4+2");
            let (cores, run) = match part.split_once('*') {
                Some((cores, run)) => (cores, Some(run)),
                None => (part, None),
            };
            let first: Vec<_> = cores.split(':').map(core).collect::<Result<_, _>>()?;
            let (count, step) = match run {
                None => (1, 0),
                Some(run) => {
                    let left = MAX_ENTRIES.saturating_sub(tasks.len() as u32);
                    let (count, step) = run.split_once('+').ok_or_else(wrong)?;
                    let count = parse_number(count).filter(|count| (2..=left).contains(count));
                    let both = count.zip(parse_number(step));
                    both.filter(|_| first.len() == 1).ok_or_else(wrong)?
                }
            };
            let next = |at| first.iter().map(move |core| core.after(at, step)).collect();
            for at in 0..count {
                tasks.push(Option::ok_or_else(next(at), wrong)?);
            }
        }
        Ok(Self::new(tasks))
    }
}

fn core(text: &str) -> Result<ChosenCore, TextError> {
    let wrong = || TextError::new(text, "a core such as 0,1=2-3");
    let (place, cpus) = text.split_once('=').ok_or_else(wrong)?;
    let (socket, core) = place.split_once(',').ok_or_else(wrong)?;
    let number = |text| parse_number(text).ok_or_else(wrong);
    Ok(ChosenCore {
        place: Place {
            socket: number(socket)?,
            core: number(core)?,
        },
        cpus: CpuSet::from_list(cpus)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_cores_are_short() {
        for (text, written) in [
            ("0,0=0-1;0,1=2-3;0,2=4-5;1,0=6-7", "0,0=0-1*3+2;1,0=6-7"),
            (
                "0,0=0,8;0,1=1,9;0,2=2,10:0,3=3,11",
                "0,0=0,8*2+1;0,2=2,10:0,3=3,11",
            ),
            ("0,0=0;0,0=1;0,1=2;0,3=3", "0,0=0;0,0=1*2+1;0,3=3"),
            ("0,0=4;0,1=2;0,2=3", "0,0=4;0,1=2*2+1"),
            ("0,5=9", "0,5=9"),
        ] {
            let chosen: Chosen = text.parse().unwrap();
            assert_eq!(chosen.to_string(), written);
            assert_eq!(written.parse(), Ok(chosen), "{text}");
        }
        for text in [
            "0,0=0*0+1",
            "0,0=0*1+1",
            "0,0=0*2",
            "0,0=0*2+x",
            "0,0=0:0,1=1*2+1",
            "0,0=0*70000+1",
            "0,0=0*4000000000+1",
            "0,4294967295=0*2+1",
            "0,0=65000*1000+9",
        ] {
            assert!(text.parse::<Chosen>().is_err(), "{text}");
        }
    }
}
