//! `berth env` in real jobs: in prolog, job and epilog, with names that shells take for more than text,
//! and without slurmctld.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use berth_tests::{Cluster, Done, command};

/// Texts that would run something, or end a statement, if they were not quoted.
const NAME: &str = "it's \"$(touch RAN)\" `touch RAN` $HOME !! \\ ;touch RAN\n   NodeList=forged\n     \
                    Nodes=forged CPU_IDs=0-63 Mem=0 GRES=gpu:9(IDX:0-8)\nx";
const ACCOUNT: &str = "a'b\"c$(touch RAN)`touch RAN`!d";
const NOBODY: u32 = 65534;

/// Two nodes of eight cores with two threads each and two GPUs, whose prolog and epilog run `berth env`.
struct World {
    cluster: Cluster,
    /// What prolog and epilog write.
    out: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let out = tempfile::tempdir().unwrap();
        let berth = command();
        let written = |name: &str, mode: &str, prefix: &str| {
            let path = out.path().join(name);
            let script = format!(
                "#!/bin/bash\nset -u\ncd {out}\ntext=$({berth} env --mode {mode}) || {{ echo $? > \
                 {mode}.failed; exit 0; }}\neval \"$text\" > {mode}.$SLURMD_NODENAME.log\n\
                 printf '%s\\0' \"${{{prefix}_HOSTS[*]}}\" \"${{{prefix}_GPU[@]}}\" \
                 \"${{{prefix}_NIC[*]}}\" \"${{{prefix}_GRES[0]}}\" \"${{{prefix}_CORES[*]}}\" \
                 \"${prefix}_JOB_NAME\" \"${prefix}_JOB_ACCOUNT\" \"${prefix}_JOB_MAXRT\" \
                 > {mode}.$SLURMD_NODENAME.$$\nmv {mode}.$SLURMD_NODENAME.$$ \
                 {mode}.$SLURMD_NODENAME\n",
                out = out.path().display(),
                berth = berth.display(),
            );
            fs::write(&path, script).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&path, mode).unwrap();
            path
        };
        let prolog = written("prolog", "prolog", "BERTH_PROLOG");
        let epilog = written("epilog", "epilog", "BERTH_EPILOG");
        let gres = out.path().join("gres.conf");
        let text = "Name=gpu Type=a'b$c File=/dev/null\nName=gpu Type=a'b$c File=/dev/zero\n\
                    Name=nic File=/dev/full\n";
        fs::write(&gres, text).unwrap();
        let cluster = Cluster::builder()
            .nodes(2)
            .env("HWLOC_SYNTHETIC", "pack:2 core:4 pu:2")
            .set("GresTypes=gpu,nic")
            .set("PrologFlags=Alloc")
            .set(&format!("Prolog={}", prolog.display()))
            .set(&format!("Epilog={}", epilog.display()))
            .node("Gres=gpu:a'b$c:2,nic:1")
            .file(&gres)
            .plugstack(Some(""))
            .up();
        Self { cluster, out }
    }

    /// What a script wrote on a node, once it is there.
    #[track_caller]
    fn written(&self, mode: &str, node: &str) -> Vec<String> {
        let path = self.out.path().join(format!("{mode}.{node}"));
        let bytes = self.cluster.wait_for(mode, || fs::read(&path).ok());
        let text = String::from_utf8(bytes).unwrap();
        let values = text.split_terminator('\0');
        values.map(String::from).collect()
    }

    fn nodes(&self) -> Vec<String> {
        let shown = self
            .cluster
            .run("sinfo", &["-h", "-N", "-o", "%N"])
            .expect_ok();
        shown.split_whitespace().map(String::from).collect()
    }

    /// `berth env` as root beside all jobs, as a prolog runs it.
    fn env(&self, node: &str, arguments: &[&str]) -> Done {
        let berth = command();
        let words = [&["env"], arguments].concat();
        self.cluster.run_with(
            &berth.to_string_lossy(),
            &words,
            &[("SLURMD_NODENAME", node)],
        )
    }
}

fn sh_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The values between NULs, of a script that prints them so.
fn values(output: &str) -> Vec<&str> {
    output.split_terminator('\0').collect()
}

