//! `berth status --cpusets` beside real jobs: a CPU in a job's cgroup, or in the ledger where Slurm
//! confines nobody, is not free; the kernel's and slurmd's answer is shown, not an own count.

use std::fs;

use berth_tests::{Cluster, Done, cgroup_cpusets};

fn status(cluster: &Cluster, words: &[&str]) -> Done {
    let berth = berth_tests::command();
    let state = cluster.folder().join("run/berth");
    let state = state.to_str().expect("a path");
    let words = [&["status", "--cpusets", "--state-dir", state], words].concat();
    cluster.run(&berth.to_string_lossy(), &words)
}

/// What stands behind a word of the details.
fn detail(cluster: &Cluster, word: &str) -> String {
    let shown = status(cluster, &["-l"]).expect_ok();
    let line = shown.lines().find_map(|line| line.strip_prefix(word));
    line.unwrap_or_else(|| panic!("{word}: {shown}"))
        .trim()
        .into()
}

/// What the kernel says that a job's task may use.
fn cpus_of(done: &Done) -> String {
    done.stdout.lines().next().unwrap_or_default().trim().into()
}

#[test]
fn cpus_in_a_job_s_cgroup_are_not_free() {
    if !cgroup_cpusets() || !berth_tests::two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let conf = folder.path().join("cgroup.conf");
    fs::write(&conf, "ConstrainCores=yes\n").expect("a file");
    let sets = folder.path().join("cpusets.conf");
    fs::write(&sets, "name=MYSET cpus=0-1\n").expect("a file");
    let cluster = Cluster::builder()
        .task_plugin("task/cgroup,task/berth")
        .file(&conf)
        .plugstack(Some(&format!("cpusets={}", sets.display())))
        .up();
    let idle = detail(&cluster, "FREE CPU LIST:");
    let berth = berth_tests::command();
    let state = cluster.folder().join("run/berth");
    // One core of the node, and its answer from inside the job.
    let script = format!(
        "sed -n 's/^Cpus_allowed_list:\\t//p' /proc/self/status; {} status --cpusets -l --state-dir {}",
        berth.display(),
        state.display()
    );
    let done = cluster.srun(&["-n1", "--cpu-bind=none", "/bin/sh", "-c", &script]);
    let own = cpus_of(&done);
    let line = done
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("FREE CPU LIST: "));
    let free = line.unwrap_or_else(|| panic!("{done:#?}"));
    assert_ne!(free, idle, "the job has {own}");
    let all =
        [own.as_str(), free].map(|list| list.split(',').map(String::from).collect::<Vec<_>>());
    let both = all[0].iter().any(|cpu| all[1].contains(cpu));
    assert!(!both, "free {free}, the job's {own}");
    assert!(
        done.stdout.contains("STATIC CPUSETS: MYSET(0-1)"),
        "{done:#?}"
    );
    cluster.wait_for("the job's CPUs to be free again", || {
        (detail(&cluster, "FREE CPU LIST:") == idle).then_some(())
    });
}

#[test]
fn without_cgroups_the_ledger_counts() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder().plugstack(Some("reserved=")).up();
    let idle = detail(&cluster, "FREE CPU LIST:");
    let berth = berth_tests::command();
    let state = cluster.folder().join("run/berth");
    let script = format!(
        "echo $BERTH_CPUS; {} status --cpusets -l --state-dir {}",
        berth.display(),
        state.display()
    );
    let done = cluster.srun(&["-n1", "--binding=linear:1", "/bin/sh", "-c", &script]);
    let own = cpus_of(&done);
    assert!(!own.is_empty(), "{done:#?}");
    let line = done
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("FREE CPU LIST: "));
    assert!(line.is_some_and(|free| free != idle), "{idle}: {done:#?}");
    let json = status(&cluster, &["--format", "json"]).expect_ok();
    assert!(
        json.contains("\"format\": \"berth-cpusets\"") && json.contains("\"nfreecpus\""),
        "{json}"
    );
    let table = status(&cluster, &[]).expect_ok();
    assert!(table.starts_with("HOSTNAME"), "{table}");
}
