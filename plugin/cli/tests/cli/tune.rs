//! `berth tune` with a stand-in for srun: what it runs, how it ends, and what it says then. On real clusters
//! `tests/tests/requests/tune.txt` does the same.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::run::Done;
use crate::tune_stage::Stage;

/// Two CPUs, so lines are planned and those that are alike are known.
const PLACE: &str = "'--machine=pack:1 core:2 pu:1' --cores=all";

/// A program that prints its score: 30 with cores, else 10.
const SCORE: &str = "case $OPTIONS in *=cores*) echo score 30;; *) echo score 10;; esac";

#[test]
fn the_fastest_line_comes_first_with_its_batch_script() {
    let stage = Stage::new(SCORE);
    let done = stage.tune(
        "--folder=f --metric='score ([0-9]+)' --higher --only=--cpu-bind=cores '--only=-m block:block' \
         'A=1 srun -n 2 -t 10 --cpu-bind=none ./app'",
    );
    done.shows(
        0,
        &[
            "fastest A=1 srun -n 2 -t 10 --cpu-bind=cores ./app",
            "3.00 times as fast as today's line (3.00 to 3.00, from 3 rounds)",
            "#SBATCH -n 2 #SBATCH -t 10 A=1 srun -n 2 -t 10 --cpu-bind=cores ./app",
            "result.svg are in f.",
        ],
    );
    assert_eq!(stage.runs().len(), 9, "{done:#?}");
    let result = stage.result();
    assert_eq!(
        (&result["format"], &result["best"], &result["clear"]),
        (&"berth-tune".into(), &1.into(), &true.into())
    );
    let picture = fs::read_to_string(stage.path().join("f/result.svg")).unwrap();
    assert_eq!(picture.matches("<rect").count(), 4, "{picture}");
}

#[test]
fn only_rounds_in_which_both_lines_have_a_value_are_compared() {
    let stage = Stage::new(
        "case $OPTIONS in *=cores*) echo score 30;; \
         *) echo run >> runs; [ $(grep -c . runs) -eq 2 ] || echo score 10;; esac",
    );
    let says = "3.00 times as fast as today's line (3.00 to 3.00, from 5 rounds)";
    stage
        .tune(
            "--folder=f --metric='score ([0-9]+)' --higher --only=--cpu-bind=cores \
             'srun -n 2 --cpu-bind=none ./app'",
        )
        .shows(0, &[says]);
    assert_eq!(stage.runs().len(), 12);
}

#[test]
fn a_variable_that_is_no_utf8_reaches_the_program() {
    let stage = Stage::new("echo score ${#MINE}");
    let line = "--folder=f --metric='score ([0-9]+)' --only= 'srun -n 1 ./app'";
    let mut tune = stage.command(line);
    tune.env("MINE", OsStr::from_bytes(b"\xff\xfe"));
    let done = Done::of(tune.output().unwrap());
    done.shows(0, &["result.svg are in f."]);
    assert_eq!(stage.result()["lines"][0]["median"], 2.0, "{done:#?}");
}

#[test]
fn lines_that_are_planned_alike_run_once() {
    let stage = Stage::new("echo score 1");
    let tune = |line: &str| stage.tune(&format!("{PLACE} {line}"));
    let done =
        tune("--folder=f --only=--cpu-bind=cores --only=--cpu-bind=threads 'srun -n 2 ./app'");
    done.shows(
        0,
        &[
            "all lines that run are planned alike, so there is nothing to compare",
            "today planned alike, and run once: --cpu-bind=cores; --cpu-bind=threads",
            "0 of 2 answered: no output",
        ],
    );
    assert_eq!(stage.runs().len(), 1);
    // Without a plan nothing is alike, and with threads the places differ.
    for (line, says) in [
        (
            "--only=--cpu-bind=cores 'srun -n 1 -c 2 ./app'",
            "2 different lines",
        ),
        (
            "--only=--cpu-bind=cores 'srun -n 1 -c 2 ./app'",
            "OMP_PLACES=cores --cpu-bind=cores",
        ),
        (
            "--only=--cpu-bind=cores 'OMP_NUM_THREADS=2 srun -n 1 -c 2 ./app'",
            "1 different line;",
        ),
        ("--only=--mpi=pmix 'srun -n 2 ./app'", "2 different lines"),
    ] {
        tune(&format!("--dry-run {line}")).shows(0, &[says]);
    }
}

