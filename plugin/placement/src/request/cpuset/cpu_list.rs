//! A list of CPUs that keeps its order: first fit takes them in the list's. Pure data.

use std::fmt;

use crate::sets::cpuset::CpuSet;
use crate::sets::ids::CpuId;

/// Different CPUs in an order, as runs of successive numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CpuList {
    /// The first and last number of each run.
    runs: Vec<(u32, u32)>,
    cpus: CpuSet,
}

impl CpuList {
    /// Appends a CPU, unless the list has it.
    pub(super) fn push(&mut self, cpu: CpuId) {
        if self.cpus.contains(cpu) {
            return;
        }
        self.cpus.insert(cpu);
        match self.runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu.0 => *last = cpu.0,
            _ => self.runs.push((cpu.0, cpu.0)),
        }
    }

    /// The CPUs in the list's order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        let runs = self.runs.iter();
        runs.flat_map(|(first, last)| (*first..=*last).map(CpuId))
    }

    /// The CPUs without their order.
    #[must_use]
    pub fn cpus(&self) -> &CpuSet {
        &self.cpus
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.runs.iter().enumerate() {
            f.write_str(if at > 0 { "," } else { "" })?;
            match first == last {
                true => write!(f, "{first}")?,
                false => write!(f, "{first}-{last}")?,
            }
        }
        Ok(())
    }
}
