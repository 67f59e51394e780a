//! Notes to the user: what srun's reading and the plans say, options that change nothing in a plan, such as those of
//! others, and those that give way to another one.

use berth_placement::request::cpu_bind::Mode;
use berth_placement::request::grid_engine::Strategy;
use berth_placement::{CpuBind, Level, counted};
use berth_srun::reading::LevelFrom;
use berth_srun::reading::selection::chooses_nodes;
use berth_srun::{LineOption, Own};

use super::controller::unmet;
use super::devices::Variables;
use super::effective_options::cpu_bind;
use super::step::{Answered, PlannedJob};
use super::{change, devices, gpu_options, owns, request};
use crate::args::{Format, unused_site};
use crate::{Question, text};

/// Said where other nodes could hold the job as well.
const NODES_ASSUMED: &str = "nodes assumed: idle ones that can hold the job, by Weight, then in the list's order; \
                             slurmctld may choose others";

/// Every note to the user, from srun's reading and from the plans.
pub fn notes(of: Answered<'_>) -> Vec<String> {
    let Answered { args, on, step } = of;
    let mut notes = args.srun.notes.clone();
    notes.extend(args.for_mpirun.as_ref().map(|options| {
        format!(
            "mpirun is planned by the rules of Open MPI 5; this places its tasks so: srun {options}"
        )
    }));
    notes.extend(step.notes.iter().cloned());
    notes.extend(step.nodes_assumed.then(|| NODES_ASSUMED.into()));
    notes.extend(unused_site(args.typed.site, args.cluster.as_deref()).map(String::from));
    // Other formats have them at their lines.
    let is_alone = matches!(
        args.format,
        Some(Format::Json | Format::Svg | Format::Rankfile)
    );
    let of_job = step.job.iter().filter(|_| is_alone);
    notes.extend(of_job.flat_map(PlannedJob::refused_steps));
    let of_site = args.site_settings.as_ref();
    notes.extend(of_site.into_iter().flat_map(|site| site.complaints.clone()));
    // A step in an allocation is not compared with its nodes (`_step_create`); a job is.
    let unmet = unmet(args, on).filter(|_| owns::is_listed(args));
    notes
        .extend(unmet.map(|why| format!("slurmctld never starts this as a job of its own: {why}")));
    notes.extend(owns::without_effect(args).map(String::from));
    notes.extend(owns::core_spec(args).map(String::from));
    notes.extend(prefers_nothing(args).map(String::from));
    notes.extend(of_foreign_options(args));
    notes.extend(of_nodes(args));
    notes.extend(gpu_options::notes(of));
    notes.extend(dropped_per_node(of));
    notes.extend(numbering_note(of));
    notes.extend(gives_way(args).map(|one| one.note));
    let is_bound = step.plans().any(|(_, plan)| plan.is_bound());
    notes.extend(args.confine_note(is_bound).map(String::from));
    notes.extend(args.limited_cpuset());
    notes.extend(args.pool_note(step, on));
    notes.extend(request::efficiency_note(on));
    let plans = step.plans().flat_map(|(_, plan)| &plan.notes);
    let plans = plans.map(|note| devices::of_machine(args, note.to_string()));
    let variables = Variables::of_step(args, step);
    let variables = variables.iter().flat_map(Variables::notes);
    let shared = change::shared(of);
    for note in shared.into_iter().chain(plans).chain(variables) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// The note on a `--mem-bind=prefer` that stands alone: it binds no memory.
fn prefers_nothing(args: &Question) -> Option<&'static str> {
    let bind = &args.srun.mem_bind;
    (bind.prefer && bind.policy.is_none()).then_some(
        "--mem-bind=prefer alone binds no memory; --mem-bind=local,prefer takes it from the nearest NUMA node while \
         that has some",
    )
}

