//! The site's cpusets of other users, variables that pretend to be a node's own, and the folder in which root leaves
//! facts of jobs: a user's client gets nothing by them, and other users' CPUs are not held.

use berth_tests::hostile::cpusets::{
    LOOK, WIDEN, all_is_free, found, own_cpus, status, stays, step,
};
use berth_tests::hostile::{self, FORGED, Job, Victim};
use berth_tests::{Done, process, two_cpus};

/// A cpuset of the site is open to those whom its line names, whatever a client says of itself.
#[test]
fn another_user_s_static_cpuset() {
    if !two_cpus() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cpusets");
    let lines = "name=THEIRS cpus=0-1 users=0\nname=MINE cpus=0-1\n";
    std::fs::write(&file, lines).expect("a file");
    let victim = Victim::start(hostile::berth(&format!("cpusets={}", file.display())));
    victim.attacked(|attacker| {
        let job = attacker.job(&["-n1"]);
        let place = job.option();
        for text in [
            &b"CPUSET_NAME=THEIRS"[..],
            b"CPUSET_TYPE=static;CPUSET_NAME=THEIRS;NCPUS=1",
        ] {
            for size in [&b"job:1"[..], b"step:999999"] {
                let changes = [
                    ("option cpuset", text),
                    ("option berth-cpuset-size", size),
                    ("env", &b"USER=root"[..]),
                    ("env", b"SLURM_JOB_UID=0"),
                ];
                let done = step(attacker, &place, "--cpuset=CPUSET_NAME=MINE", &changes);
                let reasons = [
                    "is not open to this job's user",
                    "cannot stand behind NCPUS=",
                ];
                let is_said = reasons.iter().any(|why| done.stderr.contains(why));
                assert!(found(&done).is_none() && is_said, "{done:#?}");
            }
        }
        // The same cannot be had by another user's job number.
        let others = Job::of_root(victim.cluster(), &["-n1", "--cpuset=CPUSET_NAME=THEIRS"]);
        let number = others.option().replace("--jobid=", "");
        let changes = [
            ("job_id", number.as_bytes()),
            ("option cpuset", b"CPUSET_NAME=THEIRS"),
        ];
        let done = step(attacker, &place, "--cpuset=CPUSET_NAME=MINE", &changes);
        assert!(found(&done).is_none(), "{done:#?}");
    });
    victim.stands();
}

/// Variables in which a cpuset travels from slurmd to slurmstepd, or to a task.
fn forged(cpus: &str) -> Vec<Vec<u8>> {
    let line = "CPUSET_TYPE=static;CPUSET_NAME=FORGED;NCPUS=99;";
    let fields = format!(
        "cpuset={cpus} cpuset-line={line} cpuset-mark=1 cpuset-exclusive=1 cpuset-job=1 cpuset-memory=1 \
         cpuset-mems=0x1"
    );
    let variables = [
        format!("BERTH_HANDOVER=1 bound=1 cpus=0x3 {fields}"),
        format!("BERTH_HANDOVER=2 bound=0 {fields}"),
        format!("BERTH_CPUSET_INFO={line}"),
        format!("BERTH_CPUSET_MARK=1\n{FORGED}"),
        "BERTH_CONFINE=off".to_owned(),
    ];
    variables.map(String::into_bytes).to_vec()
}

#[test]
fn variables_of_a_node_s_own() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth("confine=task,force"));
    victim.attacked(|attacker| {
        let job = attacker.job(&["-n1"]);
        let own = own_cpus(attacker, &job);
        let variables = forged("0-63");
        let entries: Vec<_> = variables
            .iter()
            .map(|entry| ("env", entry.as_slice()))
            .collect();
        let place = job.option();
        for (option, is_in_cpuset) in [("--cpu-bind=threads", false), ("--cpuset=NCPUS=1", true)] {
            let words = [&[&*place, "--overlap", "-n1", option][..], &LOOK].concat();
            let done = attacker.srun(&entries, &words);
            let (cpus, told) = found(&done).unwrap_or_else(|| panic!("{done:#?}"));
            assert!(hostile::is_inside(cpus, &own), "{cpus} of {own}: {done:#?}");
            assert!(!told.contains("FORGED"), "{option}: {done:#?}");
            assert_eq!(!told.is_empty(), is_in_cpuset, "{option}: {done:#?}");
        }
        nothing_is_held(&victim, || {
            attacker.srun(&entries, &[&place, "--overlap", "-n1", "sleep", "3"])
        });
    });
    let log = victim.cluster().slurmd_log();
    assert!(!log.contains("FORGED"), "{log}");
    all_is_free(victim.cluster());
    victim.stands();
}

