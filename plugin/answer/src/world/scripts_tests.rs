//! The world of unit tests.

use std::path::Path;

use berth_placement::Machine;
use berth_placement::topology::presets::Preset;
use berth_site::cpusets::{Site, SiteCpusets};

use super::{GpusOfJob, OwnJob, ScriptFile, Standing, World};
use crate::Failure;

/// A world that has scripts and well-known machines, and nothing else.
#[derive(Default)]
pub(crate) struct Scripts(pub Vec<(&'static str, String)>);

impl World for Scripts {
    fn standing(&self, _machine: &str, _cluster: Option<&str>) -> Standing {
        Standing::default()
    }

    fn machine(&self, machine: &str, _with_devices: bool) -> Result<Machine, Failure> {
        let known = Preset::named(machine).and_then(Preset::machine);
        known.ok_or_else(|| "there is no such machine here".into())
    }

    fn gpus(&self, _job: &OwnJob) -> Result<GpusOfJob, String> {
        Ok(GpusOfJob::None)
    }

    fn script(&self, name: &str) -> ScriptFile {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map_or(
            ScriptFile::Missing("there is no such file".into()),
            |(_, text)| ScriptFile::Text(text.clone().into_bytes()),
        )
    }

    fn hosts(&self, _path: &str) -> Result<String, String> {
        Err("there are no files here".into())
    }

    fn cpusets(&self, _path: &Path, _site: &Site<'_>) -> Result<SiteCpusets, String> {
        Ok(SiteCpusets::default())
    }
}
