//! What the object exports and what it needs: the loaders of all lines find every
//! symbol, and every program that loads a SPANK plugin can load it, hwloc or not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use berth_tests::{Cluster, object};

fn output(program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program} {arguments:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// Names of an object's dynamic symbols, without versions.
fn symbols(file: &Path, what: &str) -> BTreeSet<String> {
    let text = output("nm", &["-D", what, &file.to_string_lossy()]);
    let name = |line: &str| {
        let word = line.split_whitespace().last()?;
        Some(word.split('@').next()?.to_string())
    };
    text.lines().filter_map(name).collect()
}

/// Where Slurm keeps its plugins and its library, asked from Slurm.
fn plugin_folder() -> PathBuf {
    let cluster = Cluster::builder()
        .plugstack(None)
        .task_plugin("task/affinity")
        .up();
    let config = cluster.scontrol(&["show", "config"]).expect_ok();
    let line = config
        .lines()
        .find(|line| line.starts_with("PluginDir"))
        .unwrap();
    let folders = line.split_once('=').unwrap().1.trim();
    PathBuf::from(folders.rsplit(':').next().unwrap())
}

#[test]
fn exactly_the_agreed_symbols_are_exported() {
    let agreed: BTreeSet<_> = [
        "plugin_name",
        "plugin_type",
        "plugin_version",
        "init",
        "fini",
        "task_p_slurmd_batch_request",
        "task_p_slurmd_launch_request",
        "task_p_slurmd_suspend_job",
        "task_p_slurmd_resume_job",
        "task_p_pre_setuid",
        "task_p_pre_set_affinity",
        "task_p_set_affinity",
        "task_p_post_set_affinity",
        "task_p_pre_launch_priv",
        "task_p_pre_launch",
        "task_p_post_term",
        "task_p_post_step",
        "task_p_add_pid",
        "task_p_update_mem_limit",
        "slurm_spank_exit",
        "slurm_spank_init",
        "slurm_spank_init_post_opt",
        "slurm_spank_task_exit",
        "slurm_spank_task_init",
        "slurm_spank_task_post_fork",
        "slurm_spank_user_init",
        // slurm-spank's own; nothing calls it.
        "spank_option_callback",
    ]
    .map(String::from)
    .into();
    assert_eq!(symbols(&object(), "--defined-only"), agreed);
}

/// A missing hook is fatal to slurmd: every line's list, as Slurm's sources have it.
#[test]
fn every_release_lines_hooks_are_there() {
    let json = include_str!("../../bindings/layouts.json");
    let exported = symbols(&object(), "--defined-only");
    let mut names = 0;
    for word in json.split('"').filter(|word| word.starts_with("task_p_")) {
        names += 1;
        assert!(exported.contains(word), "{word} is missing");
    }
    assert!(
        names > 80,
        "the lists of nine variants, found {names} names"
    );
}

/// srun and sbatch have Slurm's library and the C runtime, nothing of slurmd's.
#[test]
fn nothing_is_needed_that_srun_lacks() {
    let mut present: BTreeSet<String> =
        symbols(&plugin_folder().join("libslurmfull.so"), "--defined-only");
    let needed = output("ldd", &[&object().to_string_lossy()]);
    for library in needed.lines().filter_map(|line| line.split("=> ").nth(1)) {
        let file = library.split(' ').next().unwrap();
        present.extend(symbols(Path::new(file), "--defined-only"));
    }
    present.extend(["__tls_get_addr".to_string()]);
    // Weak ones may stay open.
    let text = output(
        "nm",
        &["-D", "--undefined-only", &object().to_string_lossy()],
    );
    let strong = text
        .lines()
        .filter(|line| line.trim_start().starts_with("U "));
    for line in strong {
        let name = line.trim_start()[2..].split('@').next().unwrap();
        assert!(present.contains(name), "srun has no {name}");
    }
}

#[test]
fn the_c_runtime_is_all_it_needs() {
    let text = output("readelf", &["-d", &object().to_string_lossy()]);
    let needed: Vec<_> = text
        .lines()
        .filter(|line| line.contains("(NEEDED)"))
        .map(|line| line.split(['[', ']']).nth(1).unwrap())
        .collect();
    for library in &needed {
        let runtime = [
            "libc.so.6",
            "libgcc_s.so.1",
            "libm.so.6",
            "libpthread.so.0",
            "libdl.so.2",
        ];
        assert!(
            runtime.contains(library) || library.starts_with("ld-linux"),
            "{needed:?}"
        );
    }
    assert!(
        !text.contains("BIND_NOW"),
        "Slurm relies on lazy binding: {text}"
    );
}
