//! The world of the page: one machine, and perhaps one script. There is no cluster, no job, no file and no environment:
//! the variables of a request stand before its line.

use std::path::Path;

use berth_answer::Failure;
use berth_answer::Unreadable;
use berth_answer::hwloc::{machine_of_synthetic, machine_of_xml};
use berth_answer::topo::Known;
use berth_answer::world::{Context, GpusOfJob, LIVE, OwnJob, ScriptFile, World};
use berth_placement::Machine;
use berth_placement::topology::presets::Preset;
use berth_site::cpusets::{Site, SiteCpusets};

use crate::Request;

/// The name of an XML that has none.
const XML_NAME: &str = "machine.xml";

/// The facts that the page has.
pub(crate) struct PageWorld {
    /// The text that stands for the machine in answers.
    pub source: String,
    xml: Option<String>,
    script: Option<String>,
}

impl PageWorld {
    pub(crate) fn of(request: &Request) -> Self {
        let is_xml = request.machine.trim_start().starts_with('<');
        let xml = is_xml.then(|| request.machine.clone());
        let name = request.name.as_deref().unwrap_or(XML_NAME);
        Self {
            source: if is_xml { name } else { &request.machine }.into(),
            xml,
            script: request.script.clone(),
        }
    }
}

impl World for PageWorld {
    fn context(&self, _machine: &str, cluster: Option<&str>) -> Context {
        let none = |_| Err("a page reaches no cluster; give its rules as options".into());
        Context {
            is_synthetic: self.xml.is_none() && Preset::named(self.source.trim()).is_none(),
            cluster: cluster.map(none),
            ..Context::default()
        }
    }

    fn machine(&self, machine: &str, _with_devices: bool) -> Result<Machine, Failure> {
        let unreadable = |why: String| Failure::from(Unreadable(why));
        if machine == LIVE || machine.trim().is_empty() {
            return Err(unreadable(
                "no machine is given; choose one, describe one, or give hwloc's XML".into(),
            ));
        }
        if let Some(xml) = &self.xml {
            return machine_of_xml(xml).map_err(|why| unreadable(why.to_string()));
        }
        match Preset::named(machine.trim()).and_then(Preset::machine) {
            Some(known) => Ok(known),
            None => machine_of_synthetic(machine).map_err(|why| {
                let near = Known::proposed(machine);
                unreadable(format!("{why}{near}"))
            }),
        }
    }

    fn gpus(&self, _job: &OwnJob) -> Result<GpusOfJob, String> {
        Ok(GpusOfJob::None)
    }

    fn script(&self, _name: &str) -> ScriptFile {
        match &self.script {
            Some(text) => ScriptFile::Text(text.clone().into_bytes()),
            None => ScriptFile::Missing("a page reads no files; paste the script".into()),
        }
    }

    fn hosts(&self, _path: &str) -> Result<String, String> {
        Err("a page reads no files".into())
    }

    fn cpusets(&self, _path: &Path, _site: &Site<'_>) -> Result<SiteCpusets, String> {
        Ok(SiteCpusets::default())
    }
}
