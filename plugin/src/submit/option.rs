//! berth's own options in the submitting command: their defaults from `BERTH_BINDING` and others,
//! and the check for requests that can never fit.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use berth_host::script_file;
use berth_placement::sets::limits::SCRIPT_HEAD;
use berth_placement::{Refusal, Request, Wish, near_beside_cpuset};
use berth_srun::options::Command;
use berth_srun::submission::own_values::{self, Typed};
use berth_srun::submission::{Words, never_fits};
use berth_srun::{OwnRequest, Release};
use slurm_sys::{SlurmConf, Symbols};

use crate::site::settings;
use crate::site::standing::{self, NAME};
use crate::step::cpuset_size::OPTION;
use crate::step::own_options::{Ours, Own, Texts};
use crate::submit::{cpuset, env};

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
    let wrong = |why: String| match is_by_default {
        true => format!("{}: {why}", own.variable),
        false => why,
    };
    // By itself: others may follow that it needs.
    OwnRequest::default().take(own, text).map_err(wrong)?;
    let (words, cores_count) = own_words();
    let typed = words.value(own.name);
    if let Some(why) = named_twice(own, words) {
        return Err(why);
    }
    // An outer command's value comes first, and does not count beside a typed one.
    if words.is_unsure() || typed.is_some_and(|typed| typed != text) {
        return Ok(());
    }
    let mut all = own_options(words);
    all.set(own, text.into());
    let ours = Ours::read(&all).map_err(wrong)?;
    let mut request = Request::default();
    ours.clone().put(&mut request);
    Wish::of(&request).map_err(|both| wrong(Refusal::from(both).to_string()))?;
    both_choose(&all).map_err(wrong)?;
    let why = match own {
        // Where jobs may get whole sockets or nodes nobody knows how many cores they will have.
        Own::Binding | Own::MapBy | Own::RankBy | Own::BindTo if !cores_count => None,
        Own::Binding => ours.binding.and_then(|binding| {
            cpuset::certain_refusal(words, |words| never_fits::why(&binding, words, env))
        }),
        Own::MapBy | Own::RankBy | Own::BindTo => ours.mapping.and_then(|mapping| {
            cpuset::certain_refusal(words, |words| never_fits::mapping(&mapping, words, env))
        }),
        Own::Cpuset => cpuset::refusal(text, words),
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

/// The error for an option that has two values, by both of its names.
fn named_twice(own: Own, words: &Words) -> Option<String> {
    let is_ours = SHORT.load(Ordering::Relaxed) & (1 << own as u32) != 0;
    words.named_twice(own).filter(|_| is_ours)
}

/// An option's short name is registered, and no other plugin's.
pub(crate) fn has_short(own: Own) {
    SHORT.fetch_or(1 << own as u32, Ordering::Relaxed);
}

/// Every option of ours: those that were typed, and those that come through Slurm's variables.
fn own_options(words: &Words) -> Texts {
    Texts::find(|own| {
        let typed = words.value(own.name).map(String::from);
        let variables = [own.routed, own.routed_sure].into_iter();
        typed.or_else(|| variables.filter_map(env).next())
    })
}

/// The command's name and its arguments.
fn command_line() -> &'static (String, Words) {
    static LINE: OnceLock<(String, Words)> = OnceLock::new();
    LINE.get_or_init(|| {
        // Arguments of the user's program need not be UTF-8.
        let mut own = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
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
    cpuset::remember_outer();
    let words = &with_script().0;
    let typed = Own::ALL.into_iter().filter(|own| words.has(own.name));
    let value = |own: Own| words.value(own.name).unwrap_or_default();
    let typed: Vec<_> = typed.map(|own| Typed::of(own, value(own))).collect();
    let mut defaults = Texts::default();
    for own in Own::ALL {
        if let Some(text) = default(own, &typed) {
            set_env(own.routed, &text);
            set_env(own.mark, &text);
            defaults.set(own, text);
        }
    }
    for own in Own::ALL {
        if !own_values::counts_beside(own, &typed) {
            own.inherited().into_iter().for_each(remove_env);
        }
    }
    let _ = DEFAULTS.set(defaults);
}

/// The user's default for an option, if it holds beside the typed ones.
fn default(own: Own, typed: &[Typed]) -> Option<String> {
    let text = own_values::users(own, typed, env)?;
    // Slurm repeats a wrong one whole.
    let mut letters = text.char_indices();
    match letters
        .nth(MOST_SHOWN)
        .filter(|_| text.len() > own.most_bytes)
    {
        Some((end, _)) => Some(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Some(text),
    }
}

/// Passes a given `--overlap` on to slurmd, through an option of ours. Returns whether it was given, because then that
/// option must be registered.
pub(crate) fn passes_overlap() -> bool {
    let overlaps = command_line().1.has("overlap") || std::env::var_os("SLURM_OVERLAP").is_some();
    if overlaps {
        set_env(&routed("berth-overlap"), "1");
    }
    overlaps
}

/// Passes on to slurmd how many CPUs a `--cpuset` means, and whose it is. Returns whether there is one, or may be one
/// that a partition has for its jobs.
pub(crate) fn passes_cpuset_size() -> bool {
    let words = &with_script().0;
    let own = own_cpuset(words);
    let may_be = own.is_some() || settings::current().cpusets.is_some();
    if let Some((option, size)) = cpuset::size_word(own, words).filter(|_| may_be) {
        set_env(&routed(&option), &size);
    }
    if let Some(note) = own.and_then(|own| cpuset::note_on_choice(own, words)) {
        log::info!("note: {note}");
    }
    may_be || cpuset::is_inherited()
}

/// This command's own `--cpuset`, or the user's default.
fn own_cpuset(words: &Words) -> Option<&str> {
    let typed = words.value(Own::Cpuset.name);
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

/// After Slurm has read its options: from 23.11 on srun takes `-c` from the variables of its job, and slurmctld then gives the
/// step cores of its own choice, which need not be in the job's cpuset. A `-c` that nobody typed goes, and the step has all
/// CPUs of its job.
pub(crate) fn leaves_cores_to_cpuset() {
    let words = &command_line().1;
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let is_inherited = is_set("SLURM_CPUS_PER_TASK") && !is_set("SRUN_CPUS_PER_TASK");
    if is_inherited
        && !words.has("cpus-per-task")
        && cpuset::is_part_of_job(words, &routed(&OPTION.to_string_lossy()))
        // SAFETY: this is a hook of SPANK in srun.
        && !unsafe { Symbols::get().reset_option(c"cpus-per-task") }
    {
        log::debug!("this Slurm keeps the -c of the job");
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
