//! `berth plan job.sh`: each step of a batch script is planned, as its own line would be.

use std::fs;

use crate::plan_common::{Done, berth};
use serde_json::Value;

const SCRIPT: &str = "#!/bin/bash\n#SBATCH -N1 -n4 -c2\n\nsrun ./prepare\nTASKS=3\n\
    srun -n $TASKS \\\n    --cpu-bind=cores ./app > out\nfor i in 1 2; do\n  srun -n1 -c2 --exact ./part $i &\ndone\nwait\n\
    bash <<EOF\nsrun -n2 ./within\nEOF\n";
const PLACE: [&str; 4] = ["plan", "--slurm=24.11", "--machine", "pack:2 core:4 pu:2"];

/// A folder with the script and more lines in it.
fn folder(more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("job.sh"), format!("{SCRIPT}{more}")).unwrap();
    folder
}

fn plan(folder: &tempfile::TempDir, words: &[&str]) -> Done {
    let script = folder.path().join("job.sh");
    let words = words
        .iter()
        .map(|word| word.replace("job.sh", script.to_str().unwrap()));
    let words: Vec<_> = words.collect();
    let words = PLACE.into_iter().chain(words.iter().map(String::as_str));
    berth(&words.collect::<Vec<_>>(), "")
}

/// The line, the status and the tasks of each step.
fn steps(done: &Done) -> Vec<String> {
    let plan: Value = serde_json::from_str(&done.stdout).unwrap();
    let all = plan["job"]["steps"].as_array().unwrap().iter();
    let text = |step: &Value| match step["cpus"].as_array() {
        Some(cpus) => cpus
            .iter()
            .map(|cpus| cpus.as_str().unwrap_or("null"))
            .collect::<Vec<_>>()
            .join(" "),
        None => step["why"].as_str().unwrap().to_string(),
    };
    all.map(|step| {
        format!(
            "{} {} {}",
            step["line"],
            step["status"].as_str().unwrap(),
            text(step)
        )
    })
    .collect()
}

