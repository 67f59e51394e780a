//! `berth check` on Open MPI's options: what the submitting command, or the node, refuses.

use crate::check_common::{holds, rules};

#[test]
fn what_never_fits_or_contradicts() {
    holds(
        "24.11",
        &[
            (
                "srun -n2 -c1 --map-by=slot:pe=4 ./a",
                "mapping-never-fits",
                "srun -n2 -c4 --map-by=slot:pe=4 ./a",
            ),
            (
                "sbatch -n2 --berth-map-by=slot:pe=2 job.sh",
                "mapping-never-fits",
                "sbatch -n2 --berth-map-by=slot:pe=2 -c2 job.sh",
            ),
            (
                "#SBATCH -n2 -c2\nsrun --map-by=slot:pe=9 ./a",
                "mapping-never-fits",
                "#SBATCH -n2 -c2\nsrun --map-by=slot:pe=9 ./a",
            ),
            (
                "srun --map-by=core --binding=linear:1 ./a",
                "mapping-and-binding",
                "srun --map-by=core --binding=linear:1 ./a",
            ),
            (
                "sbatch --bind-to=core --binding=linear:1 job.sh",
                "mapping-and-binding",
                "sbatch --bind-to=core --binding=linear:1 job.sh",
            ),
            (
                "#SBATCH -n2 --map-by=core --binding=linear:1\nsrun ./a",
                "mapping-and-binding",
                "#SBATCH -n2 --map-by=core --binding=linear:1\nsrun ./a",
            ),
            (
                "srun -n2 -c2 --exclusive --map-by=core --cpu-bind=map_cpu:0,1 ./a",
                "mapping-and-list",
                "srun -n2 -c2 --exclusive --map-by=core ./a",
            ),
        ],
    );
}

#[test]
fn what_may_fit_or_is_no_contradiction() {
    for line in [
        "srun -n2 -c4 --map-by=slot:pe=4 ./a",
        "srun -n2 --exclusive --map-by=slot:pe=4 ./a",
        "srun -n2 --map-by=slot:pe=4 --bind-to=core:overload-allowed ./a",
        "srun -n2 --map-by=$HOW --binding=linear:1 ./a",
        "srun -n2 --map-by=slot:pe=$EACH ./a",
        "srun --map-by=core --binding=none ./a",
    ] {
        let (found, code) = rules(&["--slurm=24.11", "-"], line);
        assert_eq!((found, code), (vec![], Some(0)), "{line}");
    }
}

/// A step takes the mapping of its job over, as its srun does.
#[test]
fn a_job_s_mapping_is_its_steps() {
    let machine = ["--slurm=22.05", "--machine", "pack:2 core:4 pu:2", "-"];
    for (level, expected) in [("l3cache", &["refused"][..]), ("numa", &[])] {
        let text = format!("#SBATCH -n2 --exclusive --map-by={level}\nsrun ./a\n");
        let (found, _) = rules(&machine, &text);
        assert_eq!(found, expected, "{text}");
    }
}

/// The variables of each of berth's own options are read, as its srun reads them.
#[test]
fn variables_give_options_that_the_line_does_not_have() {
    for (text, expected) in [
        (
            "export BERTH_MAP_BY=core BERTH_NEAR=0302:2\nsrun -n2 --binding=auto ./a",
            &[][..],
        ),
        (
            "export BERTH_MAP_BY=core BERTH_BINDING=linear:1\nsrun -n2 ./a",
            &["mapping-and-binding"],
        ),
        (
            "export BERTH_NEAR=gpu BERTH_MAP_BY=package\nsrun -n2 --cpu-bind=cores ./a",
            &["near-and-others"],
        ),
        (
            "export BERTH_NEAR=gpu\nsrun -n2 --exclusive --cpu-bind=map_cpu:0,1 ./a",
            &["near-and-others"],
        ),
        (
            "export BERTH_NEAR=gpu\nsrun -n2 --exclusive --binding=none --cpu-bind=map_cpu:0,1 ./a",
            &[],
        ),
        ("export BERTH_MAP_BY=nmua\nsrun -n2 ./a", &["wrong-value"]),
        ("export BERTH_RANK_BY=fast\nsrun -n2 ./a", &["wrong-value"]),
        ("export BERTH_BIND_TO=cor\nsrun -n2 ./a", &["wrong-value"]),
        ("export BERTH_NEAR=gpu:x\nsrun -n2 ./a", &["wrong-value"]),
        (
            "export BERTH_CORE_KIND=fast\nsrun -n2 ./a",
            &["wrong-value"],
        ),
        ("export BERTH_NEAR=gpu:x\nsrun -n2 --near=gpu ./a", &[]),
        (
            "srun -n2 --near=gpu --berth-near=network ./a",
            &["wrong-value"],
        ),
        ("srun -n2 --near=gpu --berth-near=$NEAR ./a", &[]),
        // What the job's own line asks for overrides a default.
        (
            "#SBATCH -n2 --exclusive --map-by=package\nexport BERTH_NEAR=gpu\nsrun --cpu-bind=cores ./a",
            &[],
        ),
    ] {
        let (mut found, _) = rules(&["--slurm=24.11", "-"], text);
        found.retain(|rule| !rule.ends_with('?'));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn near_beside_what_chooses_too() {
    for (line, expected) in [
        (
            "srun -n4 --binding=linear:1 --near=gpu ./a",
            &["near-and-others"][..],
        ),
        (
            "srun -n4 --near=gpu --map-by=package ./a",
            &["near-and-others"],
        ),
        (
            "srun -n2 --exclusive --near=gpu --cpu-bind=map_cpu:0,1 ./a",
            &["near-and-others"],
        ),
        (
            "sbatch -n2 --near=gpu --binding=linear:1 job.sh",
            &["near-and-others"],
        ),
        ("srun -n4 --near=gpu --map-by=core ./a", &[]),
        ("srun -n4 --near=gpu --binding=auto ./a", &[]),
        ("sbatch -n4 --near=gpu --binding=env:auto:pack job.sh", &[]),
        ("srun -n4 --near=none --binding=auto ./a", &[]),
        ("srun -n4 --near=gpu --binding=none ./a", &[]),
        ("srun -n4 --near=gpu ./a", &[]),
    ] {
        let (found, _) = rules(&["--slurm=24.11", "-"], line);
        assert_eq!(found, expected, "{line}");
    }
}

/// The CPUs of a cpuset leave `--near` nothing to choose. A default gives way.
#[test]
fn near_beside_the_cpus_of_a_cpuset() {
    let line = "srun -n2 --cpuset='CPU_LIST=0-3'";
    for (text, expected) in [
        (format!("export BERTH_NEAR=gpu\n{line} ./a"), &[][..]),
        (format!("{line} --near=gpu ./a"), &["near-and-others"]),
        (format!("{line} --near=none ./a"), &[]),
    ] {
        let (mut found, _) = rules(&["--slurm=24.11", "-"], &text);
        found.retain(|rule| !rule.ends_with('?'));
        assert_eq!(found, expected, "{text}");
    }
}
