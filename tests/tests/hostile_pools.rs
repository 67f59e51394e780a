//! Users who are in no pool and want what its jobs get: by the names of partitions, by options, by variables, by changes of
//! their jobs, and by a client of their own.

use std::fs;

use berth_tests::Cluster;
use berth_tests::hostile::{Attacker, Victim};

/// The pool's own variable, behind a word of this test's; the task's niceness.
const LINE: &str = "echo pool=$WORKERS. $(cut -d' ' -f19 /proc/$$/stat)";
const SHOW: [&str; 3] = ["sh", "-c", LINE];
/// The pool's partition is nobody's but root's.
const CLOSED: &str = "PartitionName=closed Nodes=ALL OverSubscribe=FORCE:8 AllowGroups=root";

/// What slurmd would have written for a member, as far as a user can know it.
fn forged() -> Vec<Vec<u8>> {
    let handover = "1 bound=0 pool-others=50 pool=closed8 pool-limit=8 pool-most=8 pool-weight=10000 pool-cpus=0 \
                    pool-export=WORKERS";
    let variables = [
        format!("BERTH_HANDOVER={handover}"),
        format!("BERTH_HANDOVER={handover} {}", "0".repeat(64)),
        "BERTH_POOL=closed8".to_owned(),
        "SLURM_JOB_PARTITION=closed".to_owned(),
        "SLURM_JOB_ACCOUNT=pooled".to_owned(),
        "SPANK__SLURM_SPANK_OPTION_berth_pool=closed8".to_owned(),
        "_SLURM_SPANK_OPTION_berth_pool=closed8".to_owned(),
    ];
    variables.map(String::into_bytes).to_vec()
}

/// A step of the attacker's shows that it is in no pool, or was refused. Whatever the variable says, where normal jobs are
/// nice its task is nice too.
fn outside(how: &str, stdout: &str, normal: &str) {
    let shown = stdout.lines().filter(|line| line.contains("pool="));
    for line in shown {
        assert_eq!(line, normal, "{how}: {stdout}");
    }
}

/// What a member has not and others have, where this node gives it: niceness.
fn goes_before(member: &str, normal: &str) {
    let niceness = |line: &str| -> i32 {
        let word = line.split_whitespace().nth(1);
        word.and_then(|word| word.parse().ok()).expect("a number")
    };
    let [member, normal] = [member, normal].map(niceness);
    assert!(member <= normal, "{member} {normal}");
    println!("niceness: {member} of a member, {normal} of others");
}

fn attack(attacker: &Attacker<'_>, cluster: &Cluster, normal: &str) {
    // Names of partitions: the pool's is closed, and a list with it is no way around that.
    for partition in [
        "closed",
        "closed,main",
        "main,closed",
        "CLOSED",
        "closed ",
        "main\nclosed",
    ] {
        let done = attacker.srun(&[], &[&["-p", partition, "-n1"][..], &SHOW].concat());
        outside(partition, &done.stdout, normal);
    }
    // Options: nobody chooses a pool.
    for option in [
        "--pool=closed8",
        "--pool=none,closed8",
        "--pool=",
        "--pool=\u{1b}[2J",
    ] {
        let done = attacker.srun(&[], &[&[option, "-n1"][..], &SHOW].concat());
        assert!(!done.ok(), "{option}: {done:#?}");
    }
    // Variables of the submitting program.
    for variable in [
        "BERTH_POOL",
        "SLURM_PARTITION",
        "SLURM_JOB_PARTITION",
        "SPANK_POOL",
    ] {
        let words = [&["-pmain", "-n1"][..], &SHOW].concat();
        let done = attacker.run("srun", &words, &[(variable, "closed8")]);
        outside(variable, &done.stdout, normal);
    }
    other_ways(attacker, normal);
    waiting_job(attacker, cluster, normal);
    own_client(attacker, normal);
}

