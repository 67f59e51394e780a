//! The SPANK option `--binding` (also `--berth-binding`): registered in srun,
//! sbatch, salloc and slurmstepd, checked in the submitting command, found again
//! in slurmd. Source of the routes: `slurm_spank_*` options in job_options.h.

use std::ffi::{CStr, c_char, c_int};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use berth_placement::Binding;
use berth_placement::request::grid_engine::MAX_LENGTH;
use berth_placement::sets::limits::SCRIPT_HEAD;
use berth_srun::Release;
use berth_srun::options::Command;
use slurm_spank::spank_sys;
use slurm_sys::SlurmConf;
use slurm_sys::views::SpankOption;

use crate::hooks::guard::guard;
use crate::hooks::identity::NAME;
use crate::site::standing;
use crate::submit::never_fits;
use crate::submit::submission::Words;

/// The short name another plugin may own, and the one that is ours for sure.
const NAMES: [&CStr; 2] = [c"binding", c"berth-binding"];
/// Tells slurmd that a step was started with `--overlap`, which no record of Slurm's does.
const OVERLAP: &CStr = c"berth-overlap";
const ARGUMENT: &CStr = c"[set:|env:|pe:][task:|host:][strict:]STRATEGY";
const USAGE: &CStr = c"bind each task to cores of its own: linear:AMOUNT[:SOCKET,CORE], striding:AMOUNT:STEP[:SOCKET,CORE], explicit:SOCKET,CORE[:...] or none (berth; Grid Engine's -binding)";

/// Letters of a `BERTH_BINDING` that is too long, which Slurm repeats.
const MOST_SHOWN: usize = 60;
/// `CR_CPU`, `CR_SOCKET` and `CR_CORE` of slurm.h, the same bits in every release: what jobs are
/// given. Only by cores can one say that a job has no more than it asks for.
const CR_CPU: u32 = 1;
const CR_SOCKET: u32 = 2;
const CR_CORE: u32 = 4;

/// Whether slurmstepd was told of `--overlap`.
static TOLD_OVERLAP: AtomicBool = AtomicBool::new(false);
/// What an outer command put into Slurm's variable because of its `BERTH_BINDING`.
const ENV_ROUTED: &str = "BERTH_BINDING_ROUTED";

/// What `BERTH_BINDING` said.
static DEFAULT: OnceLock<String> = OnceLock::new();
/// What slurmstepd was told.
static TOLD: Mutex<Option<String>> = Mutex::new(None);

/// Registers both names.
///
/// # Safety
/// `spank` is the handle that Slurm passed to `slurm_spank_init`.
pub(crate) unsafe fn register(spank: spank_sys::spank_t) {
    for name in NAMES {
        // SAFETY: the caller's promise.
        unsafe { register_one(spank, name, ARGUMENT, USAGE) };
    }
}

/// Registers what only berth itself gives, so that slurmstepd knows it.
///
/// # Safety
/// As for [`register`].
pub(crate) unsafe fn register_own(spank: spank_sys::spank_t) {
    // SAFETY: the caller's promise.
    unsafe { register_one(spank, OVERLAP, c"0|1", c"set by berth beside --overlap") };
}

unsafe fn register_one(
    spank: spank_sys::spank_t,
    name: &'static CStr,
    argument: &'static CStr,
    usage: &'static CStr,
) {
    let mut option = spank_sys::spank_option {
        name: name.as_ptr(),
        arginfo: argument.as_ptr(),
        usage: usage.as_ptr(),
        has_arg: 1,
        val: c_int::from(name == OVERLAP),
        cb: Some(take),
    };
    // SAFETY: the caller's handle; Slurm copies the option, whose texts are static.
    let code = unsafe { spank_sys::spank_option_register(spank, &raw mut option) };
    if code != spank_sys::ESPANK_SUCCESS {
        log::debug!("option --{} was not registered", name.to_string_lossy());
    }
}

