//! `berth plan` takes whole lines: quoted, as words, and one on each line of a file. What does not
//! concern CPUs is left out in silence, and what is wrong is named as srun names it.

use crate::plan_common::{berth, plan};

#[test]
fn one_answer_a_line() {
    let requests = "\
-n 2 --cpu-bind=cores
# a comment, and a blank line

srun -n4 -c 9 --cpu-bind=cores
-n 2 --cpu_bind 'map_cpu:0,99'
-n 2 --binding=linear:9
-n 2 --format cpus -c 2 --cpu-bind=cores
-n 2 --machine 'pack:1 core:2 pu:1'
--what
-n 2 --cpu-bind=none
'open
";
    let done = berth(
        &[
            "plan",
            "--machine",
            "pack:2 core:4 pu:2",
            "--cores=all",
            "--batch",
            "-",
        ],
        requests,
    );
    let answers: Vec<_> = done.stdout.lines().collect();
    // Some lines have no plan.
    assert_eq!(done.code, 1);
    assert_eq!(answers.len(), 9, "{answers:#?}");
    assert_eq!(answers[0], "0x0003,0x0300");
    assert!(
        answers[1].starts_with("0x000F,0x0F00,0x00F0,0xF000 # 4 tasks request 9 CPUs each"),
        "{}",
        answers[1]
    );
    assert!(
        answers[2].starts_with("error: --cpu-bind=map_cpu:0,99 names CPU 99"),
        "{}",
        answers[2]
    );
    assert!(
        answers[3].starts_with("0xFFFF # --binding=linear:9 asks for 2 tasks × 9 cores"),
        "{}",
        answers[3]
    );
    assert_eq!(answers[4], "0-1 8-9");
    assert_eq!(answers[5], "0x1,0x2");
    assert_eq!(answers[6], "error: unexpected argument '--what' found");
    assert_eq!(answers[7], "none");
    assert_eq!(
        answers[8],
        "error: a quote is not closed on this line; close it"
    );
}

/// srun sends each repeat by itself, and masks without `0x`.
#[test]
fn a_list_is_shown_as_srun_sends_it() {
    let requests = "-n3 --cpu-bind=mask_cpu:0x1*2,0x2\n-n3 --cpu-bind=map_cpu:4,1*2\n";
    let machine = "--machine=pack:2 core:4 pu:2";
    let done = berth(&["plan", machine, "--cores=all", "--batch", "-"], requests);
    let masks: Vec<_> = done
        .stdout
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(masks, ["1,1,2", "map_cpu:4,1,1"]);
    let one =
        "plan|--machine=pack:1 core:2 pu:1|--cores=all|-n2|--cpu-bind=map_cpu:1,0|--format=masks";
    let one: Vec<_> = one.split('|').collect();
    assert_eq!(berth(&one, "").stdout, "map_cpu:1,0\n");
}

