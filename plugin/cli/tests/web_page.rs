//! What the page's engine answers is what the command prints, without a browser: random lines on twenty machines. The
//! seed is printed, and `BERTH_SEED` repeats a run.

#[path = "../../web/tests/lines/mod.rs"]
mod lines;

use lines::{cases, machines, seed};
use serde_json::{Value, json};

/// How many lines are tried.
const LINES: usize = 200;

fn ask(request: &Value) -> Value {
    serde_json::from_str(&berth_web::answer(&request.to_string())).unwrap()
}

#[test]
fn the_engine_of_the_page_answers_as_the_command() {
    let seed = seed();
    println!("BERTH_SEED={seed}");
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
        let done = lines::command(env!("CARGO_BIN_EXE_berth"))
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