/// A script for bash that evaluates the facts of its job and prints some, and has dash do the same.
fn evaluates() -> String {
    let berth = command();
    let inner = format!(
        "export PATH={}:$PATH\neval \"$(berth env)\"\nprintf '%s\\0' \"${{BERTH_RESOURCE_HOSTS[*]}}\" \
         \"${{BERTH_RESOURCE_GPU[@]}}\" \"${{BERTH_RESOURCE_NIC[*]}}\" \"${{BERTH_RESOURCE_GRES[0]}}\" \
         \"${{BERTH_RESOURCE_CORES[*]}}\" \"$BERTH_RESOURCE_JOB_NAME\" \
         \"$BERTH_RESOURCE_JOB_ACCOUNT\" \"$BERTH_RESOURCE_JOB_MAXRT\" \"${{BERTH_RESOURCE_CPUS[0]}}\" \
         \"${{BERTH_RESOURCE_CPUS[1]}}\" \"${{BERTH_RESOURCE_NTASKS[*]}}\" \
         \"${{BERTH_RESOURCE_NCPUS[*]}}\"\n",
        berth.parent().unwrap().display(),
    );
    let sh = "eval \"$(berth env --format sh --only)\"; printf '%s\\0' \"$BERTH_RESOURCE_HOSTS\" \
              \"$BERTH_RESOURCE_GPU\" \"$BERTH_RESOURCE_JOB_NAME\" \"$BERTH_RESOURCE_JOB_ACCOUNT\"; \
              eval \"$(berth env --format sh)\"; printf '%s\\0' \"$BERTH_RESOURCE_GPU_0\" \
              \"$BERTH_RESOURCE_HOSTS_1\"";
    format!("{inner}dash -c {}", sh_quoted(sh))
}

#[test]
fn prolog_job_and_epilog_have_the_same_facts() {
    let world = World::new();
    let nodes = world.nodes();
    let script = evaluates();
    let folder = world.out.path().join("work");
    fs::create_dir(&folder).unwrap();
    let name = format!("--job-name={NAME}");
    let given = format!("--account={ACCOUNT}");
    let chdir = format!("--chdir={}", folder.display());
    let options = [
        "-N2",
        "--ntasks-per-node=2",
        "-c2",
        "-t2",
        "--gres=gpu:1,nic:1",
        &name,
        &given,
        &chdir,
    ];
    let done = world
        .cluster
        .sbatch(&options, &format!("exec bash -c {}", sh_quoted(&script)));
    assert_eq!(done.state, "COMPLETED", "{done:#?}");
    let found = values(&done.output);
    let (common, rest) = found.split_at(9);
    // slurmctld writes accounts in small letters.
    let account = ACCOUNT.to_lowercase();
    let hosts = nodes.join(" ");
    let gres = "gpu:a'b$c:0 nic::0";
    let expected = [
        &*hosts, "0", "0", "0 0", gres, "0,4 0,4", NAME, &account, "120",
    ];
    assert_eq!(common, expected, "{done:#?}");
    let (own, in_sh) = rest.split_at(4);
    assert_eq!(own, ["0-1,8-9", "", "2 2", "4 4"], "{done:#?}");
    let first = &*nodes[0];
    assert_eq!(
        in_sh,
        [first, "0", NAME, &account, "0", &nodes[1]],
        "{done:#?}"
    );
    for node in &nodes {
        for mode in ["prolog", "epilog"] {
            assert_eq!(world.written(mode, node), expected, "{mode} on {node}");
        }
        let log = fs::read_to_string(world.out.path().join(format!("prolog.{node}.log"))).unwrap();
        assert!(log.starts_with("berth: job "), "{log}");
        assert!(log.contains("GPU=0"), "{log}");
        let log = fs::read_to_string(world.out.path().join(format!("epilog.{node}.log"))).unwrap();
        assert_eq!(log, "");
    }
    nothing_ran(&world, &folder);
}

/// No part of a name was run, and no script has failed.
fn nothing_ran(world: &World, folder: &Path) {
    let ran = fs::read_dir(folder).unwrap().count();
    assert_eq!(ran, 0, "a part of a name was run");
    for name in ["RAN", "prolog.failed", "epilog.failed"] {
        assert!(!world.out.path().join(name).exists(), "{name}");
    }
}