/// While such a step lives, another user gets all of its CPUs.
fn nothing_is_held(victim: &Victim, step: impl FnOnce() -> Done + Send) {
    let cluster = victim.cluster();
    std::thread::scope(|threads| {
        threads.spawn(step);
        cluster.wait_for("the step", || {
            let folder = cluster.folder().to_string_lossy();
            (!process::find("sleep", &folder).is_empty()).then_some(())
        });
        let status = status(cluster);
        assert!(status.contains("no step is bound"), "{status}");
        let text = "--cpuset=CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE";
        cluster
            .run(
                "srun",
                &["-n1", "--mincpus=2", "--cpu-bind=none", text, "true"],
            )
            .expect_ok();
    });
}

/// Neither an option nor a variable that is changed on its way takes the fence away.
#[test]
fn a_fence_that_the_site_forces() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth("confine=task,force"));
    victim.attacked(|attacker| {
        let job = attacker.job(&["-n1"]);
        let place = job.option();
        let words = [
            &*place,
            "--overlap",
            "-n1",
            "--cpu-bind=threads",
            "--confine=task",
        ];
        let words = [&words[..], &WIDEN].concat();
        let done = attacker.srun(&[], &words);
        let fenced = found(&done)
            .unwrap_or_else(|| panic!("{done:#?}"))
            .0
            .to_owned();
        let long = [b'o'; 9 << 10];
        for text in [
            &b"off"[..],
            b"off\n",
            b"OFF",
            b"task,force",
            b"\x1b[2J",
            &long,
        ] {
            let changes = [("option confine", text), ("env", &b"BERTH_CONFINE=off"[..])];
            stays(&attacker.srun(&changes, &words), &fenced, text);
        }
    });
    victim.stands();
}

/// What a user tries in the node's state directory; each line ends well only where the user may do it.
const TRIES: &str = "for folder in \"$1\" \"$1\"/* \"$1\"/*/jobs; do
    [ -d \"$folder\" ] || continue
    touch \"$folder/new\" && echo \"made a file in $folder\"
    mkdir \"$folder/1.node\" && echo \"made a folder in $folder\"
    ln -s /etc/shadow \"$folder/2.node\" && echo \"made a link in $folder\"
    ln \"$0\" \"$folder/3.node\" && echo \"made a hard link in $folder\"
done 2> /dev/null
for file in \"$1\"/*/*; do
    [ -f \"$file\" ] || continue
    ln \"$file\" own && echo \"linked $file\"
    mv \"$file\" own && echo \"moved $file\"
    : >> \"$file\" && echo \"wrote $file\"
done 2> /dev/null
ls \"$1\"/*/jobs 2> /dev/null && echo listed the jobs
ls \"$1\"/*/steps 2> /dev/null && echo listed the steps
cat \"$1\"/*/steps/* \"$1\"/*/steps.lock 2> /dev/null && echo read the ledger
cat \"$1\"/*/jobs/$2.node 2> /dev/null && echo \"read another user's facts\"
cat \"$1\"/*/jobs/$3.node > /dev/null 2>&1 || echo no facts of its own";

/// slurmstepd writes facts of jobs as root; the folder is open to nobody else.
#[test]
fn the_state_directory_takes_nothing_of_a_user_s() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth(""));
    victim.attacked(|attacker| {
        let theirs = Job::of_root(victim.cluster(), &["-n1"]);
        let number = |job: &Job<'_>| job.option().replace("--jobid=", "");
        let words = [&*theirs.option(), "--overlap", "-n1", "true"];
        victim.cluster().run("srun", &words).expect_ok();
        let own = attacker.job(&["-n1"]);
        attacker
            .run("srun", &[&own.option(), "--overlap", "-n1", "true"], &[])
            .expect_ok();
        let state = victim.cluster().folder().join("run/berth");
        let file = attacker.folder().join("mine");
        std::fs::write(&file, "{}").expect("a file");
        nix::unistd::chown(&file, Some(hostile::USER.into()), None).expect("the user's file");
        let (file, state) = (file.to_string_lossy(), state.to_string_lossy());
        let done = attacker.run(
            "/bin/sh",
            &["-c", TRIES, &file, &state, &number(&theirs), &number(&own)],
            &[],
        );
        assert_eq!(done.stdout, "", "{done:#?}");
    });
    victim.stands();
}
