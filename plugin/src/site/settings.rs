//! The administrator's settings: arguments of the plugstack.conf line.
//! In: `key=value` words. Out: `Settings` and a complaint for each wrong word.
//! Wrong words are ignored, because one file serves nodes of different age.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use berth_host::OffSwitch;
use berth_placement::{Binding, Fixes};

/// Every key there is.
const KEYS: [&str; 12] = [
    "compat",
    "fixes",
    "shadow",
    "binding",
    "binding_default",
    "binding_fail",
    "notes",
    "command",
    "state_dir",
    "strict",
    "counters",
    "nodes",
];

/// Where notes to users go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notes {
    /// To the job's stderr and the log.
    User,
    /// To the log.
    Log,
    /// Nowhere.
    Off,
}

/// The settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `compat=` and `fixes=` together: where we differ from task/affinity.
    pub fixes: Fixes,
    /// Whether the other behaviour's answer is logged too.
    pub shadow: bool,
    pub binding: bool,
    pub binding_default: Option<Binding>,
    pub refuse_failed_binding: bool,
    pub notes: Notes,
    pub command: Option<PathBuf>,
    pub state_dir: PathBuf,
    pub strict: bool,
    /// Whether steps, tasks and refusals are counted for monitoring.
    pub counters: bool,
    off_switch: OnceLock<Option<OffSwitch>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            fixes: Fixes::ALL,
            shadow: false,
            binding: true,
            binding_default: None,
            refuse_failed_binding: false,
            notes: Notes::User,
            command: None,
            state_dir: PathBuf::from("/run/berth"),
            strict: false,
            counters: true,
            off_switch: OnceLock::new(),
        }
    }
}

impl Settings {
    /// The administrator's switch-off file, in the state directory.
    pub(crate) fn off_switch(&self) -> Option<&OffSwitch> {
        let switch = || OffSwitch::of(&self.state_dir);
        self.off_switch.get_or_init(switch).as_ref()
    }

    /// Reads the words. `is_here` says whether a host list holds this node;
    /// keys behind a `nodes=` that does not hold it are skipped.
    pub(crate) fn read(words: &[&str], is_here: impl Fn(&str) -> bool) -> (Self, Vec<String>) {
        let mut settings = Self::default();
        let mut complaints = Vec::new();
        let mut here = true;
        // Fixes are applied last, because they change the set that `compat=` names, wherever it
        // stands.
        let mut fixes = Vec::new();
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            if key == "nodes" {
                here = value.is_empty() || value == "ALL" || is_here(value);
            } else if here && key == "fixes" && Fixes::ALL.apply(value).is_ok() {
                fixes.push(value);
            } else if here && let Err(why) = settings.take(key, value) {
                complaints.push(format!(
                    "plugstack.conf: {word}: {why}; berth ignores this word"
                ));
            }
        }
        for words in fixes {
            settings.fixes = settings.fixes.apply(words).unwrap_or(settings.fixes);
        }
        (settings, complaints)
    }

    fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "compat" => {
                self.fixes = one_of(value, &[("berth", Fixes::ALL), ("affinity", Fixes::NONE)])?;
            }
            "fixes" => self.fixes = self.fixes.apply(value).map_err(|why| why.to_string())?,
            "shadow" => self.shadow = one_of(value, &[("off", false), ("on", true)])?,
            "binding" => self.binding = one_of(value, &[("on", true), ("off", false)])?,
            "binding_default" => self.binding_default = default_binding(value)?,
            "binding_fail" => {
                self.refuse_failed_binding =
                    one_of(value, &[("unbound", false), ("refuse", true)])?;
            }
            "notes" => {
                let all = [
                    ("user", Notes::User),
                    ("log", Notes::Log),
                    ("off", Notes::Off),
                ];
                self.notes = one_of(value, &all)?;
            }
            "command" => self.command = Some(absolute(value)?),
            "state_dir" => self.state_dir = absolute(value)?,
            "counters" => self.counters = one_of(value, &[("on", true), ("off", false)])?,
            "strict" => self.strict = one_of(value, &[("off", false), ("on", true)])?,
            _ => return Err(unknown_key(key)),
        }
        Ok(())
    }
}

fn one_of<T: Copy>(value: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(name, _)| *name == value);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        format!("the value must be one of {}", names.join(", "))
    })
}

