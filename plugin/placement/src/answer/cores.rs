//! The cores that a `--binding` chose, and their text, which travels from slurmd to
//! slurmstepd. `;` separates tasks, `:` separates cores, and each core is `SOCKET,CORE=CPUS`.
//! In: positions of cores. Out: logical and kernel numbers, and back from the text. Pure.

use std::fmt;
use std::str::FromStr;

use crate::request::grid_engine::Place;
use crate::sets::cpuset::CpuSet;
use crate::sets::cpuset_text::parse_number;
use crate::sets::error::TextError;

/// One core of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenCore {
    /// Where it is, as `--binding` names it.
    pub place: Place,
    /// Its hardware threads that the task is to use, by kernel number.
    pub cpus: CpuSet,
}

/// Every task's cores; a list of one is shared by all tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen(pub Vec<Vec<ChosenCore>>);

impl Chosen {
    /// A task's cores, by local id.
    #[must_use]
    pub fn of_task(&self, id: usize) -> &[ChosenCore] {
        let at = if self.0.len() == 1 { 0 } else { id };
        self.0.get(at).map_or(&[], Vec::as_slice)
    }

    /// A task's CPUs.
    #[must_use]
    pub fn cpus_of_task(&self, id: usize) -> CpuSet {
        union(self.of_task(id))
    }

    /// The CPUs of all tasks.
    #[must_use]
    pub fn cpus(&self) -> CpuSet {
        let mut all = CpuSet::new();
        self.0.iter().for_each(|task| all.insert_all(&union(task)));
        all
    }
}

fn union(cores: &[ChosenCore]) -> CpuSet {
    if let [one] = cores {
        return one.cpus.clone();
    }
    let mut all = CpuSet::new();
    cores.iter().for_each(|core| all.insert_all(&core.cpus));
    all
}

/// A task's cores as an `explicit` strategy and Grid Engine's pe_hostfile have them.
#[must_use]
pub fn places(cores: &[ChosenCore]) -> String {
    let places: Vec<_> = cores.iter().map(|core| core.place.to_string()).collect();
    places.join(":")
}

impl fmt::Display for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, task) in self.0.iter().enumerate() {
            f.write_str(if at > 0 { ";" } else { "" })?;
            for (at, core) in task.iter().enumerate() {
                f.write_str(if at > 0 { ":" } else { "" })?;
                write!(f, "{}={}", core.place, core.cpus)?;
            }
        }
        Ok(())
    }
}

impl FromStr for Chosen {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let tasks = text.split(';');
        let task = |cores: &str| cores.split(':').map(core).collect::<Result<Vec<_>, _>>();
        tasks.map(task).collect::<Result<_, _>>().map(Self)
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