/// Programs read every line in one way.
#[test]
fn a_request_without_a_plan_is_a_document_too() {
    let requests = "-n 2 --cpu-bind=cores\n-n 2 --cpu-bind=map_cpu:0,99\n--what\n-n 2 --format cpus --what\n'open\n\
                    -n 2 --cpu-bind=map_cpu:99 --format masks\n";
    let machine = "--machine=pack:2 core:4 pu:2";
    let words = [
        "plan",
        machine,
        "--cores=all",
        "--format=json",
        "--batch",
        "-",
    ];
    let done = berth(&words, requests);
    let mut lines = done.stdout.lines();
    let mut next = || lines.next().unwrap_or_default();
    assert!(next().starts_with(r#"{"format":"berth-plan","version":1,"machine":"#));
    for says in [
        "--cpu-bind=map_cpu:0,99 names CPU 99",
        "unexpected argument '--what' found",
        "unexpected argument '--what' found",
        "a quote is not closed on this line; close it",
    ] {
        let begin = format!(r#"{{"format":"berth-plan","version":1,"error":"{says}"#);
        let line = next();
        assert!(line.starts_with(&begin) && line.ends_with("\"}"), "{line}");
    }
    let line = next();
    assert!(line.starts_with("error: --cpu-bind=map_cpu:99"), "{line}");
    assert_eq!(done.code, 1);
}

/// What srun takes and no plan depends on.
#[test]
fn options_that_change_no_plan() {
    let plain = plan("--machine pu:2 -n2 --cpu-bind=cores --format masks");
    for more in [
        "--exclusive",
        "--exclusive=user",
        "--overlap",
        "--cores=all",
        "--label",
        "-t1:00",
        "--export=NONE",
        "--kill-on-bad-exit=0",
        "-K0",
        "-lu",
    ] {
        let done = plan(&format!(
            "--machine pu:2 -n2 --cpu-bind=cores --format masks {more}"
        ));
        assert_eq!(
            (done.code, &done.stdout),
            (0, &plain.stdout),
            "{more}: {}",
            done.stderr
        );
    }
}

#[test]
fn a_whole_line_is_read_as_srun_reads_it() {
    let plain = plan("--machine pu:8 -n2 -c2 --cpu-bind=cores --format masks");
    assert_eq!(plain.code, 0, "{}", plain.stderr);
    for line in [
        "srun -p long -t 1:00:00 --mem=4G -n2 -c2 --cpu-bind=cores ./app > out",
        "cd $HOME && time srun -n2 -c2 --cpu_bind=cores ./app -n 99 2>&1 | tee log",
        "OMP_NUM_THREADS=2 SLURM_CPU_BIND=cores srun -n2 -c2 -A acct -J name ./app",
        "/usr/bin/srun --ntasks=2 --cpus-per-ta 2 --cpu-bind cores -u -l ./app &",
    ] {
        let quoted = ["plan", "--machine", "pu:8", "--format", "masks", line];
        let done = berth(&quoted, "");
        assert_eq!(
            (done.code, &done.stdout),
            (0, &plain.stdout),
            "{line}: {}",
            done.stderr
        );
        let batch = berth(
            &["plan", "--machine=pu:8", "--batch=-"],
            &format!("{line}\n"),
        );
        assert_eq!((batch.code, &batch.stdout), (0, &plain.stdout), "{line}");
    }
    let words = "--machine pu:8 --format masks srun -n2 -c2 --cpu-bind=cores ./app --format x";
    assert_eq!(plan(words).stdout, plain.stdout);
}

#[test]
fn wrong_lines_have_srun_s_words_and_exit_codes() {
    for (line, code, says) in [
        (
            "srun --lable -n2 ./app",
            2,
            "srun: unrecognized option '--lable'; the nearest is --label",
        ),
        ("srun -n ./app", 2, "invalid value './app' for '--ntasks"),
        ("srun --nod 2 ./app", 2, "option '--nod' is ambiguous"),
        ("srun -n2 --label=3 ./app", 2, "doesn't allow an argument"),
        ("srun -n $N ./app", 2, "only the shell of the job knows"),
        (
            "mpiexec -n 4 --rankfile f ./app",
            1,
            "not modelled: --rankfile of mpirun",
        ),
        ("./app -n 4", 2, "has no srun"),
        (
            "srun a : -n2 b",
            1,
            "not modelled: a step of several components",
        ),
        ("srun -n2 --relative=1 ./app", 1, "not modelled: --relative"),
        ("srun -n9 ./app", 1, "waits for a second node"),
    ] {
        let done = berth(&["plan", "--machine", "pu:8", line], "");
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (code, ""),
            "{line}: {}",
            done.stderr
        );
        assert!(done.stderr.contains(says), "{line}: {}", done.stderr);
    }
    let one = berth(
        &["plan", "--machine=pu:8", "--batch=-"],
        "-n2\nsrun -n9 ./app\n-n1\n",
    );
    assert_eq!((one.code, one.stdout.lines().count()), (1, 3));
}

/// A line from a centre's manual has options of plugins that the site loads.
#[test]
fn options_of_other_plugins_get_one_note() {
    let machine = "--machine=pack:2 core:64 pu:2";
    let planned = |line: &str| berth(&["plan", machine, "--format=cpus", line], "");
    let plain = planned("srun -n4 ./a");
    for (line, note) in [
        (
            "srun --container-image=x -n4 ./a",
            "note: --container-image (Pyxis) is not Slurm's own option but another plugin's, which this plan passes over",
        ),
        (
            "srun --uenv a/b:v1 --view=default -n4 ./a",
            "note: these options are not Slurm's own, and this plan passes over them: --uenv (uenv), --view (uenv)",
        ),
        (
            "srun --foo bar -n4 ./a",
            "note: --foo with the value \"bar\" is taken for another plugin's option, which this plan passes over",
        ),
        (
            "srun --mpibind=v -n4 ./a",
            "the plugin mpibind binds tasks itself; where a site has it, tasks may get other CPUs than here",
        ),
        (
            "salloc -n4 --image x srun --ccm ./a",
            "--ccm (Shifter), --image (Shifter)",
        ),
    ] {
        let done = planned(line);
        assert_eq!(done.code, 0, "{line}: {}", done.stderr);
        assert_eq!(done.stdout, plain.stdout, "{line}");
        assert!(done.stderr.contains(note), "{line}: {}", done.stderr);
    }
}

/// Also beside a line and in a file of requests; what is nearly an option of Slurm's is misspelt.
#[test]
fn options_of_other_plugins_may_stand_anywhere() {
    let machine = "--machine=pack:2 core:64 pu:2";
    let planned = |line: &str| berth(&["plan", machine, "--format=cpus", line], "");
    let plain = planned("srun -n4 ./a");
    let beside = berth(
        &[
            "plan",
            machine,
            "-n4",
            "--container-image",
            "x",
            "--format=cpus",
        ],
        "",
    );
    assert_eq!(beside.stdout, plain.stdout, "{}", beside.stderr);
    let wrong = planned("srun --ntask-per-nod=2 ./a");
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.stderr.contains("the nearest is --ntasks-per-node"),
        "{}",
        wrong.stderr
    );
    let batch = berth(
        &["plan", machine, "--batch", "-"],
        "srun --container-image=x -n2 ./a\n-n2 --container-image=x\n",
    );
    assert_eq!(
        batch.stdout.matches("--container-image (Pyxis)").count(),
        2,
        "{}",
        batch.stdout
    );
}

/// Open MPI's mpirun is planned by the rules of its mapping language, and srun's line is named.
#[test]
fn an_mpirun_is_planned_as_the_srun_that_does_the_same() {
    let plan = |line: &str| {
        let machine = "--machine=pack:2 core:4 pu:2";
        berth(&["plan", machine, "--cores=all", "--format=cpus", line], "")
    };
    for (mpirun, srun) in [
        (
            "mpirun -np 4 --map-by package --report-bindings ./app",
            "srun --ntasks=4 --map-by=package",
        ),
        ("mpiexec -n 2 ./app > out", "srun --ntasks=2 --map-by=slot"),
        (
            "cd x && OMP_NUM_THREADS=2 mpirun -n 3 --bind-to numa ./app",
            "srun --ntasks=3 --bind-to=numa",
        ),
    ] {
        let (one, other) = (plan(mpirun), plan(&format!("{srun} ./app")));
        assert_eq!((one.code, &one.stdout), (0, &other.stdout), "{mpirun}");
        let says = format!("this places its tasks so: {srun}\n");
        assert!(one.stderr.contains(&says), "{mpirun}: {}", one.stderr);
    }
}

/// A job's own special cores are honoured by a cluster that has them, and noted elsewhere.
#[test]
fn special_cores_are_not_dropped_in_silence() {
    for (more, line, says) in [
        (
            "--score",
            "srun -n2 -S 1 ./a",
            "without AllowSpecResourcesUsage",
        ),
        (
            "--score",
            "sbatch -n2 --thread-spec=1 --wrap=true",
            "without AllowSpecResourcesUsage",
        ),
        (
            "--cores=all",
            "srun -n2 --core-spec=1 ./a",
            "leaves none of the cores free",
        ),
    ] {
        let done = berth(&["plan", "--machine=core:4 pu:2", more, line], "");
        assert_eq!(done.code, 0, "{line}: {}", done.stderr);
        assert!(done.stderr.contains(says), "{line}: {}", done.stderr);
    }
    // What is ignored takes no CPU away.
    let line = "srun -n2 --thread-spec=1 --cpu-bind=threads ./a";
    let done = berth(&["plan", "--machine=pu:2", "--format=cpus", line], "");
    assert_eq!(done.stdout, "0\n1\n", "{}", done.stderr);
}
