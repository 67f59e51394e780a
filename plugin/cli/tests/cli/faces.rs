//! One question has one answer, whoever asks: the same random lines through `berth plan`, through `--batch`, and
//! through the library with a world that is made of texts. The seed is printed, and `BERTH_SEED` repeats a run.

use crate::random::{Random, seed};
use crate::run::berth;
use std::cell::{Cell, RefCell};
use std::path::Path;

use crate::random::options::OPTIONS;
use berth_answer::Failure;
use berth_answer::args::Format;
use berth_answer::check;
use berth_answer::lines::NoAnswer;
use berth_answer::picture::Screen;
use berth_answer::plan::{self, Answered};
use berth_answer::reader::Reader;
use berth_answer::world::{Context, GpusOfJob, OwnJob, ScriptFile, World};
use berth_discover::{Source, discover};
use berth_placement::Machine;
use berth_site::cpusets::{Site, SiteCpusets};
use serde_json::Value;

/// The number of lines that are tried.
const LINES: usize = 500;

/// The number of steps of a script that are tried on each machine.
const STEPS: usize = 40;

const MACHINES: &[&str] = &[
    "pack:2 core:4 pu:2",
    "pack:2 numa:2 l3:2 core:4 pu:2",
    "pack:1 core:6 pu:1",
    "pack:4 core:2 pu:4",
];

/// No cluster, no node with berth, no job: machines and one script.
#[derive(Default)]
struct Machines {
    /// The number of times that the script was read.
    reads: Cell<u32>,
    /// The step of the script.
    step: RefCell<String>,
}

impl World for Machines {
    fn context(&self, machine: &str, _cluster: Option<&str>) -> Context {
        Context {
            is_synthetic: matches!(Source::parse(machine), Ok(Source::Synthetic(_))),
            ..Context::default()
        }
    }

    fn machine(&self, machine: &str, _with_devices: bool) -> Result<Machine, Failure> {
        Ok(discover(&Source::parse(machine)?)?.machine)
    }

    fn gpus(&self, _job: &OwnJob) -> Result<GpusOfJob, String> {
        Ok(GpusOfJob::None)
    }

    fn script(&self, name: &str) -> ScriptFile {
        self.reads.set(self.reads.get() + 1);
        match name {
            "job.sh" => {
                let step = self.step.borrow();
                ScriptFile::Text(format!("#!/bin/sh\n#SBATCH -N2 -n8\n{step}\n").into())
            }
            _ => ScriptFile::Missing("there is no such file".into()),
        }
    }

    fn hosts(&self, _path: &str) -> Result<String, String> {
        Err("there are no files here".into())
    }

    fn cpusets(&self, _path: &Path, _site: &Site<'_>) -> Result<SiteCpusets, String> {
        Ok(SiteCpusets::default())
    }
}

fn line(random: &mut Random) -> String {
    let count = random.below(5);
    let options: Vec<_> = (0..count).map(|_| *random.one_of(OPTIONS)).collect();
    format!("srun {} ./app", options.join(" "))
}

/// The library's answer; none where the line is none.
fn by_library(machine: &str, line: &str) -> Option<String> {
    let world = Machines::default();
    let words = ["--machine".to_string(), machine.to_string()].into();
    let mut reader = Reader::new(words, &world).unwrap();
    let question = reader.line(line).ok()?;
    let on = plan::node(&question, &world).unwrap();
    Some(match plan::answer_of_line(&question, &on) {
        Ok(step) => {
            let of = Answered {
                args: &question,
                on: &on,
                step: &step,
            };
            plan::one_line(of, Some(Format::Masks)).unwrap()
        }
        Err(why) => match why.downcast_ref()? {
            NoAnswer::Usage(_) => return None,
            why => plan::no_line(&why.to_string(), Some(Format::Masks)),
        },
    })
}

/// The command's answer to one line, in the form of a line of a file.
fn by_command(machine: &str, line: &str) -> String {
    let done = berth(
        &["plan", "--machine", machine, "--format", "masks", line],
        "",
    );
    let texts = |kind: &str| {
        let lines = done.stderr.lines();
        let found = lines.filter_map(|line| line.strip_prefix(kind));
        let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        found.map(joined).collect::<Vec<_>>()
    };
    let masks: Vec<_> = done.stdout.lines().collect();
    match done.code {
        0 => {
            let notes = texts("berth: note: ").into_iter();
            notes.fold(masks.join(" "), |all, note| format!("{all} # {note}"))
        }
        1 => {
            let why = texts("berth: refused: ")
                .into_iter()
                .chain(texts("berth: "));
            format!("error: {}", why.into_iter().next().unwrap_or_default())
        }
        _ => format!("error: {}", texts("error: ").join(" ")),
    }
}

