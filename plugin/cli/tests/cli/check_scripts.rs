//! `berth check`: every misspelt option, directives that are none, steps beside each other, and launchers of
//! others.

use crate::check_common::{check, corrected, rules};
use serde_json::Value;

const SLURM: &str = "--slurm=24.11";

/// The line and the text of each finding of a rule.
fn found(rule: &str, input: &str) -> Vec<String> {
    let done = check(&["--format=json", SLURM, "-"], input.as_bytes());
    let document: Value = serde_json::from_slice(&done.stdout).unwrap();
    let all = document["findings"].as_array().unwrap().iter();
    let all = all.filter(|one| one["rule"] == rule);
    all.map(|one| format!("{} {}", one["line"], one["found"].as_str().unwrap()))
        .collect()
}

#[test]
fn every_misspelt_option_is_found() {
    let script = "#!/bin/bash\n#SBATCH --ntask=4\n#SBATCH --cpu-per-task 4\n#SBATCH --mme=3G\n#SBATCH -N1\n\
                  srun --cpubnd cores --container-image=x --cpu-per-task=2 --uenv y -l ./a\n";
    let texts = found("misspelt-option", script);
    let expected = [
        "2 sbatch: option '--ntask' is ambiguous",
        "3 sbatch: unrecognized option '--cpu-per-task'",
        "4 sbatch: unrecognized option '--mme'",
        "6 srun: unrecognized option '--cpubnd'",
        "6 srun: unrecognized option '--cpu-per-task'",
    ];
    assert_eq!(texts, expected);
    let instead = "#!/bin/bash\n#SBATCH --ntasks=4\n#SBATCH --cpus-per-task 4\n#SBATCH --mem=3G\n#SBATCH -N1\n\
                   srun --cpu-bind cores --container-image=x --cpus-per-task=2 --uenv y -l ./a\n";
    assert_eq!(corrected(&[SLURM], script), instead);
}

#[test]
fn an_indented_directive_is_none() {
    let script = "#!/bin/bash\n#SBATCH -n4\n \t#SBATCH -c4\nsrun ./a\n #SBATCH -c8\n";
    assert_eq!(
        found("indented-directive", script),
        ["3 a blank stands before #SBATCH"]
    );
    let instead = "#!/bin/bash\n#SBATCH -n4\n#SBATCH -c4\nsrun ./a\n #SBATCH -c8\n";
    assert_eq!(corrected(&[SLURM], script), instead);
    // In a here-document the blanks have their places around it, and `<<-` takes tabs away itself.
    let script = "sbatch -N2 <<-E\n\t#!/bin/bash\n\t #SBATCH -n4\n\t#SBATCH -c2\n\tsrun ./a\n\tE\n";
    let instead = "sbatch -N2 <<-E\n\t#!/bin/bash\n\t#SBATCH -n4\n\t#SBATCH -c2\n\tsrun ./a\n\tE\n";
    assert_eq!(corrected(&[SLURM], script), instead);
}

#[test]
fn a_program_s_own_name_counts_more_than_modules() {
    let script = |launcher: &str| {
        format!("#!/bin/bash\n#SBATCH -n4 -c4\nmodule load openmpi\n{launcher} -n 4 ./a\n")
    };
    assert_eq!(rules(&[SLURM, "-"], &script("mpiexec.hydra")).0, [""; 0]);
    assert_eq!(
        rules(&[SLURM, "-"], &script("mpirun")).0,
        ["mpirun-one-core"]
    );
}

#[test]
fn no_correction_makes_steps_wait() {
    let script = |threads: &str, loops: &str| {
        format!(
            "#!/bin/bash\n#SBATCH -n1 -c32\nexport OMP_NUM_THREADS={threads} OMP_PLACES=cores OMP_PROC_BIND=close\n\
             {loops}\nwait\n"
        )
    };
    let looped = "for i in 1 2 3 4; do srun -n1 -c8 --exact ./x $i & done";
    let four = ["srun -n1 -c8 --exact ./x &"; 4].join("\n");
    for steps in [looped, &four] {
        let (wrong, right) = (script("32", steps), script("8", steps));
        assert_eq!(corrected(&[SLURM], &wrong), right);
    }
    // One step alone gets what its threads need.
    let alone = "#!/bin/bash\n#SBATCH -n1 -c4\nexport OMP_NUM_THREADS=8\nsrun -n1 -c4 ./x\n";
    let instead = "#!/bin/bash\n#SBATCH -n1 -c8\nexport OMP_NUM_THREADS=8\nsrun -n1 -c8 ./x\n";
    assert_eq!(corrected(&[SLURM], alone), instead);
}

#[test]
fn steps_that_each_take_all_memory() {
    let script = |memory: &str, own: &str| {
        format!(
            "#!/bin/bash\n#SBATCH -N1 -n4 -c8 {memory}\nfor i in 1 2 3 4; do\n  srun -n1 --exact {own}./x $i &\ndone\nwait\n"
        )
    };
    let wrong = script("--mem=64G", "");
    let texts = found("steps-wait", &wrong);
    assert_eq!(
        texts,
        ["4 the job has --mem=64G, and srun … & names no memory of its own"]
    );
    assert_eq!(corrected(&[SLURM], &wrong), script("--mem-per-cpu=2G", ""));
    for (memory, own) in [
        ("--mem=64G", "--mem=16G "),
        ("--mem=64G", "--overlap "),
        ("--mem-per-cpu=2G", ""),
        ("", ""),
    ] {
        let text = script(memory, own);
        assert_eq!(found("steps-wait", &text), [""; 0], "{text}");
    }
}

#[test]
fn torchrun_is_started_once_for_each_node() {
    let wrong = "srun -N2 -n8 -c4 torchrun --nproc_per_node=4 train.py\n";
    assert_eq!(rules(&[SLURM, "-"], wrong).0, ["nested-launcher"]);
    let right = "srun -N2 -n2 -c16 --ntasks-per-node=1 torchrun --nproc_per_node=4 train.py\n";
    assert_eq!(corrected(&[SLURM], wrong), right);
    for line in [
        right,
        "srun -n4 torchrun --nproc-per-node 1 x.py\n",
        "srun -n4 python -m other --nproc-per-node 4 x.py\n",
    ] {
        assert_eq!(rules(&[SLURM, "-"], line).0, [""; 0], "{line}");
    }
    let module = "srun -n4 python3 -m torch.distributed.run --nproc-per-node 4 x.py\n";
    assert_eq!(rules(&[SLURM, "-"], module).0, ["nested-launcher"]);
}

#[test]
fn jsrun_is_a_word_of_lsf() {
    assert_eq!(rules(&["-"], "jsrun -n4 -a1 -c7 ./a\n").0, ["lsf"]);
}
