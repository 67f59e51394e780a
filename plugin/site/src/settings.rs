//! The administrator's settings: arguments of the plugstack.conf line.
//! In: a key and its value. Out: `Settings` with it, or why it cannot be read; then the cautious
//! value of that key can be put in force.

use std::path::PathBuf;

use berth_placement::{Binding, CpuSet, CpusetFail, Fixes, SiteConfine};

/// Every key there is.
pub const KEYS: [&str; 20] = [
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
    "reserved",
    "cpusets",
    "cpuset_best",
    "cpuset_fail",
    "confine",
    "quarantine",
    "pools",
    "pool_reserve",
    "nodes",
];

/// A word that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// There is no such key.
    Key,
    /// The key's value is wrong, for this reason.
    Value(String),
}

impl From<String> for Unread {
    fn from(why: String) -> Self {
        Self::Value(why)
    }
}

/// Where notes to users go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notes {
    /// To the job's stderr and the log.
    User,
    /// To the log.
    Log,
    /// Nowhere.
    Off,
}

/// Where that runs in a job's steps which no task's binding holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quarantine {
    /// Where the kernel puts it.
    #[default]
    Off,
    /// Before the tasks are bound on the job's first core; adopted processes have the job's CPUs.
    On,
    /// Before the tasks are bound on the job's first core; adopted processes also have the job's first core.
    Extern,
}

impl Quarantine {
    /// Every value with its word.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("off", Self::Off),
        ("on", Self::On),
        ("extern", Self::Extern),
    ];

    fn word(self) -> &'static str {
        let found = Self::WORDS.into_iter().find(|(_, one)| *one == self);
        found.map_or("off", |(word, _)| word)
    }
}

/// The settings in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `compat=` and `fixes=` together: where we differ from task/affinity.
    pub fixes: Fixes,
    /// Whether the other behaviour's answer is logged too.
    pub shadow: bool,
    /// Whether `--binding` is served.
    pub binding: bool,
    /// The binding of steps that ask for nothing.
    pub binding_default: Option<Binding>,
    /// `binding_fail=refuse`.
    pub refuse_failed_binding: bool,
    /// Where notes to users go.
    pub notes: Notes,
    /// Where the command `berth` is.
    pub command: Option<PathBuf>,
    /// The folder of berth's files on the node.
    pub state_dir: PathBuf,
    /// Whether a release that no table knows for sure makes berth stand aside.
    pub strict: bool,
    /// Whether steps, tasks and refusals are counted for monitoring.
    pub counters: bool,
    /// `reserved=`: CPUs that no task gets while its step has others, by kernel number.
    pub reserved: CpuSet,
    /// `cpusets=`: the site's file of static cpusets and of the partitions' words.
    pub cpusets: Option<PathBuf>,
    /// `cpuset_best=on`: a cpuset gets the CPUs that fit best; otherwise the first that are free.
    pub cpuset_best: bool,
    /// `cpuset_fail=`: what happens to a job whose `--cpuset` cannot be had.
    pub cpuset_fail: CpusetFail,
    /// `confine=`: whether bound tasks are confined to their CPUs.
    pub confine: SiteConfine,
    /// `quarantine=`: where slurmstepd's other processes run.
    pub quarantine: Quarantine,
    /// `pools=`: the site's file of pools.
    pub pools: Option<PathBuf>,
    /// `pool_reserve=`: cores that the pools of a node never own together.
    pub pool_reserve: u32,
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
            reserved: CpuSet::new(),
            cpusets: None,
            cpuset_best: true,
            cpuset_fail: CpusetFail::Refuse,
            confine: SiteConfine::Off,
            quarantine: Quarantine::Off,
            pools: None,
            pool_reserve: 1,
        }
    }
}