/// A `--ntasks-per-node` of a step that has more tasks from its job: srun drops it (`_opt_verify`, `is_step`).
fn dropped_per_node(of: Answered<'_>) -> Option<String> {
    let (args, step) = (of.args, of.step);
    let is_inside = args.job.is_some() || args.context.job.is_some();
    let mut typed = args.srun.options().iter().rev();
    let typed = typed.find(|one| one.name == "ntasks-per-node" && one.variable.is_none())?;
    let each: u32 = typed.value.as_deref()?.parse().ok()?;
    let (tasks, nodes) = (step.tasks, step.node_count());
    let fitting = each.saturating_mul(nodes);
    (is_inside && step.job.is_none() && tasks > fitting).then(|| {
        format!(
            "srun ignores --ntasks-per-node={each}: the step has {tasks} tasks on at most {}; write -N{nodes} beside \
             it for {}",
            counted(nodes, "node"),
            counted(fitting, "task")
        )
    })
}

/// One note for all of a request and of the job around it, and one if their plugin binds tasks.
fn of_foreign_options(args: &Question) -> Vec<String> {
    let of_job = args.job().into_iter().flat_map(|job| &job.foreign);
    let all: Vec<_> = args.request.foreign.iter().chain(of_job).collect();
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let names: Vec<_> = all.iter().map(|one| shown(one)).collect();
    let mut notes = vec![match all.len() {
        1 => format!("{}, which this plan passes over", named(first, &names[0])),
        _ => format!(
            "these options are not Slurm's own, and this plan passes over them: {}",
            names.join(", ")
        ),
    }];
    let binds = all.iter().filter_map(|one| one.foreign);
    notes.extend(binds.filter(|row| row.binds_tasks()).map(|row| {
        format!(
            "the plugin {} binds tasks itself; where a site has it, tasks may get other CPUs than here",
            row.plugin
        )
    }));
    notes
}

/// Slurm's own options that say which nodes a job may have: those of a plan are assumed.
fn of_nodes(args: &Question) -> Option<String> {
    let of_job = args.job().into_iter().flat_map(|job| &job.options);
    let own = args.srun.options().iter().filter(|option| !option.is_jobs);
    let all = of_job
        .chain(own)
        .filter(|_| args.only_job || owns::uses_controller(args));
    let all = all
        .filter(|option| chooses_nodes(&option.name, option.value.as_deref().unwrap_or_default()));
    let mut names: Vec<_> = all.map(|option| format!("--{}", option.name)).collect();
    names.sort_unstable();
    names.dedup();
    let what = if names.contains(&"--gres".into()) {
        "nodes or cores"
    } else {
        "nodes"
    };
    let note = format!(
        "{}: this plan does not look at what the nodes have; slurmctld may choose other {what}",
        names.join(", ")
    );
    (!names.is_empty()).then_some(note)
}

fn named(option: &LineOption, name: &str) -> String {
    match option.foreign {
        Some(_) => format!("{name} is not Slurm's own option but another plugin's"),
        None => format!("{name} is taken for another plugin's option"),
    }
}

/// `--container-image (Pyxis)`, or `--foo with the value "bar"`.
fn shown(option: &LineOption) -> String {
    let name = text::short(&option.name);
    match (option.foreign, &option.value) {
        (Some(row), _) => format!("--{name} ({})", row.plugin),
        (None, Some(value)) => format!("--{name} with the value \"{}\"", text::short(value)),
        (None, None) => format!("--{name}"),
    }
}

/// An option that gives way to another one.
pub struct GivesWay {
    /// The first option of berth's own among the two.
    pub option: &'static str,
    /// Whether it gives way to `--cpu-bind=none`; otherwise a level gives way to it.
    pub is_overridden: bool,
    /// The note to the user.
    pub note: String,
}

/// The two options, if there are such.
pub(crate) fn gives_way(args: &Question) -> Option<GivesWay> {
    let bind = cpu_bind(args);
    match bind.mode {
        Some(Mode::Free) => overridden(args, &bind),
        _ => level(args, &bind),
    }
}

