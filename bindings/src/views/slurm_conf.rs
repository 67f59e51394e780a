//! slurm.conf as the running program has read it; a slurmstepd from 24.11 on has a part of it.
//! Source: slurm_conf_t, slurm/slurm.h, which is public but moves nevertheless.

use crate::layout::{Field, Layout};
use crate::line::Line;
use crate::process::is_slurms_daemon;
use crate::record::{self, Record};
use crate::symbols::Symbols;
use std::ffi::{CStr, c_char, c_void};

/// The object `slurm_conf`.
#[derive(Clone, Copy)]
pub struct SlurmConf {
    record: Record,
    layout: &'static Layout,
}

/// Words of SlurmdParameters, and from 25.11 on of the node's own Parameters (`parse_slurmd_params`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counting {
    /// A cache of the third level counts as a socket; it goes before NUMA nodes.
    pub l3cache_as_socket: bool,
    /// A NUMA node counts as a socket.
    pub numa_node_as_socket: bool,
    /// Efficiency cores count too.
    pub allow_ecores: bool,
}

impl Counting {
    /// Slurm looks for each word anywhere in the text, in any case.
    fn of_words(text: &str) -> Self {
        let text = text.to_ascii_lowercase();
        Counting {
            l3cache_as_socket: text.contains("l3cache_as_socket"),
            numa_node_as_socket: text.contains("numa_node_as_socket"),
            allow_ecores: text.contains("allow_ecores"),
        }
    }
}

/// Makes one accessor per text.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        $($(#[$doc])* pub fn $name(&self) -> Option<String> {
            self.text(self.layout.slurm_conf.$name)
        })+
    };
}

impl SlurmConf {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `conf` is null or Slurm's object, which the view does not outlive. `layout` is the
    /// running release's.
    pub unsafe fn from_raw(conf: *mut c_void, layout: &'static Layout) -> Option<Self> {
        // SAFETY: the caller's promise.
        unsafe { Record::new(conf) }.map(|record| SlurmConf { record, layout })
    }

    /// This process's object.
    ///
    /// # Safety
    /// `layout` is the running release's; the view does not outlive the hook.
    pub unsafe fn current(layout: &'static Layout, symbols: &Symbols) -> Option<Self> {
        // SAFETY: the symbol is the object itself.
        unsafe { SlurmConf::from_raw(symbols.slurm_conf?.as_ptr(), layout) }
    }

    fn text(&self, field: Field<*mut c_char>) -> Option<String> {
        self.record.text(field)
    }

    texts! {
        /// TaskPlugin, while a plugin is loaded.
        task_plugin,
        /// PlugStackConfig, where slurm.conf has it.
        plugstack,
    }

    /// The plugstack.conf that Slurm reads: the one that PlugStackConfig names, else the one beside slurm.conf, or
    /// slurmctld's on a node without files of its own. `None` where this process lacks Slurm's function.
    /// Source: spank_stack_init of src/common/plugstack.c (spank.c from 23.02 on).
    pub fn plugstack_path(&self, symbols: &Symbols) -> Option<String> {
        self.plugstack()
            .or_else(|| Self::path_beside(c"plugstack.conf", symbols))
    }

    /// The file of a name beside slurm.conf, or what slurmctld has sent for it to a node without files of its own.
    /// `None` where this process lacks Slurm's function.
    pub fn path_beside(name: &CStr, symbols: &Symbols) -> Option<String> {
        let path_of = symbols.slurm_get_extra_conf_path?;
        // SAFETY: the prototype of read_config.h: it reads the name and returns a text of Slurm's allocator.
        let mut path: *mut c_void = unsafe { path_of(name.as_ptr()) }.cast();
        if path.is_null() {
            return None;
        }
        // SAFETY: Slurm's text, which ends with a zero and is ours.
        let text = unsafe { CStr::from_ptr(path.cast()) };
        let text = text.to_string_lossy().into_owned();
        let _ = record::free(&raw mut path, symbols);
        Some(text)
    }

    /// The words that change how slurmd counts its node. From 24.05 on Slurm keeps them as flags, which slurmstepd has as
    /// well; up to 23.11 only the text has them, which is missing in the slurmstepds of 23.02 and 23.11.
    pub fn counting(&self, symbols: &Symbols) -> Counting {
        let constants = &self.layout.constants;
        let flags = (
            constants.CONF_FLAG_L3CSOCK,
            constants.CONF_FLAG_NNSOCK,
            constants.CONF_FLAG_ECORE,
        );
        let (Some(l3), Some(numa), Some(ecores)) = flags else {
            return Counting::of_words(&self.slurmd_params(symbols).unwrap_or_default());
        };
        let flags = self.record.read(self.layout.slurm_conf.conf_flags);
        Counting {
            l3cache_as_socket: flags & l3 != 0,
            numa_node_as_socket: flags & numa != 0,
            allow_ecores: flags & ecores != 0,
        }
    }

    fn slurmd_params(&self, symbols: &Symbols) -> Option<String> {
        self.settled(self.layout.slurm_conf.slurmd_params, symbols)
    }

    /// TaskPlugin, for hooks: slurmd may just be reading slurm.conf again.
    pub fn settled_task_plugin(&self, symbols: &Symbols) -> Option<String> {
        self.settled(self.layout.slurm_conf.task_plugin, symbols)
    }

    /// A text that slurmd is not just changing. Up to 23.02 slurmd reads slurm.conf again while it serves launches, under
    /// the lock that is taken here; later lines start a new slurmd. The text is read each time:
    /// after a reconfiguration another text may stand at the same address.
    fn settled(&self, field: Field<*mut c_char>, symbols: &Symbols) -> Option<String> {
        let changes = matches!(self.layout.line, Line::V22_05 | Line::V23_02);
        let (lock, unlock) = match (symbols.slurm_conf_lock, symbols.slurm_conf_unlock) {
            (Some(lock), Some(unlock)) if changes && is_slurms_daemon() => (lock, unlock),
            _ => return self.text(field),
        };
        // SAFETY: Slurm's own pair of functions, called by a thread that holds neither this lock
        // nor the one of slurmd's record.
        unsafe { lock() };
        let text = self.text(field);
        // SAFETY: locked just above.
        unsafe { unlock() };
        text
    }

    /// TaskPluginParam, as `CPU_BIND_` and `CPU_AUTO_BIND_` bits.
    pub fn task_plugin_param(&self) -> u32 {
        self.record.read(self.layout.slurm_conf.task_plugin_param)
    }

    /// SelectTypeParameters, as `CR_` bits.
    pub fn select_type_param(&self) -> u16 {
        self.record.read(self.layout.slurm_conf.select_type_param)
    }
}