#[test]
fn each_step_is_planned() {
    let folder = folder("");
    let expected = [
        "4 planned 0-1 2-3 4-5 6-7",
        "6 planned 0-1 2-3 4-5",
        "9 planned 0-1",
        "13 planned 0-1 2-3",
    ];
    for words in [&["job.sh"][..], &["sbatch job.sh"], &["sbatch", "job.sh"]] {
        let done = plan(&folder, &[&["--format=json"], words].concat());
        assert_eq!(done.code, 0, "{words:?}: {}", done.stderr);
        assert_eq!(steps(&done), expected, "{words:?}");
    }
    // Each is what its own command says.
    let done = plan(&folder, &["--format=json", "job.sh"]);
    let found: Value = serde_json::from_str(&done.stdout).unwrap();
    let one = &found["job"]["steps"][3];
    let words = shlex::split(one["plan"].as_str().unwrap()).unwrap();
    let alone = berth(
        &words.iter().skip(1).map(String::as_str).collect::<Vec<_>>(),
        "",
    );
    let alone: Value = serde_json::from_str(&alone.stdout).unwrap();
    assert_eq!(alone["tasks"][1]["cpus"], one["cpus"][1]);
    let table = plan(&folder, &["job.sh"]).stdout;
    for part in [
        "\nrule        batch:",
        "\nline 6      srun -n $TASKS --cpu-bind=cores ./app\n",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
}

#[test]
fn what_is_refused_and_what_is_not_known() {
    let folder = folder("srun -n $N ./a\nsrun -n9 -c2 ./b\nsrun --ntaks=2 ./c\nmpirun ./d\n");
    let done = plan(&folder, &["--format=json", "job.sh"]);
    assert_eq!(done.code, 1);
    let found = steps(&done);
    for (step, part) in found[4..].iter().zip([
        "15 not-planned --ntasks has a value that only the job knows",
        "16 refused slurmctld refuses the step: ",
        "17 refused srun: unrecognized option '--ntaks'",
        "18 not-planned mpirun starts its tasks itself",
    ]) {
        assert!(step.starts_with(part), "{step}");
    }
    let table = plan(&folder, &["job.sh"]);
    assert_eq!(table.code, 1);
    assert!(
        table
            .stdout
            .contains("\nrefused     slurmctld refuses the step"),
        "{}",
        table.stdout
    );
    assert_eq!(
        table.stderr.matches("refused").count(),
        0,
        "{}",
        table.stderr
    );
    let script = folder.path().join("job.sh");
    let words = [&PLACE[..], &["--batch", "-"]].concat();
    let batch = berth(&words, script.to_str().unwrap());
    assert_eq!(batch.code, 1);
    assert!(
        batch.stdout.contains(" # line 16: refused: slurmctld"),
        "{}",
        batch.stdout
    );
}

/// Manuals build long lists of masks from parts.
#[test]
fn values_that_the_script_puts_together_are_known() {
    let folder = folder(
        "MASK=\"mask_cpu:3,30\"\nMASK=\"${MASK},c\"\nMASK+=,c0\nsrun --cpu-bind=quiet,$MASK ./a\n\
         for more in 3 c; do\n  MASK=\"$MASK,$more\"\ndone\nsrun --cpu-bind=$MASK ./b\n\
         LIST=map_cpu:0\nLIST+=,$HERE\nsrun --cpu-bind=$LIST ./c\n",
    );
    let done = plan(&folder, &["--format=json", "job.sh"]);
    assert_eq!(
        steps(&done)[4..],
        [
            "18 planned 0-1 4-5 2-3 6-7",
            "22 not-planned --cpu-bind has a value that only the job knows",
            "25 not-planned --cpu-bind has a value that only the job knows",
        ],
        "{}",
        done.stderr
    );
}

#[test]
fn a_value_of_one_branch_is_not_known_behind_it() {
    let folder = folder(
        "N=1\nif test -d /scratch; then\n N=2\n srun -c2 -n$N ./a\nelse\n N=3\n srun -c2 -n$N ./b\nfi\n\
         srun -c2 -n$N ./c\nN=4\nsrun -c2 -n$N ./d\ntest -d /scratch && N=1\nsrun -c2 -n$N ./e\n\
         N=2 && srun -c2 -n$N ./f\nsrun -c2 -n$N ./g\nif true; then N=1 srun -c2 -n4 ./h; fi\n\
         srun -c2 -n$N ./i\nN=3\ncase $1 in\na) N=1; srun -c2 -n$N ./j;;\nb) srun -c2 -n$N ./k;;\nesac\n",
    );
    let done = plan(&folder, &["--format=json", "job.sh"]);
    let unknown = "not-planned --ntasks has a value that only the job knows";
    let expected = [
        "18 planned 0-1 2-3",
        "21 planned 0-1 2-3 4-5",
        &format!("23 {unknown}"),
        "25 planned 0-1 2-3 4-5 6-7",
        &format!("27 {unknown}"),
        "28 planned 0-1 2-3",
        "29 planned 0-1 2-3",
        "30 planned 0-1 2-3 4-5 6-7",
        "31 planned 0-1 2-3",
        "34 planned 0-1",
        &format!("35 {unknown}"),
    ];
    assert_eq!(steps(&done)[4..], expected, "{}", done.stderr);
}

const UNKNOWN: &str = "not-planned --ntasks has a value that only the job knows";
const TWO: &str = "planned 0-1 2-3";

/// What runs several times, later or perhaps not at all.
const CASES: [(&str, &[&str]); 12] = [
    (
        "A=1\ntest -d /scratch &&\n  A=4\nsrun -c2 -n$A ./a",
        &[UNKNOWN],
    ),
    (
        "B=1\ntest -d /scratch || B=2 && srun -c2 -n$B ./b",
        &[UNKNOWN],
    ),
    ("C=2 && srun -c2 -n$C ./c", &[TWO]),
    (
        "D=1\nfor i in 1 2; do srun -c2 -n$D ./d; D=2; srun -c2 -n$D ./d; done",
        &[UNKNOWN, TWO],
    ),
    (
        "E=2\nfor E in 1 2; do srun -c2 -n$E ./e; done\nsrun -c2 -n$E ./e",
        &[UNKNOWN, UNKNOWN],
    ),
    ("F=2\nread -r F\nsrun -c2 -n$F ./f", &[UNKNOWN]),
    (
        "G=4\nrun() {\n  srun -c2 -n$G ./g\n}\nG=2\nrun\nsrun -c2 -n$G ./g",
        &[UNKNOWN, TWO],
    ),
    (
        "function set_h { H=2; }\nH=1\nset_h\nsrun -c2 -n$H ./h",
        &[UNKNOWN],
    ),
    ("I=$(nproc)\nI+=2\nsrun -c2 -n$I ./i", &[UNKNOWN]),
    (
        "if true; then SLURM_NTASKS=1; fi\nsrun -c2 -n$SLURM_NTASKS ./j",
        &[UNKNOWN],
    ),
    ("K=2\nwhile true; do srun -c2 -n$K ./k; break; done", &[TWO]),
    ("M=2\nrun() { srun -c2 -n$M ./m; }\nrun", &[TWO]),
];

#[test]
fn values_of_loops_functions_and_conditions() {
    let script: String = CASES
        .iter()
        .map(|(script, _)| format!("{script}\n"))
        .collect();
    let folder = folder(&script);
    let done = plan(&folder, &["--format=json", "job.sh"]);
    let all = steps(&done);
    let found: Vec<_> = all[4..]
        .iter()
        .filter_map(|step| step.split_once(' '))
        .collect();
    let found: Vec<_> = found.into_iter().map(|(_, answer)| answer).collect();
    let expected: Vec<_> = CASES
        .iter()
        .flat_map(|(_, steps)| *steps)
        .copied()
        .collect();
    assert_eq!(found, expected, "{}", done.stderr);
}

/// sbatch sets them from the options of the job.
#[test]
fn the_jobs_own_variables_are_known() {
    let folder = folder(
        "export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}\nEACH=$OMP_NUM_THREADS\nOPTIONS=\"-n 2 -c $EACH\"\n\
         srun $OPTIONS ./a\nsrun -n $SLURM_NTASKS -c ${SLURM_NTASKS_PER_NODE:-1} ./b\n\
         srun -n$SLURM_NPROCS -c $SLURM_NNODES ./c\nsrun -n $SLURM_JOB_ID ./d\n\
         RUN=\"srun -n2\"\n$RUN -c 2 ./e\n$LATER -n2 ./f\n\
         srun -n $((SLURM_NTASKS / 2)) -c 2 ./g\n",
    );
    let done = plan(&folder, &["--format=json", "job.sh"]);
    assert_eq!(
        steps(&done)[4..],
        [
            "18 planned 0-1 2-3",
            "19 planned 0 1 2 3",
            "20 planned 0 1 2 3",
            "21 not-planned --ntasks has a value that only the job knows",
            "23 planned 0-1 2-3",
            "25 planned 0-1 2-3",
        ],
        "{}",
        done.stderr
    );
}

/// Those of berth's own, each of which may also stand beside the script.
#[test]
fn steps_with_options_of_our_own() {
    let folder = folder("srun -n2 --map-by=hwthread ./a\nsrun -n2 --binding=linear:1 ./a\n");
    let done = plan(&folder, &["--format=json", "job.sh"]);
    assert_eq!(
        steps(&done)[4..],
        ["15 planned 0 1", "16 planned 0-1 2-3"],
        "{}",
        done.stderr
    );
    let beside = |option| steps(&plan(&folder, &["--format=json", option, "job.sh"]));
    assert_eq!(beside("--map-by=core")[4], "15 planned 0-1 2-3");
    let wider = &beside("--bind-to=package")[4];
    let why = "15 refused --map-by=hwthread --bind-to=package: tasks cannot be bound wider";
    assert!(wider.starts_with(why), "{wider}");
}

/// srun finds the job's limits of tasks in what slurmctld says of the job, and sends them to slurmd for its steps.
#[test]
fn a_step_keeps_the_limits_of_its_job() {
    let step = "srun -n4 --cpu-bind=cores -m block:block ./a";
    for (limit, cpus) in [
        ("", "0-1 2-3 4-5 6-7"),
        ("--ntasks-per-socket=2", "0-1 2-3 8-9 10-11"),
    ] {
        assert_eq!(
            wrapped(limit, step),
            [format!("1 planned {cpus}")],
            "{limit}"
        );
    }
}

/// sbatch tells the steps of its job how many threads of a core it has, whichever option has set it.
#[test]
fn a_step_keeps_the_threads_of_its_job() {
    for limit in ["--threads-per-core=1", "-B *:*:1", "--hint=memory_bound"] {
        assert_eq!(wrapped(limit, "srun -n2 ./a"), ["1 planned 0 8"], "{limit}");
    }
}

/// sbatch drops a hint beside an option that says the same in numbers, and its steps never hear of it.
#[test]
fn a_hint_that_the_job_drops_is_not_passed_on() {
    let step = "srun -n2 --exact ./a";
    for other in ["--ntasks-per-core=1", "--threads-per-core=2"] {
        let with = wrapped(&format!("{other} --hint=compute_bound"), step);
        assert_eq!(with, wrapped(other, step), "{other}");
        assert_ne!(with, wrapped("--hint=compute_bound", step));
    }
}

/// The step of a job that has its node alone.
fn wrapped(options: &str, step: &str) -> Vec<String> {
    let job = format!("sbatch -n2 -N1 --exclusive {options} --wrap='{step}'");
    let words = [&PLACE[..], &["--slurm=22.05", "--format=json", &job]].concat();
    steps(&berth(&words, ""))
}

/// Each format shows the steps, or says how to see one.
#[test]
fn every_format_has_the_steps() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#!/bin/sh\n#SBATCH -N1 -n4 -c2\nsrun -n2 --cpu-bind=cores ./a\nsrun -n9 -c2 ./b\n";
    fs::write(folder.path().join("job.sh"), text).unwrap();
    let shown = |format| plan(&folder, &["--format", format, "job.sh"]);
    let refused = "# line 4: srun -n9 -c2 ./b: refused: slurmctld refuses the step";
    for (format, step) in [
        (
            "masks",
            "# line 3: srun -n2 --cpu-bind=cores ./a\n0x0003,0x000C\n",
        ),
        (
            "cpus",
            "# line 3: srun -n2 --cpu-bind=cores ./a\n0-1\n2-3\n",
        ),
    ] {
        let done = shown(format).stdout;
        assert!(done.starts_with("# the batch script\n0"), "{done}");
        assert!(done.contains(step) && done.contains(refused), "{done}");
    }
    for (format, row) in [("tree", "0[0 0]  1[1 1]"), ("brackets", "task 1 [../BB/")] {
        let done = shown(format).stdout;
        let (_, step) = done.split_once("\nline 3      srun -n2").unwrap();
        assert!(
            step.contains(row) && step.contains("\nrefused     slurm"),
            "{done}"
        );
    }
    for format in ["svg", "rankfile"] {
        let done = shown(format);
        let says = "shows the batch script alone; for a step give its line: berth plan --job 'sbatch job.sh' 'srun …'";
        assert!(done.stderr.contains(says), "{}", done.stderr);
    }
}

/// Options beside the script hold for its steps, and --exclusive for its job.
#[test]
fn options_beside_a_script() {
    let folder = folder("");
    let done = plan(&folder, &["--format=json", "--cpu-bind=sockets", "job.sh"]);
    assert_eq!(steps(&done)[2], "9 planned 0-1");
    assert_eq!(steps(&done)[3], "13 planned 0-3 0-3", "{}", done.stderr);
    let done = plan(&folder, &["--format=json", "--exclusive", "job.sh"]);
    let found: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(found["job"]["nodes"][0]["cores"], "0-7");
}
