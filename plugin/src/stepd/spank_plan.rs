//! Plans a step for [`crate::stepd::spank_only`]: SPANK and the environment give its identity and
//! its request.

use berth_host::MachineFile;
use berth_host::ledger::{Kind, StepKey};
use berth_placement::request::grid_engine::Instance;
use berth_placement::sets::limits::WORD_BYTES;
use berth_placement::{
    Allocation, Binding, Claims, CoreIdx, CpuSet, Node, Note, Plan, Request, Rules,
};
use slurm_sys::views::StepKind;
use slurm_sys::{Layout, StepId};

use crate::site::settings::{self, Notes, Settings};
use crate::site::{node, standing};
use crate::step::own_options::{self, Ours, Own, Texts};
use crate::step::words::switched_off_note;
use crate::step::{Step, names};
use crate::stepd::decide::{self, Failed, PATIENCE};
use crate::stepd::fence::Fences;
use crate::stepd::job_env::Spank;
use crate::stepd::ledger_entry::LedgerEntry;
use crate::stepd::running_step::Alone;
use crate::stepd::state::STATE;
use crate::stepd::task_env::{BindingEnv, Prepared};
use crate::stepd::{pe_hooks, report};

/// Plans a step that is ours, and makes room for its tasks' variables in the environment.
pub(crate) fn bound(spank: &Spank<'_>) -> Option<Alone> {
    let settings = settings::current();
    let identity = SpankIdentity::of(spank)?;
    let only_note = |note| Alone {
        note,
        ..Alone::default()
    };
    let mut found = match identity.own_options(spank, &settings) {
        Ok(ours) if ours.is_empty() => return None,
        Ok(ours) if standing::is_inert() => only_note(ours.inert_note()),
        Ok(ours) => identity.bound(spank, &settings, &ours),
        Err(why) => only_note(why),
    };
    found.name = format!("{}{}", identity.name, found.name);
    found.wanted = identity.tasks as usize;
    found.shows_notes = identity.shows_notes(spank, &settings);
    Some(found)
}

impl From<String> for Failed {
    fn from(why: String) -> Self {
        Self::Broken(why)
    }
}

/// The step's identity from SPANK.
struct SpankIdentity {
    name: String,
    step: StepKey,
    kind: Kind,
    uid: u32,
    tasks: u32,
    node: String,
}

impl SpankIdentity {
    fn of(spank: &Spank<'_>) -> Option<Self> {
        let (job, step) = (spank.job_id().ok()?, spank.job_stepid().ok()?);
        // These public numbers have never changed, so an unknown line gets the newest known ones.
        let layout = standing::unjudged().map(|slurm| slurm.layout);
        let c = &layout.or_else(|| Layout::all().last())?.constants;
        if step == c.SLURM_EXTERN_CONT || step == c.SLURM_INTERACTIVE_STEP {
            return None;
        }
        let batch = step == c.SLURM_BATCH_SCRIPT;
        let kind = match batch {
            true => Kind::Batch,
            false if STATE.overlaps() => Kind::Overlap,
            false => Kind::Regular,
        };
        let number = if batch {
            "batch".into()
        } else {
            step.to_string()
        };
        Some(Self {
            name: format!("step={job}.{number}"),
            step: StepKey {
                job,
                step,
                component: u32::MAX,
            },
            kind,
            uid: spank.job_uid().ok()?,
            tasks: spank.job_local_task_count().ok()?,
            node: node::name_in_stepd()?,
        })
    }

    /// The request, if it is for us.
    fn own_options(&self, spank: &Spank<'_>, settings: &Settings) -> Result<Ours, String> {
        let batch = self.kind == Kind::Batch;
        // The step's own --cpu-bind: srun sets the variable, and slurmd has not changed it.
        let cpu_bind = env(spank, "SLURM_CPU_BIND_TYPE").unwrap_or_default();
        // mpirun starts its daemons so, in steps that inherit the job's --binding.
        let free = cpu_bind.contains("none");
        if free && !batch {
            let ours = Ours::read(&STATE.options())?;
            let kept = Ours {
                core_kind: ours.core_kind,
                ..Ours::default()
            };
            return only_with_task_berth(&kept).map_or(Ok(Ours::default()), Err);
        }
        let options = match batch {
            true => script_options(spank),
            false => STATE.options(),
        };
        if standing::is_off(settings) {
            let note = switched_off_note(&options).filter(|_| !batch);
            return note.map_or(Ok(Ours::default()), Err);
        }
        let is_list = !batch && (cpu_bind.contains("map_") || cpu_bind.contains("mask_"));
        let mut ours = Ours::read(&options)?;
        if !options.chooses() && settings.binding && !batch && cpu_bind.is_empty() {
            ours.binding.clone_from(&settings.binding_default);
        }
        if let Some(note) = only_with_task_berth(&ours) {
            return Err(note);
        }
        ours.binding = ours
            .binding
            .filter(|binding| !batch || batch_tasks(binding, spank).is_some());
        // Nothing but its --binding narrows a batch script.
        if ours.is_empty() || batch && ours.binding.is_none() {
            return Ok(Ours::default());
        }
        if is_list {
            return Err(format!(
                "{} and --cpu-bind={cpu_bind} both choose the CPUs; berth follows --cpu-bind; drop one \
                 of them",
                ours.typed()
            ));
        }
        match settings.binding {
            true => Ok(ours),
            false => Err(ours.off_note()),
        }
    }

