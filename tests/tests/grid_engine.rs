//! Grid Engine's core binding on a real cluster: its default line, collisions between jobs and
//! steps that share CPUs, what a task is told, and what can never fit.

use berth_tests::{Cluster, Done};

/// Jobs that share a node's CPUs: where collisions really happen.
const SHARED: &str = "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:8";

/// One node with two CPUs, with these lines in its slurm.conf.
fn cluster(lines: &[&str]) -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    let builder = Cluster::builder().plugstack(Some(""));
    let set = |builder: berth_tests::Builder, line: &&str| builder.set(line);
    Some(lines.iter().fold(builder, set).up())
}

/// A job whose one step is bound as asked and lasts until it is told to end.
struct Lasting<'a> {
    cluster: &'a Cluster,
    job: String,
}

impl Drop for Lasting<'_> {
    fn drop(&mut self) {
        self.cluster.run("scancel", &["--full", &self.job]);
    }
}

#[track_caller]
fn lasting<'a>(cluster: &'a Cluster, binding: &str, srun: &str) -> (Lasting<'a>, String) {
    let folder = cluster.folder().join("log");
    let script = format!(
        "srun {srun} --binding={binding} /bin/sh -c 'grep Cpus_allowed_list /proc/self/status | cut -f2 \
         > {folder}/$SLURM_JOB_ID.new; mv {folder}/$SLURM_JOB_ID.new {folder}/$SLURM_JOB_ID; sleep 300'",
        folder = folder.display()
    );
    let wrap = format!("--wrap={script}");
    let output = format!("{}/lasting-%j.out", folder.display());
    let done = cluster.run(
        "sbatch",
        &["--parsable", "-n1", "-c2", "-o", &output, &wrap],
    );
    let job = done.expect_ok().trim().to_string();
    let cpus = cluster.wait_for("the step's start", || {
        std::fs::read_to_string(folder.join(&job)).ok()
    });
    (Lasting { cluster, job }, cpus.trim().to_string())
}

fn note(done: &Done) -> &str {
    done.stderr
        .lines()
        .find(|line| line.contains("note:"))
        .unwrap_or_default()
}

/// What the public file says of the node.
fn in_use(cluster: &Cluster) -> String {
    let base = cluster.folder().join("run/berth");
    let nodes = std::fs::read_dir(base).unwrap().flatten();
    let texts = nodes.filter_map(|node| std::fs::read_to_string(node.path().join("topology")).ok());
    let text: String = texts.collect();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("m_topology_inuse="));
    line.unwrap_or_default().to_string()
}

#[test]
fn the_default_line_of_grid_engine() {
    let Some(cluster) = cluster(&[SHARED]) else {
        return;
    };
    let script = "grep Cpus_allowed_list /proc/self/status\n\
        srun grep Cpus_allowed_list /proc/self/status\n\
        for i in 1 2 3; do srun -n1 true; done\n\
        echo bound=$BERTH_BOUND cores=$BERTH_BINDING_CORES";
    let job = cluster.sbatch(&["-n1", "-c2", "--binding=linear:2"], script);
    let lines: Vec<_> = job.output.lines().collect();
    assert_eq!(lines.len(), 3, "no note, both bound: {job:?}");
    assert_eq!(lines[0], "Cpus_allowed_list:\t0-1");
    assert_eq!(lines[0], lines[1]);
    assert!(lines[2].starts_with("bound=1 cores=0,0:"), "{job:?}");
    // The same without the environment.
    let asked = ["-n1", "-c2", "--export=NONE", "--binding=linear:1"];
    let job = cluster.sbatch(&asked, "grep Cpus_allowed_list /proc/self/status");
    assert_eq!(job.output, "Cpus_allowed_list:\t0\n");
    assert!(
        in_use(&cluster).chars().all(char::is_uppercase),
        "all is free"
    );
}

