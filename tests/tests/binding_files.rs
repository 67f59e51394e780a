//! The files of `--binding=pe:` on a real cluster: whose they are, in which namespace they lie, and
//! what happens where a user has put something else into their place.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use berth_tests::{Cluster, Done};
use nix::errno::Errno;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

/// An ordinary user: nobody.
const USER: u32 = 65534;
/// Shows where the files are, and what is in them.
const SHOW: &str = "echo \"$PE_HOSTFILE\"; cat \"$PE_HOSTFILE\" \"$BERTH_RANKFILE\"";
/// As a task plugin and beside another one: both write the same files.
const BESIDE: [&str; 2] = ["task/berth", "task/none"];

fn cluster(task_plugin: &str) -> Cluster {
    let cluster = Cluster::builder()
        .task_plugin(task_plugin)
        .plugstack(Some(""));
    let cluster = cluster.up();
    // The user has to find the cluster's configuration.
    fs::set_permissions(cluster.folder(), fs::Permissions::from_mode(0o755)).unwrap();
    cluster
}

/// A step of the user's, which ends within a minute.
fn step(cluster: &Cluster, tmpdir: &OsStr, tasks: &str, script: &str) -> Done {
    let mut command = cluster.program("timeout");
    command.args(["--kill-after=5", "60", "srun", "--chdir=/", tasks]);
    command.args(["--binding=pe:linear:1", "/bin/sh", "-c", script]);
    command
        .env("TMPDIR", tmpdir)
        .current_dir("/")
        .uid(USER)
        .gid(USER);
    Done::from(command.output().expect("srun can be run"))
}

/// A folder below /tmp that the user owns, removed at the end.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(format!("/tmp/berth-files-{name}.{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(USER), Some(USER)).unwrap();
        Self(path)
    }

    fn add(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The only folder of ours in a directory.
fn folder(parent: &Path) -> PathBuf {
    let mut found = fs::read_dir(parent)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let folder = found.next().unwrap();
    assert_eq!(found.next(), None);
    assert!(
        folder
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with("berth.")
    );
    folder
}

#[test]
fn they_are_the_user_s_and_stay() {
    for beside in BESIDE {
        let cluster = cluster(beside);
        let home = Home::new("owner");
        // A missing TMPDIR, and one with a line break in it.
        let tmpdir = home.add("two\nlines");
        let done = step(&cluster, tmpdir.as_os_str(), "-n1", SHOW);
        assert!(
            done.ok() && done.stdout.contains(" 1 main@") && done.stdout.contains("rank 0="),
            "{done:#?}"
        );
        assert!(done.stdout.contains("slot=0\n"), "{done:#?}");
        let folder = folder(&tmpdir);
        for (path, mode) in [
            (folder.clone(), 0o40700),
            (folder.join("pe_hostfile"), 0o100600),
            (folder.join("rankfile"), 0o100600),
        ] {
            let found = fs::symlink_metadata(&path).unwrap();
            assert_eq!(
                (found.uid(), found.gid(), found.mode()),
                (USER, USER, mode),
                "{path:?}"
            );
        }
        for line in cluster.slurmd_log().lines() {
            assert!(
                !line.starts_with("lines"),
                "a user's line in the log: {line}"
            );
        }
        cluster.wait_idle();
    }
}

#[test]
fn what_is_in_the_way_is_said_once_and_hangs_nobody() {
    let cluster = cluster("task/berth");
    let home = Home::new("way");
    mkfifo(&home.add("pipe"), Mode::all()).unwrap();
    fs::write(home.add("file"), "mine").unwrap();
    symlink(home.add("nothing"), home.add("dangling")).unwrap();
    let foreign = home.add("foreign");
    fs::create_dir(&foreign).unwrap();
    for (name, why) in [
        ("pipe", Errno::ENOTDIR),
        ("file", Errno::ENOTDIR),
        ("dangling", Errno::ENOENT),
        ("foreign", Errno::EACCES),
        ("not/there", Errno::ENOENT),
    ] {
        let done = step(&cluster, home.add(name).as_os_str(), "-n1", "echo it runs");
        assert!(done.ok() && done.stdout == "it runs\n", "{name}: {done:#?}");
        let lines: Vec<_> = done
            .stderr
            .lines()
            .filter(|line| line.contains("berth:"))
            .collect();
        assert_eq!(lines.len(), 1, "{name}: {done:#?}");
        assert!(
            lines[0].contains(&format!("(error {})", why as i32)),
            "{name}: {done:#?}"
        );
    }
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(home.add("file")).unwrap(), "mine");
    assert!(!home.add("nothing").exists());
    cluster.wait_idle();
}

#[test]
fn without_a_usable_tmpdir_they_are_in_tmp() {
    let cluster = cluster("task/berth");
    let long = format!("/{}", "x/".repeat(2100));
    for tmpdir in ["relative", long.as_str(), ""] {
        let remove = format!("{SHOW}; rm -r \"${{PE_HOSTFILE%/*}}\"");
        let done = step(&cluster, tmpdir.as_ref(), "-n1", &remove);
        assert!(
            done.ok() && done.stdout.starts_with("/tmp/berth."),
            "{done:#?}"
        );
        assert!(done.stdout.contains("rank 0="), "{done:#?}");
    }
}