impl Settings {
    /// Puts one setting in force. `nodes=` and `fixes=` are for the reader of the whole line.
    ///
    /// # Errors
    /// [`Unread`]: nothing has changed then.
    pub fn take(&mut self, key: &str, value: &str) -> Result<(), Unread> {
        match key {
            "compat" => {
                self.fixes = one_of(value, &[("berth", Fixes::ALL), ("affinity", Fixes::NONE)])?;
            }
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
            "reserved" => self.reserved = cpus(value)?,
            "cpusets" => self.cpusets = Some(absolute(value)?),
            "cpuset_best" => self.cpuset_best = one_of(value, &[("on", true), ("off", false)])?,
            "cpuset_fail" => self.cpuset_fail = cpuset_fail(value)?,
            "confine" => self.confine = one_of(value, &SiteConfine::WORDS)?,
            "quarantine" => self.quarantine = one_of(value, &Quarantine::WORDS)?,
            "pools" => self.pools = Some(absolute(value)?),
            "pool_reserve" => self.pool_reserve = cores(value)?,
            _ => return Err(Unread::Key),
        }
        Ok(())
    }

    /// The value of this key cannot be read: the cautious one is in force, with which a step is
    /// served as without berth. Keys without such a value keep what they had.
    pub fn be_cautious(&mut self, key: &str) {
        match key {
            "compat" => self.fixes = Fixes::NONE,
            "shadow" => self.shadow = false,
            "binding" => self.binding = false,
            "binding_default" => self.binding_default = None,
            "binding_fail" => self.refuse_failed_binding = false,
            "strict" => self.strict = true,
            "reserved" => self.reserved = CpuSet::new(),
            "cpusets" => self.cpusets = None,
            "cpuset_best" => self.cpuset_best = true,
            "cpuset_fail" => self.cpuset_fail = CpusetFail::Refuse,
            "confine" => self.confine = SiteConfine::Off,
            "quarantine" => self.quarantine = Quarantine::Off,
            "pools" => self.pools = None,
            "pool_reserve" => self.pool_reserve = 1,
            _ => {}
        }
    }

    /// The value in force of a key, as the administrator would write it.
    #[must_use]
    pub fn in_force(&self, key: &str) -> String {
        let word = |is_on: bool| if is_on { "on" } else { "off" };
        let path = |path: &Option<PathBuf>| {
            let shown = path.as_ref().map(|path| path.display().to_string());
            shown.unwrap_or_default()
        };
        let value = match key {
            "compat" | "fixes" => return compat(self.fixes),
            "shadow" => word(self.shadow).into(),
            "binding" => word(self.binding).into(),
            "binding_default" => {
                let binding = self.binding_default.as_ref();
                binding.map(ToString::to_string).unwrap_or_default()
            }
            "binding_fail" if self.refuse_failed_binding => "refuse".into(),
            "binding_fail" => "unbound".into(),
            "notes" => format!("{:?}", self.notes).to_lowercase(),
            "command" => path(&self.command),
            "cpusets" => path(&self.cpusets),
            "cpuset_best" => word(self.cpuset_best).into(),
            "cpuset_fail" => self.cpuset_fail.to_string(),
            "state_dir" => self.state_dir.display().to_string(),
            "strict" => word(self.strict).into(),
            "reserved" => self.reserved.to_string(),
            "confine" => self.confine.to_string(),
            "quarantine" => self.quarantine.word().into(),
            "pools" => path(&self.pools),
            "pool_reserve" => self.pool_reserve.to_string(),
            _ => word(self.counters).into(),
        };
        match value.is_empty() {
            true => format!("no {key}"),
            false => format!("{key}={value}"),
        }
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

/// An empty list reserves nothing.
fn cpus(list: &str) -> Result<CpuSet, String> {
    match list.is_empty() {
        true => Ok(CpuSet::new()),
        false => CpuSet::from_list(list).map_err(|why| why.to_string()),
    }
}

/// Without a core of its own a node would not answer under busy pools.
fn cores(value: &str) -> Result<u32, String> {
    let count = value.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "the value must be a number of cores, at least 1".into())
}

fn cpuset_fail(value: &str) -> Result<CpusetFail, String> {
    let read: Result<CpusetFail, _> = value.parse();
    read.map_err(|why| why.to_string())
}

fn default_binding(value: &str) -> Result<Option<Binding>, String> {
    if value.is_empty() {
        return Ok(None);
    }
    let binding: Binding = value.parse().map_err(|why| format!("{why}"))?;
    Ok(Some(binding))
}

/// The effect of `compat=` and `fixes=`, in the words of the ready line: `compat=berth fixes=-NAME`.
#[must_use]
pub fn compat(fixes: Fixes) -> String {
    format!("compat={fixes}")
}