#[test]
fn jobs_on_the_same_cpus_get_cores_of_their_own() {
    let Some(cluster) = cluster(&[SHARED]) else {
        return;
    };
    let (first, cpus) = lasting(&cluster, "linear:1", "");
    assert_eq!(cpus, "0");
    let (_second, cpus) = lasting(&cluster, "linear:1", "");
    assert_eq!(cpus, "1");
    assert!(
        in_use(&cluster).chars().all(char::is_lowercase),
        "{}",
        in_use(&cluster)
    );
    for (binding, says) in [
        ("linear:1", "this step has 0 whole free cores here"),
        ("explicit:0,0", "another step is bound to core 0,0 here"),
        ("striding:1:1:0,0", "another step is bound to core 0,0 here"),
    ] {
        let full = cluster.srun(&["-n1", "-c2", &format!("--binding={binding}"), "true"]);
        assert!(full.ok() && note(&full).contains(says), "{full:#?}");
        let full = cluster.srun(&["-n1", "-c2", &format!("--binding=strict:{binding}"), "true"]);
        assert!(!full.ok() && full.stderr.contains(says), "{full:#?}");
    }
    // Whoever asks for nothing is not counted, and sees nothing of it.
    assert_eq!(cluster.task_masks(&["-n1", "-c2"]), ["0x3"]);
    // A slurmd that starts anew knows them too.
    cluster.restart_slurmd();
    let full = cluster.srun(&["-n1", "-c2", "--binding=linear:1", "true"]);
    assert!(note(&full).contains("0 whole free cores"), "{full:#?}");
    drop(first);
    let free = || cluster.task_masks(&["-n1", "-c2", "--binding=linear:1"]) == ["0x1"];
    cluster.wait_for("the first core", || free().then_some(()));
}

#[test]
fn a_killed_slurmstepd_leaves_nothing_taken() {
    let Some(cluster) = cluster(&[SHARED]) else {
        return;
    };
    let (_job, cpus) = lasting(&cluster, "linear:2", "");
    assert_eq!(cpus, "0-1");
    let full = cluster.srun(&["-n1", "-c2", "--binding=linear:1", "true"]);
    assert!(note(&full).contains("0 whole free cores"), "{full:#?}");
    let conf = cluster.folder().join("etc/slurm.conf");
    let stepds = std::process::Command::new("pgrep")
        .args(["-x", "slurmstepd"])
        .output()
        .unwrap();
    for pid in String::from_utf8_lossy(&stepds.stdout).split_whitespace() {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environ).contains(&*conf.to_string_lossy()) {
            std::process::Command::new("kill")
                .args(["-9", pid])
                .status()
                .unwrap();
        }
    }
    let free = || cluster.task_masks(&["-n1", "-c2", "--binding=linear:2"]) == ["0x3"];
    cluster.wait_for("the cores of the dead", || free().then_some(()));
}

#[test]
fn steps_of_one_job() {
    let Some(cluster) = cluster(&[SHARED]) else {
        return;
    };
    // Started without --overlap they are never on the same cores; an --overlap step takes nothing.
    let script = "ask='while read -r key cpus; do case $key in Cpus_allowed_list:) echo $cpus;; esac; done < /proc/self/status; sleep 2'\n\
        srun --overlap -n1 -c2 --binding=linear:1 /bin/sh -c \"$ask\" & sleep 1\n\
        srun --overlap -n1 -c2 --binding=linear:2 /bin/sh -c \"$ask\" & wait\n\
        srun -n1 -c1 --exact --binding=linear:1 /bin/sh -c \"$ask\" & sleep 1\n\
        srun --overlap -n1 -c2 --binding=linear:1 /bin/sh -c \"$ask\" & wait\n";
    let job = cluster.sbatch(&["-n2"], script);
    assert_eq!(job.output, "0\n0-1\n0\n1\n", "{job:?}");
}

#[test]
fn a_task_is_told_what_it_has() {
    let Some(cluster) = cluster(&[]) else { return };
    let ask = "echo \"$SLURM_PROCID|$BERTH_CPUS|$BERTH_CORES|$BERTH_BINDING_CORES|$SGE_BINDING|$OMP_PLACES|\
        $OMP_NUM_THREADS|$OMP_PROC_BIND|`grep Cpus_allowed_list /proc/self/status | cut -f2`\"";
    let says = |options: &[&str]| {
        let asked = [&["--exclusive"], options, &["/bin/sh", "-c", ask]].concat();
        let mut lines: Vec<_> = cluster
            .srun(&asked)
            .expect_ok()
            .lines()
            .map(String::from)
            .collect();
        lines.sort_unstable();
        lines
    };
    let one = says(&["-n2", "--binding=linear:1"]);
    assert!(one[0].starts_with("0|0|0|0,0|||||0"), "{one:?}");
    assert!(
        one[1].starts_with("1|1|1|") && one[1].ends_with("|||||1"),
        "{one:?}"
    );
    let env = says(&["-n1", "-c2", "--binding=env:linear:2"]);
    assert!(env[0].starts_with("0|0-1|0-1|0,0:"), "{env:?}");
    assert!(env[0].ends_with("|0 1|{0},{1}|2|close|0-1"), "{env:?}");
    let given = cluster.run_with(
        "srun",
        &[
            "--exclusive",
            "-n1",
            "--binding=env linear:1",
            "/bin/sh",
            "-c",
            ask,
        ],
        &[("OMP_NUM_THREADS", "7"), ("BERTH_BINDING_CORES", "5,5")],
    );
    assert!(given.stdout.contains("|0|{0}|7|close|"), "{given:#?}");
    let free = says(&["-n1", "--cpu-bind=cores", "-c2"]);
    assert_eq!(
        free,
        ["0|0-1|0-1||||||0-1"],
        "what an outer step had is gone"
    );
}

