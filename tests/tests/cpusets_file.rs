//! The site's file of cpusets on a real cluster: slurmd reads it when it starts and after `berth reload`, keeps what was in
//! force when it is wrong, and `berth doctor` reports each state.

use std::fs;
use std::path::Path;

use berth_tests::{Cluster, Done};

const GOOD: &str = "\
# two sets, and a partition's words
name=MYSET cpus=0 users=0 accounts=phys partitions=normal options=CPUSET_MEMORY_LOCAL
name=OTHERS nodes=elsewhere[1-4] cpus=0-3
name=BIG cpus=0-1 mems=0
partition=normal default='CPUSET[CPU_LIST=0, 1]'
";

fn doctor(cluster: &Cluster) -> Done {
    cluster.berth(&["doctor"])
}

/// What slurmd has announced, whichever node it is.
fn announced(cluster: &Cluster) -> String {
    let state = cluster.folder().join("run/berth");
    let nodes = fs::read_dir(state).expect("a state directory");
    let files = nodes.flatten().map(|node| node.path().join("slurmd.json"));
    files
        .filter_map(|file| fs::read_to_string(file).ok())
        .collect()
}

/// What `doctor` says of the file, once it says this.
fn wait_for_doctor(cluster: &Cluster, is_well: bool, says: &str) -> Done {
    cluster.wait_for(&format!("the doctor to say {says}"), || {
        let done = doctor(cluster);
        (done.ok() == is_well && done.stdout.contains(says)).then_some(done)
    })
}

fn cluster(file: &Path) -> Cluster {
    let words = format!(
        "cpusets={} cpuset_best=off cpuset_fail=unbound",
        file.display()
    );
    Cluster::builder().plugstack(Some(&words)).up()
}

const IN_FORCE: &str = "2 static cpusets and the words of 1 partition in force";

fn launch(cluster: &Cluster) {
    cluster.srun(&["-n1", "true"]).expect_ok();
}

#[test]
fn a_changed_file_is_in_force_after_reload_and_a_launch() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cpusets.conf");
    fs::write(&file, GOOD).expect("a file");
    let cluster = cluster(&file);
    launch(&cluster);
    let changed = GOOD.replace("name=BIG", "name=LARGE users=no-such-user-here");
    fs::write(&file, changed).expect("a file");
    launch(&cluster);
    let done = doctor(&cluster);
    let says = format!("{IN_FORCE}; the file has changed since slurmd read it: run berth reload");
    assert!(done.ok() && done.stdout.contains(&says), "{done:#?}");
    let told = cluster.berth(&["reload"]).expect_ok();
    assert!(told.contains("at its next launch"), "{told}");
    launch(&cluster);
    let says = "line 4: this node knows no user no-such-user-here";
    let done = wait_for_doctor(&cluster, true, says);
    assert!(done.stdout.contains(IN_FORCE), "{done:#?}");
    assert!(!done.stdout.contains("has changed"), "{done:#?}");
    let words = announced(&cluster);
    assert!(
        words.contains("\"LARGE\"") && !words.contains("\"BIG\""),
        "{words}"
    );
}

#[test]
fn a_wrong_file_leaves_in_force_what_was_read_before() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cpusets.conf");
    fs::write(&file, GOOD).expect("a file");
    let cluster = cluster(&file);
    let wrong = GOOD.replace("cpus=0 users", "cpu=0 users");
    fs::write(&file, &wrong).expect("a file");
    let why = "cpusets.conf, line 2: there is no key cpu here; the nearest is cpus";
    let done = cluster.berth(&["reload"]);
    assert!(!done.ok() && done.stderr.contains(why), "{done:#?}");
    launch(&cluster);
    assert!(!cluster.slurmd_log().contains(why), "slurmd was not asked");
    // It is right when the command looks, and wrong when slurmd reads it.
    fs::write(&file, GOOD).expect("a file");
    cluster.berth(&["reload"]).expect_ok();
    fs::write(&file, &wrong).expect("a file");
    launch(&cluster);
    let says = format!("{why}; the file as it was read before");
    let done = wait_for_doctor(&cluster, false, &says);
    assert!(done.stdout.contains(IN_FORCE), "{done:#?}");
    assert!(announced(&cluster).contains("\"MYSET\""));
    launch(&cluster);
    let log = cluster.slurmd_log();
    assert_eq!(log.matches(why).count(), 1, "{log}");

    fs::remove_file(&file).expect("the file");
    let done = cluster.berth(&["reload"]);
    assert!(
        !done.ok() && done.stderr.contains("does not exist"),
        "{done:#?}"
    );
    let done = wait_for_doctor(&cluster, false, "does not exist");
    assert!(done.stdout.contains(IN_FORCE), "{done:#?}");
}

