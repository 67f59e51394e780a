//! `berth plan 'sbatch …'` and `'salloc …'`: what the job gets, what its batch script gets, and how to
//! plan each srun of it.

use std::fs;

use serde_json::Value;

use crate::plan_common::{Done, berth};

const SCRIPT: &str = "#!/bin/bash\n#SBATCH -N2 -n6\n#SBATCH --binding=linear:1\n\n\
                      module load x\nsrun ./prepare\nOMP_NUM_THREADS=2 srun -n3 \\\n    -c2 ./app > out\n";

/// Two nodes of eight cores each, and the script.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let conf = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nTaskPlugin=task/berth\n\
                NodeName=n[1-3] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n\
                PartitionName=main Nodes=ALL Default=YES\n";
    fs::write(folder.path().join("slurm.conf"), conf).unwrap();
    fs::write(folder.path().join("job.sh"), SCRIPT).unwrap();
    folder
}

fn ask(folder: &tempfile::TempDir, words: &[&str]) -> Done {
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (conf, script) = (path("slurm.conf"), path("job.sh"));
    let words: Vec<_> = words
        .iter()
        .map(|word| word.replace("job.sh", &script))
        .collect();
    let mut all = vec![
        "plan",
        "--slurm=22.05",
        "--cluster",
        &conf,
        "--machine",
        "pack:2 core:4 pu:2",
    ];
    all.extend(words.iter().map(String::as_str));
    berth(&all, "")
}