/// An option that chooses the CPUs.
struct Chooses {
    options: &'static [Own],
    /// As it is typed.
    text: String,
}

/// The options that choose the CPUs; the one that decides stands first.
fn chosen(args: &Question, bind: &CpuBind) -> impl Iterator<Item = Chooses> {
    let binding = args.effective_binding(bind);
    let binding = binding.filter(|binding| binding.strategy != Strategy::None);
    let binding = binding.map(|one| Chooses {
        options: &[Own::Binding],
        text: format!("--binding={one}"),
    });
    let mapping = args.effective_mapping().map(|one| Chooses {
        options: &[Own::MapBy, Own::RankBy, Own::BindTo],
        text: one.to_string(),
    });
    let near = args.effective_near().map(|one| Chooses {
        options: &[Own::Near],
        text: format!("--near={one}"),
    });
    binding.into_iter().chain(mapping).chain(near)
}

/// Those of the request itself that `none` overrides. What its job or a variable requests is for other steps too.
fn overridden(args: &Question, bind: &CpuBind) -> Option<GivesWay> {
    let is_inherited = |option: &Own| args.defaults.iter().any(|one| one.own == *option);
    let own = chosen(args, bind).filter(|one| !one.options.iter().any(is_inherited));
    let own: Vec<_> = own.collect();
    let none = match args.srun.cpu_bind.mode {
        Some(Mode::Free) => "--cpu-bind=none",
        _ => "CpuBind=none of the site",
    };
    let give = if own.len() == 1 { "gives" } else { "give" };
    let texts: Vec<_> = own.iter().map(|one| one.text.as_str()).collect();
    let texts = texts.join(" and ");
    Some(GivesWay {
        option: own.first()?.options[0].name,
        is_overridden: true,
        note: format!(
            "{none} leaves the tasks unbound, and {texts} {give} way to it; leave out one of them"
        ),
    })
}

/// A typed level. Beside `--near` alone, `threads` still says what `-c` counts.
fn level(args: &Question, bind: &CpuBind) -> Option<GivesWay> {
    let Chooses { options, text } = chosen(args, bind).next()?;
    let by_cpu_bind = args.srun.level_from == Some(LevelFrom::CpuBind);
    let level = bind.level.filter(|_| by_cpu_bind)?;
    let mut all = args.srun.options().iter();
    let is_typed = all.any(|one| one.name == "cpu-bind" && one.variable.is_none());
    let counts = level == Level::Threads && options == [Own::Near];
    (!counts && is_typed).then(|| GivesWay {
        option: options[0].name,
        is_overridden: false,
        note: format!(
            "{text} chooses the cores, and --cpu-bind={level} gives way to it; leave out one of them"
        ),
    })
}

/// The note if the request names CPUs, and nobody has said how the machine numbers them: a synthetic one, or a node of
/// `--cluster`.
fn numbering_note(of: Answered<'_>) -> Option<String> {
    let args = of.args;
    let first = of.step.plans.first();
    let on = first.map_or(of.on, |one| one.on(of.on));
    let is_made = args.context.is_synthetic || first.is_some_and(|one| one.part.on.is_some());
    if args.numbering.is_some() || on.shape().threads < 2 || !is_made {
        return None;
    }
    let option = numbers_cpus(args)?;
    let cores = on.shape().core_count();
    Some(format!(
        "{option} has CPU numbers, and this machine numbers the threads of a core one after the other \
         (0,1), as hwloc does; most servers number second threads last (0,{cores}), as --numbering \
         threads-last does"
    ))
}

/// The option that names CPUs.
fn numbers_cpus(args: &Question) -> Option<&'static str> {
    match cpu_bind(args).mode {
        Some(Mode::MapCpu(_)) => Some("--cpu-bind=map_cpu"),
        Some(Mode::MaskCpu(_)) => Some("--cpu-bind=mask_cpu"),
        _ if args.cpus.is_some() => Some("--cpus"),
        _ => args.reserved.as_ref().map(|_| "--reserved"),
    }
}
