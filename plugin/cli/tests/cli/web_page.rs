//! What the page's engine answers is what the command prints, without a browser: random lines on twenty machines. The
//! seed is printed, and `BERTH_SEED` repeats a run.

use crate::random::seed;
use crate::web_lines::{self, cases, machines};
use serde_json::{Value, json};

/// The number of lines that are tried.
const LINES: usize = 200;

fn ask(request: &Value) -> Value {
    serde_json::from_str(&berth_web::answer(&request.to_string())).unwrap()
}

#[test]
fn the_engine_of_the_page_answers_as_the_command() {
    let seed = seed();
    let machines = machines();
    for case in cases(env!("CARGO_BIN_EXE_berth"), seed, LINES) {
        let machine = &machines[case.machine];
        let mut words: Vec<_> = case.options.iter().map(String::as_str).collect();
        words.push("--format=json");
        let answer = ask(&json!({
            "face": "plan", "machine": machine.text, "name": machine.name, "line": case.line,
            "words": words,
        }));
        let about = format!(
            "{}, {words:?}, {}, BERTH_SEED={seed}",
            machine.name, case.line
        );
        assert_eq!(answer["code"], case.code, "{about}: {answer}");
        assert_eq!(answer["output"], case.output, "{about}");
        let first = answer["messages"][0]["text"].as_str().unwrap_or_default();
        let first = first.lines().next().unwrap_or_default();
        assert!(
            case.errors.contains(first),
            "{about}: {first}: {}",
            case.errors
        );
    }
}

/// The documents of the other subcommands, too.
#[test]
fn machines_and_checks_are_the_commands() {
    let command = |words: &[&str]| {
        let done = web_lines::command(env!("CARGO_BIN_EXE_berth"))
            .args(words)
            .output();
        String::from_utf8(done.unwrap().stdout).unwrap()
    };
    let known = ask(&json!({"face": "machines"}));
    assert_eq!(
        known["output"],
        command(&["topo", "--machine=list", "--format=json"])
    );
    for machine in machines() {
        let name = machine.name;
        let topo = ask(&json!({"face": "topo", "machine": machine.text, "name": name}));
        assert_eq!(topo["code"], 0, "{name}: {topo}");
        let line = "srun -n4 -c3 --cpu-bind=map_cpu:0,1,2,33 ./app";
        let check = json!({
            "face": "check", "machine": machine.text, "name": name, "line": line, "words": ["--slurm=24.11"],
        });
        let words = [
            "check",
            "--machine",
            name,
            "--slurm=24.11",
            "--format=json",
            line,
        ];
        assert_eq!(ask(&check)["output"], command(&words), "{name}");
    }
}

#[test]
fn nonsense_is_answered_with_a_reason() {
    for request in [
        json!("text"),
        json!({"face": "nothing"}),
        json!({"face": "plan"}),
        json!({"face": "plan", "machine": "lumi-g", "line": "'"}),
        json!({"face": "plan", "machine": "<x", "line": "srun -n1 ./app"}),
        json!({"face": "plan", "machine": "lumi-g", "line": "srun ./app", "words": ["--cluster=live"]}),
        json!({"face": "plan", "machine": "lumi-g", "line": "sbatch job.sh"}),
        json!({"face": "check", "machine": "lumi-g", "line": "ls"}),
    ] {
        let answer = ask(&request);
        assert_ne!(answer["code"], 0, "{request}: {answer}");
        let text = answer["messages"][0]["text"].as_str().unwrap();
        assert!(text.len() > 20, "{request}: {answer}");
    }
}

/// What check finds in a request, by the names of its rules, after the request's plan is there.
fn found_in(request: &mut Value) -> Vec<String> {
    request["face"] = json!("check");
    let answer = ask(request);
    let report: Value = serde_json::from_str(answer["output"].as_str().unwrap()).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let rules = findings.iter().map(|one| one["rule"].as_str().unwrap());
    rules.map(String::from).collect()
}

/// What check finds is of the same rules of the site as the plan.
#[test]
fn check_has_the_words_of_the_plan() {
    let line = "srun -n5 -c3 ./app";
    let ask =
        |words: &[&str]| found_in(&mut json!({"machine": "lumi-g", "line": line, "words": words}));
    let unbound = "nothing-bound".to_string();
    assert!(ask(&["--site=exclusive"]).contains(&unbound));
    for words in ["--autobind=cores", "--default-cpu-bind=cores"] {
        let found = ask(&["--site=exclusive", words]);
        assert!(!found.contains(&unbound), "{words}: {found:?}");
    }
    let script = "#!/bin/bash\n#SBATCH -N1 -n5 -c3 --exclusive\nsrun -c3 ./app\n";
    let of_script = |words: &[&str]| {
        found_in(
            &mut json!({"machine": "lumi-g", "line": "sbatch job.sh", "script": script, "words": words}),
        )
    };
    assert!(of_script(&["--job=sbatch job.sh"]).contains(&unbound));
    assert!(!of_script(&["--job=sbatch job.sh", "--autobind=cores"]).contains(&unbound));
}