#[test]
fn what_cannot_be_tuned_says_what_to_do() {
    let stage = Stage::new(SCORE);
    for (line, code, part) in [
        ("'srun ./app > x'", 2, "needs a shell"),
        ("./app", 2, "does not begin with srun"),
        ("'srun -n 2'", 2, "starts no program"),
        ("'srun --ntask=1 ./app'", 2, "ntask"),
        ("'--metric=(' 'srun ./app'", 2, "no regular expression"),
        ("--only=./b 'srun ./app'", 2, "a word that is no option"),
        ("--higher 'srun ./app'", 2, "--metric"),
        ("--resume=none", 2, "none/runs.jsonl cannot be opened"),
        ("--folder=. 'srun ./app'", 1, "name a new one with --folder"),
        ("--repeat=0 'srun ./app'", 2, "1..=1000"),
        ("-- sbatch -n2", 2, "there is no line of srun"),
        ("", 2, "<LINE>"),
    ] {
        let done = stage.tune(line);
        done.shows(code, &[part]);
        assert_eq!(done.stdout, "", "{line}");
    }
    let refused = "--only=--cpu-bind=map_cpu:9 'srun -n 2 --cpu-bind=map_cpu:8 ./app'";
    let done = stage.tune(&format!("{PLACE} {refused}"));
    done.shows(1, &["berth: refused:"]);
    let mut outside = stage.command("'srun ./app'");
    let done = Done::of(outside.env_remove("SLURM_JOB_ID").output().unwrap());
    done.shows(
        1,
        &[
            "runs the lines inside a job, and this is none",
            "salloc",
            "--dry-run",
        ],
    );
    let says = ["/nonexistent/srun cannot be started", "no line has a value"];
    stage
        .tune("--only=--exact '/nonexistent/srun ./app'")
        .shows(1, &says);
}

#[test]
fn a_line_that_fails_is_a_row_with_its_reason() {
    // Today's line fails every third time, another one always, and the third hangs.
    let stage = Stage::new(
        "case $OPTIONS in
            *=cores*) printf 'no \\033[31mlicence\\n' >&2; exit 3;;
            *=threads*) sleep 60;;
        esac
        echo x >> count; [ $(($(wc -l < count) % 3)) != 0 ] && echo rate $(wc -l < count)",
    );
    let done = stage.tune(
        "--folder=f --metric='rate ([0-9]+)' --warmup=0 --repeat=6 --timeout=0.3 \
         --only=--cpu-bind=cores --only=--cpu-bind=threads 'srun --cpu-bind=none ./app'",
    );
    done.shows(
        0,
        &[
            "only one line has values",
            "today 1 of 3 runs failed: exit code 1: no output",
            "1 3 of 3 runs failed: exit code 3: no \u{fffd}[31mlicence",
            "not run any further: it has failed 3 times, and never had a value",
            "2 not run any further: it did not end within 0.3 s (--timeout)",
        ],
    );
    let lines = &stage.result()["lines"];
    assert_eq!(lines[0]["values"].as_object().unwrap().len(), 2, "{lines}");
}

#[test]
fn a_metric_that_is_missing_is_named() {
    let stage = Stage::new("echo speed 3");
    let done = stage.tune("--folder=f --metric='score ([0-9]+)' --only=--exact 'srun ./app'");
    let says = "nothing that --metric 'score ([0-9]+)' finds";
    done.shows(1, &["no line has a value", says]);
}

#[test]
fn nothing_is_lost_when_it_is_ended() {
    let line = "--folder=f --warmup=0 --repeat=4 --only=--exact 'srun ./app'";
    for signal in ["-INT", "-TERM", "-KILL"] {
        let stage = Stage::new("echo start >> starts; sleep 0.2");
        let child = stage.started(line, 3);
        let pid = child.id().to_string();
        Command::new("kill").args([signal, &pid]).status().unwrap();
        let done = Done::of(child.wait_with_output().unwrap());
        let before = stage.runs().len();
        if signal != "-KILL" {
            done.shows(
                0,
                &[
                    "fewer than three rounds",
                    "it was interrupted; berth tune --resume f goes on",
                ],
            );
        }
        assert!((3..8).contains(&before), "{before} {done:#?}");
        // A line that was cut off by a full disk is passed over.
        let file = stage.path().join("f/runs.jsonl");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text + "{\"round\":2,\"li").unwrap();
        let again = stage.tune("--resume=f --repeat=4");
        again.shows(0, &["round"]);
        let runs = stage.runs();
        let whole: Vec<_> = runs.iter().filter(|line| line.ends_with('}')).collect();
        assert!((6..=8).contains(&whole.len()), "{again:#?} {runs:#?}");
        // Each run that ended before was made once.
        let starts = fs::read_to_string(stage.path().join("starts"))
            .unwrap()
            .lines()
            .count();
        assert!(starts <= 9, "{starts}");
    }
}