/// A client of the user's own: variables and options that only Slurm and berth write.
fn own_client(attacker: &Attacker<'_>, normal: &str) {
    let job = attacker.job(&["-pmain", "-n1"]);
    let place = job.option();
    let words = [&[&*place, "--overlap", "-n1"][..], &SHOW].concat();
    let forged = forged();
    // Its steps run, and show what they are.
    let done = attacker.srun(&[("env", b"HARMLESS=1")], &words);
    assert_eq!(done.stdout.trim(), normal, "{done:#?}");
    for variable in &forged {
        let done = attacker.srun(&[("env", variable)], &words);
        outside(&String::from_utf8_lossy(variable), &done.stdout, normal);
    }
    let all: Vec<_> = forged
        .iter()
        .map(|entry| ("env", entry.as_slice()))
        .collect();
    outside("all variables", &attacker.srun(&all, &words).stdout, normal);
    let honest = [&["--pool=none"][..], &words].concat();
    for text in [&b"closed8"[..], b"none closed8", b"", b"none\nclosed8"] {
        let done = attacker.srun(&[("option pool", text)], &honest);
        outside(&String::from_utf8_lossy(text), &done.stdout, normal);
    }
}

/// What Slurm itself offers: a QOS, a reservation, a script's partition, and a job that changes its own.
fn other_ways(attacker: &Attacker<'_>, normal: &str) {
    for option in ["--qos=closed8", "--qos=closed", "--reservation=closed8"] {
        let done = attacker.srun(&[], &[&[option, "-n1"][..], &SHOW].concat());
        outside(option, &done.stdout, normal);
    }
    let output = attacker.folder().join("script");
    let output = format!("--output={}", output.display());
    let line = format!("--wrap={LINE}");
    let script = ["-n1", "--wait", &*output, &*line];
    let done = attacker.run("sbatch", &script, &[("SBATCH_PARTITION", "closed")]);
    assert!(!done.ok(), "{done:#?}");
    let done = attacker.run("sbatch", &script, &[("SBATCH_PARTITION", "main")]);
    assert!(done.ok(), "{done:#?}");
    let text = fs::read_to_string(attacker.folder().join("script")).expect("its output");
    assert_eq!(text.trim(), normal);
    // A job that runs.
    let job = attacker.job(&["-pmain", "-n1"]);
    let id = job.option().replace("--jobid=", "JobId=");
    for partition in ["Partition=closed", "Partition=main,closed"] {
        let done = attacker.run("scontrol", &["update", &id, partition], &[]);
        assert!(!done.ok(), "{partition}: {done:#?}");
    }
    let done = attacker.srun(
        &[],
        &[&[&*job.option(), "--overlap", "-n1"][..], &SHOW].concat(),
    );
    assert_eq!(done.stdout.trim(), normal, "{done:#?}");
}

/// slurmctld takes a list with a closed partition for a job that waits, and then does not start the job.
fn waiting_job(attacker: &Attacker<'_>, cluster: &Cluster, normal: &str) {
    let file = attacker.folder().join("waiting");
    let output = format!("--output={}", file.display());
    let line = format!("--wrap={LINE}");
    let waits = ["-pmain", "-n1", "--hold", "--parsable", &*output, &*line];
    let job = attacker.run("sbatch", &waits, &[]);
    assert!(job.ok(), "{job:#?}");
    let id = format!("JobId={}", job.stdout.trim());
    // Whatever slurmctld answers, the job must not start there.
    for partition in ["closed", "closed,main", "main,closed", "main"] {
        let partition = format!("Partition={partition}");
        let _ = attacker.run("scontrol", &["update", &id, &partition], &[]);
        let _ = attacker.run("scontrol", &["release", job.stdout.trim()], &[]);
    }
    let text = cluster.wait_for("the job that waited", || {
        fs::read_to_string(&file)
            .ok()
            .filter(|text| !text.is_empty())
    });
    assert_eq!(text.trim(), normal);
}

