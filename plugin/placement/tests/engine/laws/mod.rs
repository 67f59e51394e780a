//! The laws, by what they are about. Each is written from what requests mean, not from the code.

pub mod automatic;
pub mod cgroups;
pub mod claims;
pub mod cpuset;
pub mod grid_engine;
pub mod limits;
pub mod mapping;
pub mod memory;
pub mod near;
pub mod order;
pub mod own;
pub mod preferred;
pub mod refusals;
pub mod resume;
pub mod room;
pub mod same;
pub mod shapes;
pub mod share;
pub mod width;

use crate::harness::machines::Sort::{Any, Fewer, Small};
use crate::harness::requests::{any_with_threads_kept, with_affinitys_rules, without_binding};
use crate::harness::trial::Law;

/// Each law by its name: machines, a request, and what is checked of the answer; and a test for each.
macro_rules! laws {
    ($($name:ident: $machines:expr, $request:expr => $check:expr;)*) => {
        pub fn named(name: &str) -> Law {
            match name {
                $(stringify!($name) => Law {
                    name: stringify!($name),
                    machines: $machines,
                    request: $request,
                    check: $check,
                },)*
                other => panic!("{other} is no law"),
            }
        }
        $(#[test]
        fn $name() {
            crate::try_law(&named(stringify!($name)));
        })*
    };
}

laws! {
    only_cpus_of_the_step: Any, any_with_threads_kept => own::only_owned;
    only_cpus_that_are_there: Any, any_with_threads_kept => own::only_present;
    every_task_has_a_cpu: Any, any_with_threads_kept => own::somewhere;
    affinitys_rules_keep_to_the_step: Any, with_affinitys_rules => own::only_owned;
    affinitys_rules_give_every_task_a_cpu: Any, with_affinitys_rules => own::somewhere;
    by_affinitys_rules_the_text_means_the_plan: Any, with_affinitys_rules => shapes::text_says_it;
    no_thread_twice_while_there_is_room: Any, room::at_threads => room::threads_apart;
    no_core_twice_while_there_is_room: Any, room::at_cores => room::cores_apart;
    masks_have_cpus_for_all: Any, room::not_at_cores => room::cpus_for_all;
    cores_with_more_threads_are_shared_first: Any, room::at_cores => room::wide_cores_first;
    sharing_beside_idle_cpus_is_said: Any, room::crowded => room::never_silent;
    cores_sockets_and_nodes_come_whole: Any, shapes::of_objects => shapes::whole_objects;
    the_text_means_the_plan: Any, any_with_threads_kept => shapes::text_says_it;
    width_as_asked: Any, room::at_threads => width::as_asked;
    a_smaller_width_is_said: Any, width::at_threads => width::shrunk_is_said;
    fewer_cpus_are_said: Any, without_binding => width::fewer_is_said;
    tasks_per_core_hold_or_are_exceeded_evenly: Any, limits::per_core => limits::of_cores;
    tasks_per_socket_hold_or_are_exceeded_evenly: Any, limits::per_socket => limits::of_sockets;
    threads_per_core_hold_or_are_exceeded_evenly: Any, limits::threads => limits::of_threads;
    what_can_be_served_is_not_refused: Any, refusals::perhaps_bound => refusals::served;
    more_tasks_than_cpus_are_refused: Any, refusals::unlimited => refusals::too_many;
    renumbering_changes_only_numbers: Any, any_with_threads_kept => same::renumbered;
    cores_of_a_credential_are_their_cpus: Any, same::of_cores => same::cores_are_cpus;
    requests_and_machines_read_again: Fewer, same::of_any_law => same::texts;
    automatic_is_the_level_that_fits: Any, automatic::fitting => automatic::exact;
    block_fills_and_cyclic_goes_round: Any, order::single => order::walked;
    constrained_steps_stay_in_their_cgroup: Any, cgroups::of_cores => cgroups::inside;
    constrained_tasks_have_a_cpu: Any, cgroups::of_cores => own::somewhere;
    constrained_steps_are_not_refused_for_it: Any, cgroups::without_limits => cgroups::granted;
    where_cgroups_have_all_threads_nothing_changes: Any, cgroups::of_cores => cgroups::nothing_lost;
    isolated_cpus_are_left_out: Any, preferred::at_a_level => preferred::isolated;
    a_task_keeps_to_one_kind: Any, preferred::at_a_level => preferred::one_kind;
    binding_gives_whole_cores_to_one_task: Any, grid_engine::bound => grid_engine::chosen;
    binding_takes_free_cores: Fewer, claims::free_cores => claims::chosen_are_free;
    binding_takes_cores_of_the_fewest_others: Fewer, claims::shared_cores => claims::fewest_users;
    auto_gives_every_core_to_one_task: Any, share::shared_out => share::every_core_once;
    auto_keeps_tasks_inside_cores: Any, share::shared_out => share::inside_cores;
    near_gives_cpus_of_the_step_once: Any, near::requested => near::apart;
    near_a_gpu_is_the_nearest_object_with_room: Any, near::near_one => near::nearest;
    near_is_the_same_with_other_numbers: Any, near::requested => same::renumbered;
    near_is_said_or_refused: Fewer, near::with_options => near::said;
    a_share_near_gpus_divides_what_is_near: Fewer, near::share => near::divides_what_is_near;
    a_share_near_everything_is_a_share: Fewer, near::any_share => near::next_to_everything;
    mapped_tasks_keep_to_the_objects_they_name: Fewer, mapping::bound => mapping::inside_objects;
    several_cpus_of_a_mapped_task_are_its_own: Fewer, mapping::of_several_cpus => mapping::are_its_own;
    ranking_changes_only_the_order: Fewer, mapping::to_threads => mapping::ranked;
    memory_nodes_are_there: Fewer, memory::requested => memory::nodes_are_there;
    cpuset_has_cpus_of_the_step: Any, cpuset::counted => cpuset::inside;
    cpuset_has_the_smallest_radius: Any, cpuset::counted => cpuset::smallest;
    cpuset_has_the_smallest_radius_by_distances: Small, cpuset::any => cpuset::smallest_radius;
    cpuset_breaks_the_fewest_cores: Small, cpuset::of_all => cpuset::fewest_broken_cores;
    first_fit_is_the_first_of_the_list: Small, cpuset::listed => cpuset::first_of_list;
    no_task_leaves_its_cpuset: Small, cpuset::of_any_wish => cpuset::none_leaves;
    no_cpuset_has_reserved_cpus: Small, cpuset::reserving => cpuset::none_reserved;
    a_resumed_job_keeps_to_what_it_may_use: Small, cpuset::reserving => resume::keeps_to_its_own;
}