    fn bound(&self, spank: &Spank<'_>, settings: &Settings, ours: &Ours) -> Alone {
        let binding = ours.binding.as_ref();
        let strict = binding.filter(|one| decide::is_strict(one, settings.refuse_failed_binding));
        let strict = strict.map(|_| ours.typed());
        let planned = self.plan(spank, settings, ours);
        match planned.map_err(|why| why.strictly(strict)) {
            Ok(bound) => bound,
            Err(Failed::Refused(why)) => Alone {
                name: format!(" bound=refused why={why:?}"),
                refused: Some(why),
                ..Alone::default()
            },
            Err(Failed::Broken(why)) => {
                log::error!("{}: {why}", self.name);
                let note = format!(
                    "{} is not honoured on this node; ask the administrator; the reason is in \
                     slurmd's log",
                    ours.typed()
                );
                Alone {
                    note,
                    ..Alone::default()
                }
            }
        }
    }

    fn plan(&self, spank: &Spank<'_>, settings: &Settings, ours: &Ours) -> Result<Alone, Failed> {
        let found = node::machine_file(&self.node)?;
        let ask = self.request(spank, ours, &found)?;
        let kind = standing::unjudged().map(node::socket_kind);
        let rules = Rules {
            constrain_cores: standing::unjudged().is_some_and(node::constrain_cores),
            refuse_failed_binding: settings.refuse_failed_binding,
            ..Rules::default()
        };
        let node = Node::of(
            node::counted_by_release(found.machine),
            kind.unwrap_or_default(),
            rules,
        );
        let (plan, entry, note) = self.decided(ask, node)?;
        self.tell_tasks(spank, ours.binding.as_ref(), &plan);
        let binds = match &ours.binding {
            Some(binding) => binding.instance == Instance::Set && plan.chosen.is_some(),
            None => plan.is_bound(),
        };
        let unfenced = settings.confine.note(ours.confine, binds).map(String::from);
        let notes = plan.notes.iter().map(Note::to_string);
        let notes: Vec<_> = notes.chain(note).chain(unfenced).collect();
        let is_fenced = binds && settings.confine.confines(ours.confine);
        let tasks: Vec<_> = plan.tasks.into_iter().map(|task| task.cpus).collect();
        Ok(Alone {
            fences: is_fenced.then(|| self.fences()),
            name: format!(" {} rule={}", ours.typed(), plan.decision.rule),
            note: notes.join("; "),
            tasks: if binds { tasks } else { Vec::new() },
            ledger_entry: entry,
            ..Alone::default()
        })
    }

    /// The plan, the step's entry in the ledger and a note on that. Only a `--binding` looks at the ledger.
    fn decided(
        &self,
        request: Request,
        node: Node,
    ) -> Result<(Plan, Option<LedgerEntry>, Option<String>), Failed> {
        if request.binding.is_none() {
            return Ok((alone(&request, &node)?, None, None));
        }
        let identity = decide::StepContext {
            node_name: &self.node,
            dir: node::state_dir(&self.node)?,
            key: self.step,
            kind: self.kind,
            uid: self.uid,
            tasks: self.tasks,
            is_in_pool: false,
            patience: PATIENCE,
        };
        let step = Step {
            request,
            ..Step::default()
        };
        let mut decided = decide::decide_on(&identity, step, node)?;
        Ok((decided.plan, decided.ledger_entries.pop(), decided.note))
    }

    /// Those of the tasks, whose own CPUs they hold.
    fn fences(&self) -> Fences {
        let step = StepId {
            job_id: self.step.job,
            step_id: self.step.step,
            het_component: None,
            kind: match self.kind {
                Kind::Batch => StepKind::Batch,
                Kind::Regular | Kind::Overlap => StepKind::Regular,
            },
        };
        Fences::new(step, None, true)
    }

    fn request(
        &self,
        spank: &Spank<'_>,
        ours: &Ours,
        found: &MachineFile,
    ) -> Result<Request, String> {
        let list = spank.step_alloc_cores().map_err(|why| why.to_string())?;
        let cores = CpuSet::from_list(list).map_err(|why| why.to_string())?;
        let threads = env(spank, "SLURM_THREADS_PER_CORE").and_then(|text| text.parse().ok());
        let binding = ours.binding.as_ref();
        let script_tasks = || binding.and_then(|binding| batch_tasks(binding, spank));
        let mut request = Request {
            tasks: match self.kind {
                Kind::Batch => script_tasks().unwrap_or(1),
                Kind::Regular | Kind::Overlap => self.tasks,
            },
            cpus_per_task: self.cpus_per_task(spank),
            threads_per_core: threads.filter(|threads| *threads > 0),
            allocation: Allocation::Cores {
                cores: cores.iter().map(|core| CoreIdx(core.0)).collect(),
                configured: found.machine.core_count() as u32,
            },
            reserved: settings::current().reserved.clone(),
            ..Request::default()
        };
        ours.clone().put(&mut request);
        Ok(request)
    }