#[test]
fn the_environment_is_the_options_default() {
    let Some(cluster) = cluster(&[]) else { return };
    let masks = |options: &[&str], value: &str| {
        let ask = ["/bin/sh", "-c", "echo $BERTH_RULE"];
        let asked = [&["-n1", "-c2"], options, &ask].concat();
        cluster.run_with("srun", &asked, &[("BERTH_BINDING", value)])
    };
    assert_eq!(masks(&[], "linear:1").stdout, "binding:linear:1\n");
    assert_eq!(
        masks(&["--export=NONE"], "linear:1").stdout,
        "binding:linear:1\n"
    );
    assert_eq!(
        masks(&["--binding=linear:2"], "linear:1").stdout,
        "binding:linear:2\n"
    );
    assert_ne!(
        masks(&["--binding=none"], "linear:1").stdout,
        "binding:linear:1\n"
    );
    for (value, says) in [
        (
            "linear:0".to_string(),
            "BERTH_BINDING: --binding: expected an amount of cores of at least 1",
        ),
        (
            "x".repeat(100_000),
            "BERTH_BINDING: --binding: expected a strategy",
        ),
        (
            "explicit:".to_string() + &"0,0:".repeat(25_000),
            "longer than",
        ),
    ] {
        let wrong = masks(&[], &value);
        assert!(!wrong.ok() && wrong.stderr.len() < 2000, "{wrong:#?}");
        assert!(
            wrong.stderr.contains(says) || wrong.stderr.contains("expected"),
            "{wrong:#?}"
        );
    }
    let jobs = cluster.scontrol(&["-o", "show", "jobs"]).expect_ok();
    let script = cluster.folder().join("log/job.sh");
    std::fs::write(&script, "#!/bin/sh\n#SBATCH -n1 -c2\necho $BERTH_RULE\n").unwrap();
    let output = cluster.folder().join("log/job.out");
    let output = output.to_string_lossy();
    let job = ["--wait", "-o", &output, &script.to_string_lossy()];
    let done = cluster.run_with("sbatch", &job, &[("BERTH_BINDING", "host:linear:2")]);
    assert!(done.ok(), "{done:#?} {jobs}");
    assert_eq!(
        std::fs::read_to_string(&*output).unwrap(),
        "binding:host:linear:2\n"
    );
}

