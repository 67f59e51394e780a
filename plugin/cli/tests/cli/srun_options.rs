//! srun's options in `berth plan`: what shapes a binding is taken, what is wrong is refused with
//! the offending part.

use std::process::{Command, Output};

fn plan(options: &[&str]) -> (i32, String, String) {
    let machine = ["plan", "--cores=all", "--machine", "pack:2 core:4 pu:2"];
    let all = [&machine, options].concat();
    let done: Output = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(all)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        done.status.code().unwrap(),
        text(done.stdout),
        text(done.stderr),
    )
}

fn cpus(options: &str) -> String {
    let mut words: Vec<&str> = options.split(' ').collect();
    words.extend(["--format", "cpus"]);
    let (code, out, err) = plan(&words);
    assert_eq!(code, 0, "{options}: {err}");
    out.trim().replace('\n', " ")
}

#[test]
fn what_shapes_a_binding() {
    for (options, expected) in [
        ("--ntasks-per-node=2 --cpu-bind=cores", "0-1 8-9"),
        ("-n 2 --ntasks-per-node=4 --cpu-bind=cores", "0-1 8-9"),
        (
            "-n 2 --sockets-per-node=2 --cores-per-socket=4 --cpu-bind=cores",
            "0-1 8-9",
        ),
        ("-n 2 -B 1:1-1", "0-1 8-9"),
        ("-n 2 --cpu-bind=cores --block-by-default", "0-1 2-3"),
        ("-n 3 --autobind=cores", "0-1 8-9 2-3"),
        ("-n 3", "0-15 0-15 0-15"),
        (
            "-n 2 --cpu-bind=threads --thread-spec=1 -m block:block",
            "0 1",
        ),
        ("-n 3 --cpu-bind=map_cpu:0,1,2", "0 1 2"),
        ("-n 2 --cpu_bind=map_cpu=8,2", "8 2"),
        ("-n 2 -m block:block,NoPack --cpu-bind=threads", "0 1"),
        ("-n 2 -m arbitrary -w a,a --cpu-bind=threads", "0 8"),
        ("-n 2 -m *:block --cpu-bind=threads", "0 1"),
        ("-n 2 -m block:* --cpu-bind=threads", "0 8"),
        ("-n 2 -m *:fcyclic -c2 --cpu-bind=threads", "0,8 1,9"),
        ("-n 2 --ntasks-per-core=2 -m *:block", "0 1"),
        (
            "-n 2 --ntasks-per-core=2 -m *:block --slurm=22.05",
            "0-1 2-3",
        ),
        ("-B 1:2:1", "0 8"),
        ("-B 2: -n2", "0-1 8-9"),
        ("-n 2 --hint=NoMultithread,compute_bound", "0 8"),
        ("-n 2 --threads-per-core=1 -B 1:1 -m *:block", "0 1"),
        ("-c 8 --cpu-bind=threads", "0-7 8-15"),
        ("-n 2 --cpu-bind=rank --slurm=24.05", "0 1"),
    ] {
        assert_eq!(cpus(options), expected, "{options}");
    }
}

#[test]
fn a_range_is_refused_with_the_list_to_write() {
    let (code, _, stderr) = plan(&["-n", "3", "--cpu-bind=map_cpu:0-2"]);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("srun takes no ranges: write 0,1,2"),
        "{stderr}"
    );
    let (_, _, stderr) = plan(&["--mem-bind=map_mem:0-0"]);
    assert!(stderr.contains("srun takes no ranges: write 0"), "{stderr}");
}

#[test]
fn a_line_of_slurm_has_its_own_rules() {
    let (code, _, stderr) = plan(&["-n2", "--cpu-bind=rank"]);
    assert_eq!(code, 0);
    assert!(
        stderr.contains("Slurm 24.11 removed --cpu-bind=rank"),
        "{stderr}"
    );
    let both = ["-n2", "--ntasks-per-core=2", "--threads-per-core=1"];
    let (code, _, stderr) = plan(&both);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("more than the 1 thread of each core"),
        "{stderr}"
    );
    assert_eq!(plan(&[&both[..], &["--slurm=22.05"]].concat()).0, 0);
    let (code, _, stderr) = plan(&["--gid=1"]);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("--gid: srun of this release has no such option"),
        "{stderr}"
    );
    assert_eq!(plan(&["--gid=1", "--slurm=22.05"]).0, 0);
    let (code, _, stderr) = plan(&["--slurm=21.08"]);
    assert_eq!((code, stderr.contains("22.05")), (2, true), "{stderr}");
}

#[test]
fn a_step_on_named_cores_is_not_compared_with_its_node() {
    let (code, out, stderr) = plan(&["-n2", "-B", "4:2", "--cores", "0-3", "--format", "cpus"]);
    assert_eq!((code, out.lines().count()), (0, 2), "{stderr}");
    assert!(
        stderr.contains("slurmctld never starts this as a job of its own: -B asks for 4 sockets"),
        "{stderr}"
    );
}

#[test]
fn what_is_wrong_is_named() {
    let digits = "f".repeat(10_000);
    let long = format!("--cpu-bind=mask_cpu:0x{digits}");
    for (options, code, says) in [
        (&["--cpu-bind=map_cpu:a,b"][..], 2, "map_cpu"),
        (&["--cpu-bind=map_cpu:"], 2, "in a list of CPU numbers"),
        (&["--cpu-bind=mask_cpu:"], 2, "in a list of CPU masks"),
        (&["-m", "plane=0"], 2, "plane=0"),
        (&["-B", "0:x"], 2, "SOCKETS[:CORES[:THREADS]]"),
        (&["-B", "0:1:1"], 1, "request 0 tasks"),
        (&["--cpu-bind=mask_cpu:0X1"], 2, "in a list of CPU masks"),
        (&["-m", "arbitrary"], 2, "give it with -w"),
        (&["--exclusive=bogus"], 2, "=user, mcs, oversubscribe"),
        (&["--hint=help"], 2, "srun prints its help"),
        (&["-m=block"], 2, "'=block'"),
        (&["-n=4"], 2, "'=4'"),
        (
            &["-B", "4:2"],
            1,
            "-B asks for 4 sockets; this machine has 2",
        ),
        (
            &["--cores-per-socket=9"],
            1,
            "for 9 cores per socket; this machine has 4",
        ),
        (&["-n", "4", "--ntasks-per-node=2"], 1, "at most 2 per node"),
        (&["--cpu-bind=map_cpu:16"], 1, "map_cpu:16 names CPU 16"),
        (&["--cpu-bind=map_cpu:3", "--cores", "4"], 1, "names CPU 3"),
        (&[&long], 1, "names CPU"),
        (&["--mem-bind=map_mem:7"], 1, "NUMA node 7"),
        (&["--cpu-bind=mask_cpu:0x0"], 1, "an empty mask"),
    ] {
        let (found, out, stderr) = plan(options);
        let shown: String = stderr.chars().take(300).collect();
        assert_eq!(found, code, "{shown}");
        assert!(
            stderr.contains(says) && stderr.len() < 2000,
            "{says}: {shown}"
        );
        assert_eq!(out, "");
    }
}

#[test]
fn a_hint_that_srun_drops_is_said() {
    let (code, _, stderr) = plan(&["-n", "2", "--hint=nomultithread", "--cpu-bind=threads"]);
    assert_eq!(code, 0);
    assert!(
        stderr.contains("srun ignores --hint beside --cpu-bind"),
        "{stderr}"
    );
}