fn absolute(value: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(value);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err("the value must be an absolute path".into())
    }
}

fn default_binding(value: &str) -> Result<Option<Binding>, String> {
    if value.is_empty() {
        return Ok(None);
    }
    let binding: Binding = value.parse().map_err(|why| format!("{why}"))?;
    Ok(Some(binding))
}

fn unknown_key(key: &str) -> String {
    let nearest = KEYS
        .iter()
        .map(|known| (strsim::damerau_levenshtein(key, known), known))
        .min()
        .filter(|(distance, _)| *distance <= 3);
    match nearest {
        Some((_, known)) => format!("there is no such key; the nearest is {known}"),
        None => format!("there is no such key; the keys are {}", KEYS.join(", ")),
    }
}

/// The effect of `compat=` and `fixes=`, in the words of the ready line: `compat=berth`.
pub(crate) fn compat(fixes: Fixes) -> String {
    format!("compat={}", behaviour(fixes))
}

/// The behaviour: `berth`, `affinity`, or affinity with some of the fixes.
pub(crate) fn behaviour(fixes: Fixes) -> String {
    match fixes {
        Fixes::ALL => "berth".into(),
        Fixes::NONE => "affinity".into(),
        some => format!("affinity with {some:?}"),
    }
}

fn cell() -> &'static RwLock<Arc<Settings>> {
    static CELL: OnceLock<RwLock<Arc<Settings>>> = OnceLock::new();
    CELL.get_or_init(RwLock::default)
}

/// The settings of this process; the defaults until the plugstack line was seen.
pub(crate) fn current() -> Arc<Settings> {
    cell()
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

/// Puts settings in force.
pub(crate) fn set(settings: Settings) {
    *cell().write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> (Settings, Vec<String>) {
        let words: Vec<_> = words.split(' ').filter(|word| !word.is_empty()).collect();
        Settings::read(&words, |list| list == "here")
    }

    #[test]
    fn every_key_is_read() {
        let (settings, complaints) = read(
            "compat=affinity binding=off binding_default=linear:2 binding_fail=refuse notes=log \
             command=/opt/bin/berth state_dir=/var/lib/berth strict=on \
             shadow=on counters=off",
        );
        assert_eq!(complaints, Vec::<String>::new());
        assert_eq!(settings.fixes, Fixes::NONE);
        assert!(!settings.binding && settings.refuse_failed_binding && settings.strict);
        assert!(settings.shadow && !settings.counters);
        assert_eq!(
            settings.binding_default.map(|binding| binding.to_string()),
            Some("linear:2".into())
        );
        assert_eq!(settings.notes, Notes::Log);
        assert_eq!(settings.state_dir, PathBuf::from("/var/lib/berth"));
        assert_eq!(read("").0, Settings::default());
    }

    #[test]
    fn what_is_unknown_is_said_and_ignored() {
        for (words, says) in [
            ("stat_dir=/x", "nearest is state_dir"),
            ("compat=afinity", "one of berth, affinity"),
            ("frobnicate=1", "the keys are compat"),
            ("shadow=yes", "one of off, on"),
            ("state_dir=run", "absolute path"),
            ("binding_default=linear:x", "expected"),
            ("binding_default=striding:2:0", "of at least 1"),
            ("fixes=+no-such", "smt-neighbours"),
        ] {
            let (settings, complaints) = read(words);
            assert_eq!(settings, Settings::default(), "{words}");
            assert_eq!(complaints.len(), 1, "{words}");
            assert!(complaints.concat().contains(says), "{complaints:?}");
        }
    }

    #[test]
    fn fixes_hold_wherever_compat_stands() {
        let one = Fixes::NONE.with(berth_placement::Fix::ThirdLevel, true);
        for words in [
            "compat=affinity fixes=+third-level",
            "fixes=+third-level compat=affinity",
        ] {
            assert_eq!(read(words).0.fixes, one, "{words}");
        }
    }

    #[test]
    fn keys_behind_nodes_hold_there_only() {
        let elsewhere = "strict=on nodes=there binding=off nodes=here notes=off";
        let (settings, _) = read(elsewhere);
        assert!(settings.strict && settings.binding);
        assert_eq!(settings.notes, Notes::Off);
    }
}
