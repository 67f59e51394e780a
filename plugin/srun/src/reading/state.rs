//! Reads each option in its turn, as the `arg_set_…` functions of `src/common/slurm_opt.c`. Out: what was read, also as
//! the model of slurmctld and its clients takes it.

use std::ops::{Deref, DerefMut};

use berth_placement::controller::select::LineOptions;
use berth_placement::{CoreSpec, Level};

use crate::line::LineOption;
use crate::node_lists::{Most, expand};
use crate::number;
use crate::options::{self, Command, HOST_FILE, Lookup, Takes};
use crate::reading::{LevelFrom, NodeRange, Refused, SrunRequest};
use crate::release::Release;
use crate::spelling::{self, LevelBits, TypedBind};

/// The options that srun has read so far, and those that are derived from others later. Until then `ntasks` is what `-n`
/// gives, and `cpu_bind` is not made of `bind` yet.
#[derive(Default)]
pub(super) struct State<'a> {
    request: SrunRequest,
    pub nodefile: bool,
    /// The variable `SLURM_HOSTFILE`.
    pub host_file: Option<String>,
    /// The text of `--cpu-bind`; it is read after all options.
    pub bind_text: Option<String>,
    pub bind: TypedBind,
    pub hint: Option<String>,
    /// Whether the hint counts.
    pub hinted: bool,
    set: Vec<&'a LineOption>,
}

impl Deref for State<'_> {
    type Target = SrunRequest;

    fn deref(&self) -> &SrunRequest {
        &self.request
    }
}

impl DerefMut for State<'_> {
    fn deref_mut(&mut self) -> &mut SrunRequest {
        &mut self.request
    }
}

/// Sizes of a record's fields: Slurm keeps these numbers in 16 bits.
const MOST: u32 = u16::MAX as u32;

impl<'a> State<'a> {
    pub(super) fn new(release: Release) -> Self {
        let request = SrunRequest {
            release,
            ..SrunRequest::default()
        };
        Self {
            request,
            ..Self::default()
        }
    }

    /// The request that was read and derived.
    pub(super) fn into_request(self) -> SrunRequest {
        self.request
    }

