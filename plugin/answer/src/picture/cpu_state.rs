//! The content of a CPU in a picture, and what each mark means.

use std::collections::BTreeMap;

use berth_placement::{CpuId, CpuSet, Machine};

/// The content of a CPU in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuState {
    /// A task's number.
    Task(u32),
    /// The lowest of several tasks.
    Several(u32),
    /// The number of a task that did not get what it requests.
    TaskShort(u32),
    /// The lowest of several tasks that would each need CPUs of their own.
    SeveralShort(u32),
    /// Every task of the node.
    All,
    /// No task has it.
    Free,
    /// Another step is bound to it.
    Taken,
    /// The step does not own it.
    Outside,
    /// The CPU's own number, in a picture of the machine alone.
    Number,
    /// The CPU's own number, if the kernel forbids it to us.
    Forbidden,
    /// The CPU's own number, if the kernel keeps it for itself.
    Isolated,
}

/// The state of each CPU of a machine.
pub type Cells = BTreeMap<CpuId, CpuState>;

/// Every mark: an example, its form in a tree, and its meaning in a tree and in words.
const MARKS: [(CpuState, &str, &str); 11] = [
    (
        CpuState::Number,
        "N a CPU, by kernel number",
        "a CPU, by the kernel's number",
    ),
    (
        CpuState::Task(0),
        "N a task",
        "each task has a colour: large its number, small the CPU's kernel number",
    ),
    (
        CpuState::Several(0),
        "N+ that task and others",
        "N+, dark frame: task N and others share this CPU",
    ),
    (
        CpuState::TaskShort(0),
        "N! that task has less than it requests",
        "N!, red frame: task N has less than it requests",
    ),
    (
        CpuState::SeveralShort(0),
        "N+! tasks share it although each requests its own",
        "N+!, red frame: tasks share this CPU although each requests its own",
    ),
    (
        CpuState::All,
        "* every task of the node",
        "blue-grey, *: every task of the node may run here",
    ),
    (
        CpuState::Free,
        ". free",
        "white, a dot: the step's, and free",
    ),
    (
        CpuState::Taken,
        "x another step is bound to it",
        "brown, x: another step is bound to it",
    ),
    (
        CpuState::Outside,
        "- not the step's",
        "grey, a dash: not the step's",
    ),
    (
        CpuState::Forbidden,
        "N! not allowed here",
        "grey, N!: not allowed here",
    ),
    (
        CpuState::Isolated,
        "N~ isolated (isolcpus)",
        "N~: isolated (isolcpus)",
    ),
];

/// The marks that some cells have: each with an example of them, its meaning in a tree, and in words.
pub fn marks<'a>(
    cells: impl Iterator<Item = &'a Cells> + Clone,
) -> Vec<(CpuState, &'static str, &'static str)> {
    let first = |example: CpuState| {
        let mut all = cells.clone().flat_map(|cells| cells.values());
        all.find(|cell| cell.is_like(example)).copied()
    };
    let found = MARKS.into_iter();
    found
        .filter_map(|(example, tree, words)| Some((first(example)?, tree, words)))
        .collect()
}

impl CpuState {
    fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// The text in the CPU of this number.
    pub fn text(self, cpu: CpuId) -> String {
        match self {
            Self::Task(task) => task.to_string(),
            Self::Several(task) => format!("{task}+"),
            Self::TaskShort(task) => format!("{task}!"),
            Self::SeveralShort(task) => format!("{task}+!"),
            Self::All => "*".into(),
            Self::Free => ".".into(),
            Self::Taken => "x".into(),
            Self::Outside => "-".into(),
            Self::Number => cpu.to_string(),
            Self::Forbidden => format!("{cpu}!"),
            Self::Isolated => format!("{cpu}~"),
        }
    }

    /// Whether the text is the CPU's own number.
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Self::Number | Self::Forbidden | Self::Isolated)
    }

    /// The task whose colour it has.
    pub fn task(self) -> Option<u32> {
        match self {
            Self::Task(task)
            | Self::Several(task)
            | Self::TaskShort(task)
            | Self::SeveralShort(task) => Some(task),
            _ => None,
        }
    }
}

/// Each CPU of a machine by its own number.
pub fn numbers(machine: &Machine, isolated: &CpuSet) -> Cells {
    let cell = |cpu| match cpu {
        cpu if !machine.allowed().contains(cpu) => CpuState::Forbidden,
        cpu if isolated.contains(cpu) => CpuState::Isolated,
        _ => CpuState::Number,
    };
    machine.cpus().iter().map(|cpu| (cpu, cell(cpu))).collect()
}