/// The folder of a node's jobs.
fn jobs(cluster: &Cluster, node: &str) -> Option<PathBuf> {
    let found = Command::new("find")
        .args([cluster.folder(), Path::new("-path")])
        .arg(format!("*/{node}/jobs"))
        .output()
        .unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    text.lines().next().map(PathBuf::from)
}

/// What another user reads of a file.
fn read_as(uid: u32, path: &Path) -> bool {
    let ids = [format!("--reuid={uid}"), format!("--regid={uid}")];
    let output = Command::new("setpriv")
        .args(ids)
        .args(["--clear-groups", "cat"])
        .arg(path)
        .output()
        .unwrap();
    output.status.success() && !output.stdout.is_empty()
}

#[test]
fn the_nodes_facts_are_the_owners_alone_and_replace_a_prologs_answer() {
    let world = World::new();
    let nodes = world.nodes();
    let ask = [
        "--parsable",
        "--uid=nobody",
        "--chdir=/",
        "-n1",
        "--gres=gpu:2",
        "-o/dev/null",
        "--wrap=sleep 300",
    ];
    let job = world
        .cluster
        .run("sbatch", &ask)
        .expect_ok()
        .trim()
        .to_owned();
    let folder = world.cluster.wait_for("the node's facts", || {
        let folder = jobs(&world.cluster, &nodes[0])?.join(NOBODY.to_string());
        folder
            .join(format!("{job}.node"))
            .exists()
            .then_some(folder)
    });
    let facts = folder.join(format!("{job}.node"));
    let answer = folder.join(format!("{job}.answer"));
    assert!(answer.exists());
    // Other users may not even pass through the test's own folder.
    let above = folder
        .ancestors()
        .take_while(|path| path.starts_with(world.cluster.folder()));
    for folder in above.skip(2) {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(folder, mode).unwrap();
    }
    assert!(read_as(NOBODY, &facts), "its owner may read it");
    assert!(read_as(NOBODY, &answer), "its owner may read it");
    assert!(!read_as(NOBODY - 1, &facts), "nobody else may");
    assert!(!read_as(NOBODY, &folder), "nobody may list them");
    // No prolog has kept an answer: then slurmstepd's facts have the GPUs.
    fs::remove_file(&answer).unwrap();
    // A file that somebody else could have written counts for nothing.
    world
        .cluster
        .scontrol(&["update", &format!("job={job}"), "name=plain"])
        .expect_ok();
    world.cluster.run("scancel", &[&job]).expect_ok();
    let epilog = world.written("epilog", &nodes[0]);
    assert_eq!(&epilog[..2], [&*nodes[0], "0 1"], "{epilog:#?}");
    let gres = &epilog[3];
    assert_eq!(gres, "gpu:a'b$c:0-1");
}

