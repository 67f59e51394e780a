//! `berth plan` takes whole lines: quoted, as words, and one on each line of a file. What does not
//! concern CPUs is left out in silence, and what is wrong is named as srun names it.

mod plan_common;

use plan_common::{berth, plan};

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
            "srun --foo -n2 ./app",
            2,
            "srun: unrecognized option '--foo'",
        ),
        ("srun -n ./app", 2, "invalid value './app' for '--ntasks"),
        ("srun --nod 2 ./app", 2, "option '--nod' is ambiguous"),
        ("srun -n2 --label=3 ./app", 2, "doesn't allow an argument"),
        ("srun -n $N ./app", 2, "only the shell of the job knows"),
        ("mpirun -n 4 ./app", 2, "has no srun"),
        (
            "srun a : -n2 b",
            1,
            "not modelled: a step of several components",
        ),
        ("srun -n2 --gres=gpu:1 ./app", 1, "not modelled: --gres"),
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
