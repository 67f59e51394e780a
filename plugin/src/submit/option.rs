//! berth's own options in the submitting command: their defaults from `BERTH_BINDING` and others,
//! and the check for requests that can never fit.

use std::ffi::CStr;
use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use berth_host::script_file;
use berth_placement::request::core_kind::Kind;
use berth_placement::request::mapping::{BindTo, MapBy, RankBy};
use berth_placement::sets::limits::SCRIPT_HEAD;
use berth_placement::{
    Binding, Confine, CpusetRequest, Near, PoolWish, Refusal, Request, Wish, near_beside_cpuset,
};
use berth_srun::Release;
use berth_srun::options::Command;
use berth_srun::submission::by_default::{self, Typed};
use berth_srun::submission::{Words, never_fits};
use slurm_sys::{SlurmConf, Symbols};

use crate::message::options::{OPTIONS, Own, Row, Texts};
use crate::planning::ours::Ours;
use crate::site::standing::{self, NAME};
use crate::submit::{cpuset, partition};

/// The letters that are kept of a default that is too long, because Slurm repeats it.
const MOST_SHOWN: usize = 60;
/// `CR_CPU`, `CR_SOCKET` and `CR_CORE` of slurm.h, the same bits in every release: they say what
/// jobs get. Only if jobs get cores is it sure that a job has no more than it requests.
const CR_CPU: u32 = 1;
const CR_SOCKET: u32 = 2;
const CR_CORE: u32 = 4;

/// The defaults that hold, from `BERTH_BINDING` and others.
static DEFAULTS: OnceLock<Texts> = OnceLock::new();

/// The options whose short names are ours: a bit each.
static SHORT: AtomicU32 = AtomicU32::new(0);

/// Whether the submitting command takes an option's text.
///
/// # Errors
/// A text for the user: what is wrong with it, or why it can never fit.
pub(crate) fn check(own: Own, text: &str) -> Result<(), String> {
    let is_by_default = DEFAULTS.get().and_then(|defaults| defaults.get(own)) == Some(text);
    let row = OPTIONS.iter().find(|row| row.own == own && is_by_default);
    let source = row.map_or(String::new(), |row| format!("{}: ", row.default.own));
    let wrong = |why: String| format!("{source}{why}");
    let mut only = Texts::default();
    only.set(own, text.into());
    read_alone(own, &only).map_err(wrong)?;
    let (words, cores_count) = own_words();
    let row = OPTIONS.iter().find(|row| row.own == own);
    let typed = row.and_then(|row| words.value(&short(row)));
    if let Some(why) = row.and_then(|row| named_twice(row, words)) {
        return Err(why);
    }
    // What an outer command set comes first, and does not count beside a typed value.
    if words.is_unsure() || typed.is_some_and(|typed| typed != text) {
        return Ok(());
    }
    let mut all = given(words);
    all.set(own, text.into());
    let ours = Ours::read(&all).map_err(wrong)?;
    let mut request = Request::default();
    ours.clone().put(&mut request);
    Wish::of(&request).map_err(|both| wrong(Refusal::from(both).to_string()))?;
    both_choose(&all).map_err(wrong)?;
    let env = |name: &str| std::env::var(name).ok();
    let why = match own {
        // Where jobs may get whole sockets or nodes nobody knows how many cores they will have.
        Own::Binding | Own::MapBy | Own::RankBy | Own::BindTo if !cores_count => None,
        Own::Binding => ours.binding.and_then(|binding| {
            partition::if_sure(words, |words| never_fits::why(&binding, words, env))
        }),
        Own::MapBy | Own::RankBy | Own::BindTo => ours.mapping.and_then(|mapping| {
            partition::if_sure(words, |words| never_fits::mapping(&mapping, words, env))
        }),
        Own::Cpuset => cpuset::why_not(text, words),
        // Only the node knows its cores, devices and cgroups.
        Own::CoreKind | Own::Near | Own::Confine | Own::Pool => None,
    };
    why.map_or(Ok(()), |why| Err(wrong(why)))
}

/// Refuses a `--near` beside a `--cpuset` that lists its CPUs. A default gives way, when the step starts.
fn both_choose(all: &Texts) -> Result<(), String> {
    let (Some(near), Some(cpuset)) = (all.get(Own::Near), all.get(Own::Cpuset)) else {
        return Ok(());
    };
    let is_default = DEFAULTS.get().and_then(|defaults| defaults.get(Own::Near)) == Some(near);
    let both = near.parse().ok().zip(cpuset.parse().ok());
    let both = both.filter(|_| !is_default);
    match both.and_then(|(near, cpuset)| near_beside_cpuset(&near, &cpuset)) {
        Some(why) => Err(why.to_string()),
        None => Ok(()),
    }
}

