//! `berth-odd REQUESTS [--random N] [--seed S] [--machine XML [--restrict MASK]] [--confined]`: on a machine that is not
//! sockets × cores × threads, runs requests with the real srun and compares what the kernel says of every
//! task with `berth plan` and with the machine's tree: no CPU that is not the step's, none twice while
//! there is room. Meant for the virtual machines of `ci/vm`.

mod alone;
mod counts;
mod judge;
mod options;
mod random;
mod room;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use berth_tests::real::{self, Rules, ask, lstopo, plans, probe};
use berth_tests::srun_lines::release;
use berth_tests::{Builder, Cluster};

use crate::judge::{Tally, Verdict, judge};
use crate::options::Options;
use crate::tree::Tree;

/// What `salloc` is asked for: the whole node, and two parts of it.
const ALLOCATIONS: [&[&str]; 3] = [
    &["-N1", "--exclusive"],
    &["-N1", "-n5"],
    &["-N1", "-n3", "-c2"],
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "probe") {
        return probe();
    }
    let options = match Options::read(&words) {
        Ok(options) => options,
        Err(why) => {
            eprintln!("berth-odd: {why}");
            return ExitCode::from(2);
        }
    };
    let out = std::env::var_os("BERTH_VM_OUT").map_or_else(std::env::temp_dir, PathBuf::from);
    let file = out.join("topology.xml");
    match &options.machine {
        Some(prepared) => {
            fs::copy(prepared, &file).unwrap_or_else(|why| panic!("{prepared}: {why}"));
        }
        None => lstopo(&file),
    }
    let tree = Tree::of(&file, options.restrict.as_deref());
    println!("machine: {tree}");
    let cluster = site(&options).up();
    counts::show(&cluster);
    if options.restrict.is_some() && !counts::tell_ecores(&cluster) {
        println!("slurmd and doctor do not say that cores are left out");
        return ExitCode::FAILURE;
    }
    let mut tally = Tally::default();
    for (number, allocation) in ALLOCATIONS.iter().enumerate() {
        let mut asked =
            random::requests(options.random, options.seed.wrapping_mul(3) + number as u64);
        if number == 0 {
            asked.splice(0..0, real::requests(&options.requests));
        }
        println!("salloc {}: {} requests", allocation.join(" "), asked.len());
        let here = (*allocation, asked.as_slice());
        one_job(&cluster, here, (&tree, &file), &options, &mut tally);
    }
    let _ = fs::write(out.join("slurmd.log"), cluster.slurmd_log());
    let is_well = options.machine.is_none() || alone_as_well(&options, cluster);
    println!("seed {}: {tally}", options.seed);
    ExitCode::from(u8::from(tally.wrong() > 0 || !is_well))
}

fn site(options: &Options) -> Builder {
    let mut builder = Cluster::builder();
    if options.confined {
        builder = builder.example("cgroup");
    }
    if let Some(prepared) = &options.machine {
        builder = builder.env("HWLOC_XMLFILE", prepared);
        if options.restrict.is_none() {
            // From 23.02 on slurmd would leave out the cores of the lesser kind.
            builder = builder.set("SlurmdParameters=allow_ecores");
        }
    }
    builder
        .plugstack(Some("compat=berth"))
        .set("SlurmdDebug=debug")
}

/// Whether SPANK's hooks alone give the same masks as the task plugin. The cluster makes room for others of its shape.
fn alone_as_well(options: &Options, cluster: Cluster) -> bool {
    let (shape, release) = (counts::shape(&cluster), release(&cluster));
    drop(cluster);
    let is_well = alone::is_equal(
        || site(options),
        &shape,
        release,
        options.restrict.is_none(),
    );
    if !is_well {
        println!("the masks without TaskPlugin=task/berth are other ones");
    }
    is_well
}

/// Requests as steps of one job, each judged; what is wrong or peculiar is printed.
fn one_job(
    cluster: &Cluster,
    (allocation, requests): (&[&str], &[String]),
    (tree, file): (&Tree, &Path),
    options: &Options,
    tally: &mut Tally,
) {
    let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
    let kernel = ask(cluster, allocation, &requests);
    let log = cluster.slurmd_log();
    let mut site = Vec::new();
    site.extend(options.confined.then_some("--constrain-cores"));
    site.extend(options.restrict.is_none().then_some("--allow-ecores"));
    let rules = Rules {
        site: &site,
        compat: "berth",
        line: release(cluster).name(),
    };
    let planned = plans(file, rules, &requests, &kernel, &log);
    for ((request, kernel), planned) in requests.iter().zip(&kernel).zip(&planned) {
        let verdict = judge(request, kernel, planned, tree, &log);
        tally.count(&verdict);
        match verdict {
            Verdict::Equal => {}
            Verdict::Refused(_) | Verdict::Cut(_) => println!("{verdict}: srun {request}"),
            Verdict::Different | Verdict::Wrong(_) => println!(
                "{verdict}: srun {request}\n  kernel: {}\n  berth plan: {planned}",
                kernel.show()
            ),
        }
    }
}
