//! Questions of the command: whole lines, scripts and machines, from the text to the answer.

use std::path::Path;

use berth_answer::args::Format;
use berth_answer::hwloc::{machine_of_synthetic, machine_of_xml};
use berth_answer::lines::NoAnswer;
use berth_answer::reader::Reader;
use berth_answer::world::{Context, GpusOfJob, OwnJob, ScriptFile, World};
use berth_answer::{Failure, check, plan};
use berth_placement::Machine;
use berth_site::cpusets::{Site, SiteCpusets};

use crate::Verdict;

const MACHINE: &str = "pack:2 [numa] core:4 pu:2";

/// No cluster, no job and no files: one machine.
struct OneMachine;

impl World for OneMachine {
    fn context(&self, _machine: &str, _cluster: Option<&str>) -> Context {
        Context {
            is_synthetic: true,
            ..Context::default()
        }
    }

    fn machine(&self, _machine: &str, _with_devices: bool) -> Result<Machine, Failure> {
        Ok(machine_of_synthetic(MACHINE)?)
    }

    fn gpus(&self, _job: &OwnJob) -> Result<GpusOfJob, String> {
        Ok(GpusOfJob::None)
    }

    fn script(&self, _name: &str) -> ScriptFile {
        ScriptFile::Text("#!/bin/sh\n#SBATCH -n8 -c2\nsrun -n2 ./app\n".into())
    }

    fn hosts(&self, _path: &str) -> Result<String, String> {
        Err("there are no files here".into())
    }

    fn cpusets(&self, _path: &Path, _site: &Site<'_>) -> Result<SiteCpusets, String> {
        Ok(SiteCpusets::default())
    }
}

thread_local! {
    /// Its options are read once.
    static READER: std::cell::RefCell<Reader<'static>> =
        std::cell::RefCell::new(Reader::new(vec!["--explain".into()], &OneMachine).expect("no machine is looked at yet"));
}

/// A line, planned and explained.
pub(crate) fn line(text: &str) -> Verdict {
    let question = READER.with_borrow_mut(|reader| reader.line_of_file(text));
    let question = match question {
        Ok(question) => question,
        Err(why) => return Verdict::Refused(NoAnswer::from(why).to_string()),
    };
    let node = plan::node(&question, &OneMachine).expect("a machine");
    let planned = plan::answer_of_line(&question, &node).and_then(|step| {
        let of = step.answered(&question, &node);
        plan::reasons(&mut std::io::sink(), of)?;
        plan::one_line(of, Some(Format::Json))
    });
    match planned {
        Ok(text) if text.starts_with('{') => Verdict::Accepted,
        Ok(text) => Verdict::Wrong(format!("the answer is {text:?}")),
        Err(why) => Verdict::Refused(why.to_string()),
    }
}

/// A batch script, checked.
pub(crate) fn script(text: &str) -> Verdict {
    let request = check::Request {
        text: text.as_bytes(),
        is_file: true,
        machine: Some(MACHINE),
        cluster: None,
        release: None,
        exclusive: false,
        site: Default::default(),
        beside: &[],
        variables: &[],
    };
    match check::check(&request, &OneMachine) {
        Ok(_) => Verdict::Accepted,
        Err(why) => Verdict::Refused(why.to_string()),
    }
}

/// A description, or hwloc's XML.
pub(crate) fn machine(text: &str) -> Verdict {
    let read = match text.starts_with('<') {
        true => machine_of_xml(text),
        false => machine_of_synthetic(text),
    };
    match read {
        Ok(machine) if machine.cpus().is_empty() => Verdict::Wrong("a machine without CPUs".into()),
        Ok(_) => Verdict::Accepted,
        Err(why) => Verdict::Refused(why.to_string()),
    }
}