/// What is wrong if an option has two values, by both of its names.
fn named_twice(row: &Row, words: &Words) -> Option<String> {
    let is_ours = SHORT.load(Ordering::Relaxed) & (1 << row.own as u32) != 0;
    words.named_twice(row.default).filter(|_| is_ours)
}

/// An option's short name is registered, and no other plugin's.
pub(crate) fn has_short(own: Own) {
    SHORT.fetch_or(1 << own as u32, Ordering::Relaxed);
}

/// Reads an option by itself: others may follow that it needs.
fn read_alone(own: Own, only: &Texts) -> Result<(), String> {
    let text = only.get(own).unwrap_or_default();
    match own {
        Own::Binding => read_as::<Binding>(text),
        Own::MapBy => read_as::<MapBy>(text),
        Own::RankBy => read_as::<RankBy>(text),
        Own::BindTo => read_as::<BindTo>(text),
        Own::Near => read_as::<Near>(text),
        Own::Cpuset => read_as::<CpusetRequest>(text),
        Own::CoreKind => read_as::<Kind>(text).map_err(|why| format!("--core-kind: {why}")),
        Own::Confine => read_as::<Confine>(text).map_err(|why| format!("--confine: {why}")),
        Own::Pool => read_as::<PoolWish>(text).map_err(|why| format!("--pool: {why}")),
    }
}

fn read_as<T: FromStr<Err: Display>>(text: &str) -> Result<(), String> {
    text.parse::<T>().map(drop).map_err(|why| why.to_string())
}

/// Every option of ours: those that were typed, and those that come through Slurm's variables.
fn given(words: &Words) -> Texts {
    Texts::find(|row| {
        let typed = words.value(&short(row)).map(String::from);
        typed.or_else(|| row.names.iter().find_map(|name| env_of(name)))
    })
}

/// The name of an option as it is typed.
fn short(row: &Row) -> String {
    row.names[0].to_string_lossy().into_owned()
}

fn env_of(name: &CStr) -> Option<String> {
    std::env::var(routed(&name.to_string_lossy())).ok()
}

/// The command's name and its arguments.
fn command_line() -> &'static (String, Words) {
    static LINE: OnceLock<(String, Words)> = OnceLock::new();
    LINE.get_or_init(|| {
        let mut own = std::env::args();
        let command = own.next().unwrap_or_default();
        let command = command.rsplit('/').next().unwrap_or_default().to_string();
        let own: Vec<_> = own.collect();
        let words = Words::read(&command, own.iter().map(String::as_str), release());
        (command, words)
    })
}

/// The command's own words with those of its script, and whether that is all of them.
fn with_script() -> &'static (Words, bool) {
    static WORDS: OnceLock<(Words, bool)> = OnceLock::new();
    WORDS.get_or_init(|| {
        let (command, words) = command_line();
        if !command.starts_with("sbatch") || words.has("wrap") {
            return (words.clone(), true);
        }
        match words.program.as_deref().and_then(script_head) {
            Some(script) => (words.clone().with_script(&script), true),
            // The script comes from a pipe, which sbatch has read; we cannot read it again.
            None => (words.clone(), false),
        }
    })
}

/// The release line of the running Slurm; without a table the newest rules are the best guess.
fn release() -> Release {
    let slurm = standing::unjudged();
    let line = slurm.and_then(|slurm| slurm.layout.line.to_string().parse().ok());
    line.unwrap_or(Release::NEWEST)
}

/// The command's own words, and whether jobs get cores, not whole sockets or nodes.
fn own_words() -> (&'static Words, bool) {
    let (words, is_all) = with_script();
    let slurm = standing::unjudged();
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = slurm.and_then(|slurm| unsafe { SlurmConf::current(slurm.layout, slurm.symbols) });
    let by = u32::from(conf.map_or(0, |conf| conf.select_type_param()));
    // scrontab has its options elsewhere.
    let is_slurms = Command::named(&command_line().0).is_some();
    let by_core = is_slurms && by & (CR_CPU | CR_CORE) != 0 && by & CR_SOCKET == 0;
    (words, by_core && *is_all)
}

/// The beginning of a script, where its options are; none if that is not sure.
fn script_head(path: &str) -> Option<String> {
    let head = script_file::head(Path::new(path), SCRIPT_HEAD as u64 + 1).ok()?;
    let head = String::from_utf8_lossy(&head).into_owned();
    // If the options continue after the head, they are unknown.
    let ended = |line: &str| !line.is_empty() && !line.starts_with('#');
    let whole = head.len() <= SCRIPT_HEAD || head.lines().any(ended);
    whole.then_some(head)
}

