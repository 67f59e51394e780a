//! Grammar of Grid Engine's core binding:
//! `--binding=[set:|env:|pe:][task:|host:][strict:]STRATEGY`, and berth's own strategy `auto`.
//! In: the user's text. Out: `Binding`, or an error that marks the wrong part. Pure.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use derive_more::Display;

use crate::sets::cpuset_text::parse_number;
use crate::sets::limits::{BINDING_BYTES, MAX_CORES, MAX_ENTRIES};
use crate::sets::text::marked;

/// The grammar in three lines, for errors and help.
const GRAMMAR: &str = "\
--binding=[set:|env:|pe:][task:|host:][strict:]STRATEGY, with STRATEGY one of none,
linear:AMOUNT[:SOCKET,CORE], striding:AMOUNT:STEP[:SOCKET,CORE], explicit:SOCKET,CORE[:SOCKET,CORE…];
or --binding=[set:|env:][strict:]auto[:pack][:smt=THREADS]";

/// Who applies the binding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Instance {
    /// berth binds the tasks in the kernel.
    #[default]
    Set,
    /// The job binds itself, from its environment.
    Env,
    /// The parallel environment binds, from a host file.
    Pe,
}

/// Who gets an amount of cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Scope {
    /// Each task gets its own cores.
    #[default]
    Task,
    /// All tasks of the step on the host share one set (Grid Engine's meaning).
    Host,
}

/// A core by logical numbers: the second core of the first socket is `0,1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[display("{socket},{core}")]
pub struct Place {
    /// Socket, from 0.
    pub socket: u32,
    /// Core within the socket, from 0.
    pub core: u32,
}

/// How cores are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Strategy {
    /// `--binding` binds nothing; Slurm's own options decide.
    None,
    /// Successive cores.
    Linear {
        /// Cores.
        amount: u32,
        /// First core, if given.
        start: Option<Place>,
    },
    /// Cores at a distance.
    Striding {
        /// Cores.
        amount: u32,
        /// Distance; 1 is neighbours.
        step: u32,
        /// First core, if given.
        start: Option<Place>,
    },
    /// Exactly these.
    Explicit(Vec<Place>),
    /// An even share of the step's cores for each task.
    Auto(Share),
}

/// A whole `--binding`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Binding {
    /// Who applies it.
    pub instance: Instance,
    /// Who gets an amount of cores.
    pub scope: Scope,
    /// A binding that cannot be served is an error.
    pub strict: bool,
    /// How cores are chosen.
    pub strategy: Strategy,
}

/// A wrong `--binding`, with the place where it is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
#[display("--binding: {_0}\n{GRAMMAR}")]
pub struct BindingError(String);

impl Binding {
    /// Whether it binds batch scripts too. A script has the whole allocation to start its steps in.
    #[must_use]
    pub fn binds_scripts(&self) -> bool {
        !matches!(self.strategy, Strategy::Auto(_))
    }

    /// The number of tasks of a node that a batch script's `--binding` is planned for: one, if the
    /// job has one; with `pe:` those that the parallel environment will start, as evenly as
    /// slurmctld lays them out by default. Otherwise the binding is only for the steps. `all` are the
    /// job's tasks on all its nodes.
    #[must_use]
    pub fn tasks_of_script(&self, all: u32, nodes: u32) -> Option<u32> {
        if !self.binds_scripts() {
            return None;
        }
        let most = all.div_ceil(nodes.max(1)).min(MAX_ENTRIES);
        match all {
            0 | 1 => Some(1),
            _ => Some(most).filter(|_| self.instance == Instance::Pe),
        }
    }
}

impl FromStr for Binding {
    type Err = BindingError;

