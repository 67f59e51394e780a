//! `berth check`: which traps are named in which lines, and what the corrected line is.

use crate::check_common::{check, holds, rules};

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn options_and_values_that_srun_does_not_take() {
    holds(
        "24.11",
        &[
            (
                "srun --cpus-per-taks=4 ./a",
                "misspelt-option",
                "srun --cpus-per-task=4 ./a",
            ),
            (
                "srun --ntask_per_node 4 ./a",
                "misspelt-option",
                "srun --ntasks-per-node 4 ./a",
            ),
            (
                "srun \"--cpu-bnd=cores\" ./a",
                "misspelt-option",
                "srun \"--cpu-bind=cores\" ./a",
            ),
            (
                "srun -ntasks=4 ./a",
                "misspelt-option",
                "srun --ntasks=4 ./a",
            ),
            (
                "srun \u{2013}n 4 \u{2013}c2 ./a",
                "misspelt-option",
                "srun \u{2013}n 4 \u{2013}c2 ./a",
            ),
            (
                "srun \u{2014}ntasks=4 ./a",
                "misspelt-option",
                "srun --ntasks=4 ./a",
            ),
            ("srun -n4 -g ./a", "unknown-option", "srun -n4 -g ./a"),
            (
                "sbatch --cpu-bind=cores job.sh",
                "other-command",
                "sbatch --cpu-bind=cores job.sh",
            ),
            (
                "srun --near=gpu:closest ./a",
                "wrong-value",
                "srun --near=gpu:closest ./a",
            ),
            (
                "#SBATCH --reserved=0\nsrun ./a",
                "other-command",
                "#SBATCH --reserved=0\nsrun ./a",
            ),
            ("srun --score ./a", "other-command", "srun --score ./a"),
            (
                "srun --core-kind=fast ./a",
                "wrong-value",
                "srun --core-kind=fast ./a",
            ),
            (
                "srun -n4 --cpu-bind=kores ./a",
                "wrong-value",
                "srun -n4 --cpu-bind=cores ./a",
            ),
            (
                "srun -m blok:ciclic ./a",
                "wrong-value",
                "srun -m block:cyclic ./a",
            ),
            (
                "srun --hint=nomultithreads ./a",
                "wrong-value",
                "srun --hint=nomultithread ./a",
            ),
            ("srun -n x ./a", "wrong-value", "srun -n x ./a"),
            (
                "srun -n2 -trace-all ./a",
                "wrong-value",
                "srun -n2 -trace-all ./a",
            ),
            (
                "srun -n1 --binding=linear ./a",
                "wrong-value",
                "srun -n1 --binding=linear ./a",
            ),
            (
                "srun --exclusive --cpu-bind='map_cpu:0-3' -n4 ./a > \"$out\"",
                "wrong-value",
                "srun --exclusive --cpu-bind='map_cpu:0,1,2,3' -n4 ./a > \"$out\"",
            ),
            (
                "#SBATCH -n4 -c 2 nodes\nsrun ./a",
                "invalid-directive",
                "#SBATCH -n4 -c 2 nodes\nsrun ./a",
            ),
            (
                "#SBATCH -n4 --cpu-bind=cores\nsrun ./a $x",
                "other-command",
                "#SBATCH -n4\nsrun --cpu-bind=cores ./a $x",
            ),
        ],
    );
    holds(
        "22.05",
        &[(
            "srun --tres-bind=gpu:single:1 ./a",
            "other-release",
            "srun --tres-bind=gpu:single:1 ./a",
        )],
    );
    // It may be an option of a plugin.
    assert_eq!(
        rules(&["srun --container-image=x --uenv=y --mem=1 ./a"], "").0,
        [""; 0]
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn steps_and_numbers() {
    holds(
        "22.05",
        &[
            (
                "#SBATCH -n4 -c4\nsrun ./app",
                "cpus-per-task",
                "#SBATCH -n4 -c4\nsrun -c4 ./app",
            ),
            (
                "#SBATCH -n4 -c 3\nsrun -l \\\n ./app",
                "cpus-per-task",
                "#SBATCH -n4 -c 3\nsrun -l -c3 \\\n ./app",
            ),
            (
                "srun -N2 -n8 --ntasks-per-node=8 ./a",
                "tasks-and-nodes",
                "srun -N2 -n8 --ntasks-per-node=4 ./a",
            ),
            (
                "srun -N2 -n7 --ntasks-per-node=4 ./a",
                "tasks-and-nodes",
                "srun -N2 -n7 ./a",
            ),
            (
                "srun -N 4 -n 2 ./a",
                "tasks-and-nodes",
                "srun -N 2 -n 2 ./a",
            ),
            (
                "sbatch -N 4 -n 2 a.sh",
                "tasks-and-nodes",
                "sbatch -N 2 -n 2 a.sh",
            ),
            (
                "#SBATCH -N1 -n4\nsrun -n 8 ./a",
                "more-than-the-job",
                "#SBATCH -N1 -n4\nsrun -n 4 ./a",
            ),
            (
                "#SBATCH -N1 -n4\nsrun -N2 ./a",
                "more-than-the-job",
                "#SBATCH -N1 -n4\nsrun -N1 ./a",
            ),
            (
                "#SBATCH -n4\nfor i in 1 2 3 4; do srun -n1 ./a $i & done; wait",
                "steps-wait",
                "#SBATCH -n4\nfor i in 1 2 3 4; do srun -n1 --exact ./a $i & done; wait",
            ),
            (
                "#SBATCH -n4\nsrun -n2 --exact ./a &\nsrun -n2 ./b > x & # both\nwait",
                "steps-wait",
                "#SBATCH -n4\nsrun -n2 --exact ./a &\nsrun -n2 --exact ./b > x & # both\nwait",
            ),
            (
                "#SBATCH -n2\nsrun ./a\n#SBATCH -c2",
                "late-directive",
                "#SBATCH -n2\nsrun ./a\n#SBATCH -c2",
            ),
            ("#SBATCH -n4\n./app", "no-launcher?", "#SBATCH -n4\n./app"),
            (
                "#SBATCH -N8 --ntasks-per-node=8\nsrun -N1 -n12 ./a \"$x\"",
                "more-than-the-job",
                "#SBATCH -N8 --ntasks-per-node=8\nsrun -N1 -n8 ./a \"$x\"",
            ),
            (
                "#SBATCH -N4\nsrun --ntasks-per-socket=1 ./a",
                "tasks-and-nodes?",
                "#SBATCH -N4\nsrun --ntasks-per-socket=1 ./a",
            ),
            // Each of four tasks has a socket, if there are four.
            (
                "#SBATCH -n4 -c4\nsrun --cpu-bind=sockets ./a",
                "cpus-per-task?",
                "#SBATCH -n4 -c4\nsrun --cpu-bind=sockets ./a",
            ),
        ],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_binds() {
    holds(
        "24.11",
        &[
            (
                "srun -n4 --hint=nomultithread --cpu-bind=cores ./a",
                "hint",
                "srun -n4 --cpu-bind=cores ./a",
            ),
            (
                "#SBATCH --hint=nomultithread\nsrun -n4 --threads-per-core=1 ./a",
                "hint",
                "#SBATCH --hint=nomultithread\nsrun -n4 ./a",
            ),
            // A list decides alone.
            (
                "srun -n2 --exclusive --hint=nomultithread --cpu-bind=map_cpu:0,1 ./a",
                "hint?",
                "srun -n2 --exclusive --hint=nomultithread --cpu-bind=map_cpu:0,1 ./a",
            ),
            (
                "srun -n2 --cpu-bind=v,rank ./a",
                "rank",
                "srun -n2 --cpu-bind=v,threads ./a",
            ),
            (
                "srun -N2 -n4 --cpu-bind=map_cpu:0,1 ./a",
                "list-on-several-nodes?",
                "srun -N2 -n4 --cpu-bind=map_cpu:0,1 ./a",
            ),
            (
                "srun -n2 --cpu-bind=mask_cpu:0x3,0xc ./a",
                "list-on-part-of-a-node?",
                "srun -n2 --cpu-bind=mask_cpu:0x3,0xc ./a",
            ),
            (
                "srun -n4 --binding=linear:4 ./a",
                "binding-per-task",
                "srun -n1 --binding=linear:4 -c4 ./a",
            ),
            (
                "sbatch -n 2 --binding=linear:4 a",
                "binding-never-fits",
                "sbatch -n 2 --binding=linear:4 -c4 a",
            ),
            (
                "#SBATCH -n2 -c2\nsrun --binding=linear:9 -n1 ./a",
                "binding-never-fits",
                "#SBATCH -n2 -c2\nsrun --binding=linear:9 -n1 ./a",
            ),
            (
                "srun -n1 -c2 --binding=linear:2:0,0 ./a",
                "binding-start?",
                "srun -n1 -c2 --binding=linear:2:0,0 ./a",
            ),
            (
                "srun -n2 -c2 --binding=linear:2 --exclusive --cpu-bind=map_cpu:0,2 ./a",
                "binding-and-list",
                "srun -n2 -c2 --binding=linear:2 --exclusive ./a",
            ),
            (
                "srun -n2 -c2 --binding=linear:2 --cpu-bind=sockets ./a",
                "binding-and-level?",
                "srun -n2 -c2 --binding=linear:2 --cpu-bind=sockets ./a",
            ),
            (
                "OMP_NUM_THREADS=4 srun -n2 -c4 ./a",
                "openmp-places?",
                "OMP_NUM_THREADS=4 srun -n2 -c4 ./a",
            ),
            (
                "OMP_PLACES=cores OMP_NUM_THREADS=8 srun -n2 -c4 ./a",
                "openmp-threads",
                "OMP_PLACES=cores OMP_NUM_THREADS=8 srun -n2 -c8 ./a",
            ),
            (
                "#SBATCH -n2 -c 4\nexport OMP_PLACES=cores OMP_NUM_THREADS=8\nsrun ./a",
                "openmp-threads",
                "#SBATCH -n2 -c 8\nexport OMP_PLACES=cores OMP_NUM_THREADS=8\nsrun -c8 ./a",
            ),
            (
                "#SBATCH --exclusive\nexport OMP_PLACES=cores OMP_NUM_THREADS=7\nsrun --cpu-bind=mask_cpu:0x7e,0x7e00 ./a",
                "openmp-threads",
                "#SBATCH --exclusive\nexport OMP_PLACES=cores OMP_NUM_THREADS=7\nsrun --cpu-bind=mask_cpu:0x7e,0x7e00 ./a",
            ),
        ],
    );
    holds(
        "24.05",
        &[(
            "srun -n2 --cpu-bind=rank ./a",
            "rank?",
            "srun -n2 --cpu-bind=rank ./a",
        )],
    );
}

#[test]
fn programs_that_start_or_bind() {
    holds(
        "24.11",
        &[
            ("srun -n4 srun ./a", "srun-in-srun", "srun -n4 ./a"),
            (
                "srun -n4 --label srun -n 2 ./a",
                "srun-in-srun",
                "srun -n 2 ./a",
            ),
            (
                "srun -n4 mpirun -np 4 ./a",
                "nested-launcher",
                "mpirun -np 4 ./a",
            ),
            (
                "srun -n4 taskset -c 0-3 ./a \"$@\"",
                "affinity-in-srun",
                "srun -n4 ./a \"$@\"",
            ),
            (
                "srun -n4 env X=1 taskset 0xf ./a",
                "affinity-in-srun",
                "srun -n4 env X=1 ./a",
            ),
            (
                "srun -n4 numactl --physcpubind=0-3 -l ./a",
                "affinity-in-srun",
                "srun -n4 numactl -l ./a",
            ),
            (
                "srun -n4 numactl -N 0 -- ./a",
                "affinity-in-srun",
                "srun -n4 ./a",
            ),
            (
                "#SBATCH -n4 -c8\nmodule load openmpi\nmpirun ./a",
                "mpirun-one-core",
                "#SBATCH -n4 -c8\nmodule load openmpi\nmpirun --map-by slot:PE=8 ./a",
            ),
            (
                "#SBATCH -n4 -c8\nmpirun ./a",
                "mpirun-one-core?",
                "#SBATCH -n4 -c8\nmpirun ./a",
            ),
        ],
    );
}

#[test]
fn lines_of_other_systems_have_a_page() {
    for (text, rule, page) in [
        (
            "#$ -pe smp 8 -binding linear:8\n./a\n",
            "grid-engine",
            "from-grid-engine.md",
        ),
        ("qsub -pe smp 4 j", "grid-engine", "from-grid-engine.md"),
        ("qrsh -pe smp 4 ./a", "grid-engine", "from-grid-engine.md"),
        ("#!/bin/sh\n#BSUB -n 2\nsrun ./a\n", "lsf", "coming-from.md"),
        (
            "bsub -n 8 -ext \"CPUSET[CPU_LIST=1]\" myjob",
            "lsf",
            "coming-from.md",
        ),
    ] {
        holds("24.11", &[(text, rule, text)]);
        let shown = String::from_utf8(check(&["-"], text.as_bytes()).stdout).unwrap();
        assert!(shown.contains(page), "{text}: {shown}");
    }
    // A script of Slurm's own may keep lines for another site, and a document is no script.
    for text in [
        "#!/bin/sh\n#BSUB -n 8\n#SBATCH -n8\nsrun ./a\n",
        "#!/bin/sh\nsrun ./a\ncat <<E\n#BSUB -n 8\nE\n",
    ] {
        let shown = String::from_utf8(check(&["-"], text.as_bytes()).stdout).unwrap();
        assert!(!shown.contains("[lsf]"), "{text}: {shown}");
    }
}

#[test]
fn the_cpuset_of_one_component_is_not_compared_with_the_whole_job() {
    let found = |second: &str| {
        let script = format!("#SBATCH -n2 --cpuset='CPU_LIST=9;NCPUS=1'\n{second}srun -n1 ./a\n");
        rules(&["--slurm=24.11", "-"], &script).0
    };
    assert_eq!(found(""), ["cpuset-little-choice?"]);
    assert_eq!(found("#SBATCH hetjob\n#SBATCH -n1\n"), [""; 0]);
}