#[test]
fn every_face_has_the_same_answer() {
    let seed = seed();
    let mut random = Random(seed);
    for machine in MACHINES {
        let lines: Vec<_> = (0..LINES / MACHINES.len())
            .map(|_| line(&mut random))
            .collect();
        let file = lines.join("\n");
        let words = [
            "plan",
            "--machine",
            machine,
            "--format",
            "masks",
            "--batch",
            "-",
        ];
        let of_file = berth(&words, &file).stdout;
        let of_file: Vec<_> = of_file.lines().collect();
        assert_eq!(of_file.len(), lines.len(), "{machine}");
        for (line, of_file) in lines.iter().zip(of_file) {
            let about = format!("{machine}, {line}, BERTH_SEED={seed}");
            assert_eq!(by_command(machine, line), of_file, "{about}");
            match by_library(machine, line) {
                Some(answer) => assert_eq!(answer, of_file, "{about}"),
                None => assert!(of_file.starts_with("error: "), "{about}: {of_file}"),
            }
        }
    }
}

/// The document of an answer; none where the line is none.
fn document(reader: &mut Reader<'_>, line: &str, world: &Machines) -> Option<Value> {
    let question = reader.line(line).ok()?;
    let on = plan::node(&question, world).unwrap();
    let step = check::answer(&question, &on, world).ok()?;
    let mut out = Vec::new();
    let screen = Screen {
        width: 80,
        has_colours: false,
    };
    let of = Answered {
        args: &question,
        on: &on,
        step: &step,
    };
    plan::show(of, screen, &mut out).unwrap();
    Some(serde_json::from_slice(&out).unwrap())
}

/// What is planned of a step in its script is what its line has inside the job, and check finds nothing else.
#[test]
fn a_step_of_a_script_has_the_plan_of_its_line() {
    let seed = seed();
    let mut random = Random(seed);
    for machine in MACHINES {
        let world = Machines::default();
        let words = |more: &[&str]| {
            let words = [&["--machine", machine, "--format=json"], more].concat();
            words.into_iter().map(String::from).collect()
        };
        let mut alone = Reader::new(words(&["--job=sbatch -N2 -n8"]), &world).unwrap();
        let mut script = Reader::new(words(&[]), &world).unwrap();
        for _ in 0..STEPS {
            let line = line(&mut random);
            let about = format!("{machine}, {line}, BERTH_SEED={seed}");
            world.step.replace(line.clone());
            let found = document(&mut script, "sbatch job.sh", &world).unwrap();
            let step = &found["job"]["steps"][0];
            let alone = document(&mut alone, &line, &world);
            let of_step = step["cpus"].as_array().cloned();
            let of_line = alone.as_ref().map(|alone| {
                let tasks = alone["tasks"].as_array().unwrap().iter();
                tasks.map(|task| task["cpus"].clone()).collect::<Vec<_>>()
            });
            assert_eq!(of_step, of_line, "{about}: {step}");
            let text = format!("#SBATCH -N2 -n8\n{line}\n");
            let request = check::Request {
                text: text.as_bytes(),
                is_file: false,
                machine: Some(machine),
                cluster: None,
                release: None,
                exclusive: false,
                site: None,
                beside: &[],
                variables: &[],
            };
            let report = check::check(&request, &world).unwrap();
            let report = serde_json::to_value(&report).unwrap();
            let mut rules = report["findings"].as_array().unwrap().iter();
            let is_refused = rules.any(|one| one["rule"] == "refused");
            assert!(!is_refused || alone.is_none(), "{about}: {report}");
        }
    }
}

/// Also where its directives, its own masks and the job around a step are asked for.
#[test]
fn a_script_is_read_once_for_an_answer() {
    for line in ["sbatch job.sh", "sbatch --binding=linear:1 job.sh"] {
        let world = Machines::default();
        world.step.replace("srun -n2 ./app".into());
        let words = ["--machine".to_string(), "pack:2 core:4 pu:2".into()].into();
        let question = Reader::new(words, &world).unwrap().line(line).unwrap();
        let on = plan::node(&question, &world).unwrap();
        let step = plan::answer_of_line(&question, &on).unwrap();
        assert!(
            !plan::notes(Answered {
                args: &question,
                on: &on,
                step: &step
            })
            .iter()
            .any(String::is_empty)
        );
        assert_eq!(world.reads.get(), 1, "{line}");
    }
}
