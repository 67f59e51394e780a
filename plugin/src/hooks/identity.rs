//! The three symbols by which Slurm's loader knows a plugin, and the constructor
//! that fills in the version. Source: `plugin_load_from_file`, `_verify_syms`.

use std::sync::atomic::{AtomicU32, Ordering};

/// Our name in `scontrol` and in logs.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "Slurm looks for this name")]
pub static plugin_name: [u8; 6] = *b"berth\0";

/// "spank" makes the loader compare only year and month of the release, in the
/// task role too: the one word that lets a build outlive micro releases.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "Slurm looks for this name")]
pub static plugin_type: [u8; 6] = *b"spank\0";

/// The release we claim to be built for: the running one, filled in by [`claim`].
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "Slurm looks for this name")]
pub static plugin_version: AtomicU32 = AtomicU32::new(0);

/// Runs when the object is loaded, before the loader reads the version.
extern "C" fn claim() {
    // A panic here would abort the host: there is no guard below a constructor.
    let version = std::panic::catch_unwind(slurm_sys::running::claimed_version);
    plugin_version.store(version.unwrap_or(0), Ordering::Relaxed);
}

#[used]
#[unsafe(link_section = ".init_array")]
static CLAIM: extern "C" fn() = claim;
