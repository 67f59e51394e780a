//! slurmctld's answers in words: what would happen to a line that does not run.

use berth_placement::controller::select::{
    Client, ClientRefusal, ClusterError, Gap, JobRefusal, StepRefusal, Wait,
};

/// What happens to a job that waits.
pub(super) fn waits(wait: Wait) -> &'static str {
    match wait {
        Wait::Resources => {
            "the job waits: slurmctld takes it, but finds no room for it on idle nodes (Resources)"
        }
        Wait::PartitionConfig => {
            "the job never starts: it asks for more than the nodes have (PartitionConfig); ask for \
             less, or for more nodes"
        }
    }
}

/// Why slurmctld refuses a job.
pub(super) fn job_refusal(why: &JobRefusal) -> String {
    match why {
        JobRefusal::NodeConfiguration => {
            "slurmctld refuses the job: \"Requested node configuration is not available\"; no node \
             can give what it asks of one node"
                .into()
        }
        JobRefusal::PartitionConfig => {
            "slurmctld refuses the job: it asks for more nodes or CPUs than there are".into()
        }
        JobRefusal::UnknownNode(name) => format!(
            "slurmctld refuses the job: there is no node {name}; -w and -x take names of its nodes"
        ),
        JobRefusal::WantedAndExcluded => {
            "slurmctld refuses the job: a node stands in -w and in -x".into()
        }
        JobRefusal::NodeCount => {
            "slurmctld refuses the job: -w names more nodes than -N allows".into()
        }
        JobRefusal::Client(why) => client_refusal(Client::Srun, *why),
    }
}

/// Why the submitting command refuses its line.
pub(super) fn client_refusal(client: Client, why: ClientRefusal) -> String {
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
    format!("{command} refuses the line: {why}")
}

/// Why slurmctld refuses a step.
pub(super) fn step_refusal(why: StepRefusal) -> String {
    let text = match why {
        StepRefusal::TooManyCpus => {
            "slurmctld refuses the step: \"More processors requested than permitted\"; the job has \
             fewer CPUs; ask for fewer tasks or a smaller -c"
        }
        StepRefusal::NodeConfiguration => {
            "slurmctld refuses the step: \"Requested node configuration is not available\""
        }
        StepRefusal::TaskCount => {
            "slurmctld refuses the step: \"Task count specification invalid\""
        }
        StepRefusal::ThreadsPerCore => {
            "slurmctld refuses the step: --threads-per-core is more than the job or its nodes have"
        }
        StepRefusal::TooManyNodes => {
            "slurmctld refuses the step: it asks for more nodes than the job has"
        }
        StepRefusal::Client(why) => return client_refusal(Client::Srun, why),
    };
    text.into()
}

/// What the model does not know, by name.
pub(super) fn gap(gap: Gap) -> &'static str {
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
