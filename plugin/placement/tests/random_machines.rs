//! Every law on ten thousand machines made at random: siblings, cores and packages offline, cores
//! of two kinds, permuted and gappy numbers, memory and caches of every sort.

mod tree;

use tree::harness::on_random_machines;
use tree::laws;

macro_rules! law {
    ($($name:ident: $law:expr,)*) => {
        $(#[test]
        fn $name() {
            on_random_machines(&$law);
        })*
    };
}

law! {
    only_cpus_of_the_step: laws::own::ONLY_OWNED,
    only_cpus_that_are_there: laws::own::ONLY_PRESENT,
    every_task_has_a_cpu: laws::own::SOMEWHERE,
    no_thread_twice_while_there_is_room: laws::room::THREADS_APART,
    no_core_twice_while_there_is_room: laws::room::CORES_APART,
    masks_have_cpus_for_all: laws::room::CPUS_FOR_ALL,
    cores_with_more_threads_are_shared_first: laws::room::CORES_HAVE_CPUS_FOR_ALL,
    sharing_beside_idle_cpus_is_said: laws::room::NEVER_SILENT,
    cores_sockets_and_nodes_come_whole: laws::shapes::WHOLE_OBJECTS,
    the_text_means_the_plan: laws::shapes::TEXT_SAYS_IT,
    width_as_asked: laws::width::AS_ASKED,
    fewer_cpus_are_said: laws::width::FEWER_IS_SAID,
    tasks_per_core_hold_or_are_exceeded_evenly: laws::limits::OF_CORES,
    tasks_per_socket_hold_or_are_exceeded_evenly: laws::limits::OF_SOCKETS,
    threads_per_core_hold_or_are_exceeded_evenly: laws::limits::OF_THREADS,
    what_can_be_served_is_not_refused: laws::refusals::SERVED,
    more_tasks_than_cpus_are_refused: laws::refusals::TOO_MANY,
    renumbering_changes_only_numbers: laws::same::RENUMBERED,
    cores_of_a_credential_are_their_cpus: laws::same::CORES_ARE_CPUS,
    automatic_is_the_level_that_fits: laws::automatic::EXACT,
    block_fills_and_cyclic_goes_round: laws::order::WALKED,
    constrained_steps_stay_in_their_cgroup: laws::cgroups::INSIDE,
    constrained_tasks_have_a_cpu: laws::cgroups::SOMEWHERE,
    constrained_steps_are_not_refused_for_it: laws::cgroups::GRANTED,
    where_cgroups_have_all_threads_nothing_changes: laws::cgroups::NOTHING_LOST,
    auto_gives_every_core_to_one_task: laws::share::EVERY_CORE_ONCE,
    auto_keeps_tasks_inside_cores: laws::share::SIBLINGS_NEAR,
    cpuset_has_cpus_of_the_step: laws::cpuset::INSIDE,
    cpuset_has_the_smallest_radius: laws::cpuset::SMALLEST,
    near_gives_cpus_of_the_step_once: laws::near::APART,
    near_a_gpu_is_the_nearest_object_with_room: laws::near::NEAREST,
    near_is_the_same_with_other_numbers: laws::near::RENUMBERED,
    isolated_cpus_are_left_out: laws::preferred::ISOLATED,
    a_task_keeps_to_one_kind: laws::preferred::ONE_KIND,
    binding_gives_whole_cores_to_one_task: laws::grid_engine::CHOSEN,
}