    /// An option that was set, as it was given last.
    pub(super) fn last(&self, name: &str) -> Option<&'a LineOption> {
        self.set.iter().copied().rfind(|given| given.name == name)
    }

    pub(super) fn on_line(&self, name: &str) -> bool {
        self.last(name).is_some_and(LineOption::is_typed)
    }

    /// Whether the nodes stand in a file, whose names are not known here.
    pub(super) fn list_is_file(&self) -> bool {
        let mut list = self.nodelist.iter();
        list.any(|list| list.contains('/'))
    }

    /// Forgets that an option was set.
    pub(super) fn reset(&mut self, name: &str) {
        self.set.retain(|given| given.name != name);
    }

    pub(super) fn set(&mut self, option: &'a LineOption) -> Result<(), Refused> {
        if let Some(trouble) = &option.trouble {
            return Err(Refused::trouble(option, trouble));
        }
        if is_off(option) {
            self.switch_off(&option.name);
            return Ok(());
        }
        self.counts(option)?;
        self.words(option)?;
        self.set.push(option);
        Ok(())
    }

    /// A variable that says no takes back what an earlier one said.
    fn switch_off(&mut self, name: &str) {
        match name {
            "overcommit" => self.overcommit = false,
            "exact" => self.exact = false,
            _ => {}
        }
        self.reset(name);
    }

    /// Options whose value is a number.
    fn counts(&mut self, option: &LineOption) -> Result<(), Refused> {
        let number = || count(option, 1);
        let release = self.release;
        match option.name.as_str() {
            "ntasks" => {
                let text = option.text();
                let tasks = number::whole(text, true, release).filter(|tasks| *tasks > 0);
                let most = i32::MAX as u32 - u32::from(release > Release::V22_05);
                let tasks = tasks.and_then(|tasks| u32::try_from(tasks).ok());
                self.ntasks = Some(tasks.ok_or_else(|| no_number(option, 1, most))?);
            }
            "nodes" => self.nodes = Some(nodes(option, release)?),
            "cpus-per-task" => self.cpus_per_task = Some(number()?),
            "sockets-per-node" => self.node[0] = Some(number()?),
            "cores-per-socket" => self.node[1] = Some(number()?),
            "threads-per-core" => self.node[2] = Some(number()?),
            "ntasks-per-node" => self.ntasks_per_node = Some(number()?),
            "ntasks-per-core" => self.ntasks_per_core = Some(number()?),
            "ntasks-per-socket" => self.ntasks_per_socket = Some(number()?),
            "core-spec" => self.core_spec = CoreSpec::Cores(count(option, 0)?),
            "thread-spec" => self.core_spec = CoreSpec::Threads(number()?),
            _ => {}
        }
        Ok(())
    }

    fn words(&mut self, option: &LineOption) -> Result<(), Refused> {
        let text = option.text();
        let wrong = |why| Refused::text(&option.name, text, &why);
        match option.name.as_str() {
            "cpu-bind" => self.bind_text = Some(text.into()),
            "mem-bind" => {
                let release = self.release;
                spelling::mem_bind_into(&mut self.mem_bind, text, release).map_err(wrong)?;
            }
            "distribution" => {
                self.distribution = Some(spelling::distribution(text).map_err(wrong)?);
            }
            "extra-node-info" => self.node_info(text).map_err(wrong)?,
            "hint" => self.hint = Some(text.into()),
            "nodelist" => {
                self.nodelist = Some(text.into());
                self.nodefile = false;
            }
            "nodefile" => {
                self.nodelist = None;
                self.nodefile = true;
            }
            HOST_FILE => self.host_file = Some(text.into()),
            "exclusive" => self.exclusive(option)?,
            "overcommit" => self.overcommit = true,
            "exact" => self.exact = true,
            "whole" => self.whole = true,
            "overlap" => self.overlap = true,
            _ => {}
        }
        Ok(())
    }

    fn node_info(&mut self, text: &str) -> Result<(), berth_placement::TextError> {
        let found = spelling::node_info(text)?;
        self.node = found.least;
        self.by_node_info = true;
        let levels = self.bind.levels;
        if let Some(level) = found.level
            && levels.all().all(|known| known == Level::Ldoms)
        {
            self.bind.levels = levels.with(LevelBits::only(level));
            self.level_from = Some(LevelFrom::NodeInfo(text.matches(':').count() as u8 + 1));
        }
        Ok(())
    }

    fn exclusive(&mut self, option: &LineOption) -> Result<(), Refused> {
        let value = option.text();
        match value.to_ascii_lowercase().as_str() {
            "" | "exclusive" => self.exact = true,
            "oversubscribe" | "user" | "mcs" => {}
            "topo" if self.release >= Release::V24_05 => {}
            "allocation" if self.release >= Release::V26_05 => {}
            _ => {
                let more = match self.release {
                    Release::V22_05 | Release::V23_02 | Release::V23_11 => "",
                    Release::V26_05 => ", topo, allocation",
                    _ => ", topo",
                };
                let why = format!("it takes nothing, or =user, mcs, oversubscribe{more}");
                return Err(Refused::value("exclusive", value, why));
            }
        }
        self.exclusive = Some(value.into());
        Ok(())
    }
}

/// Whether it is a variable that switches off an option that takes no value: its text is not empty, not
/// `yes`, and no number other than 0. Source: `slurm_process_option`.
pub(super) fn is_off(option: &LineOption) -> bool {
    if option.is_typed() {
        return false;
    }
    let Lookup::Option(row) = options::long(Command::Srun, None, &option.name) else {
        return false;
    };
    let text = option.text();
    let (number, rest) = number::leading(text);
    let is_on = text.eq_ignore_ascii_case("yes") || (number != 0 && rest.is_empty());
    row.takes == Takes::Nothing && !text.is_empty() && !is_on
}

/// A number that Slurm keeps in 16 bits. srun itself takes larger ones, and cuts them.
pub(super) fn count(option: &LineOption, least: u32) -> Result<u32, Refused> {
    let text = option.text();
    let number = number::whole(text, least > 0, Release::NEWEST);
    let found = number.and_then(|number| u32::try_from(number).ok());
    found
        .filter(|number| *number <= MOST)
        .ok_or_else(|| no_number(option, least, MOST))
}