/// The example on a machine of eight cores, with the set's cores behind all others: Slurm gives those to
/// nobody who does not ask for them.
fn example() -> Cluster {
    let folder = tempfile::tempdir().expect("a folder");
    // This host may have fewer CPUs.
    let gres = folder.path().join("gres.conf");
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../slurm-conf-examples/cpusets/gres.conf");
    let text = fs::read_to_string(example).expect("the example");
    let unit = folder.path().join("cpu");
    assert!(
        text.contains("File=/sys/devices/system/cpu/cpu[0-3] Cores=0-3"),
        "{text}"
    );
    for number in 0..4 {
        fs::write(format!("{}{number}", unit.display()), "").expect("a file");
    }
    let text = text.replace("/sys/devices/system/cpu/cpu", &unit.to_string_lossy());
    fs::write(&gres, text.replace("Cores=0-3", "Cores=4-7")).expect("a file");
    let cluster = Cluster::builder()
        .example("cpusets")
        .file(&gres)
        // These cores are not this host's, so cgroups cannot confine to them.
        .task_plugin("task/berth")
        .set("ProctrackType=proctrack/pgid")
        .env("HWLOC_SYNTHETIC", "pack:2 core:4 pu:1")
        .node("Gres=myset:4")
        .up();
    let done = doctor(&cluster);
    let says = "1 static cpuset and the words of 2 partitions in force";
    assert!(done.stdout.contains(says), "{done:#?}");
    cluster
}

/// A job that asks for the set.
fn of_set(partition: &'static str) -> [&'static str; 4] {
    let ask = ["-n4", "--gres=myset:4", "--gres-flags=enforce-binding"];
    [partition, ask[0], ask[1], ask[2]]
}

#[test]
fn slurm_counts_the_static_cpuset_of_the_example_and_preempts_for_it() {
    let cluster = example();
    let low = submit(&cluster, &of_set("-plow"));
    wait_for_job(&cluster, &low, "JobState=RUNNING", "CPU_IDs=4-7");
    let other = submit(&cluster, &["-plow", "-n2"]);
    wait_for_job(&cluster, &other, "JobState=RUNNING", "CPU_IDs=0-1");
    let next = submit(&cluster, &of_set("-plow"));
    wait_for_job(&cluster, &next, "JobState=PENDING", "Reason=Resources");
    let high = submit(&cluster, &of_set("-phigh"));
    wait_for_job(&cluster, &high, "JobState=RUNNING", "CPU_IDs=4-7");
    wait_for_job(&cluster, &low, "JobState=PENDING", "Restarts=1");
    wait_for_job(&cluster, &other, "JobState=RUNNING", "CPU_IDs=0-1");
}

/// Submits a job that lasts; its number.
fn submit(cluster: &Cluster, words: &[&str]) -> String {
    let words = [words, &["--parsable", "-o", "/dev/null", "--wrap=sleep 60"]].concat();
    cluster.run("sbatch", &words).expect_ok().trim().into()
}

fn wait_for_job(cluster: &Cluster, id: &str, state: &str, says: &str) {
    cluster.wait_for(&format!("job {id} with {state} and {says}"), || {
        let shown = cluster.scontrol(&["-d", "show", "job", id]).stdout;
        (shown.contains(state) && shown.contains(says)).then_some(())
    });
}
