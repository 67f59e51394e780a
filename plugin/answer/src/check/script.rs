//! A batch script, or a single line, as the commands in it that matter: srun, mpirun, and the
//! directives of sbatch. It is read, not run, so computed values are unknown. Scripts
//! within it are read too (`nested_script.rs`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use berth_srun::Line;
use berth_srun::line::read;
use berth_srun::options::Command as Program;

use super::blocks::Blocks;
use super::command::{Command, Foreign, Kind, certain};
use super::place::Surroundings;
use super::variables::{Variable, Variables, assigned, defaults, set_by, words_of};
use crate::lines::System;
use crate::lines::base;
use crate::shell::{Commands, Document, Simple, Unclosed, Word, assignment, line_of, scan};
use crate::text::has_word;

/// The place of a script in the one around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is the text that is checked.
    #[default]
    Whole,
    /// A line of sbatch submits it.
    Submitted,
    /// It runs in the same job.
    Part,
    /// srun's shell runs it in every task.
    InTasks,
}

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// The whole text; for a script within another one, that of the other.
    pub text: Rc<[u8]>,
    pub role: Role,
    /// The file of a script that another one names.
    pub file: Option<String>,
    /// That file's own text.
    pub file_text: Option<Rc<[u8]>>,
    /// The `#SBATCH` lines of a script that a line submits; that line is in `job` too.
    pub directives: Option<Command>,
    /// Scripts within: in here-documents, and in files that lines of sbatch name.
    pub nested: Vec<Script>,
    /// Job files that were not read, with the reason.
    pub not_read: Vec<String>,
    /// The `#SBATCH` lines as one line, or the sbatch or salloc line itself.
    pub job: Option<Command>,
    /// The `#SBATCH` lines of the components behind the first one (`#SBATCH hetjob`).
    pub components: Vec<Command>,
    /// Whether the job has several components, whose options differ.
    pub has_components: bool,
    pub commands: Vec<Command>,
    /// The block of each `wait`.
    pub waits: Vec<usize>,
    /// Its first line of another system.
    pub foreign: Option<Foreign>,
    /// Every command with its words, for clues.
    pub all: Vec<Vec<String>>,
    /// Where the first command begins, behind which directives do not count.
    pub first_command: Option<usize>,
    pub unclosed: Option<Unclosed>,
    /// Where commands begin that may start tasks and were not read, with their words.
    pub unread: Vec<(usize, String)>,
    /// Where lines begin that look like directives of sbatch but stand behind the first command.
    pub late: Vec<usize>,
    /// The blanks before lines that look like directives, up to the first command.
    pub indented: Vec<Range<usize>>,
}

impl Script {
    /// This one, and all within it.
    pub(crate) fn all_scripts(&self) -> Vec<&Script> {
        let nested = self.nested.iter().flat_map(Self::all_scripts);
        std::iter::once(self).chain(nested).collect()
    }

    /// The number of the line of a place, in the file that it is in.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        line_of(self.file_text.as_ref().unwrap_or(&self.text), at)
    }
}

/// Whether a word starts a program that starts other tasks itself.
pub(crate) fn is_launcher(word: &str) -> bool {
    let names = "mpirun mpiexec mpiexec.hydra prterun orterun mpiexec.slurm";
    has_word(names, base(word))
}

/// Reads a script or a line.
pub(crate) fn script(text: &[u8], around: &Surroundings<'_>) -> Script {
    Reader::new(text, around, 0).read()
}

/// The loop whose input is read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum LoopInput {
    #[default]
    None,
    /// The body of this many loops begins next.
    Begins(usize),
    /// Its body is this block.
    Body(usize),
}

