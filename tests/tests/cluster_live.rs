//! `berth plan --cluster live` against a cluster of several nodes: what it says of a line before that is
//! submitted is what the job gets then. The nodes, cores and masks of real jobs are compared.

use std::collections::BTreeMap;

use berth_placement::CpuSet;
use berth_srun::node_lists::{Most, expand};
use berth_tests::{Cluster, command};
use serde_json::Value;

const MACHINE: &str = "pack:2 core:4 pu:2";
const SHAPE: &str = "CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2";
/// Threads of a core.
const THREADS: u32 = 2;

/// Lines of srun, with `n1` for the first node's name.
const LINES: [&str; 16] = [
    "-n1",
    "-n3",
    "-n4 -c2",
    "-n20",
    "-N2 -n4",
    "-N3 -n6 -m cyclic",
    "-N2 -n6 -c2 -m block:block",
    "-N2 -n5 --ntasks-per-node=3",
    "-n4 -w n2",
    "-N2 -n4 -w n2,n3",
    "-n3 -x n1 --cpu-bind=cores",
    "-N2 -n2 --exclusive",
    "-n40",
    "-n6 --hint=nomultithread",
    "-N3 -n12 -m plane=2",
    "-n2 -c4 --binding=linear:2",
];

/// Lines of sbatch: its variables, and its options.
const JOBS: [(&[(&str, &str)], &str); 9] = [
    (&[], "-n5"),
    (&[], "-N3 -n7 -c2"),
    (&[], "-n1 -c4"),
    (&[], "--exclusive"),
    (&[("SBATCH_EXCLUSIVE", "")], "-n2"),
    (
        &[("SBATCH_OVERCOMMIT", "no"), ("SBATCH_SPREAD_JOB", "yes")],
        "-N3 -n7",
    ),
    (&[("SBATCH_THREADS_PER_CORE", "1")], "-n5"),
    (
        &[
            ("SBATCH_HINT", "nomultithread"),
            ("SLURM_HINT", "multithread"),
        ],
        "-n5",
    ),
    (&[("SBATCH_DISTRIBUTION", "cyclic")], "-N2 -n3"),
];

/// Three nodes, of which the second has a default binding of its own.
fn cluster() -> (Cluster, Vec<String>) {
    let cluster = Cluster::builder()
        .plugstack(Some("compat=affinity fixes=+third-level"))
        .env("HWLOC_SYNTHETIC", MACHINE)
        .set("PartitionName=main Nodes=ALL Default=YES State=UP MaxTime=INFINITE CpuBind=cores")
        .shape(SHAPE)
        .shape(&format!("{SHAPE} CpuBind=threads"))
        .shape(SHAPE)
        .up();
    let shown = cluster.run("sinfo", &["-h", "-N", "-o", "%N"]).expect_ok();
    let names = shown.split_whitespace().map(String::from).collect();
    (cluster, names)
}

/// `n2,n3` by the names that the nodes have here.
fn with_names(line: &str, names: &[String]) -> String {
    let known = ["n1", "n2", "n3"];
    let name = |name: &str| {
        let at = known.iter().position(|known| *known == name);
        at.map_or(name.to_string(), |at| names[at].clone())
    };
    let list = |word: &str| word.split(',').map(name).collect::<Vec<_>>().join(",");
    line.split(' ').map(list).collect::<Vec<_>>().join(" ")
}