/// Slurm calls it with what the user typed: before anything is queued in the
/// submitting command, and in slurmstepd again.
unsafe extern "C" fn take(val: c_int, argument: *const c_char, remote: c_int) -> c_int {
    guard("option", || {
        if val != 0 {
            TOLD_OVERLAP.store(remote != 0, Ordering::Relaxed);
            return 0;
        }
        if argument.is_null() {
            return 0;
        }
        // SAFETY: Slurm passes a C string that lives during the call.
        let bytes = unsafe { CStr::from_ptr(argument) }.to_bytes();
        // Of one that is too long its reader sees that it is.
        let kept = bytes.get(..MAX_LENGTH + 1).unwrap_or(bytes);
        let text = String::from_utf8_lossy(kept).into_owned();
        if remote != 0 {
            *TOLD.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
            return 0;
        }
        match check(&text) {
            Ok(()) => 0,
            Err(why) => {
                why.lines().for_each(|line| log::error!("{line}"));
                -1
            }
        }
    })
}

fn check(text: &str) -> Result<(), String> {
    let by_default = DEFAULT.get().is_some_and(|default| default == text);
    let source = if by_default { "BERTH_BINDING: " } else { "" };
    let binding: Binding = text.parse().map_err(|why| format!("{source}{why}"))?;
    let (words, cores_count) = own_words();
    if !cores_count {
        return Ok(());
    }
    let env = |name: &str| std::env::var(name).ok();
    match never_fits::why(&binding, &words, env) {
        Some(why) => Err(format!("{source}{why}")),
        None => Ok(()),
    }
}

/// The command's name and its arguments.
fn command_line() -> (String, Words) {
    let mut own = std::env::args();
    let command = own.next().unwrap_or_default();
    let command = command.rsplit('/').next().unwrap_or_default().to_string();
    let own: Vec<_> = own.collect();
    let words = Words::read(&command, own.iter().map(String::as_str), release());
    (command, words)
}

/// The line of the Slurm that runs; of one without a table the newest rules are the best guess.
fn release() -> Release {
    let slurm = standing::unjudged();
    let line = slurm.and_then(|slurm| slurm.layout.line.to_string().parse().ok());
    line.unwrap_or(Release::NEWEST)
}

/// The command's own words, and whether jobs are given cores, not whole sockets or nodes.
fn own_words() -> (Words, bool) {
    let (command, words) = command_line();
    let slurm = standing::unjudged();
    // SAFETY: the layout is the running release's, and the view ends here.
    let conf = slurm.and_then(|slurm| unsafe { SlurmConf::current(slurm.layout, slurm.symbols) });
    let by = u32::from(conf.map_or(0, |conf| conf.select_type_param()));
    // scrontab has its options elsewhere.
    let by_core =
        Command::named(&command).is_some() && by & (CR_CPU | CR_CORE) != 0 && by & CR_SOCKET == 0;
    if !command.starts_with("sbatch") || words.has("wrap") {
        return (words, by_core);
    }
    let script = words.program.as_deref().and_then(script_head);
    match script {
        Some(script) => (words.with_script(&script), by_core),
        // From a pipe: sbatch has read it, we cannot.
        None => (words, false),
    }
}

/// The beginning of a script, where its options are; none where that is not sure.
fn script_head(path: &str) -> Option<String> {
    // A pipe is not even opened: its writer would take that for sbatch, and write to nobody.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    // Another file may have come into its place: opening that one must not wait either.
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOCTTY;
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut head = Vec::new();
    let most = SCRIPT_HEAD as u64 + 1;
    file.take(most).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head).into_owned();
    // Where the options go on behind the head, they are unknown.
    let ended = |line: &str| !line.is_empty() && !line.starts_with('#');
    let whole = head.len() <= SCRIPT_HEAD || head.lines().any(ended);
    whole.then_some(head)
}

