//! `cargo bench -p berth-host --bench fences`, as root: what confining one task costs slurmstepd beside its mask
//! alone, in a cgroup that Slurm made for the task, and in one of ours that is made and removed. On the machine's
//! own cgroups, of version 1 or 2. The task is a sleeping process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, Stdio};
use std::time::Instant;

use berth_host::cgroup::{Child, Fence, Mounts, Name, Place, Version};
use berth_host::{affinity_of, set_affinity};
use berth_placement::CpuSet;

const TURNS: usize = 501;
const COLUMNS: [&str; 4] = [
    "mask alone",
    "Slurm's cgroup",
    "ours, made",
    "ours, removed",
];

fn main() {
    let Some(leaf) = Leaf::make() else {
        println!("fences: no cgroup with a cpuset can be made here; it needs root");
        return;
    };
    let mounts = Mounts::read().expect("the mounts");
    let pid = leaf.task.id() as i32;
    let place = Place::of(pid, &mounts).expect("the task's cgroup");
    let all = affinity_of(0).expect("this process's CPUs");
    let one: CpuSet = all.lowest().into_iter().collect();
    let fence = Fence {
        cpus: &one,
        mems: None,
    };
    let mask = || {
        set_affinity(pid, &one).expect("a mask");
        assert_eq!(affinity_of(pid).expect("its mask"), one);
    };
    let mut times = [(); COLUMNS.len()].map(|()| Vec::with_capacity(TURNS));
    for turn in 0..TURNS {
        times[0].push(micros(mask));
        times[1].push(micros(|| {
            let place = Place::of(pid, &mounts).expect("the task's cgroup");
            let folder = place.open().expect("its folder");
            let fenced = fence.cpus(&folder, place.version, &mut |_| {});
            fenced.expect("a fence");
            mask();
        }));
        leaf.widen(&all);
        let name = Name {
            job: 1,
            step: 0,
            task: turn as u32,
            maker: std::process::id(),
        };
        let mut child = None;
        times[2].push(micros(|| {
            let place = Place::of(pid, &mounts).expect("the task's cgroup");
            let made = Child::make(&place, name, (pid, &fence), &mounts, &mut |_| {});
            child = Some(made.expect("a cgroup of ours"));
            mask();
        }));
        leaf.take_back(pid);
        let child = child.expect("it was made");
        times[3].push(micros(|| child.remove().expect("nobody is inside")));
        set_affinity(pid, &all).expect("a mask");
    }
    table(place.version, times);
}

fn table(version: Version, times: [Vec<f64>; COLUMNS.len()]) {
    let version = if version == Version::V1 { 1 } else { 2 };
    println!("| cgroups | {} |", COLUMNS.join(" | "));
    println!("|---:|{}", "---:|".repeat(COLUMNS.len()));
    let middle = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[0], times[times.len() / 2])
    });
    let base = middle[0].1;
    let cell = |(least, middle)| format!("{least:.1}, {middle:.1}: {:.1}", middle / base);
    println!("| version {version} | {} |", middle.map(cell).join(" | "));
    println!(
        "\nµs for each task: least, middle of {TURNS}; then the middle in times that of the mask alone"
    );
}

fn micros(mut what: impl FnMut()) -> f64 {
    let since = Instant::now();
    what();
    since.elapsed().as_secs_f64() * 1e6
}

/// A cgroup as Slurm makes one, with a process. Both end with it.
struct Leaf {
    path: PathBuf,
    task: Process,
}

impl Leaf {
    fn make() -> Option<Self> {
        let v1 = Path::new("/sys/fs/cgroup/cpuset");
        let is_v1 = v1.join("cpuset.cpus").exists();
        let root = if is_v1 {
            v1
        } else {
            Path::new("/sys/fs/cgroup")
        };
        let path = root.join(format!("bench-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let task = Command::new("sleep")
            .arg("600")
            .stdin(Stdio::null())
            .spawn();
        let leaf = Self {
            path,
            task: task.ok()?,
        };
        // A new folder of version 1 has no CPU.
        for file in ["cpuset.cpus", "cpuset.mems"].iter().filter(|_| is_v1) {
            let above = fs::read_to_string(root.join(file)).ok()?;
            fs::write(leaf.path.join(file), above.trim()).ok()?;
        }
        leaf.path.join("cpuset.cpus").exists().then_some(())?;
        fs::write(leaf.path.join("cgroup.procs"), leaf.task.id().to_string()).ok()?;
        Some(leaf)
    }

    fn widen(&self, all: &CpuSet) {
        fs::write(self.path.join("cpuset.cpus"), all.to_string()).expect("all CPUs");
    }

    fn take_back(&self, pid: i32) {
        fs::write(self.path.join("cgroup.procs"), pid.to_string()).expect("the task");
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        let _ = self.task.kill().and_then(|()| self.task.wait());
        let _ = fs::remove_dir(&self.path);
    }
}