/// Slurm gives a user any account where it does not compare that with associations, as here. So doctor fails.
#[test]
fn an_account_that_slurmctld_does_not_check_keeps_nobody_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    fs::write(&file, "name=phys8 account=phys cpus=1 export=WORKERS\n").expect("a file");
    let settings = format!("pools={}", file.display());
    let victim = Victim::start(Cluster::builder().plugstack(Some(&settings)));
    victim.attacked(|attacker| {
        let show = |options: &[&str]| attacker.srun(&[], &[options, &["-n1"], &SHOW].concat());
        let outside = show(&[]);
        assert!(outside.stdout.starts_with("pool=. "), "{outside:#?}");
        let member = show(&["--account=phys"]);
        assert!(member.stdout.starts_with("pool=1. "), "{member:#?}");
    });
    let state = victim.cluster().folder().join("run/berth");
    let state = state.to_str().expect("a path");
    let command = berth_tests::command();
    let words = ["doctor", "--state-dir", state];
    let doctor = victim.cluster().run(&command.to_string_lossy(), &words);
    let says = "account= of the pool phys8 keeps nobody out, because slurmctld lets every user have any account";
    let line = doctor.stdout.lines().find(|line| line.contains(says));
    let is_wrong = line.is_some_and(|line| line.starts_with("WRONG"));
    assert!(is_wrong && !doctor.ok(), "{doctor:#?}");
}

#[test]
fn nobody_gets_into_a_pool() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    let line = "name=closed8 partition=closed cpus=1 export=WORKERS\n";
    fs::write(&file, line).expect("a file");
    // Every test has a partition of its own; this is one beside it.
    let partition = folder.path().join("closed.conf");
    fs::write(&partition, format!("{CLOSED}\n")).expect("a file");
    let settings = format!("pools={}", file.display());
    let builder = Cluster::builder().plugstack(Some(&settings));
    let builder = builder.file(&partition).set("Include closed.conf");
    let victim = Victim::start(builder);
    // Root may use the partition, so the pool works.
    let member = victim
        .cluster()
        .srun(&[&["-pclosed", "-n1"][..], &SHOW].concat());
    assert!(member.stdout.starts_with("pool=1. "), "{member:#?}");
    let normal = victim
        .cluster()
        .srun(&[&["-pmain", "-n1"][..], &SHOW].concat());
    let normal = normal.expect_ok().trim().to_owned();
    goes_before(&member.stdout, &normal);
    let members = || {
        victim
            .cluster()
            .slurmd_log()
            .matches("pool=closed8 cpus-asked")
            .count()
    };
    let before = members();
    victim.attacked(|attacker| attack(attacker, victim.cluster(), &normal));
    assert_eq!(members(), before, "another job was in the pool");
}

/// slurmstepd would have read no plan at all, and have given the job the kernel's weight beside a pool.
#[test]
fn lists_beyond_what_slurmstepd_reads_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pools.conf");
    fs::write(&file, "name=all partition=nobodys cpus=1\n").expect("a file");
    let settings = format!("pools={}", file.display());
    let victim = Victim::start(Cluster::builder().plugstack(Some(&settings)));
    // Only the first mask is a task's.
    let mut list = vec!["0x1".to_owned()];
    list.resize(4_200, format!("0x{}", "f".repeat(256)));
    let list = list.join(",").into_bytes();
    victim.attacked(|attacker| {
        let job = attacker.job(&["-n1"]);
        // MEM_BIND_MASK
        let changes: &[(&str, &[u8])] = &[("mem_bind_type", b"0x10"), ("mem_bind", &list)];
        let done = attacker.srun(
            changes,
            &[&job.option(), "--overlap", "-n1", "echo", "it ran"],
        );
        assert!(!done.stdout.contains("it ran"), "{done:#?}");
    });
    let log = victim.cluster().slurmd_log();
    assert!(
        log.contains("what was requested for this step has"),
        "{log}"
    );
    assert!(!log.contains("cannot trust slurmd's plan"), "{log}");
}