/// In the submitting command, before Slurm looks at its options: `BERTH_BINDING` becomes the
/// default by the route that Slurm has for options in the environment, and `--overlap` is told
/// to slurmd. Source: `spank_process_env_options`.
///
/// # Safety
/// `spank` is the handle that Slurm passed to `slurm_spank_init`.
pub(crate) unsafe fn defaults(spank: spank_sys::spank_t) {
    let routed = |name: &str| format!("SLURM_SPANK__SLURM_SPANK_OPTION_{NAME}_{name}");
    let env = |name: &str| std::env::var(name).ok();
    // An outer command's option goes before our default, but its default does not: the nearest counts.
    let outer = env(&routed("binding"));
    let by_default = outer.is_none() || outer == env(ENV_ROUTED);
    if let Some(text) = env("BERTH_BINDING").filter(|_| by_default) {
        // Slurm repeats a wrong one whole.
        let text = match text
            .char_indices()
            .nth(MOST_SHOWN)
            .filter(|_| text.len() > MAX_LENGTH)
        {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text,
        };
        set_env(&routed("binding"), &text);
        set_env(ENV_ROUTED, &text);
        let _ = DEFAULT.set(text);
    }
    let overlaps = command_line().1.has("overlap") || std::env::var_os("SLURM_OVERLAP").is_some();
    if overlaps {
        // SAFETY: the caller's promise.
        unsafe { register_one(spank, OVERLAP, c"0|1", c"set by berth beside --overlap") };
        set_env(&routed("berth_overlap"), "1");
    }
}

/// After Slurm has looked at its options: what an srun inside the job must not find.
pub(crate) fn forget_overlap() {
    let name = format!("SLURM_SPANK__SLURM_SPANK_OPTION_{NAME}_berth_overlap");
    if std::env::var_os(&name).is_some() {
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

/// The option slurmstepd was told.
pub(crate) fn told() -> Option<String> {
    TOLD.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Whether slurmstepd was told of `--overlap`.
pub(crate) fn told_overlap() -> bool {
    TOLD_OVERLAP.load(Ordering::Relaxed)
}

/// The option in a launch request: the typed route, there whatever `--export` says.
/// Of several the last counts.
pub(crate) fn of_step(options: &[SpankOption]) -> Option<String> {
    let ours = |option: &&SpankOption| {
        let name = |known: &&CStr| known.to_bytes() == option.option.as_bytes();
        NAMES.iter().any(name)
    };
    options.iter().rev().find(ours)?.argument.clone()
}

/// Whether srun had `--overlap`, as its berth tells by the option of that name.
pub(crate) fn overlaps(options: &[SpankOption]) -> bool {
    let is_it = |option: &SpankOption| option.option.as_bytes() == OVERLAP.to_bytes();
    options.iter().any(is_it)
}

/// The option in a batch script's environment, in either spelling.
pub(crate) fn of_batch(env: impl Fn(&str) -> Option<String>) -> Option<String> {
    NAMES.iter().rev().find_map(|name| {
        let name = name.to_string_lossy().replace('-', "_");
        let plain = format!("_SLURM_SPANK_OPTION_{NAME}_{name}");
        env(&plain).or_else(|| env(&format!("SLURM_SPANK_{plain}")))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test says so")]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_s_whole_head_is_read() {
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

        let pipe = folder.join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for other in [&pipe, &folder, &folder.join("nothing")] {
            assert_eq!(script_head(other.to_str().unwrap()), None, "{other:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn found_on_every_route() {
        let option = |option: &str, argument: &str| SpankOption {
            option: option.into(),
            argument: Some(argument.into()),
        };
        let options = [
            option("berth-overlap", "1"),
            option("binding", "linear:1"),
            option("berth-binding", "linear:2"),
        ];
        assert_eq!(of_step(&options).as_deref(), Some("linear:2"));
        assert_eq!(of_step(&options[..1]), None);

        let only = |known: &'static str| move |name: &str| (name == known).then(|| "x".to_string());
        for known in [
            "_SLURM_SPANK_OPTION_berth_binding",
            "SLURM_SPANK__SLURM_SPANK_OPTION_berth_binding",
            "_SLURM_SPANK_OPTION_berth_berth_binding",
        ] {
            assert_eq!(of_batch(only(known)).as_deref(), Some("x"), "{known}");
        }
        assert_eq!(of_batch(|_| None), None);
    }
}
