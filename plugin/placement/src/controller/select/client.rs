//! The numbers that srun, salloc and sbatch make of a line before they send it (`_opt_verify`,
//! `slurm_opt_create_job_desc`). What they refuse, and what a hint means, was read before. A line's tasks are counted
//! here and nowhere else.
//! In: the options as given. Out: the numbers of the message to slurmctld. Pure.

use crate::controller::select::answer::ClientRefusal;
use crate::controller::select::cluster::SlurmLine;
use crate::controller::select::options::{Client, LineOptions};
use crate::request::distribution::AcrossHosts;

/// `--ntasks-per-core` without a limit, as `--hint=multithread` sends it.
pub(super) const NO_LIMIT: u32 = u16::MAX as u32;

/// Which options of a step come from the job's variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Variables {
    /// Whether the line is a step's.
    pub step: bool,
    /// `SLURM_NTASKS`.
    pub tasks: bool,
    /// `SLURM_JOB_NUM_NODES`.
    pub nodes: bool,
}

/// The numbers that the client sends; what is not sent is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub tasks: Option<u32>,
    /// Whether `-n` or its variable gives them.
    pub tasks_given: bool,
    pub min_cpus: u32,
    /// The least and the most nodes; no most is 0.
    pub nodes: Option<(u32, u32)>,
    pub names: Vec<String>,
    pub cpus_per_node: Option<u32>,
    pub tasks_per_node: Option<u32>,
    pub tasks_per_socket: Option<u32>,
    pub tasks_per_core: Option<u32>,
    /// `-c`.
    pub each: Option<u32>,
    pub overcommit: bool,
    pub sockets: Option<u32>,
    pub cores: Option<u32>,
    pub threads: Option<u32>,
}

/// The rules by which a client counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientRules {
    /// Whether a `--ntasks-per-node` counts before `-N`, which names of nodes then do not raise (since 23.02).
    pub per_node_first: bool,
    /// Whether srun drops a `--ntasks-per-node` that does not match `-n` and `-N` (until 23.11).
    pub drops_per_node: bool,
}

impl From<SlurmLine> for ClientRules {
    fn from(line: SlurmLine) -> Self {
        let is_newer = line > SlurmLine::V22_05;
        Self {
            per_node_first: is_newer,
            drops_per_node: !is_newer,
        }
    }
}

/// The tasks of a line of srun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SrunTasks {
    /// The number of tasks.
    pub count: u32,
    /// Whether it is requested or follows from other options.
    pub is_set: bool,
    /// `--ntasks-per-node`, if it still holds.
    pub per_node: Option<u32>,
}

impl SrunTasks {
    /// Counts the tasks of a line, without the variables of a job around it.
    ///
    /// # Errors
    /// Why srun refuses the numbers.
    pub fn of(rules: ClientRules, options: &LineOptions) -> Result<Self, ClientRefusal> {
        let mut line = Line::new(rules, options);
        line.srun(options, Variables::default())?;
        Ok(Self {
            count: line.tasks,
            is_set: line.tasks_set,
            per_node: line.per_node,
        })
    }
}

impl Sent {
    /// Reads the options as the client does.
    pub(super) fn of(
        line: SlurmLine,
        client: Client,
        options: &LineOptions,
        variables: Variables,
    ) -> Result<Self, ClientRefusal> {
        let mut line = Line::new(line.into(), options);
        match client {
            Client::Srun => line.srun(options, variables)?,
            Client::Salloc | Client::Sbatch => line.salloc(client, options)?,
        }
        Ok(line.sent(options))
    }
}

/// The variables of `_opt_verify`.
struct Line {
    rules: ClientRules,
    tasks: u32,
    tasks_set: bool,
    /// Whether `-n` or its variable gives them.
    tasks_given: bool,
    least: u32,
    most: u32,
    nodes_set: bool,
    names: Vec<String>,
    per_node: Option<u32>,
    per_core: Option<u32>,
    shape: [Option<u32>; 3],
    by_shape: bool,
}

