//! A panic planted in each hook: slurmd lives, the job runs, the node is well, and
//! the next job is bound. The switch that plants it is in debug builds alone.

use std::path::Path;

use berth_tests::{Cluster, debug_object, object};

const CORES: [&str; 3] = ["-n2", "--exclusive", "--cpu-bind=cores"];
const VARIABLE: &str = "BERTH_PLANTED_PANIC";

fn has_word(file: &Path, word: &str) -> bool {
    let bytes = std::fs::read(file).unwrap();
    bytes
        .windows(word.len())
        .any(|window| window == word.as_bytes())
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story of one cluster")]
fn a_panic_costs_one_step_at_most_its_binding() {
    if !berth_tests::two_cpus() {
        return;
    }
    let with_switch = debug_object();
    assert!(
        has_word(&with_switch, VARIABLE),
        "the search finds it where it is"
    );
    let shipped = object();
    assert!(
        shipped == with_switch || !has_word(&shipped, VARIABLE),
        "a release build has the switch"
    );

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hook");
    let plant = |hook: &str| std::fs::write(&file, hook).unwrap();
    plant("");
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .plugin(&with_switch)
        .env(VARIABLE, &file.to_string_lossy())
        .up();
    let slurmds = || cluster.slurmd_log().matches("slurmd version").count();
    // 22.05 has a hook before, for and after the binding; later lines have one for it.
    let three = cluster.slurmd_log().contains(", Slurm 22.05.");
    // Hook, and whether its step is bound all the same.
    for (hook, masks) in [
        // By the public way: to the step's cores.
        ("task_p_slurmd_launch_request", ["0x3", "0x3"]),
        ("task_p_pre_setuid", ["0x3", "0x3"]),
        ("task_p_set_affinity", ["0x3", "0x3"]),
        ("task_p_pre_launch_priv", ["0x3", "0x3"]),
        ("task_p_pre_set_affinity", ["0x1", "0x2"]),
        ("task_p_post_set_affinity", ["0x1", "0x2"]),
        ("task_p_pre_launch", ["0x1", "0x2"]),
        ("task_p_post_term", ["0x1", "0x2"]),
        ("task_p_post_step", ["0x1", "0x2"]),
        ("slurm_spank_task_exit", ["0x1", "0x2"]),
        ("slurm_spank_task_post_fork", ["0x1", "0x2"]),
        // Without its settings slurmstepd does not know where slurmd's key is.
        ("slurm_spank_init", ["0x3", "0x3"]),
        ("init", ["0x1", "0x2"]),
        ("fini", ["0x1", "0x2"]),
    ] {
        if hook.ends_with("_set_affinity") != three && hook.contains("affinity")
            || hook.ends_with("_priv") && three
        {
            continue;
        }
        plant(hook);
        let step = cluster.srun(&[&CORES[..], &["true"]].concat());
        assert!(step.ok(), "{hook}: {step:#?}");
        assert!(
            !step.stderr.contains("panic") && !step.stderr.contains("planted"),
            "{hook}: {step:#?}"
        );
        assert_eq!(cluster.task_masks(&CORES), masks, "{hook}");
        plant("");
        assert_eq!(
            cluster.task_masks(&CORES),
            ["0x1", "0x2"],
            "the next job after {hook}"
        );
        cluster.wait_idle();
        assert_eq!(slurmds(), 1, "slurmd was started again after {hook}");
        let log = cluster.slurmd_log();
        let silent = ["task_p_pre_launch", "fini"];
        if !silent.contains(&hook) {
            assert!(log.contains(&format!("planted in {hook}")), "{hook}: {log}");
            assert!(
                log.contains(&format!("internal error in berth ({hook})")),
                "{hook}: {log}"
            );
        }
    }
    plant("task_p_slurmd_batch_request");
    assert_eq!(cluster.sbatch(&[], "true").state, "COMPLETED");
    for (hook, masks) in [
        ("init", ["0x1", "0x2"]),
        // Without its settings slurmd puts its key elsewhere.
        ("slurm_spank_init", ["0x3", "0x3"]),
        ("fini", ["0x1", "0x2"]),
    ] {
        plant(hook);
        cluster.restart_slurmd();
        plant("");
        let found = cluster.task_masks(&CORES);
        assert_eq!(found, masks, "after a start with {hook}");
        cluster.wait_idle();
    }
}