fn no_number(option: &LineOption, least: u32, most: u32) -> Refused {
    let text = option.text();
    let why = berth_placement::TextError::new(text, &format!("a number from {least} to {most}"));
    Refused::text(&option.name, text, &why)
}

/// `-N`: a number, a range, and from 23.02 on a list of them. Source: `verify_node_count`.
fn nodes(option: &LineOption, release: Release) -> Result<NodeRange, Refused> {
    let text = option.text();
    let wrong = || {
        let why = berth_placement::TextError::new(text, "a number of nodes, or least-most");
        Refused::text("nodes", text, &why)
    };
    if text.contains([',', ':']) && release >= Release::V23_02 {
        return sizes(text).ok_or_else(wrong);
    }
    let number = |text: &str| {
        let (number, rest) = node_count(text);
        rest.trim().is_empty().then_some(number)
    };
    let (least, most) = match text.split_once('-') {
        Some((least, most)) => {
            let least = number(least).ok_or_else(wrong)?;
            (
                if least < 0 { 1 } else { least },
                number(most).ok_or_else(wrong)?,
            )
        }
        None => {
            let both = number(text)
                .filter(|number| *number >= 0)
                .ok_or_else(wrong)?;
            (both, both)
        }
    };
    if most != 0 && most < least {
        return Err(wrong());
    }
    Ok(NodeRange {
        least: u32::try_from(least).map_err(|_| wrong())?,
        most: u32::try_from(most).ok().filter(|most| *most > 0),
    })
}

/// `_str_to_nodes`: a text without digits is -1, and all of it is left over.
fn node_count(text: &str) -> (i64, &str) {
    if number::is_missing(text) {
        return (-1, text);
    }
    let (number, rest) = number::scaled(text);
    // A number may have both letters, as in 1km.
    match rest.strip_prefix(['m', 'M']) {
        Some(rest) if !rest.len().eq(&text.len()) => (number.saturating_mul(1 << 20), rest),
        _ => (number, rest),
    }
}

/// The ends of a list of numbers and ranges, as in `2,4-6`, or of one range with steps, as in
/// `8-16:4`, which is 8 and 12. Source: `bitfmt2int`.
fn sizes(text: &str) -> Option<NodeRange> {
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let ends = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        (ends.0 <= ends.1).then_some(ends)
    };
    if let Some((ends, step)) = text.split_once(':') {
        let (first, last) = range(ends)?;
        let step: u32 = step.parse().ok().filter(|step| *step > 0)?;
        let steps = last.checked_sub(first)?.checked_sub(1)? / step;
        return Some(NodeRange {
            least: first,
            most: first.checked_add(steps.checked_mul(step)?),
        });
    }
    let all: Vec<_> = text.split(',').map(range).collect::<Option<_>>()?;
    Some(NodeRange {
        least: all.iter().map(|ends| ends.0).min()?,
        most: all.iter().map(|ends| ends.1).max(),
    })
}

/// Fills in what was read.
pub(super) fn from_state(options: &mut LineOptions, state: &State<'_>) -> Result<(), Refused> {
    options.nodes = state.nodes;
    let list = state.nodelist.as_deref().filter(|_| !state.list_is_file());
    options.node_names = names("nodelist", list.unwrap_or_default())?;
    options.tasks = state.ntasks;
    options.cpus_per_task = state.cpus_per_task;
    options.tasks_per_node = state.ntasks_per_node;
    options.tasks_per_socket = state.ntasks_per_socket;
    options.tasks_per_core = state.ntasks_per_core;
    [
        options.sockets_per_node,
        options.cores_per_socket,
        options.threads_per_core,
    ] = state.node;
    options.node_info = state.by_node_info;
    options.hinted = state.hinted;
    options.overcommit = state.overcommit;
    options.core_spec = state.core_spec;
    options.distribution = state.distribution.unwrap_or_default();
    options.exact = state.exact;
    options.overlap = state.overlap;
    options.whole = state.whole;
    Ok(())
}

/// The names of a list of nodes.
pub(super) fn names(option: &str, list: &str) -> Result<Vec<String>, Refused> {
    if list.is_empty() {
        return Ok(Vec::new());
    }
    expand(list, Most::COMMAND_LINE).map_err(|why| Refused::text(option, list, &why))
}