#[test]
fn the_time_ends_it() {
    let stage = Stage::new("sleep 0.4");
    let line = "--folder=f --warmup=0 --only=--exact 'srun ./app'";
    let done = stage.tune(&format!("--limit=0.02 {line}"));
    done.shows(
        0,
        &[
            "not all rounds were run: the time is over",
            "fewer than three rounds",
        ],
    );
    // A job that ends in 61 seconds leaves one.
    stage.script("squeue", "#!/bin/sh\necho 1:01\n");
    fs::remove_dir_all(stage.path().join("f")).unwrap();
    let begin = Instant::now();
    stage.tune(line).shows(0, &["the time is over"]);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}

/// What fails after the job's end is no failure of a line.
#[test]
fn the_end_of_the_job_ends_it() {
    let stage = Stage::new(
        "echo x >> count; [ $(wc -l < count) -lt 6 ] && exit 0
        echo srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 7; exit 1",
    );
    let done = stage.tune("--folder=f --warmup=0 --only=--exact 'srun ./app'");
    done.shows(
        0,
        &[
            "not all rounds were run: the job has ended",
            "--resume f goes on",
        ],
    );
    assert!(!done.stdout.contains("failed"), "{done:#?}");
    assert_eq!(stage.runs().len(), 5);
}

#[test]
fn a_full_disk_ends_it_with_the_table() {
    let stage = Stage::new("head -c 300000 /dev/zero; echo; echo rate 3");
    let line = "--metric='rate ([0-9])' --warmup=0 --folder=small/f --only=--exact 'srun ./app'";
    let script = format!(
        "mkdir small && mount -t tmpfs -o size=1m none small && {} tune {line}; echo code $?",
        env!("CARGO_BIN_EXE_berth")
    );
    let mut unshare = Command::new("unshare");
    unshare.args(["-rm", "sh", "-c", &script]);
    stage.around(&mut unshare);
    let done = Done::of(unshare.output().unwrap());
    if done.stdout.is_empty() && done.stderr.contains("unshare") {
        eprintln!("not run: there are no user namespaces here");
        return;
    }
    let all = format!("{}{}", done.stdout, done.stderr);
    assert!(all.contains("result"), "{done:#?}");
    assert!(all.contains("No space left on device"), "{done:#?}");
}

#[test]
fn its_own_job_has_the_same_command() {
    let stage = Stage::new(SCORE);
    stage.script(
        "sbatch",
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > submitted; echo Submitted batch job 9\n",
    );
    let own = "--only=--cpu-bind=cores --repeat 6";
    let line = format!("{own} -- sbatch -N1 -t 5 -- \"srun -n 2 ./app 'a b'\"");
    let says = ["Submitted batch job 9", "the folder berth-tune-JOB"];
    stage.tune(&line).shows(0, &says);
    let text = fs::read_to_string(stage.path().join("submitted")).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[..3], ["-N1", "-t", "5"], "{text}");
    let command = lines[3].strip_prefix("--wrap=exec ").unwrap();
    let words = shlex::split(command).unwrap();
    assert_eq!(
        words[1..6],
        ["tune", "--only=--cpu-bind=cores", "--repeat", "6", "--"],
        "{command}"
    );
    assert_eq!(words[6..], ["srun -n 2 ./app 'a b'"], "{command}");
    stage.script("sbatch", "#!/bin/sh\necho no >&2; exit 1\n");
    stage.tune("-- sbatch -- srun ./app").shows(1, &["no"]);
    // Without a run the job's line decides what the step gets.
    let dry = "--dry-run '--machine=pack:1 core:2 pu:1' -- sbatch";
    for (job, code, says) in [("-n1", 1, "refused"), ("-n2", 0, "most likely srun -n 2")] {
        let done = stage.tune(&format!("{dry} {job} -- 'srun -n 2 ./app'"));
        done.shows(code, &[says]);
    }
}
