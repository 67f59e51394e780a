//! Random lines of srun, as jobs and as steps of random jobs, on clusters whose nodes are shared and on such whose
//! nodes are exclusive.

use std::process::ExitCode;

use fastrand::Rng;

use super::before::{Compared, Place, different};
use crate::Cluster;
use crate::select_truth::lines;
use crate::select_truth::world::{World, one, percent};

/// Made-up machines, and how slurmctld counts them.
const MACHINES: [[&str; 2]; 4] = [
    [
        "pack:2 core:4 pu:2",
        "CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2",
    ],
    [
        "pack:2 core:6 pu:1",
        "CPUs=12 Sockets=2 CoresPerSocket=6 ThreadsPerCore=1",
    ],
    [
        "pack:4 core:2 pu:2",
        "CPUs=16 Sockets=4 CoresPerSocket=2 ThreadsPerCore=2",
    ],
    [
        "pack:2 numa:2 core:2 pu:2",
        "CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2",
    ],
];

/// The partition's and berth's settings of each cluster.
const SITES: [[&str; 2]; 2] = [
    ["", "compat=affinity"],
    [" OverSubscribe=EXCLUSIVE", "compat=berth"],
];

/// Options that bind, each as often as it stands there.
const BINDINGS: [&str; 22] = [
    "",
    "",
    "",
    "--cpu-bind=cores",
    "--cpu-bind=cores",
    "--cpu-bind=threads",
    "--cpu-bind=threads",
    "--cpu-bind=sockets",
    "--cpu-bind=ldoms",
    "--cpu-bind=none",
    "--cpu-bind=map_cpu:0,1",
    "--cpu-bind=map_cpu:1*2,0",
    "--cpu-bind=mask_cpu:0x3,0x1",
    "--cpu-bind=map_ldom:0",
    "--binding=linear:1",
    "--binding=linear:2",
    "--binding=striding:1:2",
    "--binding=explicit:0,1",
    "--binding=auto",
    "--map-by=core",
    "--map-by=slot:pe=2",
    "--map-by=socket --bind-to=core",
];

/// How many lines each cluster gets: scripts, steps of each, and jobs.
const SCRIPTS: usize = 4;
const STEPS: usize = 10;
const JOBS: usize = 10;

/// Plans and runs them. Prints every line that is not as it was planned.
#[must_use]
pub fn random_lines(seed: u64) -> ExitCode {
    let of_site = |at: usize| {
        let mut random = Rng::with_seed(seed + 1_000_000 * at as u64);
        let machine = random.choice(MACHINES);
        let machines = [machine, None].into_iter();
        let all = machines.flat_map(|machine| of_cluster(&mut random, SITES[at], machine));
        all.collect::<Vec<_>>()
    };
    // They mostly wait for Slurm.
    let all: Vec<_> = std::thread::scope(|scope| {
        let sites = 0..SITES.len();
        let threads: Vec<_> = sites.map(|at| scope.spawn(move || of_site(at))).collect();
        let all = threads.into_iter().map(|thread| thread.join());
        all.flat_map(|all| all.expect("a cluster's lines"))
            .collect()
    });
    let wrong = different(&all);
    let refused = all.iter().filter(|line| line.is_refused()).count();
    println!(
        "seed {seed}: {} random lines planned before they were submitted, {refused} of them refused: {wrong} \
         differences",
        all.len()
    );
    ExitCode::from(u8::from(wrong > 0 || refused * 2 > all.len()))
}

fn of_cluster(
    random: &mut Rng,
    [partition, ours]: [&str; 2],
    machine: Option<[&str; 2]>,
) -> Vec<Compared> {
    let partition =
        format!("PartitionName=main Nodes=ALL Default=YES State=UP MaxTime=INFINITE{partition}");
    let mut builder = Cluster::builder().plugstack(Some(ours)).set(&partition);
    builder = match machine {
        Some([machine, shape]) => builder
            .env("HWLOC_SYNTHETIC", machine)
            .shape(shape)
            .shape(shape),
        None => builder,
    };
    let cluster = builder.up();
    let place = Place {
        cluster: &cluster,
        machine: machine.map(|[machine, _]| machine),
    };
    let (world, prefix) = world(&cluster);
    let job = |random: &mut Rng| {
        let options = lines::job(random, &world);
        let named = |options: String, letter| {
            options.replace(&format!("{letter} n"), &format!("{letter} {prefix}n"))
        };
        named(named(options, "-w"), "-x")
    };
    let mut all = Vec::new();
    while all.len() < SCRIPTS * STEPS {
        let mut job = job(random);
        // Many jobs would be too small for all their steps.
        if percent(random, 50) && !["-s", "--exclusive"].iter().any(|word| job.contains(word)) {
            job += " --exclusive";
        }
        let step = |random: &mut Rng| {
            let options = lines::step(random, &world);
            bound(random, &options)
        };
        let steps = (0..STEPS).map(|_| step(random)).collect();
        all.extend(place.steps(&job, steps));
    }
    let jobs: Vec<_> = (0..JOBS).map(|_| job(random)).collect();
    let jobs: Vec<_> = jobs.iter().map(|job| bound(random, job)).collect();
    let jobs: Vec<_> = jobs.iter().map(String::as_str).collect();
    all.extend(place.jobs(&jobs));
    all
}

/// Equal nodes, as slurmctld shows them, and what stands before n1 and n2 in their names.
fn world(cluster: &Cluster) -> (World, String) {
    let shown = cluster.run("sinfo", &["-h", "-N", "-o", "%N %c %X %Y"]);
    let shown = shown.expect_ok();
    let mut words = shown.split_whitespace();
    let prefix = words.next().unwrap_or_default().trim_end_matches("n1");
    let mut number = || words.next().map_or(1, |word| word.parse().unwrap_or(1));
    let (cpus, sockets, cores): (u32, u32, u32) = (number(), number(), number());
    let nodes = shown.lines().count() as u32;
    let world = World {
        shapes: vec![String::new(); nodes as usize],
        cpus: nodes * cpus,
        cores: sockets * cores,
        ..World::default()
    };
    (world, prefix.to_string())
}

/// The same options with a binding before or behind them.
fn bound(random: &mut Rng, options: &str) -> String {
    let binding = one(random, &BINDINGS);
    match percent(random, 50) {
        true => format!("{options} {binding}"),
        false => format!("{binding} {options}"),
    }
    .trim()
    .to_string()
}