    /// `-c` of a step; 1 if it is not given. Slurm's own number: the environment may have that of the
    /// job around the step, which srun does not take over in every release, or whatever the user put
    /// there. For a batch script Slurm counts all of the job's CPUs here.
    fn cpus_per_task(&self, spank: &Spank<'_>) -> u32 {
        let given = match self.kind {
            Kind::Batch => None,
            Kind::Regular | Kind::Overlap => spank.step_cpus_per_task().ok(),
        };
        // Slurm has 16 bits for it.
        given.map_or(1, |count| (count as u32).max(1))
    }

    fn tell_tasks(&self, spank: &Spank<'_>, binding: Option<&Binding>, plan: &Plan) {
        let served = binding.zip(plan.chosen.as_ref());
        if let Some((_, chosen)) = served.filter(|(binding, _)| binding.instance == Instance::Pe) {
            pe_hooks::ask(chosen, &self.node);
        }
        let given = |name: &str| spank.env_has(name);
        let env = match served {
            Some((binding, chosen)) => BindingEnv::new(binding, chosen, given),
            None => BindingEnv::nothing(),
        };
        // With `pe:` a script is planned for the ranks that its parallel environment will start. The
        // variables are for the script's own task alone.
        let tasks = env.of_tasks(self.tasks as usize);
        let entries = STATE.entries.get_or_init(|| Prepared::new(tasks));
        for (name, room) in entries.rooms() {
            if let Err(why) = spank.setenv(name, " ".repeat(*room), true) {
                log::error!(
                    "{}: {name} is not in the tasks' environment: {why}",
                    self.name
                );
            }
        }
    }

    /// A step shows its notes once, on its first node; a batch script shows none.
    fn shows_notes(&self, spank: &Spank<'_>, settings: &Settings) -> bool {
        let first = spank.job_nodeid().is_ok_and(|node| node == 0);
        let are_off = report::are_notes_off(env(spank, names::NOTES).as_deref());
        settings.notes == Notes::User && first && !are_off && self.kind != Kind::Batch
    }
}

/// The note on a request that only a node with task/berth honours: these options narrow what Slurm's own
/// ones choose, which is another plugin's work here, and Slurm's devices are unknown.
fn only_with_task_berth(ours: &Ours) -> Option<String> {
    let chooses = ours.binding.is_some() || ours.mapping.is_some();
    let is_served = ours.near.is_none() && ours.cpuset.is_none() && (chooses || ours.is_empty());
    (!is_served).then(|| {
        let typed = ours.typed();
        format!(
            "{typed} is not honoured on this node, where another plugin than task/berth binds the \
             tasks: there --near and --cpuset are never honoured, and --core-kind and --confine only beside \
             --binding or --map-by; leave it out, or ask for another node"
        )
    })
}

/// A plan beside nobody.
fn alone(ask: &Request, node: &Node) -> Result<Plan, Failed> {
    let plan = berth_placement::plan(ask, node, &Claims::default());
    plan.map_err(|why| Failed::Refused(why.to_string()))
}

/// The options that bind a batch script: a `--binding`, and what narrows that.
fn script_options(spank: &Spank<'_>) -> Texts {
    // One byte more than an option may have is read, so its reader reports that it is too long.
    let text = |name: &str| spank.env_beginning(name, Own::longest() + 1);
    let found = |own| own_options::of_batch(own, text);
    let mut texts = Texts::default();
    if let Some(binding) = found(Own::Binding) {
        texts.set(Own::Binding, binding);
        if let Some(kind) = found(Own::CoreKind) {
            texts.set(Own::CoreKind, kind);
        }
    }
    texts
}

/// A word of Slurm's, or a number.
fn env(spank: &Spank<'_>, name: &str) -> Option<String> {
    spank.env_get(name, WORD_BYTES)
}

/// The number of tasks that a script's `--binding` is planned for here. Only the environment has
/// it, and no number in it takes more memory than the most tasks of a node.
fn batch_tasks(binding: &Binding, spank: &Spank<'_>) -> Option<u32> {
    let number = |name: &str| env(spank, name).and_then(|text| text.parse::<u32>().ok());
    let nodes = number("SLURM_JOB_NUM_NODES").or_else(|| number("SLURM_NNODES"));
    binding.tasks_of_script(number("SLURM_NTASKS").unwrap_or(1), nodes.unwrap_or(1))
}
