//! `berth check`: lines of LSF in Slurm's words, and cpusets that a job cannot have.

mod check_common;

use check_common::{check, holds};

#[test]
fn lines_of_lsf() {
    holds(
        "24.11",
        &[
            (
                "bsub -n 8 -extsched \"CPUSET[CPUSET_TYPE=dynamic;CPU_LIST=1, 5, 7-12;]\" myjob",
                "lsf",
                "sbatch -n8 --exclusive --cpuset='CPUSET[CPUSET_TYPE=dynamic;CPU_LIST=1, 5, 7-12;]' --wrap='myjob'",
            ),
            (
                "bsub -R \"span[hosts=1]\" -n 8 -extsched \"CPUSET[CPU_LIST=1, 5, 7-12;]\" myjob",
                "lsf",
                "sbatch -n8 -N1 --exclusive --cpuset='CPUSET[CPU_LIST=1, 5, 7-12;]' --wrap='myjob'",
            ),
            (
                "bsub -R \"span[ptile=1]\" -ext \"CPUSET[CPU_LIST=1,3]\" -n2 myjob",
                "lsf",
                "sbatch -n2 -N2 --ntasks-per-node=1 --exclusive --cpuset='CPUSET[CPU_LIST=1,3]' --wrap='myjob'",
            ),
            (
                "bsub -n 8 -q low -ext \"CPUSET[CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE]\" -R \"span[ptile=2]\" myjob -n 4",
                "lsf",
                "sbatch -n8 -N4 --ntasks-per-node=2 --cpuset='CPUSET[CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE]' --partition=low --wrap='myjob -n 4'",
            ),
            (
                "bsub -n 8 -extsched \"CPUSET[CPUSET_TYPE=static; CPUSET_NAME=MYSET]\" myjob",
                "lsf",
                "sbatch -n8 --cpuset='CPUSET[CPUSET_TYPE=static; CPUSET_NAME=MYSET]' --wrap='myjob'",
            ),
            (
                "bsub -n 8 -extsched \"CPUSET[CPUSET_TYPE=none]\" myjob",
                "lsf",
                "sbatch -n8 --cpuset='CPUSET[CPUSET_TYPE=none]' --wrap='myjob'",
            ),
            (
                "bsub -J \"my job\" -x -n 2 < job.lsf",
                "lsf",
                "sbatch -n2 --job-name='my job' --exclusive < job.lsf",
            ),
            // What cannot be read or is known to the shell alone is not corrected.
            (
                "bsub -n 8 -ext \"CPUSET[CPU_LST=1]\" myjob",
                "lsf",
                "bsub -n 8 -ext \"CPUSET[CPU_LST=1]\" myjob",
            ),
            ("bsub -n 8 myjob $x", "lsf", "bsub -n 8 myjob $x"),
        ],
    );
}

#[test]
fn what_has_no_counterpart_in_slurm_is_named() {
    for (line, says) in [
        (
            "bsub -n 4 -R \"rusage[scpus=4]\" -ext \"CPUSET[CPUSET_NAME=MYSET]\" sleep 1000",
            "rusage[scpus=4]: make the static cpuset a resource of Slurm and add --gres",
        ),
        (
            "bsub -n 3 -R \"rusage[dcpus=1]\" -ext \"CPUSET[CPU_LIST=1,2,3]\" sleep 1000",
            "rusage[dcpus=1]: Slurm counts the CPUs of every job by itself",
        ),
        (
            "bsub -n 4,8 a",
            "-n 4,8: Slurm takes one number, the smaller one here",
        ),
        (
            "bsub -n 4 -w 'done(1)' a",
            "without a counterpart: -w done(1)",
        ),
        (
            "bsub -n 8 -ext \"CPUSET[CPU_LST=1]\" a",
            "the cpuset cannot be read: there is no keyword \"CPU_LST\" in a cpuset request; the nearest is CPU_LIST",
        ),
    ] {
        let done = check(&[line], b"");
        let shown = String::from_utf8_lossy(&done.stdout);
        assert!(
            shown.contains(says) && done.status.code() == Some(1),
            "{line}: {shown}"
        );
    }
}

#[test]
fn cpusets_that_a_job_cannot_have() {
    holds(
        "24.11",
        &[
            (
                "sbatch -N2 -n2 --exclusive --cpuset=MAX_RADIUS=1 --wrap=./a",
                "cpuset-never-fits",
                "sbatch -N2 -n2 --exclusive --cpuset=MAX_RADIUS=1 --wrap=./a",
            ),
            (
                "sbatch -n2 -N1 --cpuset=CPU_LIST=1,3 --wrap=./a",
                "cpuset-little-choice?",
                "sbatch -n2 -N1 --cpuset=CPU_LIST=1,3 --wrap=./a",
            ),
            (
                "sbatch --cpuset=CPU_LST=1 --wrap=./a",
                "wrong-value",
                "sbatch --cpuset=CPU_LST=1 --wrap=./a",
            ),
        ],
    );
}
