//! `--binding` in the submitting command: the default from `BERTH_BINDING`, and the check for
//! bindings that can never fit.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::OnceLock;

use berth_placement::Binding;
use berth_placement::request::grid_engine::MAX_LENGTH;
use berth_placement::sets::limits::SCRIPT_HEAD;
use berth_srun::Release;
use berth_srun::options::Command;
use berth_srun::submission::{Words, never_fits};
use slurm_sys::SlurmConf;

use crate::message::names;
use crate::site::standing::{self, NAME};

/// The letters that are kept of a `BERTH_BINDING` that is too long, because Slurm repeats it.
const MOST_SHOWN: usize = 60;
/// `CR_CPU`, `CR_SOCKET` and `CR_CORE` of slurm.h, the same bits in every release: they say what
/// jobs get. Only if jobs get cores is it sure that a job has no more than it requests.
const CR_CPU: u32 = 1;
const CR_SOCKET: u32 = 2;
const CR_CORE: u32 = 4;

/// The value of `BERTH_BINDING`.
static DEFAULT: OnceLock<String> = OnceLock::new();

/// Whether the submitting command takes the option's text.
///
/// # Errors
/// A text for the user: what is wrong with it, or why it can never fit.
pub(crate) fn check(text: &str) -> Result<(), String> {
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

/// The release line of the running Slurm; without a table the newest rules are the best guess.
fn release() -> Release {
    let slurm = standing::unjudged();
    let line = slurm.and_then(|slurm| slurm.layout.line.to_string().parse().ok());
    line.unwrap_or(Release::NEWEST)
}

/// The command's own words, and whether jobs get cores, not whole sockets or nodes.
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
        // The script comes from a pipe, which sbatch has read; we cannot read it again.
        None => (words, false),
    }
}

/// The beginning of a script, where its options are; none if that is not sure.
fn script_head(path: &str) -> Option<String> {
    // A pipe is not even opened: its writer would take that for sbatch, and write to nobody.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    // Another file may have taken its place, and opening that one must not wait either.
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
    // If the options continue after the head, they are unknown.
    let ended = |line: &str| !line.is_empty() && !line.starts_with('#');
    let whole = head.len() <= SCRIPT_HEAD || head.lines().any(ended);
    whole.then_some(head)
}

/// In the submitting command, before Slurm looks at its options: `BERTH_BINDING` becomes the
/// default through Slurm's route for options in the environment. Source:
/// `spank_process_env_options`.
pub(crate) fn defaults() {
    let env = |name: &str| std::env::var(name).ok();
    // An outer command's option overrides ours; its default does not: the innermost wins.
    let outer = env(&routed("binding"));
    let by_default = outer.is_none() || outer == env(names::BINDING_ROUTED);
    if let Some(text) = env(names::BINDING).filter(|_| by_default) {
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
        set_env(names::BINDING_ROUTED, &text);
        let _ = DEFAULT.set(text);
    }
}

/// The same for `--overlap`, which slurmd learns through an option of ours. Returns whether it was
/// given, because then that option must be registered.
pub(crate) fn passes_overlap() -> bool {
    let overlaps = command_line().1.has("overlap") || std::env::var_os("SLURM_OVERLAP").is_some();
    if overlaps {
        set_env(&routed("berth_overlap"), "1");
    }
    overlaps
}

/// Slurm's variable for an option of ours.
fn routed(name: &str) -> String {
    format!("SLURM_SPANK__SLURM_SPANK_OPTION_{NAME}_{name}")
}

/// After Slurm has looked at its options: removes the variables that an srun inside the job must not
/// find.
pub(crate) fn forget_overlap() {
    let name = routed("berth_overlap");
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

#[cfg(test)]
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
}