impl Line {
    fn new(rules: ClientRules, options: &LineOptions) -> Self {
        let (least, most) = match options.nodes {
            Some(requested) => (requested.least, requested.most.unwrap_or(0)),
            None => (1, 0),
        };
        Self {
            rules,
            tasks: options.tasks.unwrap_or(1),
            tasks_set: options.tasks.is_some(),
            tasks_given: options.tasks.is_some(),
            least,
            most,
            nodes_set: options.nodes.is_some(),
            names: options.node_names.clone(),
            per_node: options.tasks_per_node,
            per_core: options.tasks_per_core,
            shape: [
                options.sockets_per_node,
                options.cores_per_socket,
                options.threads_per_core,
            ],
            by_shape: options.node_info,
        }
    }

    fn salloc(&mut self, client: Client, options: &LineOptions) -> Result<(), ClientRefusal> {
        self.take_names();
        let implies = client == Client::Salloc || self.one_number();
        let open = implies && !self.tasks_set && !self.is_newer();
        if let Some(each) = self.per_node.filter(|_| open) {
            self.imply_tasks(each);
        }
        self.check(options)?;
        self.check_planes(options)?;
        if self.implies_tasks() {
            self.tasks = self.least.max(1);
            for count in self.shape.into_iter().flatten() {
                self.imply_more(count);
            }
        } else if self.nodes_set && self.tasks_set {
            self.fit_nodes();
        }
        Ok(())
    }

    fn srun(&mut self, options: &LineOptions, from: Variables) -> Result<(), ClientRefusal> {
        if options.distribution.hosts == AcrossHosts::Arbitrary {
            self.take_list();
        } else if self.most > 0 && !self.is_newer() {
            self.names.truncate(self.most as usize);
        }
        self.check(options)?;
        let names_count = !self.nodes_set;
        self.take_names();
        if self.implies_tasks() {
            self.tasks = self.least;
            if let [Some(sockets), Some(cores), Some(threads)] = self.shape {
                for count in [sockets, cores, threads] {
                    self.imply_more(count);
                }
            } else if let Some(each) = self.per_node {
                self.imply_more(each);
            }
        } else if self.nodes_set && self.tasks_set {
            let fits = self.tasks >= self.least;
            self.fit_nodes();
            if names_count && self.is_newer() {
                self.names.truncate(self.least as usize);
            }
            if self.rules.drops_per_node {
                let each = self.tasks / self.least.max(1);
                self.per_node = self.per_node.filter(|requested| *requested == each);
            } else {
                let nodes = from.nodes && fits;
                self.fit_tasks_per_node(options, Variables { nodes, ..from });
            }
        }
        if let Some(each) = self.per_node.filter(|_| !self.tasks_set) {
            self.imply_tasks(each);
        }
        Ok(())
    }

    /// `--ntasks-per-node` beside `-n`, since 24.11.
    fn fit_tasks_per_node(&mut self, options: &LineOptions, from: Variables) {
        let Some(each) = self.per_node else {
            return;
        };
        if from.tasks && !from.nodes {
            (self.tasks, self.tasks_set, self.tasks_given) = (1, false, false);
            return;
        }
        let pack = from.nodes && options.distribution.pack == Some(true);
        let too_many = self.most > 0 && self.tasks > self.most.saturating_mul(each);
        let unlike = self.tasks != self.least.saturating_mul(each) && self.tasks > each;
        if (too_many && !pack && from.step) || (unlike && pack) {
            self.per_node = None;
        }
    }

    fn check(&self, options: &LineOptions) -> Result<(), ClientRefusal> {
        let zero = [Some(self.tasks), options.cpus_per_task, self.per_node];
        if zero.contains(&Some(0)) {
            return Err(ClientRefusal::Zero);
        }
        match self.most > 0 && self.least > self.most {
            true => Err(ClientRefusal::NodeRange),
            false => Ok(()),
        }
    }

