//! `berth doctor` and `berth report` beside processes of other users that pretend to be what
//! these two look for.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use berth_tests::hostile::{self, Attacker, Job, USER, Victim};
use berth_tests::{Cluster, Done, command, compile, process, program, two_cpus};
use nix::sys::signal::Signal;

fn doctor(cluster: &Cluster) -> Done {
    let state = cluster.folder().join("run/berth");
    let state = format!("--state-dir={}", state.display());
    cluster.run(&command().to_string_lossy(), &["doctor", &state])
}

/// A process of another user with exactly slurmd's command line; it waits.
fn impostor(cluster: &Cluster, slurmd: i32) -> Child {
    let attacker = Attacker::new(cluster);
    compile(attacker.folder(), "impostor");
    let line = fs::read(format!("/proc/{slurmd}/cmdline")).expect("slurmd's command line");
    let line = String::from_utf8(line).expect("plain words");
    let mut words = line.split_terminator('\0');
    Command::new(attacker.folder().join("impostor"))
        .arg0(words.next().unwrap_or_default())
        .args(words)
        .uid(USER)
        .gid(USER)
        .spawn()
        .expect("an impostor")
}

fn end(mut child: Child) {
    process::end(&mut child);
}

#[test]
fn an_impostor_is_not_taken_for_slurmd() {
    if !program("cc", "a C compiler for the impostor") {
        return;
    }
    let cluster = hostile::berth("").up();
    let folder = cluster.folder().to_string_lossy().into_owned();
    let slurmd = || process::find("slurmd", &folder);
    let [first] = slurmd()[..] else {
        panic!("one slurmd: {:?}", slurmd())
    };
    doctor(&cluster).expect_ok();
    // Older than the slurmd that will run, and before it in /proc.
    let impostor = impostor(&cluster, first);
    cluster.restart_slurmd();
    let [now] = slurmd()[..] else {
        panic!("one slurmd: {:?}", slurmd())
    };
    let healthy = doctor(&cluster);
    process::signal(now, Signal::SIGKILL);
    thread::sleep(Duration::from_millis(200));
    let dead = doctor(&cluster);
    end(impostor);
    assert!(healthy.ok(), "slurmd is well: {healthy:#?}");
    let named = healthy.stdout.contains(&format!("process {now} "));
    assert!(named, "slurmd is process {now}: {healthy:#?}");
    assert!(!dead.ok(), "slurmd is dead: {dead:#?}");
}

#[test]
fn a_slurmd_without_berth_is_not_well() {
    let cluster = hostile::berth("").up();
    doctor(&cluster).expect_ok();
    let conf = cluster.folder().join("etc/slurm.conf");
    let text = fs::read_to_string(&conf).expect("slurm.conf");
    let without = text.replace("TaskPlugin=task/berth", "TaskPlugin=task/none");
    assert_ne!(text, without);
    fs::write(&conf, without).expect("slurm.conf");
    fs::write(cluster.folder().join("etc/plugstack.conf"), "").expect("plugstack.conf");
    cluster.restart_slurmd();
    let done = doctor(&cluster);
    assert!(!done.ok(), "slurmd runs without berth: {done:#?}");
}

/// Takes a socket's name before its owner comes, and never answers; one connection fills it up.
const SQUAT: &str = "use Socket; \
    socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die; \
    bind($s, pack_sockaddr_un(\"\\0$ARGV[0]\")) or die \"bind: $!\"; \
    listen($s, 0) or die; \
    socket(my $c, AF_UNIX, SOCK_STREAM, 0) or die; \
    connect($c, pack_sockaddr_un(\"\\0$ARGV[0]\")) or die \"connect: $!\"; \
    $| = 1; print \"ready\\n\"; sleep 60;";

#[test]
fn a_socket_taken_by_another_user_stalls_no_report() {
    if !two_cpus() {
        return;
    }
    let victim = Victim::start(hostile::berth(""));
    let cluster = victim.cluster();
    let attacker = Attacker::new(cluster);
    let job = Job::of_root(cluster, &["-n2"]);
    let place = job.option();
    let id = place.trim_start_matches("--jobid=");
    let node = cluster.run("sinfo", &["-h", "-o", "%N"]).expect_ok();
    // The names of the next steps' sockets, which anyone can work out.
    let squatters: Vec<_> = (0..2)
        .map(|step| {
            let name = format!("berth-report/0/{id}.{step}-{}-0", node.trim());
            let mut squatter = attacker.program("perl");
            squatter.args(["-e", SQUAT, &name]).stdout(Stdio::piped());
            squatter.spawn().expect("perl")
        })
        .collect();
    thread::sleep(Duration::from_millis(500));
    let start = Instant::now();
    let berth = command().to_string_lossy().into_owned();
    let report = [
        &*place,
        "--overlap",
        "-n2",
        &berth,
        "report",
        "--wait=2",
        "--format=json",
    ];
    let done = cluster.run("timeout", &[&["20", "srun"], &report[..]].concat());
    let took = start.elapsed();
    squatters.into_iter().for_each(end);
    let tasks = done.stdout.matches("\"task\"").count();
    assert!(done.ok(), "after {took:?}: {done:#?}");
    assert_eq!(tasks, 2, "after {took:?}: {done:#?}");
    assert!(took < Duration::from_secs(8), "{took:?}");
}
