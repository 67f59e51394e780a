//! The lines of srun, sbatch and salloc on the pages, given to the real commands of a cluster that has
//! the nodes and GPUs that the pages speak of: each is taken, or refused where its page shows that.
//! berth's lines that need a node are run on it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use berth_tests::page_lines::{PageLine, of_pages};
use berth_tests::{Cluster, Done, command, two_cpus};

/// Two nodes of the pages' kind: two sockets, four cores each, two threads each, four GPUs, and a static cpuset
/// as a resource.
fn cluster(folder: &Path) -> Cluster {
    let gres = folder.join("gres.conf");
    // slurmd looks only whether the files of a GPU are there.
    for number in 0..4 {
        for name in ["gpu", "cpu"] {
            fs::write(folder.join(format!("{name}{number}")), "").unwrap();
        }
    }
    let folder = folder.display();
    let text =
        format!("Name=gpu File={folder}/gpu[0-3]\nName=myset File={folder}/cpu[0-3] Cores=0-3\n");
    fs::write(&gres, text).unwrap();
    // ci/cluster takes `\n` within a line for its end.
    let partitions = "PartitionName=main Nodes=ALL Default=YES\\nPartitionName=low Nodes=ALL\\n\
        PartitionName=high Nodes=ALL";
    Cluster::builder()
        .nodes(2)
        .env("HWLOC_SYNTHETIC", "pack:2 core:4 pu:2")
        .set("GresTypes=gpu,myset")
        .set(partitions)
        .node("Gres=gpu:4,myset:4")
        .file(&gres)
        .plugstack(Some(""))
        .up()
}

/// An option without its value is only named, as in "without `-n`".
fn is_name(line: &PageLine) -> bool {
    line.words.len() <= 1
        && line.words.iter().all(|word| {
            let short = word.len() == 2 && word.starts_with('-');
            short && !word.contains('=')
        })
}

/// Asks srun or sbatch whether it takes the line, without running anything.
fn ask(cluster: &Cluster, line: &PageLine, script: &str) -> Option<Done> {
    let has = |option: &str| line.words.iter().any(|word| word.starts_with(option));
    // Whole nodes are a job's: srun's own --exclusive is about its step too.
    let is_jobs = line.command == "options" && has("--exclusive") && has("--cpuset");
    let is_batch = is_jobs || ["sbatch", "#SBATCH"].contains(&line.command.as_str());
    // salloc has no --test-only.
    let command = match line.command.as_str() {
        _ if is_batch => "sbatch",
        "srun" | "options" => "srun",
        _ => return None,
    };
    let mut words = vec!["--test-only"];
    words.extend(line.words.iter().map(|word| match word.as_str() {
        "job.sh" => script,
        word => word,
    }));
    let takes = berth_srun::line::read(&words, berth_srun::options::Command::Srun, None);
    match (command, takes.program.is_empty()) {
        ("srun", true) => words.push("true"),
        ("sbatch", true) if !line.text().contains("--wrap") => words.push("--wrap=true"),
        _ => {}
    }
    Some(cluster.run(command, &words))
}

/// The lines of all pages.
fn lines() -> Vec<PageLine> {
    of_pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
}

#[test]
fn the_real_commands_take_the_lines_of_the_pages() {
    if !two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("job.sh");
    fs::write(&script, "#!/bin/sh\ntrue\n").unwrap();
    let cluster = cluster(folder.path());
    let lines = lines().into_iter();
    let lines = lines.filter(|line| line.command != "berth" && !is_name(line));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in lines {
        let Some(done) = ask(&cluster, &line, &script.to_string_lossy()) else {
            continue;
        };
        count += 1;
        if done.ok() == line.is_shown_refused() {
            let first = done.stderr.lines().next().unwrap_or_default().to_owned();
            wrong.push(format!(
                "{}: {}: {:?} {first}",
                line.place,
                line.text(),
                done.code
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "only {count} lines were asked");
}

/// The words of an `srun … berth report …`, with the built command and a program that is there.
fn report(line: &PageLine, folder: &Path) -> Option<Vec<String>> {
    let read = berth_srun::line::read(&line.words, berth_srun::options::Command::Srun, None);
    let is_report = line.command == "srun" && read.program.first()? == "berth";
    let word = |word: &String| match word.as_str() {
        "berth" => command().to_string_lossy().into_owned(),
        program if program.starts_with("./") => folder.join("app").display().to_string(),
        word => word.to_owned(),
    };
    is_report.then(|| line.words.iter().map(word).collect())
}

/// Runs the lines of one kind. Each must end well, and there are at least so many.
fn run_all(least: usize, run: impl Fn(&PageLine) -> Option<Done>) {
    let lines = lines();
    let done: Vec<_> = lines
        .iter()
        .filter_map(|line| Some((line, run(line)?)))
        .collect();
    let failed = done.iter().filter(|(_, done)| !done.ok());
    let wrong: Vec<_> = failed
        .map(|(line, done)| format!("{}: {}: {done:?}", line.place, line.text()))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(done.len() >= least, "only {} lines were run", done.len());
}

#[test]
fn every_report_of_the_pages_runs_in_its_step() {
    if !two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("app");
    fs::write(&program, "#!/bin/sh\nsleep 1\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let cluster = cluster(folder.path());
    run_all(6, |line| {
        let words = report(line, folder.path())?;
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        Some(cluster.srun(&words))
    });
}

#[test]
fn every_status_and_doctor_of_the_pages_runs_on_a_node() {
    if !two_cpus() {
        return;
    }
    let cluster = Cluster::builder().plugstack(Some("")).up();
    let state = cluster.folder().join("run/berth");
    run_all(15, |line| {
        let text = line.text();
        let asks = ["berth status", "berth doctor"]
            .iter()
            .any(|name| text.starts_with(name));
        let mut berth = Command::new(command());
        berth.args(&line.words).arg("--state-dir").arg(&state);
        asks.then(|| Done::from(berth.output().unwrap()))
    });
}