/// In the submitting command, before Slurm looks at its options: `BERTH_BINDING` and others become
/// defaults through Slurm's route for options in the environment. Source:
/// `spank_process_env_options`.
pub(crate) fn defaults() {
    cpuset::begin();
    let words = &with_script().0;
    let typed = OPTIONS.iter().filter(|row| words.has(&short(row)));
    let value = |row| words.value(&short(row)).unwrap_or_default();
    let typed: Vec<_> = typed
        .map(|row| Typed::of(row.default, value(row)))
        .collect();
    let mut defaults = Texts::default();
    for row in &OPTIONS {
        if let Some(text) = default(row, &typed) {
            set_env(row.default.routed, &text);
            set_env(row.default.mark, &text);
            defaults.set(row.own, text);
        }
    }
    for row in &OPTIONS {
        if !by_default::counts_beside(row.default, &typed) {
            row.default.inherited().into_iter().for_each(remove_env);
        }
    }
    let _ = DEFAULTS.set(defaults);
}

/// The user's default for an option, if it holds beside the typed ones.
fn default(row: &Row, typed: &[Typed]) -> Option<String> {
    let env = |name: &str| std::env::var(name).ok();
    let text = by_default::users(row.default, typed, env)?;
    // Slurm repeats a wrong one whole.
    let mut letters = text.char_indices();
    match letters.nth(MOST_SHOWN).filter(|_| text.len() > row.most) {
        Some((end, _)) => Some(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Some(text),
    }
}

/// The same for `--overlap`, which slurmd learns through an option of ours. Returns whether it was
/// given, because then that option must be registered.
pub(crate) fn passes_overlap() -> bool {
    let overlaps = command_line().1.has("overlap") || std::env::var_os("SLURM_OVERLAP").is_some();
    if overlaps {
        set_env(&routed("berth-overlap"), "1");
    }
    overlaps
}

/// The same for a `--cpuset`: how many CPUs it means, and whose it is. Returns whether there is one.
pub(crate) fn passes_cpuset_size() -> bool {
    let words = &with_script().0;
    match own_cpuset(words) {
        Some(own) => {
            if let Some((option, size)) = cpuset::size(own, words) {
                set_env(&routed(&option), &size);
            }
            if let Some(note) = cpuset::note(own, words) {
                log::info!("note: {note}");
            }
            true
        }
        None => cpuset::is_inherited(),
    }
}

/// This command's own `--cpuset`, or the user's default.
fn own_cpuset(words: &Words) -> Option<&str> {
    let row = OPTIONS.iter().find(|row| row.own == Own::Cpuset);
    // The sure name comes first.
    let mut names = row.into_iter().flat_map(|row| row.names.iter().rev());
    let typed = names.find_map(|name| words.value(&name.to_string_lossy()));
    typed.or_else(|| DEFAULTS.get()?.get(Own::Cpuset))
}

/// After Slurm has read its options: a cpuset that means one node asks slurmctld for one, so that the job waits for it
/// instead of failing on several.
pub(crate) fn asks_for_one_node() {
    let words = &with_script().0;
    let own = own_cpuset(words).filter(|_| Command::named(&command_line().0).is_some());
    let symbols = Symbols::get();
    if own.is_some_and(|own| cpuset::needs_one_node(own, words))
        // SAFETY: this is a hook of SPANK in srun, sbatch or salloc.
        && !unsafe { symbols.set_option(c"nodes", c"1") }
    {
        log::debug!("this Slurm takes no --nodes from berth");
    }
}

/// Slurm's variable for an option of ours.
fn routed(name: &str) -> String {
    let name = name.replace('-', "_");
    format!("SLURM_SPANK__SLURM_SPANK_OPTION_{NAME}_{name}")
}

/// After Slurm has looked at its options: removes the variables that an srun inside the job must not
/// find.
pub(crate) fn forget_overlap() {
    remove_env(&routed("berth-overlap"));
}

fn remove_env(name: &str) {
    if std::env::var_os(name).is_some() {
        // SAFETY: Slurm's commands have one thread as long as they read their options.
        unsafe { std::env::remove_var(name) };
    }
}

fn set_env(name: &str, value: &str) {
    if !value.contains('\0') {
        // SAFETY: Slurm's commands have one thread as long as they read their options.
        unsafe { std::env::set_var(name, value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_counts_if_its_options_end_in_it() {
        let folder = std::env::temp_dir().join(format!("berth-script.{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("script");
        let head = |text: &str| {
            std::fs::write(&path, text).unwrap();
            script_head(path.to_str().unwrap())
        };
        let short = "#!/bin/sh\n#SBATCH -n2\nhostname\n";
        assert_eq!(head(short).as_deref(), Some(short));
        let comments = "#SBATCH -n2\n".repeat(SCRIPT_HEAD / 12 + 1);
        assert_eq!(head(&comments), None, "more options may follow");
        let ended = format!("{short}{comments}");
        assert!(head(&ended).is_some_and(|head| head.len() <= SCRIPT_HEAD + 1));

        std::fs::remove_dir_all(&folder).unwrap();
    }
}
