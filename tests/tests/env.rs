//! `berth env` in real jobs: in prolog, job and epilog, with names that shells take for more than text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use berth_tests::{Cluster, command};

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