#[test]
fn what_can_never_fit_is_caught_at_submission() {
    let Some(cluster) = cluster(&[]) else { return };
    let script = cluster.folder().join("log/never.sh");
    std::fs::write(
        &script,
        "#!/bin/sh\n#SBATCH -n 4\n#SBATCH --binding=linear:4\ntrue\n",
    )
    .unwrap();
    let script = script.to_string_lossy().into_owned();
    for (command, words) in [
        ("sbatch", &[script.as_str()][..]),
        ("sbatch", &["-n4", "--binding=linear:4", "--wrap=true"]),
        ("srun", &["-n4", "--binding=linear:4", "true"]),
        ("salloc", &["-n", "4", "--binding", "linear:4", "true"]),
    ] {
        let done = cluster.run(command, words);
        assert!(!done.ok(), "{done:#?}");
        for says in [
            "--binding=linear:4 asks for 4 tasks × 4 cores",
            "this job asks for 4 × 1 CPUs and can never have them",
            "use -n1 -c4 for one process with 4 threads",
        ] {
            assert!(done.stderr.contains(says), "{says}: {done:#?}");
        }
    }
    for (option, says) in [
        ("linear:0", "of at least 1"),
        ("linear:99999999999", "an amount of cores (0 to 65536)"),
        ("striding:2:0", "a step of at least 1"),
        ("explicit:", "a socket number"),
        ("linear:2:0", "expected ','"),
        ("linier:2", "expected a strategy"),
        ("explicit:0,0:0,0", "a core not named before"),
    ] {
        for (command, work) in [
            ("srun", "true"),
            ("sbatch", "--wrap=true"),
            ("salloc", "true"),
        ] {
            let done = cluster.run(command, &["-c2", &format!("--binding={option}"), work]);
            assert!(!done.ok() && done.stderr.contains(says), "{done:#?}");
            assert!(
                done.stderr.contains('^'),
                "the offending part is marked: {done:#?}"
            );
        }
    }
    let long = format!("--binding=explicit:{}0,0", "0,0:".repeat(25_000));
    let done = cluster.srun(&["-c2", &long, "true"]);
    assert!(
        !done.ok() && done.stderr.contains("longer than 8192 bytes"),
        "{:.400}",
        done.stderr
    );
    let jobs = cluster.scontrol(&["-o", "show", "jobs"]).expect_ok();
    assert!(!jobs.contains("JobId="), "something was queued: {jobs}");
    // Where it is not sure, the node decides.
    let whole = cluster.srun(&["-n2", "--exclusive", "--binding=linear:2", "true"]);
    assert!(
        whole.ok() && note(&whole).contains("host:linear:2 would fit"),
        "{whole:#?}"
    );
    let absent = cluster.srun(&["-n1", "--binding=explicit:9,9", "true"]);
    assert!(
        absent.ok() && note(&absent).contains("no core 9,9 here"),
        "{absent:#?}"
    );
}

/// A client whose plugin of our name checks nothing.
#[test]
fn a_client_that_lets_everything_through_does_no_harm() {
    let Some(cluster) = cluster(&[]) else { return };
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
        assert!(step.ok() && note(&step).contains("not bound"), "{step:#?}");
    }
    cluster.wait_idle();
}

#[test]
fn who_is_bound_where() {
    let Some(cluster) = cluster(&[SHARED]) else {
        return;
    };
    let status = |options: &[&str]| {
        let state = cluster.folder().join("run/berth");
        let state = format!("--state-dir={}", state.display());
        let command = berth_tests::command();
        cluster.run(
            &command.to_string_lossy(),
            &[&["status", &state], options].concat(),
        )
    };
    assert!(
        status(&[])
            .expect_ok()
            .contains("no step is bound by --binding")
    );
    let (job, _) = lasting(&cluster, "linear:1", "");
    let text = status(&[]).expect_ok();
    assert!(
        text.contains("linear:1") && text.contains("running"),
        "{text}"
    );
    assert!(text.contains(&format!("{}.0", job.job)), "{text}");
    let (_other, _) = lasting(&cluster, "linear:1", "");
    let own = status(&["--job", &job.job, "--format=json"]).expect_ok();
    let in_use = own.lines().find(|line| line.contains("m_topology_inuse"));
    let small = |text: &str| text.chars().filter(|letter| *letter == 'c').count();
    assert_eq!(
        in_use.map(|line| small(&line.replace("m_topology_inuse", ""))),
        Some(1),
        "{own}"
    );
    cluster.run("scontrol", &["suspend", &job.job]).expect_ok();
    cluster.wait_for("the suspended job", || {
        status(&[]).stdout.contains("suspended").then_some(())
    });
    // Its core goes to whoever asks, and is taken from nobody; resumed, it is where it was.
    let both = cluster.srun(&[
        "-n1",
        "-c2",
        "--binding=linear:1:0,0",
        "/bin/sh",
        "-c",
        "echo $BERTH_CPUS",
    ]);
    assert_eq!((both.stdout.as_str(), both.stderr.as_str()), ("0\n", ""));
    cluster.run("scontrol", &["resume", &job.job]).expect_ok();
    cluster.wait_for("the resumed job", || {
        (!status(&[]).stdout.contains("suspended")).then_some(())
    });
    let full = cluster.srun(&["-n1", "-c2", "--binding=linear:1", "true"]);
    assert!(note(&full).contains("0 whole free cores"), "{full:#?}");
}