fn plan(cluster: &Cluster, line: &str) -> Value {
    let berth = command().to_string_lossy().into_owned();
    let words = [
        "plan",
        "--cluster=live",
        "--machine",
        MACHINE,
        "--format=json",
        line,
    ];
    let text = cluster.run(&berth, &words).expect_ok();
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// Each node's cores of a job, as `scontrol show job -d` has them.
fn cores_of_job(shown: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for line in shown.lines().filter(|line| line.contains(" CPU_IDs=")) {
        let field = |name: &str| {
            let mut words = line.split_whitespace();
            words
                .find_map(|word| word.split_once(name)?.1.into())
                .unwrap()
        };
        let cpus = CpuSet::from_list(field("CPU_IDs=")).unwrap();
        let cores: CpuSet = cpus
            .iter()
            .map(|cpu| berth_placement::CpuId(cpu.0 / THREADS))
            .collect();
        for name in expand(field("Nodes="), Most::COMMAND_LINE).unwrap() {
            all.insert(name, cores.to_string());
        }
    }
    all
}

fn texts(nodes: &Value, key: &str) -> BTreeMap<String, String> {
    let text = |node: &Value, key: &str| node[key].as_str().unwrap_or_default().to_string();
    let nodes = nodes.as_array().unwrap().iter();
    nodes
        .map(|node| (text(node, "name"), text(node, key)))
        .collect()
}

#[test]
fn a_line_gets_what_was_said_before() {
    let (cluster, names) = cluster();
    for line in LINES {
        let line = with_names(line, &names);
        // A node that is still completing the job before would be left out.
        cluster.wait_idle();
        let plan = plan(&cluster, &format!("srun {line} ./app"));
        let site = plan["assumed"][0].to_string();
        assert!(
            site.contains("third-level") && site.contains("found"),
            "{line}: {site}"
        );
        let script = "echo node $SLURMD_NODENAME masks $SLURM_CPU_BIND_LIST; \
                      [ $SLURM_PROCID != 0 ] || scontrol show job -d $SLURM_JOB_ID";
        let mut words: Vec<_> = line.split(' ').collect();
        words.extend(["/bin/sh", "-c", script]);
        let printed = cluster.srun(&words).expect_ok();
        let masks = printed.lines().filter_map(|line| {
            let (name, masks) = line.strip_prefix("node ")?.split_once(" masks")?;
            Some((name.to_string(), masks.trim().to_string()))
        });
        let masks: BTreeMap<_, _> = masks.collect();
        assert_eq!(texts(&plan["nodes"], "masks"), masks, "{line}: {plan}");
        assert_eq!(
            texts(&plan["nodes"], "cores"),
            cores_of_job(&printed),
            "{line}: {plan}"
        );
    }
    for line in [
        "srun -n49 ./app",
        "srun -N4 ./app",
        "srun -B 4:1 ./app",
        "srun -p no -n1 ./app",
    ] {
        let berth = command().to_string_lossy().into_owned();
        let words = ["plan", "--cluster=live", "--machine", MACHINE, line];
        assert_eq!(cluster.run(&berth, &words).code, Some(1), "{line}");
    }
}

#[test]
fn a_job_gets_what_was_said_before() {
    let (cluster, _) = cluster();
    let output = cluster.folder().join("run/job.out");
    let output = output.to_str().unwrap();
    for (variables, line) in JOBS {
        let script = "scontrol show job -d $SLURM_JOB_ID";
        let before = variables
            .iter()
            .map(|(name, value)| format!("{name}={value} "));
        let whole = format!(
            "{}sbatch {line} --wrap '{script}'",
            before.collect::<String>()
        );
        let plan = plan(&cluster, &whole);
        let mut words = vec!["-W", "-o", output];
        words.extend(line.split(' '));
        words.extend(["--wrap", script]);
        cluster.run_with("sbatch", &words, variables).expect_ok();
        let printed = std::fs::read_to_string(output).unwrap();
        let given = cores_of_job(&printed);
        assert!(!given.is_empty(), "{line}: {printed}");
        assert_eq!(
            texts(&plan["job"]["nodes"], "cores"),
            given,
            "{whole}: {plan}"
        );
        // The script runs on the first node, with all of the job's cores there.
        let first = &plan["nodes"][0];
        assert_eq!(
            Some(first["name"].as_str().unwrap()),
            given.keys().next().map(String::as_str)
        );
        assert_eq!(first["cores"], first["step_cores"]);
    }
}
