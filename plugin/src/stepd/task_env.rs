//! The variables of every task: its CPUs and cores, with `--binding=env:` those of Grid Engine
//! and OpenMP, and with `--binding=auto` those of OpenMP. slurmstepd prepares them before the fork and makes room
//! for them in the environment; the task itself only overwrites what stands there.

use std::sync::Arc;

use berth_placement::answer::cores::{ChosenCore, places};
use berth_placement::request::grid_engine::{Instance, Strategy};
use berth_placement::{Binding, Chosen, CpuId, CpuSet, Node};

use crate::step::names;

/// One task's entries.
pub(crate) type Entries = Vec<(&'static str, String)>;

/// The entries that the tasks find after the fork.
pub(crate) struct Prepared {
    /// The entries of each task. A node has up to 65,535 tasks, and an entry may name every CPU of
    /// the node, so tasks with equal entries share one copy.
    tasks: Vec<Arc<Entries>>,
    /// Every name, with the length of its longest value.
    rooms: Vec<(&'static str, usize)>,
}

impl Prepared {
    /// In the parent, before the fork: the entries of each task.
    pub(crate) fn new(tasks: Vec<Arc<Entries>>) -> Self {
        let mut rooms: Vec<(&'static str, usize)> = Vec::new();
        for (name, value) in tasks.iter().flat_map(|task| task.iter()) {
            match rooms.iter_mut().find(|(known, _)| known == name) {
                Some((_, room)) => *room = value.len().max(*room),
                None => rooms.push((name, value.len())),
            }
        }
        Self { tasks, rooms }
    }

    /// Every name, with the length of its longest value.
    pub(crate) fn rooms(&self) -> &[(&'static str, usize)] {
        &self.rooms
    }

    /// In the task, between fork and exec: writes its own entries into the room that was made for
    /// them. `put` overwrites a variable's value; a task runs even if some are missing.
    pub(crate) fn fill(&self, id: usize, mut put: impl FnMut(&str, &str) -> bool) {
        let own = self.tasks.get(id).map_or(&[][..], |own| own.as_slice());
        for (name, _) in &self.rooms {
            let value = own.iter().find(|(known, _)| known == name);
            put(name, value.map_or("", |(_, value)| value));
        }
    }
}

/// The core of each CPU, by kernel number.
pub(crate) struct Cores(Vec<Option<u32>>);

impl Cores {
    /// By slurmd's map; each core has `stride` entries in it.
    pub(crate) fn of(map: &[u16], stride: u32) -> Self {
        let entries = (0..).zip(map);
        Self::numbered(entries.map(|(at, cpu)| (CpuId((*cpu).into()), at / stride.max(1))))
    }

    /// By the tree, whatever `compat` says.
    pub(crate) fn of_node(node: &Node) -> Self {
        Self::numbered(node.by_tree().table().numbered())
    }

    /// By the CPUs of each core.
    pub(crate) fn of_sets(cores: &[CpuSet]) -> Self {
        let cores = (0..).zip(cores);
        Self::numbered(cores.flat_map(|(core, cpus)| cpus.iter().map(move |cpu| (cpu, core))))
    }

    fn numbered(all: impl Iterator<Item = (CpuId, u32)>) -> Self {
        let mut cores = Vec::new();
        for (cpu, core) in all {
            cores.resize(cores.len().max(cpu.index() + 1), None);
            if let Some(entry) = cores.get_mut(cpu.index()) {
                *entry = Some(core);
            }
        }
        Self(cores)
    }

    /// CPUs and cores of a task that is bound to a set.
    pub(crate) fn bound(&self, cpus: &CpuSet) -> Entries {
        vec![
            (names::CPUS, cpus.to_string()),
            (names::CORES, self.under(cpus).to_string()),
        ]
    }

    /// The cores of CPUs, as far as they are known.
    pub(crate) fn under(&self, cpus: &CpuSet) -> CpuSet {
        let core = |cpu: CpuId| self.0.get(cpu.index()).copied().flatten();
        cpus.iter().filter_map(core).map(CpuId).collect()
    }
}

/// The entries of a task that is not bound: the variables of an outer step must not look like its
/// own.
pub(crate) fn unbound() -> Entries {
    vec![(names::CPUS, String::new()), (names::CORES, String::new())]
}

/// The cores that a `--binding` chose, in words: for each task, or once for all of them.
pub(crate) struct BindingEnv(Vec<Entries>);

impl BindingEnv {
    /// `given` answers whether the user has set a variable.
    pub(crate) fn new(binding: &Binding, chosen: &Chosen, given: impl Fn(&str) -> bool) -> Self {
        let given = OPENMP.map(given);
        let variables = |cores: &[ChosenCore]| binding_entries(binding, cores, given);
        Self(chosen.lists().map(variables).collect())
    }

    /// Without a `--binding`.
    pub(crate) fn nothing() -> Self {
        Self(vec![vec![(names::BINDING_CORES, String::new())]])
    }

    /// A task's entries, by its local id, and their number among all different ones.
    pub(crate) fn of_task(&self, id: usize) -> (usize, &[(&'static str, String)]) {
        let at = if self.0.len() == 1 { 0 } else { id };
        (at, self.0.get(at).map_or(&[], Vec::as_slice))
    }

    /// One entry for each of `count` tasks; a single entry is shared by all.
    pub(crate) fn of_tasks(self, count: usize) -> Vec<Arc<Entries>> {
        let mut all: Vec<_> = self.0.into_iter().map(Arc::new).collect();
        if let [shared] = all.as_slice() {
            all = vec![shared.clone(); count];
        }
        all
    }
}

/// The number of a task's CPUs in the variable of its job's pool, and in OpenMP's if nothing has set it.
pub(crate) fn in_pool(
    variable: &'static str,
    cpus: u32,
    openmp_is_set: bool,
) -> impl Iterator<Item = (&'static str, String)> {
    let openmp = (!openmp_is_set && variable != OPENMP_THREADS).then_some(OPENMP_THREADS);
    let names = std::iter::once(variable).chain(openmp);
    names.map(move |name| (name, cpus.to_string()))
}

const OPENMP_THREADS: &str = "OMP_NUM_THREADS";

/// OpenMP's variables, unless the user has set them.
const OPENMP: [&str; 3] = ["OMP_PLACES", "OMP_PROC_BIND", "OMP_NUM_THREADS"];

fn binding_entries(binding: &Binding, cores: &[ChosenCore], given: [bool; 3]) -> Entries {
    let mut entries: Entries = vec![(names::BINDING_CORES, places(cores))];
    let share = match binding.strategy {
        Strategy::Auto(share) => Some(share),
        _ => None,
    };
    let cpus = || cores.iter().flat_map(|core| core.cpus.iter());
    if binding.instance == Instance::Env {
        let numbers: Vec<_> = cpus().map(|cpu| cpu.to_string()).collect();
        entries.push(("SGE_BINDING", numbers.join(" ")));
    } else if share.is_none() {
        return entries;
    }
    let threads = match share.and_then(|share| share.smt) {
        Some(_) => cpus().count(),
        None => cores.len(),
    };
    let values = [omp_places(cores), "close".into(), threads.to_string()];
    let openmp = OPENMP.into_iter().zip(values).zip(given);
    let free = openmp.filter(|(_, given)| !given);
    entries.extend(free.map(|(entry, _)| entry));
    entries
}

/// One place per core, with all its hardware threads: `{0,4},{1,5}`.
fn omp_places(cores: &[ChosenCore]) -> String {
    let place = |core: &ChosenCore| {
        let cpus: Vec<_> = core.cpus.iter().map(|cpu| cpu.to_string()).collect();
        format!("{{{}}}", cpus.join(","))
    };
    cores.iter().map(place).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stepd::pe_texts::tests::chosen;
    use berth_placement::{
        Core, Fixes, Machine, Package, Parts, Request, Rules, SocketKind, planned_on,
    };

    #[test]
    fn a_task_fills_its_own_in_without_the_allocator() {
        let entries = |cpus: &str| Arc::new(vec![("BERTH_CPUS", cpus.to_string())]);
        let prepared = Prepared::new(vec![entries("0-3"), entries("4")]);
        assert_eq!(prepared.rooms(), [("BERTH_CPUS", 3)]);
        let mut found = ["none"; 3];
        let calls = crate::site::count_allocations::during(|| {
            for (id, found) in found.iter_mut().enumerate() {
                prepared.fill(id, |_, value| {
                    *found = if value == "4" { "4" } else { "other" };
                    value.is_empty() == (id == 2)
                });
            }
        });
        assert_eq!((calls, found), (0, ["other", "4", "other"]));
    }

    /// slurmd's map has no second thread of the first core, and `--binding=auto` gives it to a task.
    #[test]
    fn cores_are_the_trees_under_either_compat() {
        let core = |list: &str| Core {
            pus: CpuSet::from_list(list).unwrap().iter().collect(),
        };
        let uneven = Parts {
            packages: vec![Package {
                cores: vec![core("0,2"), core("1")],
            }],
            allowed: CpuSet::first(3),
            ..Parts::default()
        };
        let rules = Rules {
            fixes: Fixes::NONE,
            ..Rules::default()
        };
        let node = Node::of(Machine::new(uneven).unwrap(), SocketKind::Package, rules);
        let request = Request {
            binding: Some("auto".parse().unwrap()),
            ..Request::default()
        };
        assert!(node.is_slurmds() && !planned_on(&request, &node).is_slurmds());
        let variables = Cores::of_node(&node).bound(&CpuSet::from_list("0,2").unwrap());
        assert_eq!(variables[1], (names::CORES, "0".into()));
    }

    #[test]
    fn a_pool_says_how_many_cpus() {
        let variables = |variable, is_set| -> Vec<_> { in_pool(variable, 8, is_set).collect() };
        let eight = |name: &'static str| (name, String::from("8"));
        assert_eq!(
            variables("NCPUS", false),
            [eight("NCPUS"), eight("OMP_NUM_THREADS")]
        );
        assert_eq!(variables("NCPUS", true), [eight("NCPUS")]);
        assert_eq!(
            variables("OMP_NUM_THREADS", true),
            [eight("OMP_NUM_THREADS")]
        );
    }

    #[test]
    fn what_a_task_is_told() {
        let list = chosen("0,0=0,4:0,1=1,5;1,0=2,6:1,1=3,7");
        let env: Binding = "env:linear:2".parse().unwrap();
        let entries = BindingEnv::new(&env, &list, |name| name == "OMP_PROC_BIND");
        let (_, entries) = entries.of_task(1);
        let variables: Vec<_> = entries
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            variables,
            [
                "BERTH_BINDING_CORES=1,0:1,1",
                "SGE_BINDING=2 6 3 7",
                "OMP_PLACES={2,6},{3,7}",
                "OMP_NUM_THREADS=2"
            ]
        );
        let set: Binding = "linear:2".parse().unwrap();
        assert_eq!(
            BindingEnv::new(&set, &list, |_| false).of_task(0).1.len(),
            1
        );
        let threads = |binding: &str| {
            let variables = BindingEnv::new(&binding.parse().unwrap(), &list, |_| false);
            let (_, entries) = variables.of_task(0);
            let names: Vec<_> = entries.iter().map(|(name, _)| *name).collect();
            (names.len(), entries.last().cloned())
        };
        let expected = |count: &str| Some(("OMP_NUM_THREADS", count.to_string()));
        assert_eq!(threads("auto"), (4, expected("2")));
        assert_eq!(threads("auto:smt=2"), (4, expected("4")));
        assert_eq!(threads("env:auto"), (5, expected("2")));
        let shared = chosen("0,0=0,4");
        let variables = BindingEnv::new(&env, &shared, |_| false);
        assert_eq!(variables.of_task(0), variables.of_task(65534));
        let all = variables.of_tasks(65535);
        let same = |(one, other)| Arc::ptr_eq(one, other);
        assert!(all.len() == 65535 && all.first().zip(all.last()).is_some_and(same));
        let cpus = CpuSet::from_list("1,5").unwrap();
        let variables = Cores::of(&[0, 4, 1, 5, 2, 6, 3, 7], 2).bound(&cpus);
        let variables: Vec<_> = variables.iter().map(|(_, value)| &**value).collect();
        assert_eq!(variables, ["1,5", "1"]);
    }
}
