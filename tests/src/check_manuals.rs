//! The corrected lines and scripts of the collection, asked of the real sbatch and srun, on a private
//! slurmctld that has the partitions of the lines. Nothing of the scripts runs: each srun is asked
//! with `--test-only`, and other programs are empty files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use berth_srun::Release;

use crate::srun_lines::release;
use crate::{Cluster, Done, command};

const COLLECTION: &str = include_str!("../check-manuals.txt");

/// An entry's name, whether jobs get whole nodes there, and its text.
fn entries() -> Vec<(&'static str, bool, &'static str)> {
    let entry = |part: &'static str| {
        let (head, text) = part.split_once('\n').expect("a head and a text");
        let name = head.split(" | ").next().unwrap_or_default();
        (name, name.ends_with(" whole"), text)
    };
    COLLECTION.split("\n== ").skip(1).map(entry).collect()
}

/// The partitions that the collection names.
fn partitions() -> BTreeSet<&'static str> {
    let words: Vec<_> = COLLECTION.split_whitespace().collect();
    let mut names = BTreeSet::from(["other"]);
    for pair in words.windows(2) {
        if let Some(name) = pair[0].strip_prefix("--partition=") {
            names.insert(name);
        } else if ["-p", "--partition"].contains(&pair[0]) {
            names.insert(pair[1]);
        }
    }
    names
}

/// Nodes that exist in slurmctld alone: a cloud that would be started when a job needs it.
fn fake_nodes(folder: &Path) -> std::path::PathBuf {
    let mut text = String::from(
        "GresTypes=gpu,nvme\nSuspendProgram=/bin/true\nResumeProgram=/bin/true\nSuspendTime=3600\n\
         NodeName=fake[1-1100] State=CLOUD Sockets=2 CoresPerSocket=192 ThreadsPerCore=2 \
         RealMemory=4000000 Feature=nvme Gres=gpu:gh200:8,gpu:v100:8,nvme:100000\n",
    );
    for name in partitions() {
        let default = if name == "other" { " Default=YES" } else { "" };
        text += &format!(
            "PartitionName={name} Nodes=fake[1-1100] MaxTime=INFINITE State=UP{default}\n"
        );
    }
    let file = folder.join("fake.conf");
    fs::write(&file, text).expect("a file of nodes");
    file
}

/// A folder of programs: srun only tests, and the others do nothing.
fn programs(folder: &Path) {
    let program = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program's mode");
    };
    // The MPI libraries of the centres are not here, and which one is asked for is no matter of CPUs.
    program(
        "srun",
        "#!/bin/bash\nPATH=${PATH#*:}\nwords=()\nfor word; do [[ $word == --mpi=* ]] || words+=(\"$word\"); \
         done\nsrun --test-only \"${words[@]}\" || echo \"refused: $*\"\n",
    );
    program("nothing", "#!/bin/sh\n");
    for name in ["mpirun", "module", "app", "salloc"] {
        symlink(folder.join("nothing"), folder.join(name)).expect("a link");
    }
}

/// What `berth check` makes of a text, for the installed Slurm; none if it changes nothing.
fn corrected(cluster: &Cluster, text: &str, whole: bool) -> Option<String> {
    let file = cluster.folder().join("script.sh");
    fs::write(&file, text).expect("a script");
    let mut check = cluster.program(&command().to_string_lossy());
    check.args(["check", "--format=script"]);
    check.args(whole.then_some("--site=exclusive")).arg(&file);
    let output = check.output().expect("berth runs");
    assert!(output.status.code().is_some_and(|code| code < 2), "{text}");
    let new = String::from_utf8(output.stdout).expect("text");
    (new != text).then_some(new)
}

/// Runs a script with those programs, as slurmstepd would start it; what it says.
fn tried(cluster: &Cluster, folder: &Path, script: &Path) -> Done {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut bash: Command = cluster.program("bash");
    bash.arg(script)
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", folder.display()))
        .stdin(Stdio::null());
    Done::from(bash.output().expect("bash runs"))
}

/// What the real commands said.
#[derive(Debug, Default)]
pub struct Tried {
    /// Whether a line with an unknown option was refused, as it must be.
    pub notices: bool,
    /// How many corrections were accepted.
    pub accepted: usize,
    /// How many there are at least, by the release.
    pub least: usize,
    /// Those that were refused, with what was said.
    pub refused: Vec<String>,
}

impl Tried {
    /// Whether every correction was accepted, and enough were tried.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.notices && self.refused.is_empty() && self.accepted >= self.least
    }
}

/// Asks for every correction of the collection, by the rules of the Slurm that is installed.
#[must_use]
pub fn ask() -> Tried {
    let temporary = tempfile::tempdir().expect("a folder");
    let nodes = fake_nodes(temporary.path());
    programs(temporary.path());
    let include = format!("include {}", nodes.display());
    let cluster = Cluster::builder().set(&include).up();
    let file = temporary.path().join("corrected.sh");
    fs::write(&file, "srun --cpus-per-taks=2 app\n").expect("a script");
    let mut all = Tried {
        notices: tried(&cluster, temporary.path(), &file)
            .stdout
            .contains("refused"),
        // The newer Slurms have fewer traps, and so fewer corrections.
        least: match release(&cluster) {
            Release::V22_05 => 20,
            _ => 9,
        },
        ..Tried::default()
    };
    for (name, whole, text) in entries() {
        let Some(new) = corrected(&cluster, text, whole) else {
            continue;
        };
        match refusal(&cluster, temporary.path(), &new) {
            Some(why) => all.refused.push(format!("{name}: {why}\n{new}")),
            None => all.accepted += 1,
        }
    }
    all
}

/// Why sbatch or an srun of it refuses a corrected text.
fn refusal(cluster: &Cluster, folder: &Path, new: &str) -> Option<String> {
    let file = folder.join("corrected.sh");
    fs::write(&file, new).expect("a script");
    if new.contains("#SBATCH") {
        // sbatch takes no script without an interpreter.
        let script = match new.starts_with("#!") {
            true => new.to_string(),
            false => format!("#!/bin/bash\n{new}"),
        };
        fs::write(&file, script).expect("a script");
        let done = cluster.run("sbatch", &["--test-only", &file.to_string_lossy()]);
        if !done.ok() {
            return Some(done.stderr);
        }
    }
    let done = tried(cluster, folder, &file);
    let is_refused = done.stdout.contains("refused");
    is_refused.then(|| format!("{}{}", done.stdout, done.stderr))
}