/// Grid Engine's scripts read the fourth column; Open MPI takes the rank file.
#[test]
fn files_for_parallel_environments() {
    let Some(cluster) = cluster(&[]) else { return };
    let script = "cut -d' ' -f2,4 $PE_HOSTFILE\nwhile read host slots queue cores; do echo \"$slots $cores\"; done < $PE_HOSTFILE\n\
        cut -d= -f2 $BERTH_RANKFILE | cut -d' ' -f2\nls -ld $BERTH_RANKFILE $PE_HOSTFILE | cut -c1-10\necho $PE_HOSTFILE";
    for (options, tasks) in [
        (&["-n2", "--binding=pe:linear:1"][..], "2 0,0:"),
        (&["-n1", "-c2", "--binding=pe linear:2"], "1 0,0:"),
    ] {
        let job = cluster.sbatch(options, script);
        let lines: Vec<_> = job.output.lines().collect();
        assert_eq!(lines[0], lines[1], "{job:?}");
        assert!(lines[0].starts_with(tasks), "{job:?}");
        let path = lines.last().unwrap();
        assert!(path.starts_with("/tmp/berth-"), "{job:?}");
        assert!(!std::path::Path::new(path).exists(), "it stays: {job:?}");
    }
    let step = cluster.srun(&[
        "-n2",
        "--binding=pe:linear:1",
        "/bin/sh",
        "-c",
        "wc -l < $BERTH_RANKFILE",
    ]);
    assert_eq!(step.expect_ok(), "2\n2\n");
    if !berth_tests::program("mpirun", "Open MPI's mpirun (openmpi-bin)") {
        return;
    }
    let mpi = "mpirun --allow-run-as-root --rankfile $BERTH_RANKFILE grep Cpus_allowed_list /proc/self/status";
    let job = cluster.sbatch(&["-n2", "--binding=pe:linear:1"], mpi);
    let mut lines: Vec<_> = job.output.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["Cpus_allowed_list:\t0", "Cpus_allowed_list:\t1"],
        "{job:?}"
    );
}

/// select/linear gives every step all of its job's node, so that steps collide without --overlap.
#[test]
fn steps_beside_each_other_under_select_linear() {
    let Some(cluster) = cluster(&[
        "SelectType=select/linear",
        "SelectTypeParameters=CR_ONE_TASK_PER_CORE",
    ]) else {
        return;
    };
    let script = "ask='while read -r key cpus; do case $key in Cpus_allowed_list:) echo $cpus;; esac; done < /proc/self/status; sleep 2'\n\
        srun --exact -n1 -c1 --binding=linear:1 /bin/sh -c \"$ask\" & sleep 1\n\
        srun --exact -n1 -c1 --binding=linear:1 /bin/sh -c \"$ask\" & wait\n";
    let job = cluster.sbatch(&["-n2"], script);
    let mut lines: Vec<_> = job
        .output
        .lines()
        .filter(|line| !line.contains("srun:"))
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0", "1"], "{job:?}");
}

/// Whoever preempts a job gets its cores; resumed, it is where it was.
#[test]
fn preempted_by_suspension() {
    // ci/cluster takes `\n` within a line for its end.
    let partitions = "PartitionName=main Nodes=ALL Default=YES PriorityTier=1 OverSubscribe=FORCE:1\\n\
        PartitionName=high Nodes=ALL PriorityTier=9 OverSubscribe=FORCE:1";
    let lines = [
        "PreemptType=preempt/partition_prio",
        "PreemptMode=SUSPEND,GANG",
        partitions,
    ];
    let Some(cluster) = cluster(&lines) else {
        return;
    };
    let (low, cpus) = lasting(&cluster, "linear:2", "");
    assert_eq!(cpus, "0-1");
    let ask = [
        "-p",
        "high",
        "-n1",
        "-c2",
        "--binding=linear:2",
        "/bin/sh",
        "-c",
        "echo $BERTH_CPUS",
    ];
    let high = cluster.srun(&ask);
    assert_eq!(
        (high.stdout.as_str(), high.stderr.as_str()),
        ("0-1\n", ""),
        "{high:#?}"
    );
    let state = format!(
        "--state-dir={}",
        cluster.folder().join("run/berth").display()
    );
    cluster.wait_for("the preempted job", || {
        let berth = berth_tests::command();
        let status = cluster
            .run(&berth.to_string_lossy(), &["status", &state])
            .expect_ok();
        let own = format!("{}.0", low.job);
        let line = status
            .lines()
            .find(|line| line.starts_with(&own))?
            .to_string();
        line.ends_with("running").then_some(())
    });
}
