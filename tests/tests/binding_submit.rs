//! `--binding` in the submitting command, on a real cluster: long values, clients that let everything through, and scripts
//! from a named pipe.

use berth_tests::{Cluster, Done};

/// One node with two CPUs.
fn cluster() -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    Some(Cluster::builder().plugstack(Some("")).up())
}

fn note(done: &Done) -> &str {
    done.stderr
        .lines()
        .find(|line| line.contains("note:"))
        .unwrap_or_default()
}

/// A value of any length is answered in a few lines, and nothing is queued.
#[test]
fn a_long_value_is_refused_in_a_few_lines() {
    let Some(cluster) = cluster() else { return };
    let words = "x".repeat(100_000);
    let cores = format!("explicit:{}", "0,0:".repeat(25_000));
    for (value, says) in [
        (&words, "BERTH_BINDING: --binding: expected a strategy"),
        (&cores, "longer than"),
    ] {
        let asked = ["-n1", "-c2", "true"];
        let wrong = cluster.run_with("srun", &asked, &[("BERTH_BINDING", value)]);
        assert!(!wrong.ok() && wrong.stderr.len() < 2000, "{wrong:#?}");
        let is_said = wrong.stderr.contains(says) || wrong.stderr.contains("expected");
        assert!(is_said, "{wrong:#?}");
    }
    let option = format!("--binding={cores}0,0");
    let done = cluster.srun(&["-c2", &option, "true"]);
    let is_said = done.stderr.contains("longer than 8192 bytes");
    assert!(!done.ok() && is_said, "{:.400}", done.stderr);
    let jobs = cluster.scontrol(&["-o", "show", "jobs"]).expect_ok();
    assert!(!jobs.contains("JobId="), "something was queued: {jobs}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story of one cluster")]
fn a_client_that_lets_everything_through_does_no_harm() {
    let Some(cluster) = cluster() else { return };
    let source = "#include <slurm/spank.h>\n\
        const char plugin_name[] = \"berth\"; const char plugin_type[] = \"spank\";\n\
        #include <slurm/slurm.h>\nconst unsigned int plugin_version = SLURM_VERSION_NUMBER;\n\
        static int take(int val, const char *text, int remote) { return 0; }\n\
        int slurm_spank_init(spank_t spank, int argc, char **argv) {\n\
        static struct spank_option option = { \"binding\", \"TEXT\", \"anything\", 1, 0, take };\n\
        return spank_option_register(spank, &option); }\n";
    let client = berth_tests::Preload::build(source);
    let etc = cluster.folder().join("client");
    std::fs::create_dir(&etc).unwrap();
    let plugstack = etc.join("plugstack.conf");
    std::fs::write(&plugstack, format!("optional {}\n", client.object())).unwrap();
    let conf = std::fs::read_to_string(cluster.folder().join("etc/slurm.conf")).unwrap();
    let mut lines: Vec<_> = conf
        .lines()
        .filter(|line| !line.starts_with("PlugStackConfig"))
        .collect();
    let own = format!("PlugStackConfig={}", plugstack.display());
    lines.push(&own);
    let conf = etc.join("slurm.conf");
    std::fs::write(&conf, lines.join("\n") + "\n").unwrap();
    let conf = conf.to_string_lossy().into_owned();
    let with =
        |command: &str, words: &[&str]| cluster.run_with(command, words, &[("SLURM_CONF", &conf)]);
    let long = "x".repeat(100_000);
    for text in [
        "linear:0",
        "linear:99999999999",
        "striding:2:0",
        "explicit:",
        "linear:2:0",
        "words",
        long.as_str(),
        "explicit:0,0:0,0",
        "",
    ] {
        let step = with("srun", &["-n1", &format!("--binding={text}"), "true"]);
        assert!(
            !step.ok() && step.stderr.contains("berth: --binding: "),
            "{text:.40}: {:.600}",
            step.stderr
        );
        assert!(
            step.stderr.contains("expected") || step.stderr.contains("longer"),
            "{:.600}",
            step.stderr
        );
        let output = cluster.folder().join("log/client.out");
        let job = [
            "--wait",
            "-o",
            &output.to_string_lossy(),
            &format!("--binding={text}"),
            "--wrap=echo ran",
        ];
        let job = with("sbatch", &job);
        assert!(!job.ok(), "{text:.40}: {job:#?}");
        let said = std::fs::read_to_string(&output).unwrap_or_default();
        assert!(
            said.contains("the script is not started") && !said.contains("ran"),
            "{said:.600}"
        );
    }
    for text in ["explicit:9,9", "linear:65536"] {
        let step = with("srun", &["-n1", &format!("--binding={text}"), "true"]);
        assert!(
            step.ok() && note(&step).contains("no task is bound"),
            "{step:#?}"
        );
    }
    cluster.wait_idle();
}

/// sbatch of a named pipe waits for its writer, and so it does with us: our check neither waits
/// before it, nor takes the text away.
#[test]
fn a_script_from_a_named_pipe_is_sbatch_s_own() {
    let cluster = Cluster::builder().plugstack(Some("")).up();
    let pipe = cluster.folder().join("pipe");
    let output = cluster.folder().join("log/pipe.out");
    let output = output.to_string_lossy().into_owned();
    let script = b"#!/bin/sh\n#SBATCH -n1\necho fed with $BERTH_RULE\n";
    for later in [true, false] {
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let feed = || {
            let pipe = pipe.clone();
            std::thread::spawn(move || std::fs::write(pipe, script))
        };
        // A writer that was there before sbatch must not be cut off by our look either.
        let before = (!later).then(feed);
        std::thread::sleep(std::time::Duration::from_millis(300));
        let mut command = cluster.program("timeout");
        command.args(["--kill-after=5", "20", "sbatch", "--wait", "-o", &output]);
        command.args(["--binding=linear:1"]).arg(&pipe);
        command.stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let writer = before.unwrap_or_else(feed);
        let done = Done::from(child.wait_with_output().unwrap());
        assert!(done.ok(), "later={later}: {done:#?}");
        writer.join().unwrap().unwrap();
        let printed = std::fs::read_to_string(&output).unwrap();
        assert_eq!(printed, "fed with binding:linear:1\n", "later={later}");
        std::fs::remove_file(&pipe).unwrap();
    }
}