fn json(done: &Done) -> Value {
    assert_eq!(done.code, 0, "{}", done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn a_batch_script_has_its_job_s_first_node() {
    let folder = folder();
    let plan = json(&ask(
        &folder,
        &["sbatch -n12 -c2 job.sh a b", "--format=json"],
    ));
    let job = &plan["job"];
    assert_eq!(job["tasks"], 12);
    let node = |name: &str, cores: &str, cpus: u32| serde_json::json!({"name": name, "cores": cores, "cpus": cpus});
    // The script asks for two nodes, the line for the tasks.
    assert_eq!(
        job["nodes"],
        serde_json::json!([node("n1", "0-7", 16), node("n2", "0-3", 8)])
    );
    assert_eq!(plan["nodes"].as_array().unwrap().len(), 1);
    assert_eq!(plan["nodes"][0]["masks"], "0xFFFF");
    assert_eq!(plan["tasks"].as_array().unwrap().len(), 1);
    let lines: Vec<_> = job["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["line"])
        .collect();
    assert_eq!(lines, [6, 7]);
    assert_eq!(job["steps"][1]["text"], "srun -n3 -c2 ./app");
}

/// sbatch takes a script of 4 MiB, and so do berth plan and berth check.
#[test]
fn a_large_script_is_read_by_both() {
    let folder = folder();
    for (comments, is_read) in [(2 << 16, true), (5 << 16, false)] {
        let script = format!("{SCRIPT}{}srun ./b\n", "# 16 bytes long\n".repeat(comments));
        fs::write(folder.path().join("job.sh"), script).unwrap();
        let plan = json(&ask(&folder, &["sbatch -n12 job.sh", "--format=json"]));
        let steps = plan["job"]["steps"].as_array().map_or(0, Vec::len);
        assert_eq!(steps, if is_read { 3 } else { 0 });
        let path = folder.path().join("job.sh");
        let line = format!("sbatch -n12 {}", path.display());
        let stderr = berth(&["check", &line], "").stderr;
        assert_eq!(stderr.contains("was not read"), !is_read, "{stderr}");
    }
}

#[test]
fn a_cluster_of_one_node_has_one_node() {
    let folder = folder();
    let conf = folder.path().join("one.conf");
    let text = "NodeName=n1 Sockets=2 CoresPerSocket=4\nPartitionName=one Nodes=n1 Default=YES\n";
    fs::write(&conf, text).unwrap();
    let place = ["plan", "--cluster", &conf.to_string_lossy(), "-n2"];
    let table = berth(&place, "").stdout;
    assert!(table.contains("1 idle node of partition"), "{table}");
}

/// Each command that is pointed at gives the step's plan, with the options of the script's job.
#[test]
fn every_srun_of_the_script_is_planned_by_its_command() {
    let folder = folder();
    let plan = json(&ask(&folder, &["sbatch -N1 -c2 job.sh", "--format=json"]));
    let steps = plan["job"]["steps"].as_array().unwrap().clone();
    for (step, tasks) in steps.iter().zip([6, 3]) {
        let words = shlex::split(step["plan"].as_str().unwrap()).unwrap();
        let words: Vec<_> = words.iter().skip(1).map(String::as_str).collect();
        let plan = json(&berth(&words, ""));
        assert_eq!(plan["tasks"].as_array().unwrap().len(), tasks, "{step}");
        // The job's --binding is its steps' too.
        assert_eq!(
            plan["rules"].as_object().unwrap().values().next().unwrap(),
            "binding:linear:1"
        );
        assert!(plan["assumed"].to_string().contains("the line of the job"));
    }
    let table = ask(&folder, &["sbatch", "-N1", "-c2", "job.sh"]);
    assert_eq!(table.code, 0, "{}", table.stderr);
    for says in [
        "6 tasks: cores",
        "line 6      srun ./prepare",
        "rule        binding:linear:1",
    ] {
        assert!(table.stdout.contains(says), "{says}: {}", table.stdout);
    }
}

#[test]
fn a_script_s_binding_is_for_its_own_task_or_for_the_steps() {
    let folder = folder();
    let masks = |line: &str| {
        let done = ask(&folder, &[line, "--format=masks"]);
        assert_eq!(done.code, 0, "{line}: {}", done.stderr);
        done.stdout.trim().to_string()
    };
    // One task: the script is bound as its job asks.
    assert_eq!(
        masks("sbatch -N1 -n1 -c4 --binding=linear:1 --wrap=./app"),
        "0x0003"
    );
    assert_eq!(
        masks("BERTH_BINDING=linear:2 sbatch -n1 -c8 --wrap=./app"),
        "0x000F"
    );
    assert_eq!(
        masks("sbatch -n1 -c8 --binding=none --wrap=./app"),
        "0x00FF"
    );
    // Several: the binding is for the steps.
    assert_eq!(
        masks("sbatch -N1 -n4 --binding=linear:1 --wrap=./app"),
        "0x0303"
    );
}

/// sbatch reads the script, then its variables, then its line; each overrides what was before.
#[test]
fn the_job_s_command_reads_its_variables() {
    let folder = folder();
    let cores = |line: &str| {
        // Some steps of the script ask for more than such a job has.
        let done = ask(&folder, &[line, "--format=json"]);
        let plan: Value = serde_json::from_str(&done.stdout).unwrap();
        plan["job"]["nodes"][0]["cores"].clone()
    };
    let bare = "sbatch -n2 -N1 job.sh";
    for (line, typed) in [
        (
            "SBATCH_EXCLUSIVE= sbatch -n2 -N1 job.sh",
            "sbatch -n2 -N1 --exclusive job.sh",
        ),
        (
            "SBATCH_THREADS_PER_CORE=1 sbatch -n2 -N1 job.sh",
            "sbatch -n2 -N1 --threads-per-core=1 job.sh",
        ),
        (
            "SBATCH_HINT=nomultithread SLURM_HINT=multithread sbatch -n2 -N1 job.sh",
            "sbatch -n2 -N1 --hint=nomultithread job.sh",
        ),
        (
            "SALLOC_HINT=multithread SLURM_HINT=nomultithread salloc -n2",
            "salloc -n2 --hint=nomultithread",
        ),
    ] {
        assert_eq!(cores(line), cores(typed), "{line}");
        assert_ne!(cores(line), cores(bare), "{line}");
    }
    for line in [
        "SBATCH_THREADS_PER_CORE=1 sbatch -n2 -N1 --threads-per-core=2 job.sh",
        "SBATCH_OVERCOMMIT=no sbatch -n2 -N1 job.sh",
        "SBATCH_EXCLUSIVE= salloc -n2",
    ] {
        assert_eq!(cores(line), cores(bare), "{line}");
    }

    // It is told, and the steps' commands keep it.
    let line = "SBATCH_THREADS_PER_CORE=1 sbatch -n2 -N1 job.sh";
    let done = ask(&folder, &[line, "--format=json"]);
    let plan: Value = serde_json::from_str(&done.stdout).unwrap();
    let premises = plan["assumed"].to_string();
    assert!(premises.contains("SBATCH_THREADS_PER_CORE=1"), "{premises}");
    assert!(
        premises.contains("variables that sbatch reads"),
        "{premises}"
    );
    let step = plan["job"]["steps"][0]["plan"].as_str().unwrap();
    let words = shlex::split(step).unwrap();
    let words: Vec<_> = words.iter().skip(1).map(String::as_str).collect();
    let inside = json(&berth(&words, ""));
    assert_eq!(inside["nodes"][0]["cores"], cores(line), "{step}");
}

#[test]
fn salloc_binds_nothing_itself() {
    let folder = folder();
    let plan = json(&ask(&folder, &["salloc -n3 -c2", "--format=json"]));
    assert_eq!(plan["job"]["nodes"][0]["cores"], "0-2");
    assert_eq!(plan["tasks"].as_array().unwrap().len(), 0);
    assert_eq!(plan["bound"], false);
    let table = ask(&folder, &["salloc -n3 -c2"]);
    assert!(
        table.stdout.contains("salloc itself binds nothing"),
        "{}",
        table.stdout
    );
    assert!(
        table.stdout.contains("--job 'salloc -n3 -c2' 'srun ./app'"),
        "{}",
        table.stdout
    );
    let masks = ask(&folder, &["salloc -n3", "--format=masks"]);
    assert_eq!((masks.code, masks.stdout.as_str()), (2, ""));
    // The srun behind it is a step of that job.
    let inside = json(&ask(
        &folder,
        &["salloc -n3 -c2 srun --exact -n1 ./app", "--format=json"],
    ));
    assert_eq!(inside["nodes"][0]["cores"], "0-2");
    assert_eq!(inside["tasks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_script_that_is_not_read_leaves_the_jobs_options() {
    let folder = folder();
    // A file that is there and is no script leaves the job's own options.
    let unread = ask(&folder, &["sbatch -n2 /dev/null"]);
    assert_eq!(unread.code, 0, "{}", unread.stderr);
    let says = "no #SBATCH lines (assumed: /dev/null";
    assert!(unread.stdout.contains(says), "{}", unread.stdout);
    let open = ask(&folder, &["sbatch job.sh"]).stdout;
    assert!(!open.contains("0 tasks"), "{open}");
    // sbatch looks for a name in PATH too.
    let found = ask(&folder, &["sbatch -n2 env"]);
    assert_eq!(found.code, 0, "{}", found.stderr);
}

/// Which nodes a job may have changes no cores of a node.
#[test]
fn options_that_choose_nodes_are_noted() {
    let noted = ask(
        &folder(),
        &["SBATCH_GRES=nvme:1 sbatch -n2 -C x --begin=now job.sh"],
    );
    let note = "--constraint, --gres: this plan does not look at what the nodes have; slurmctld may choose other nodes or cores";
    assert!(noted.stderr.contains(note), "{}", noted.stderr);
    assert!(
        noted.stdout.contains("\nrule        batch"),
        "{}",
        noted.stdout
    );
}

#[test]
fn what_would_not_start_says_why_and_how_sure_it_is() {
    let folder = folder();
    for (line, code, says) in [
        ("sbatch -n49 -N3 job.sh", 1, "the job never starts"),
        ("sbatch -n0 job.sh", 2, "sbatch"),
        (
            "sbatch --label job.sh",
            2,
            "sbatch: unrecognized option '--label'",
        ),
        ("sbatch -n2 -F list job.sh", 1, "not modelled: --nodefile"),
        ("sbatch -N3-2 job.sh", 2, "sbatch refuses the line"),
        ("sbatch -n2 -N2 --binding=linear:x job.sh", 2, "--binding"),
        (
            "sbatch /no/such.sh",
            2,
            "sbatch has no script /no/such.sh: there is no such file",
        ),
        ("sbatch -n99 no-such-script", 2, "sbatch has no script"),
    ] {
        let done = ask(&folder, &[line]);
        assert_eq!(
            (done.code, done.stdout.as_str()),
            (code, ""),
            "{line}: {}",
            done.stderr
        );
        assert!(done.stderr.contains(says), "{line}: {}", done.stderr);
    }
    let two = ask(&folder, &["--job", "salloc", "sbatch job.sh"]);
    assert_eq!(two.code, 2, "{}", two.stderr);
    // Without a cluster the job is planned on as many idle nodes as it names.
    let alone = berth(
        &[
            "plan",
            "--machine",
            "pack:2 core:4 pu:2",
            "sbatch -N2 -n32 --wrap=true",
        ],
        "",
    );
    assert!(
        alone.stdout.contains("cores 0-7 on node0, node1"),
        "{}",
        alone.stdout
    );
}
