//! slurmctld's answers in words: what would happen to a line that does not run.

use berth_placement::Node;
use berth_placement::controller::select::{
    self, Client, ClientRefusal, Cluster, ClusterError, Gap, JobAnswer, JobGrant, JobRefusal,
    LineOptions, StepAnswer, StepGrant, StepRefusal, Wait,
};

use crate::Question;
use crate::lines::NoAnswer;

/// The grant of a job, or the reason why it does not start.
pub(super) fn job(
    client: Client,
    cluster: &Cluster,
    options: &LineOptions,
) -> Result<JobGrant, NoAnswer> {
    let refused = |why: &str| NoAnswer::Refused(format!("slurmctld refuses the job: {why}"));
    Err(match select::job(cluster, client, options) {
        JobAnswer::Granted(job) => return Ok(job),
        JobAnswer::Waits(Wait::Resources) => NoAnswer::Refused(
            "the job waits: slurmctld takes it, but finds no room for it on idle nodes (Resources)"
                .into(),
        ),
        JobAnswer::Waits(Wait::PartitionConfig) => NoAnswer::Refused(format!(
            "the job never starts: it asks for more than the nodes have (PartitionConfig); ask for less{}",
            match options.tasks.unwrap_or(1) {
                1 => "",
                _ => ", or for more nodes",
            }
        )),
        JobAnswer::NotModelled(gap) => NoAnswer::NotModelled(self::gap(gap).into()),
        JobAnswer::Refused(why) => match why {
            JobRefusal::NodeConfiguration => refused(
                "\"Requested node configuration is not available\"; no node can give what it asks of \
                 one node",
            ),
            JobRefusal::PartitionConfig => refused("it asks for more nodes or CPUs than there are"),
            JobRefusal::UnknownNode(name) => refused(&format!(
                "there is no node {name}; -w and -x take names of its nodes"
            )),
            JobRefusal::WantedAndExcluded => refused("a node stands in -w and in -x"),
            JobRefusal::NodeCount => refused("-w names more nodes than -N allows"),
            JobRefusal::Client(why) => client_refuses(client, why),
        },
    })
}

/// The grant of a step, or the reason why it does not start.
pub(super) fn of_step(answer: StepAnswer) -> Result<StepGrant, NoAnswer> {
    let why = match answer {
        StepAnswer::Granted(step) => return Ok(step),
        StepAnswer::Waits => {
            let why = "the step never starts: slurmctld finds no room for its tasks on the job's nodes even \
                       without other steps, and srun waits; use fewer tasks, or a -c that fills whole cores";
            return Err(NoAnswer::Refused(why.into()));
        }
        StepAnswer::NotModelled(gap) => return Err(NoAnswer::NotModelled(self::gap(gap).into())),
        StepAnswer::Refused(why) => match why {
            StepRefusal::TooManyCpus => {
                "\"More processors requested than permitted\"; the job has fewer CPUs; ask for fewer \
                 tasks or a smaller -c"
            }
            StepRefusal::NodeConfiguration => "\"Requested node configuration is not available\"",
            StepRefusal::TaskCount => "\"Task count specification invalid\"",
            StepRefusal::ThreadsPerCore => {
                "--threads-per-core is more than the job or its nodes have"
            }
            StepRefusal::TooManyNodes => "it asks for more nodes than the job has",
            StepRefusal::Client(why) => return Err(client_refuses(Client::Srun, why)),
        },
    };
    Err(NoAnswer::Refused(format!(
        "slurmctld refuses the step: {why}"
    )))
}

/// Why the submitting command refuses its line.
fn client_refuses(client: Client, why: ClientRefusal) -> NoAnswer {
    let command = match client {
        Client::Srun => "srun",
        Client::Sbatch => "sbatch",
        Client::Salloc => "salloc",
    };
    let why = match why {
        ClientRefusal::NodeRange => "-N has a least above its most",
        ClientRefusal::TasksPerCore => "--ntasks-per-core is above --threads-per-core",
        ClientRefusal::Zero => "a number is 0",
        ClientRefusal::Planes => "its planes leave a node without a task",
    };
    NoAnswer::Usage(format!("{command} refuses the line: {why}"))
}

/// The name of a thing that the model does not know.
fn gap(gap: Gap) -> &'static str {
    match gap {
        Gap::Cluster(why) => cluster(why),
        Gap::Arbitrary => "-m arbitrary; name the cores with --cores, or plan with --cores all",
        Gap::SpreadJob => {
            "--spread-job over several nodes, as Slurm 25.05 and later deal out its tasks"
        }
        Gap::OvercommittedStep => "-O where tasks of one step share cores",
        Gap::StepExcludes => "-x of a step inside a job",
        Gap::KillsSlurmctld => {
            "this step ends slurmctld 22.05, which divides by the tasks of a node that has none; \
             leave out Pack, or -c"
        }
    }
}

fn cluster(why: ClusterError) -> &'static str {
    match why {
        ClusterError::NoNodes => "a partition without nodes",
        ClusterError::TooLarge => "so many nodes or cores",
        ClusterError::Shape(_) => {
            "a node whose counts of sockets, cores and threads are impossible"
        }
        ClusterError::Cpus(_) => "a node whose CPUs= is neither its cores nor its threads",
    }
}

/// Why slurmctld would not choose this node for a job, if so.
pub(in crate::plan) fn unmet(args: &Question, on: &Node) -> Option<String> {
    let (request, machine) = (&args.srun, on.machine()?);
    let sockets = machine.sockets(args.socket_kind());
    let cores = sockets.iter().map(Vec::len).max().unwrap_or(0);
    let all = sockets.iter().flatten();
    let threads = all
        .map(|core| machine.pus_of(*core).len())
        .max()
        .unwrap_or(0);
    let found = [sockets.len(), cores, threads];
    let names = ["sockets", "cores per socket", "threads per core"];
    let options = [
        "--sockets-per-node",
        "--cores-per-socket",
        "--threads-per-core",
    ];
    let parts = request
        .node
        .iter()
        .zip(found)
        .zip(names.iter().zip(options));
    parts
        .filter_map(|((wanted, found), (name, option))| Some(((*wanted)?, found, name, option)))
        .find(|(wanted, found, ..)| *wanted as usize > *found)
        .map(|(least, found, name, option)| {
            let option = if request.by_node_info { "-B" } else { option };
            format!("{option} asks for {least} {name}; this machine has {found}; ask for no more")
        })
}