/// The variables of a request are those before its line.
#[test]
fn variables_stand_before_the_line() {
    let base = json!({"face": "plan", "machine": "lumi-g", "words": ["--format=json"]});
    let ask = |line: &str, variables: Value| {
        let mut request = base.clone();
        request["line"] = json!(line);
        request["variables"] = variables;
        ask(&request)
    };
    let none = || json!({});
    for (variables, before) in [
        (
            json!({"SLURM_HINT": "nomultithread"}),
            "SLURM_HINT=nomultithread",
        ),
        (json!({"SLURM_CPU_BIND": "cores"}), "SLURM_CPU_BIND=cores"),
        (
            json!({"SLURM_DISTRIBUTION": "block:block", "OMP_NUM_THREADS": "a 'b' $c;"}),
            "OMP_NUM_THREADS='a '\\''b'\\'' $c;' SLURM_DISTRIBUTION=block:block",
        ),
        (
            json!({"BERTH_BINDING": "linear:1"}),
            "BERTH_BINDING=linear:1",
        ),
    ] {
        for line in ["srun -n4 -c3 ./app", "sbatch -n4 -c3 job.sh"] {
            let answer = ask(line, variables.clone());
            assert_eq!(
                answer,
                ask(&format!("{before} {line}"), none()),
                "{before} {line}"
            );
        }
        let alone = ask("-n4 -c3", variables);
        assert_eq!(
            alone,
            ask(&format!("{before} srun -n4 -c3"), none()),
            "{before}"
        );
    }
    // Options alone are a request, also without variables.
    assert_ne!(ask("-n4 -c3", none()), ask("-n1", none()));
    let hint = json!({"SLURM_HINT": "nomultithread"});
    let own = "SLURM_HINT=multithread srun -n4 -c3 ./app";
    assert_eq!(
        ask(own, hint.clone()),
        ask(own, none()),
        "those before the line win"
    );
    let line = "srun -n4 -c3 ./app";
    assert_ne!(ask(line, hint.clone()), ask(line, none()));
    assert_eq!(ask(line, json!({"no name": "x"}))["code"], 2);
}

/// Check finds what it finds with the variables before the line, and corrects the line itself.
#[test]
fn check_knows_the_variables() {
    let line = "srun -n4 ./app";
    let checked = |line: &str, variables: Value| {
        ask(
            &json!({"face": "check", "machine": "lumi-g", "line": line, "variables": variables, "words": ["--site=exclusive"]}),
        )
    };
    let answer = checked(line, json!({"SLURM_CPU_BIND": "corse"}));
    let before = checked(&format!("SLURM_CPU_BIND=corse {line}"), json!({}));
    let report = |answer: &Value| -> Value {
        serde_json::from_str(answer["output"].as_str().unwrap()).unwrap()
    };
    assert_eq!(report(&answer)["findings"], report(&before)["findings"]);
    assert_ne!(answer, checked(line, json!({})));
    assert!(
        !answer["output"]
            .as_str()
            .unwrap()
            .contains("SLURM_CPU_BIND=corse srun"),
        "{answer}"
    );
}

#[test]
fn a_part_of_a_machines_name_proposes_it() {
    for (typed, name) in [
        ("lumi", "lumi-c"),
        ("LUMI-G", "lumi-g"),
        ("Frontier", "frontier"),
    ] {
        let answer = ask(&json!({"face": "topo", "machine": typed}));
        let text = answer["messages"][0]["text"].as_str().unwrap();
        assert!(text.contains(name), "{typed}: {text}");
        let done = web_lines::command(env!("CARGO_BIN_EXE_berth"))
            .args(["topo", "--machine", typed])
            .output()
            .unwrap();
        let text = String::from_utf8(done.stderr).unwrap();
        assert!(text.contains(name), "{typed}: {text}");
        assert_eq!(done.status.code(), Some(2), "{typed}");
    }
    let answer = ask(&json!({"face": "topo", "machine": "x"}));
    assert!(
        !answer["messages"][0]["text"]
            .as_str()
            .unwrap()
            .contains("such a name")
    );
}
