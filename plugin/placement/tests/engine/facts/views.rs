//! What is looked at in an answer, as text.

use berth_placement::answer::cores::{ChosenCore, places};
use berth_placement::answer::near::NearTask;
use berth_placement::answer::quality::Range;
use berth_placement::{Chosen, CpuSet, Node, NodeSet, Plan, Quality, Refusal, Rule};

/// The answer to a request, or why it cannot be read.
pub struct Outcome {
    pub node: Node,
    /// The mapping options as they are written again.
    pub mapping: String,
    pub plan: Option<Result<Plan, Refusal>>,
    pub why: Option<String>,
}

impl Outcome {
    fn planned(&self) -> Option<&Plan> {
        self.plan.as_ref()?.as_ref().ok()
    }

    /// The CPUs of each task, `unbound`, or why the request is refused.
    pub fn masks(&self) -> String {
        match &self.plan {
            None => self.why.clone().unwrap_or_default(),
            Some(Err(why)) => format!("refused: {why}"),
            Some(Ok(plan)) if !plan.is_bound() => "unbound".into(),
            Some(Ok(plan)) => joined(plan.tasks.iter().map(|task| task.cpus.to_string())),
        }
    }

    pub fn notes(&self) -> Vec<String> {
        let plan = self.planned();
        let notes = plan.iter().flat_map(|plan| &plan.notes);
        notes.map(ToString::to_string).collect()
    }

    /// All of it as a fact has it, with the views that stand in a text.
    pub fn text(&self, expected: &str) -> String {
        let views = expected
            .split(" ! ")
            .next()
            .unwrap_or_default()
            .split(" @")
            .skip(1);
        let names = views.filter_map(|view| view.split(' ').next());
        let views: String = names
            .map(|name| format!(" @{name} {}", self.view(name)))
            .collect();
        let notes: String = self
            .notes()
            .iter()
            .map(|note| format!(" ! {note}"))
            .collect();
        format!("{}{views}{notes}", self.masks())
    }

    pub fn view(&self, name: &str) -> String {
        if let ("held", Some(Err(Refusal::Cpuset(why)))) = (name, &self.plan) {
            return why.held().map_or("none".into(), CpuSet::to_string);
        }
        if name == "mapping" {
            return self.mapping.clone();
        }
        let Some(plan) = self.planned() else {
            return "refused".into();
        };
        let found = match name {
            "unit" => unit(&plan.decision.rule),
            "rule" => Some(plan.decision.rule.to_string()),
            "text" => plan.text(),
            "width" => Some(plan.decision.cpus_per_task.to_string()),
            "cores" => plan
                .chosen
                .as_ref()
                .map(|chosen| joined(chosen.lists().map(places))),
            "chosen" => plan.chosen.as_ref().map(chosen),
            "devices" => devices(plan, &self.node),
            "mems" => Some(memory(plan)),
            "cpuset" => cpuset(plan),
            "rejected" => plan
                .cpuset
                .as_ref()
                .map(|set| format!("{:?}", set.rejected)),
            "use" => Some(usage(plan, &self.node)),
            "figures" => Quality::of(plan, &self.node).map(figures),
            other => panic!("@{other} is no part of an answer"),
        };
        found.unwrap_or_else(|| "none".into())
    }
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join(" ")
}

/// What a share divides.
fn unit(rule: &Rule) -> Option<String> {
    match rule {
        Rule::Narrowed(_, by) => unit(by),
        Rule::Share(_, out) => {
            let (unit, cores, threads) = (out.unit, out.cores, out.threads);
            Some(format!("{unit:?} of {cores} cores, {threads} threads"))
        }
        _ => None,
    }
}

/// Each task's cores with their CPUs.
fn chosen(chosen: &Chosen) -> String {
    let core = |core: &ChosenCore| format!("{}={}", core.place, core.cpus);
    let cores = |cores: &[ChosenCore]| cores.iter().map(core).collect::<Vec<_>>().join(":");
    chosen.lists().map(cores).collect::<Vec<_>>().join(";")
}

/// Each task's devices by their bus, and how far they are.
fn devices(plan: &Plan, node: &Node) -> Option<String> {
    let near = plan.near.as_ref()?;
    let all = node.machine()?.devices();
    let bus = |at: u32| {
        let pci = all[at as usize].pci.expect("a GPU");
        format!("{:02x}", pci.address.bus)
    };
    let task = |(id, task): (usize, &NearTask)| {
        let own: Vec<_> = near.devices(id).map(bus).collect();
        format!("{} ({})", own.join("+"), task.distance)
    };
    Some(joined(near.tasks.iter().enumerate().map(task)))
}

/// Each task's memory nodes.
fn memory(plan: &Plan) -> String {
    let nodes = plan.tasks.iter().map(|task| task.mems.as_ref());
    joined(nodes.map(|nodes| nodes.map_or("-".into(), NodeSet::to_string)))
}

/// The CPUs of the cpuset, its radius, its memory nodes and what they are.
fn cpuset(plan: &Plan) -> Option<String> {
    let set = plan.cpuset.as_ref()?;
    let unit = if set.counts_cores { "cores" } else { "CPUs" };
    let (cpus, radius, mems) = (&set.cpus, set.radius, &set.mems);
    Some(format!(
        "{cpus} r{radius}, {} {unit}, mems {mems} {:?}",
        set.count, set.memory
    ))
}

/// How often the tasks use CPUs.
fn usage(plan: &Plan, node: &Node) -> String {
    let used: CpuSet = plan
        .tasks
        .iter()
        .flat_map(|task| task.cpus.iter())
        .collect();
    let count: usize = plan.tasks.iter().map(|task| task.cpus.count()).sum();
    let all = node.machine().map(|machine| machine.cpus());
    let how = if count == used.count() {
        "once"
    } else {
        "by several tasks"
    };
    match all == Some(&used) {
        true => format!("every CPU {how}"),
        false => format!("CPUs {used} {how}"),
    }
}

fn figures(of: Quality) -> String {
    let range = |range: Range| format!("{}-{}", range.least, range.most);
    format!(
        "spans {} {} {}, shared {}, idle {}, tasks {} {}, far {}, apart {}",
        of.span_numa,
        of.span_l3,
        of.span_packages,
        of.shared_cores,
        of.idle_cores,
        range(of.tasks_per_numa),
        of.tasks_per_l3.map_or("-".into(), range),
        of.far_cpus,
        of.neighbours_apart,
    )
}