    /// salloc and sbatch refuse planes that leave a node without a task.
    fn check_planes(&self, options: &LineOptions) -> Result<(), ClientRefusal> {
        let requested = options.distribution;
        let size = requested.plane_size.filter(|size| *size > 0);
        let Some(size) = size.filter(|_| requested.hosts == AcrossHosts::Plane) else {
            return Ok(());
        };
        let before_last = self.least.saturating_sub(1).saturating_mul(size);
        match self.tasks / size < self.least && before_last >= self.tasks {
            true => Err(ClientRefusal::Planes),
            false => Ok(()),
        }
    }

    /// `-m arbitrary` has a task for each name of the list.
    fn take_list(&mut self) {
        if !self.tasks_set && !self.names.is_empty() {
            self.tasks = self.names.len() as u32;
            self.tasks_set = true;
        }
    }

    /// Sorts the names of `-w`, each once; they raise the least number of nodes.
    fn take_names(&mut self) {
        if self.names.is_empty() {
            return;
        }
        self.names.sort_by(|one, other| host_order(one, other));
        self.names.dedup();
        let count = self.names.len() as u32;
        self.least = match self.nodes_set {
            true if self.is_newer() => self.least,
            true => self.least.max(count),
            false => count,
        };
        self.nodes_set = true;
    }

    fn implies_tasks(&self) -> bool {
        let open = !self.tasks_set && (self.per_node.is_none() || !self.is_newer());
        (self.nodes_set || self.by_shape) && self.one_number() && open
    }

    fn one_number(&self) -> bool {
        self.most == 0 || self.least == self.most
    }

    fn is_newer(&self) -> bool {
        self.rules.per_node_first
    }

    fn imply_tasks(&mut self, each: u32) {
        self.tasks = self.least.saturating_mul(each);
        self.tasks_set = true;
    }

    fn imply_more(&mut self, times: u32) {
        self.tasks = self.tasks.saturating_mul(times);
        self.tasks_set = true;
    }

    /// Fewer tasks than nodes take fewer nodes.
    fn fit_nodes(&mut self) {
        self.most = self.most.min(self.tasks);
        if self.tasks < self.least {
            self.least = self.tasks;
            self.most = self.tasks;
            if !self.is_newer() {
                self.names.truncate(self.tasks as usize);
            }
        }
    }

    /// The number of tasks that the CPUs are counted for.
    fn counted_tasks(&self) -> u32 {
        let open = self.is_newer() && !self.tasks_set && self.one_number();
        match self.per_node.filter(|_| open) {
            Some(each) => self.least.saturating_mul(each),
            None => self.tasks,
        }
    }

    /// The range of nodes; later lines derive one from the tasks of a node.
    fn nodes(&self) -> Option<(u32, u32)> {
        let derived = self.per_node.filter(|_| self.is_newer() && self.tasks_set);
        match self.nodes_set {
            true => Some((self.least, self.most)),
            false => derived.map(|each| (self.tasks.div_ceil(each.max(1)), 0)),
        }
    }

    fn sent(self, options: &LineOptions) -> Sent {
        let each = options.cpus_per_task;
        let min_cpus = match options.overcommit {
            true => self.least.max(1),
            false if each.is_none() && self.nodes_set && self.least == 0 => 0,
            false => self.counted_tasks().saturating_mul(each.unwrap_or(1)),
        };
        Sent {
            tasks: self.tasks_set.then_some(self.tasks),
            tasks_given: self.tasks_given,
            min_cpus,
            nodes: self.nodes(),
            names: self.names,
            cpus_per_node: options.min_cpus.max(each),
            tasks_per_node: self.per_node,
            tasks_per_socket: options.tasks_per_socket,
            tasks_per_core: self.per_core,
            each,
            overcommit: options.overcommit,
            sockets: self.shape[0],
            cores: self.shape[1],
            threads: self.shape[2],
        }
    }
}

/// Slurm sorts hosts by their prefix, then by their number, then by the number of its digits.
fn host_order(one: &str, other: &str) -> std::cmp::Ordering {
    let split = |name: &str| {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(name.len() - digits);
        (prefix.to_owned(), number.parse::<u64>().ok(), digits)
    };
    split(one).cmp(&split(other))
}