#[test]
fn every_task_finds_what_the_first_one_wrote() {
    if !berth_tests::two_cpus() {
        return;
    }
    for beside in BESIDE {
        let cluster = cluster(beside);
        let home = Home::new("tasks");
        let steps = "for each in 1 2 3 4 5 6 7 8 9 10; do srun --binding=pe:linear:1 /bin/sh -c \
            'wc -l < \"$BERTH_RANKFILE\"'; done";
        let tmpdir = home.0.to_string_lossy();
        let asked = ["-Q", "-n2", "/bin/sh", "-c", steps];
        let done = cluster.run_with("salloc", &asked, &[("TMPDIR", &tmpdir)]);
        assert_eq!(done.stdout, "2\n".repeat(20), "{done:#?}");
        assert!(!done.stderr.contains("berth:"), "{done:#?}");
        assert_eq!(fs::read_dir(&home.0).unwrap().count(), 10);
    }
}

/// What a user says of the job's nodes in the environment of a batch script: the list is short, what it
/// stands for is not. The job runs, and its output says why it has no files.
#[test]
fn their_variables_replace_those_of_the_submitting_shell() {
    for task_plugin in BESIDE {
        let cluster = cluster(task_plugin);
        let script = "echo $PE_HOSTFILE $BERTH_RANKFILE";
        let words = ["-n1", "--binding=pe:linear:1", "/bin/sh", "-c", script];
        let shell = [("PE_HOSTFILE", "/mine"), ("BERTH_RANKFILE", "/mine")];
        let done = cluster.run_with("srun", &words, &shell);
        let paths: Vec<_> = done.stdout.split_whitespace().collect();
        let are_ours = paths.iter().all(|path| path.contains("/berth."));
        assert!(done.ok() && paths.len() == 2 && are_ours, "{done:#?}");
    }
}

#[test]
fn a_list_of_millions_of_nodes_is_not_expanded() {
    let cluster = cluster("task/berth");
    let home = Home::new("nodes");
    let nodes: Vec<_> = (0..400).map(|each| format!("n{each}x[0-65535]")).collect();
    let long = format!("n[1-60000]{}[1]", "x".repeat(100_000));
    // Slurm's own reader never comes to the end of the range up to the last number of all.
    let last = "n[18446744073709551610-18446744073709551615]x[1-2]";
    for (nodes, why) in [
        (nodes.join(",").as_str(), "at most 65536 hosts"),
        (&long, "at most 65536 hosts"),
        (last, "the step has 12 nodes"),
    ] {
        let printed = script_with_nodes(&cluster, &home, nodes);
        assert!(
            printed.contains("it runs\n") && printed.contains(why),
            "{nodes:.60}: {printed:.2000}"
        );
    }
    cluster.wait_idle();
}

/// What such a script prints.
fn script_with_nodes(cluster: &Cluster, home: &Home, nodes: &str) -> String {
    let output = home.add("out").display().to_string();
    let asked = [
        "--wait",
        "-n1",
        "--binding=pe:linear:1",
        "-o",
        &output,
        "--wrap=echo it runs",
    ];
    let variables = [
        ("SLURM_STEP_NODELIST", nodes),
        ("SLURM_STEP_TASKS_PER_NODE", "4294967295(x4294967295)"),
        ("TMPDIR", "/tmp"),
    ];
    let start = std::time::Instant::now();
    let done = cluster.run_with("sbatch", &asked, &variables);
    println!("{:?} until the job's end", start.elapsed());
    assert!(done.ok(), "{done:#?}");
    fs::read_to_string(&output).unwrap_or_default()
}

/// Whether jobs can have a root of their own: the kernel lists what is mounted by its place.
fn root_is_a_mount_point() -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("what is mounted");
    mounts
        .lines()
        .any(|mount| mount.split(' ').nth(4) == Some("/"))
}

/// A private /tmp for each job: the task finds its files in it, and nobody else sees them.
#[test]
fn in_a_job_container_they_are_inside() {
    let plugin = "/usr/lib/x86_64-linux-gnu/slurm-wlm/job_container_tmpfs.so";
    if !Path::new(plugin).exists() {
        println!("skipped: Slurm's job_container/tmpfs is not installed ({plugin})");
        return;
    }
    if !root_is_a_mount_point() {
        berth_tests::skip(
            "job_container/tmpfs: the root directory is no mount point, as in a chroot",
        );
        return;
    }
    for beside in BESIDE {
        let base = PathBuf::from(format!("/var/tmp/berth-files.{}", std::process::id()));
        let cluster = Cluster::builder().task_plugin(beside).plugstack(Some(""));
        let cluster = cluster.set("PrologFlags=Contain").up();
        let etc = cluster.folder().join("etc");
        fs::write(
            etc.join("job_container.conf"),
            format!("AutoBasePath=true\nBasePath={}\n", base.display()),
        )
        .unwrap();
        let conf = fs::read_to_string(etc.join("slurm.conf")).unwrap();
        fs::write(
            etc.join("slurm.conf"),
            conf + "JobContainerType=job_container/tmpfs\n",
        )
        .unwrap();
        cluster.restart_slurmd();
        cluster.wait_idle();
        let script = "echo \"$PE_HOSTFILE\"; ls /tmp | wc -l; cat \"$BERTH_RANKFILE\"";
        let asked = ["-n1", "--binding=pe:linear:1", "/bin/sh", "-c", script];
        let done = cluster.run_with("srun", &asked, &[("TMPDIR", "/tmp")]);
        let lines: Vec<_> = done.stdout.lines().collect();
        assert!(done.ok() && lines.len() == 3, "{done:#?}");
        assert!(
            lines[0].starts_with("/tmp/berth.") && lines[1] == "1",
            "{done:#?}"
        );
        assert!(lines[2].ends_with(" slot=0"), "{done:#?}");
        assert!(
            !Path::new(lines[0]).exists(),
            "it is outside too: {done:#?}"
        );
        cluster.wait_idle();
        drop(cluster);
        let _ = fs::remove_dir_all(&base);
    }
}