    fn from_str(text: &str) -> Result<Self, BindingError> {
        if text.len() > BINDING_BYTES {
            return Err(BindingError(format!(
                "longer than {BINDING_BYTES} bytes; name fewer cores, or an amount, as in linear:4"
            )));
        }
        Reader { text, at: 0 }.binding()
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn binding(mut self) -> Result<Binding, BindingError> {
        let mut instance = Instance::Set;
        for (word, kind) in [
            ("set", Instance::Set),
            ("env", Instance::Env),
            ("pe", Instance::Pe),
        ] {
            // Grid Engine wrote a blank; a comma survives shells and job files.
            if self.take(word, &[':', ' ', ',']) {
                instance = kind;
                break;
            }
        }
        let mut scope = Scope::Task;
        if self.take("host", &[':']) {
            scope = Scope::Host;
        } else {
            self.take("task", &[':']);
        }
        let strict = self.take("strict", &[':']);
        let strategy_at = self.at;
        let strategy = self.strategy()?;
        let shared_out = matches!(strategy, Strategy::Auto(_));
        if shared_out && (instance == Instance::Pe || scope == Scope::Host) {
            self.at = strategy_at;
            return Err(self.error("a strategy other than auto, or no pe: and host: before it,"));
        }
        Ok(Binding {
            instance,
            scope,
            strict,
            strategy,
        })
    }

    fn strategy(&mut self) -> Result<Strategy, BindingError> {
        let name_at = self.at;
        let name = self.until(&[':']);
        let strategy = match name.to_ascii_lowercase().as_str() {
            "none" => Strategy::None,
            "linear" => Strategy::Linear {
                amount: self.number(':', "an amount of cores")?,
                start: self.start()?,
            },
            "striding" => Strategy::Striding {
                amount: self.number(':', "an amount of cores")?,
                step: self.number(':', "a step")?,
                start: self.start()?,
            },
            "explicit" => Strategy::Explicit(self.places()?),
            "auto" => Strategy::Auto(self.share()?),
            _ => {
                self.at = name_at;
                return Err(self.error("a strategy (none, linear, striding, explicit, auto)"));
            }
        };
        if self.at < self.text.len() {
            return Err(self.error("the end"));
        }
        Ok(strategy)
    }

    /// The words behind `auto`, in any order.
    fn share(&mut self) -> Result<Share, BindingError> {
        let mut share = Share::default();
        while self.at < self.text.len() {
            self.skip(':')?;
            let at = self.at;
            let word = self.until(&[':', '=']).to_ascii_lowercase();
            match word.as_str() {
                "pack" if !share.pack => share.pack = true,
                "smt" if share.smt.is_none() => {
                    share.smt = Some(
                        self.number('=', "the number of hardware threads to use of each core")?,
                    );
                }
                _ => {
                    self.at = at;
                    return Err(self.error("pack or smt=THREADS, each once,"));
                }
            }
        }
        Ok(share)
    }

    fn start(&mut self) -> Result<Option<Place>, BindingError> {
        if self.at >= self.text.len() {
            return Ok(None);
        }
        self.skip(':')?;
        self.place().map(Some)
    }

    fn places(&mut self) -> Result<Vec<Place>, BindingError> {
        let mut places = Vec::new();
        // A list of 8 KiB names 2,000 cores, and comparing each with each takes too long.
        let mut named = HashSet::new();
        self.skip(':')?;
        loop {
            let at = self.at;
            let place = self.place()?;
            if !named.insert(place) {
                self.at = at;
                return Err(self.error("a core not named before"));
            }
            places.push(place);
            if self.at >= self.text.len() {
                return Ok(places);
            }
            if self.skip(';').is_err() {
                self.skip(':')?;
            }
        }
    }

    fn place(&mut self) -> Result<Place, BindingError> {
        let socket = self.digits_from(0, "a socket number")?;
        self.skip(',')?;
        let core = self.digits_from(0, "a core number")?;
        Ok(Place { socket, core })
    }

    /// A number of at least 1 after a separator.
    fn number(&mut self, separator: char, what: &str) -> Result<u32, BindingError> {
        self.skip(separator)
            .map_err(|_| self.error(&format!("'{separator}' and {what}")))?;
        self.digits_from(1, what)
    }

    fn digits_from(&mut self, least: u32, what: &str) -> Result<u32, BindingError> {
        let at = self.at;
        let text = self.rest();
        let end = text
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(text.len());
        let is_allowed = |number: &u32| (least..=MAX_CORES).contains(number);
        let number = parse_number(&text[..end]).filter(is_allowed);
        self.at += end;
        number.ok_or_else(|| {
            self.at = at;
            self.error(&format!("{what} ({least} to {MAX_CORES})"))
        })
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn until(&mut self, ends: &[char]) -> &'a str {
        let rest = self.rest();
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    /// Takes `word` and one of the separators behind it.
    fn take(&mut self, word: &str, separators: &[char]) -> bool {
        let rest = self.rest();
        let head = rest.get(..word.len()).unwrap_or_default();
        let next = rest.get(word.len()..).and_then(|tail| tail.chars().next());
        let here = head.eq_ignore_ascii_case(word) && next.is_some_and(|c| separators.contains(&c));
        if here {
            self.at += word.len() + 1;
        }
        here
    }

    fn skip(&mut self, letter: char) -> Result<(), BindingError> {
        if self.rest().starts_with(letter) {
            self.at += letter.len_utf8();
            return Ok(());
        }
        Err(self.error(&format!("'{letter}'")))
    }

    fn error(&self, expected: &str) -> BindingError {
        let what = format!("expected {expected} here");
        BindingError(match self.text {
            "" => what,
            text => format!("{what}\n{}", marked(text, self.at)),
        })
    }
}

impl std::error::Error for BindingError {}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.instance {
            Instance::Set => "",
            Instance::Env => "env:",
            Instance::Pe => "pe:",
        })?;
        f.write_str(match self.scope {
            Scope::Task => "",
            Scope::Host => "host:",
        })?;
        f.write_str(if self.strict { "strict:" } else { "" })?;
        let start = |start: &Option<Place>| start.map(|at| format!(":{at}")).unwrap_or_default();
        match &self.strategy {
            Strategy::None => f.write_str("none"),
            Strategy::Linear { amount, start: at } => write!(f, "linear:{amount}{}", start(at)),
            Strategy::Striding {
                amount,
                step,
                start: at,
            } => {
                write!(f, "striding:{amount}:{step}{}", start(at))
            }
            Strategy::Explicit(places) => {
                let places: Vec<_> = places.iter().map(ToString::to_string).collect();
                write!(f, "explicit:{}", places.join(":"))
            }
            Strategy::Auto(share) => write!(f, "auto{share}"),
        }
    }
}

/// The words behind `auto`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Share {
    /// `pack`: beside `-c` the tasks' cores lie one after the other, not at the beginning of each
    /// task's share.
    pub pack: bool,
    /// `smt=K`: the hardware threads of each core that the tasks use.
    pub smt: Option<u32>,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.pack { ":pack" } else { "" })?;
        match self.smt {
            Some(threads) => write!(f, ":smt={threads}"),
            None => Ok(()),
        }
    }
}