#[test]
fn csh_evaluates_it_in_a_job_too() {
    if !berth_tests::program("tcsh", "a csh (package tcsh)") {
        return;
    }
    let world = World::new();
    let nodes = world.nodes();
    let berth = command();
    let name = "it's \"$(touch RAN)\" `touch RAN` $HOME !! \\! ;touch RAN";
    let folder = world.out.path().join("work");
    fs::create_dir(&folder).unwrap();
    let script = format!(
        "eval \"`{} env --format csh`\"\nprintf '%s\\0' $BERTH_RESOURCE_HOSTS_0:q \
         $BERTH_RESOURCE_GPU_0:q $BERTH_RESOURCE_JOB_NAME:q\n",
        berth.display()
    );
    let path = world.out.path().join("script.csh");
    fs::write(&path, script).unwrap();
    let given = format!("--job-name={name}");
    let chdir = format!("--chdir={}", folder.display());
    let options = ["-n1", "--gres=gpu:1", &given, &chdir];
    let run = format!("exec tcsh -f {}", path.display());
    let done = world.cluster.sbatch(&options, &run);
    assert_eq!(done.state, "COMPLETED", "{done:#?}");
    assert_eq!(values(&done.output), [&*nodes[0], "0", name], "{done:#?}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_job_is_named_by_its_number_in_an_array_too() {
    let world = World::new();
    let node = &world.nodes()[0];
    let ask = [
        "--parsable",
        "-a3,5",
        "-n1",
        "-o/dev/null",
        "--wrap=sleep 300",
    ];
    let job = world
        .cluster
        .run("sbatch", &ask)
        .expect_ok()
        .trim()
        .to_owned();
    let text = world.cluster.wait_for("a task of the array", || {
        let done = world.env(node, &["--jobid", &format!("{job}_5"), "--format", "json"]);
        done.ok().then_some(done.stdout)
    });
    assert!(text.contains("\"array_task\": 5"), "{text}");
    assert!(text.contains(&format!("\"array_id\": {job}")), "{text}");
    let none = world.env(node, &["--jobid", &format!("{job}_4")]);
    assert_eq!((none.code, &*none.stdout), (Some(1), ""), "{none:#?}");
    let host = world.env(node, &["--jobid", &format!("{job}_5"), "-H", "elsewhere"]);
    let says = format!("has nothing on host elsewhere; its hosts are {node}");
    assert_eq!((host.code, &*host.stdout), (Some(1), ""), "{host:#?}");
    assert!(host.stderr.contains(&says), "{host:#?}");
    world.cluster.run("scancel", &[&job]).expect_ok();
}

#[test]
fn a_component_is_named_by_its_number_in_its_job() {
    let world = World::new();
    let nodes = world.nodes();
    let held = world
        .cluster
        .run("salloc", &["--no-shell", "-n1", ":", "-n2"]);
    assert!(held.ok(), "{held:#?}");
    let shown = world.cluster.run("squeue", &["-h", "-o", "%i"]).expect_ok();
    let second = shown.split_whitespace().find(|id| id.ends_with("+1"));
    let second = second.expect("a second component");
    let done = world.env(&nodes[0], &["--jobid", second, "--format", "json"]);
    assert!(done.stdout.contains("\"het_offset\": 1"), "{done:#?}");
    assert!(done.stdout.contains("\"ntasks\": 2"), "{done:#?}");
}

#[test]
fn without_slurmctld_nothing_is_printed() {
    let world = World::new();
    let node = &world.nodes()[0];
    let held = world.cluster.run("salloc", &["--no-shell", "-n1"]);
    assert!(held.ok(), "{held:#?}");
    let shown = world.cluster.run("squeue", &["-h", "-o", "%i"]).expect_ok();
    let job = shown.trim();
    let ask = |limit: &str, mode: &str| {
        let berth = command();
        let words = [
            limit,
            &berth.to_string_lossy(),
            "env",
            "-m",
            mode,
            "--jobid",
            job,
        ];
        world
            .cluster
            .run_with("timeout", &words, &[("SLURMD_NODENAME", node)])
    };
    let before = ask("60", "userenv");
    assert!(
        before.ok() && before.stdout.contains("BERTH_RESOURCE_HOSTS=("),
        "{before:#?}"
    );
    // It is there and gives no answer.
    let mut pgrep = Command::new("pgrep");
    let line = format!("slurmctld.*{}", world.cluster.folder().display());
    let output = pgrep.args(["-f", &line]).output().unwrap();
    let pids = String::from_utf8(output.stdout).unwrap();
    let pids: Vec<_> = pids.split_whitespace().collect();
    assert!(!pids.is_empty());
    let signal = |name: &str| {
        let done = Command::new("kill").arg(name).args(&pids).status().unwrap();
        assert!(done.success());
    };
    signal("-STOP");
    let found = ["prolog", "userenv"].map(|mode| ask("5", mode));
    signal("-CONT");
    for done in found {
        assert_eq!((done.code, &*done.stdout), (Some(1), ""), "{done:#?}");
        assert!(done.stderr.contains("gave no answer within"), "{done:#?}");
    }
}

#[test]
fn outside_of_a_job_it_says_what_to_do() {
    let output = Command::new(command())
        .arg("env")
        .env_remove("SLURM_JOB_ID")
        .env_remove("SLURM_JOBID")
        .output()
        .unwrap();
    let done = Done::from(output);
    assert_eq!((done.code, &*done.stdout), (Some(2), ""), "{done:#?}");
    assert!(done.stderr.contains("name a job with --jobid"), "{done:#?}");
}