pub(super) struct Reader<'a> {
    pub around: &'a Surroundings<'a>,
    /// The number of scripts around this one.
    pub depth: u32,
    pub found: Script,
    pub variables: Variables,
    pub documents: Vec<Document>,
    /// Files that the script writes: the here-document that is the whole file, if that is known.
    pub written: BTreeMap<String, Option<usize>>,
    /// The here-document that comes through a pipe.
    pub piped: Option<usize>,
    /// The number of the current pipeline.
    pipeline: usize,
    pub loop_input: LoopInput,
    /// The texts around the current command that are words of others.
    pub texts: u32,
    /// Whether each variable that is set is exported too (`set -a`).
    pub exports_all: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &[u8], around: &'a Surroundings<'a>, depth: u32) -> Self {
        Self {
            around,
            depth,
            found: Script {
                text: text.into(),
                ..Script::default()
            },
            variables: around
                .variables
                .iter()
                .filter_map(|text| {
                    let (name, value) = assignment(text)?;
                    let value = Variable {
                        value: value.into(),
                        is_computed: value.contains('$'),
                        ..Variable::default()
                    };
                    Some((name.into(), value))
                })
                .collect(),
            documents: Vec::new(),
            written: BTreeMap::new(),
            piped: None,
            pipeline: 0,
            loop_input: LoopInput::None,
            texts: 0,
            exports_all: false,
        }
    }

    pub(super) fn read(mut self) -> Script {
        let text = Rc::clone(&self.found.text);
        let mut commands = scan(&text);
        self.documents = std::mem::take(&mut commands.documents);
        let first = commands.commands.first().and_then(|one| one.words.first());
        self.found.first_command = first.map(|word| word.range.start);
        self.found.unclosed = commands.unclosed;
        self.slurm_directives();
        self.comments(&commands.comments);
        self.commands(&commands);
        self.found
    }

    pub(super) fn commands(&mut self, found: &Commands) {
        let mut blocks = Blocks::of(found);
        for simple in &found.commands {
            blocks.enter(simple.block, &mut self.variables);
            let before = self.read_count();
            self.simple(simple);
            self.in_words(simple, before);
            self.pipeline += usize::from(!simple.is_piped);
            blocks.leave(simple, &mut self.variables);
        }
    }

    pub(super) fn command(
        &self,
        number: usize,
        kind: Kind,
        name: Word,
        words: Vec<Word>,
    ) -> Command {
        let texts: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
        let mut line = Line::default();
        // The options of mpirun are not Slurm's.
        if kind != Kind::Mpirun {
            line = read(&texts, kind.program(), Some(self.around.release));
            certain(&mut line, self.around.release, kind);
        }
        let all = self.variables.clone().into_iter();
        let (hidden, variables) = all.partition::<Variables, _>(|(_, one)| one.is_hidden);
        Command {
            number,
            kind,
            name,
            line,
            words,
            variables,
            hidden,
            in_background: false,
            loops: 0,
            waits: self.found.waits.len(),
            pipeline: self.pipeline,
            block: 0,
            reads_loop_input: false,
            is_known_job: false,
        }
    }

    /// One simple command: variables, then a program of interest, or nothing to us.
    fn simple(&mut self, simple: &Simple) {
        let texts = simple.words.iter().map(|word| word.text.clone());
        self.found.all.push(texts.collect());
        let piped = self.piped.take();
        for (name, default) in simple.words.iter().flat_map(|word| defaults(&word.text)) {
            let set = Word {
                text: format!("{name}=${{{name}:-{default}}}"),
                is_computed: true,
                ..Word::default()
            };
            self.assign(&set);
        }
        let outer = self.variables.clone();
        let before = simple.words.iter().take_while(|word| self.assign(word));
        let (_, words) = simple.words.split_at(before.count());
        if words.is_empty() {
            // Variables alone stay.
            let set = simple.words.iter().filter_map(|word| assigned(&word.text));
            for (name, _, _) in set {
                self.set_alone(name, &outer);
                // A pipe and the background are subshells: whether a later command has the value is unknown.
                if simple.is_piped || simple.in_background {
                    self.variables.insert(name.into(), Variable::unknown(name));
                }
            }
            return;
        }
        if self.declares(words, &outer) {
            return;
        }
        // The shell expands a command's words before it sets the variables in front of them.
        let words: Vec<_> = words
            .iter()
            .flat_map(|word| words_of(word, &outer))
            .collect();
        let Some((name, rest)) = self.unwrapped(&words).split_first() else {
            return;
        };
        let input = simple.input.or(piped);
        self.program(simple, name, rest, input);
        self.writes(simple, name, rest);
        self.variables = match name.text.as_str() {
            "setenv" | "unset" | "unsetenv" | "." | "source" | "eval" => {
                std::mem::take(&mut self.variables)
            }
            _ => outer,
        };
    }

    /// Takes an assignment over; whether the word is one.
    pub(super) fn assign(&mut self, word: &Word) -> bool {
        let set = set_by(word, &self.variables);
        let is_one = set.is_some();
        self.variables.extend(set);
        is_one
    }

    fn program(&mut self, simple: &Simple, name: &Word, rest: &[Word], input: Option<usize>) {
        let reads_loop_input = self.reads_loop_input(simple);
        let kind = match base(&name.text) {
            "srun" => Kind::Srun,
            "sbatch" => Kind::Job(Program::Sbatch),
            "salloc" => Kind::Job(Program::Salloc),
            word if is_launcher(word) => Kind::Mpirun,
            word if let Some(system) = System::of_program(word) => {
                self.found.foreign.get_or_insert(Foreign {
                    line: simple.line,
                    system,
                    is_directive: false,
                });
                return;
            }
            "wait" => return self.found.waits.push(simple.block),
            "setenv" => return self.setenv(rest),
            "unset" | "unsetenv" => return self.unset(rest),
            "set" => return self.set_options(rest),
            // The commands that run there may set every variable.
            "." | "source" | "eval" => {
                if name.text == "eval" {
                    self.text_of(rest, simple);
                }
                let all = self.variables.iter_mut();
                all.for_each(|(name, one)| *one = Variable::unknown(name));
                return;
            }
            word => return self.in_shell(word, rest, input, simple),
        };
        let command = Command {
            reads_loop_input,
            in_background: simple.in_background,
            loops: simple.loops,
            block: simple.block,
            ..self.command(simple.line, kind, name.clone(), rest.to_vec())
        };
        match kind {
            Kind::Job(program) => self.job(simple, command, program, input),
            Kind::Srun => self.step(command, input),
            _ => self.found.commands.push(command),
        }
    }

    /// An sbatch or salloc, with the command that it runs.
    fn job(
        &mut self,
        simple: &Simple,
        mut command: Command,
        program: Program,
        input: Option<usize>,
    ) {
        let wrapped = command.option("wrap").and_then(|given| {
            let word = command.words.get(given.words.end.checked_sub(1)?)?;
            let value = given.value.as_deref()?;
            self.inside(word, value)
        });
        let runs = command.program().to_vec();
        // The sruns of a script run in the script's own job, or in the one that salloc has made.
        let is_around = wrapped.is_some() || program == Program::Salloc;
        if !is_around {
            self.submit(&mut command, input);
        }
        match (is_around, &self.found.job) {
            (true, None) => self.found.job = Some(command),
            _ => return self.found.commands.push(command),
        }
        match (wrapped, runs.split_first()) {
            (Some((at, text)), _) => {
                self.text(text.as_bytes(), Some(at), simple);
            }
            (None, Some((name, rest))) => self.program(simple, name, rest, input),
            // salloc starts the user's shell.
            (None, None) => self.part(input),
        }
    }
}
