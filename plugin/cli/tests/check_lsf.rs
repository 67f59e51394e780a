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
                "bsub -J \"my job\" -x -W 90 -n 2 < job.lsf",
                "lsf",
                "sbatch -n2 --job-name='my job' --exclusive --time=90 < job.lsf",
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
fn scripts_of_lsf() {
    holds(
        "24.11",
        &[
            (
                "#!/bin/sh\n#BSUB -J a\n#BSUB -n 8\n#BSUB -q low\n#BSUB -R \"span[ptile=4]\"\n\
                 #BSUB -extsched \"CPUSET[CPU_LIST=1, 5, 7-12;]\"\n\nsrun ./a\n",
                "lsf",
                "#!/bin/sh\n#SBATCH -n8 -N2 --ntasks-per-node=4 --exclusive \
                 --cpuset='CPUSET[CPU_LIST=1, 5, 7-12;]' --job-name=a\n#SBATCH --partition=low\n\nsrun ./a\n",
            ),
            // LSF needs no shell in the first line, and reads the last of an option that stands twice.
            (
                "#BSUB -n 2\n#BSUB -n 4 -x\nsrun ./a\n",
                "lsf",
                "#!/bin/sh\n#SBATCH -n4\n#SBATCH --exclusive\nsrun ./a\n",
            ),
            // What has no counterpart stays, and sbatch does not read it.
            (
                "#!/bin/sh\n#BSUB -n 2 -M 4096 -W 1:30\n#BSUB -w 'done(1)'\n#BSUB -R \"span[hosts=1] rusage[mem=9]\"\nsrun ./a\n",
                "lsf",
                "#!/bin/sh\n#SBATCH -n2 -N1 --time=1:30:00\n#BSUB -M 4096\n#BSUB -w 'done(1)'\n\
                 #BSUB -R 'span[hosts=1] rusage[mem=9]'\nsrun ./a\n",
            ),
            (
                "#!/bin/sh\n#BSUB -M 4096\nsrun ./a\n",
                "lsf",
                "#!/bin/sh\n#BSUB -M 4096\nsrun ./a\n",
            ),
            // Not corrected: what only a shell knows, a cpuset that cannot be read, a line that sbatch would
            // not read.
            (
                "#!/bin/sh\n#BSUB -n $N\n./a\n",
                "lsf",
                "#!/bin/sh\n#BSUB -n $N\n./a\n",
            ),
            (
                "#!/bin/sh\n#BSUB -ext CPUSET[CPU_LST=1]\n./a\n",
                "lsf",
                "#!/bin/sh\n#BSUB -ext CPUSET[CPU_LST=1]\n./a\n",
            ),
            (
                "#!/bin/sh\n#BSUB -n 2\n./a\n#BSUB -q low\n",
                "lsf",
                "#!/bin/sh\n#BSUB -n 2\n./a\n#BSUB -q low\n",
            ),
        ],
    );
    // A script of Slurm's own may keep LSF's lines for another site, and a document is no script.
    for text in [
        "#!/bin/sh\n#BSUB -n 8\n#SBATCH -n8\nsrun ./a\n",
        "#!/bin/sh\nsrun ./a\ncat <<E\n#BSUB -n 8\nE\n",
    ] {
        let shown = String::from_utf8(check(&["-"], text.as_bytes()).stdout).unwrap();
        assert!(!shown.contains("[lsf]"), "{text}: {shown}");
    }
}

/// Whatever stands there ends soon, without a panic, and without a correction of what was not understood.
#[test]
fn hostile_scripts_of_lsf() {
    let many = "#BSUB -n 8 -q a\n".repeat(20_000);
    let long = format!("#BSUB -J {}\n./a\n", "x".repeat(900_000));
    let texts = [
        many.as_str(),
        &long,
        "#BSUB \n./a\n",
        "#BSUB -n\n./a",
        "#BSUB -n 99999999999999999999 -R \"span[ptile=0]\"\n./a\n",
        "#BSUB -R \"span[ptile=4294967295\"\n#BSUB -ext \"CPUSET[CPU_LIST=0-4294967295]\"\n./a\n",
        "#BSUB -J 'unclosed\n./a\n",
        "#BSUB -J $(reboot) `reboot`\n./a\n",
        "#BSUB -J \u{1b}[2J\u{7}\n./a\n",
        "#BSUB -J \"a'b\" -ext \"CPUSET[NCPUS=1]'; reboot #\"\n./a\n",
    ];
    for text in texts {
        let done = check(&["-"], text.as_bytes());
        let code = done.status.code();
        let shown = String::from_utf8_lossy(&done.stdout);
        let short: String = text.chars().take(60).collect();
        assert!(matches!(code, Some(0..=2)), "{short:?}: {code:?}");
        assert!(!shown.contains('\u{1b}'), "{short:?}: {shown}");
        assert!(
            shown.len() < 4 * text.len() + 4096,
            "{short:?}: {}",
            shown.len()
        );
    }
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
            "bsub -J \"many[1-100]\" a",
            "without a counterpart: -J many[1-100]",
        ),
        ("bsub -W 30/hostA a", "without a counterpart: -W 30/hostA"),
        (
            "bsub -m \"hostA hostB\" a",
            "without a counterpart: -m hostA hostB",
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
