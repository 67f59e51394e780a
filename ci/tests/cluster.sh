# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# ci/cluster where the Rust harness cannot look: many at once, cgroups, a bad start.

plain=(--task-plugin task/affinity --no-plugstack)

test_six_at_once() {
    local i pids=()
    trap 'for i in 1 2 3 4 5 6; do "$root/ci/cluster" down "$PWD/$i"; done' EXIT
    for i in 1 2 3 4 5 6; do
        "$root/ci/cluster" up "$PWD/$i" "${plain[@]}" --nodes 2 &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i"; done
    # Stopping one does not disturb another.
    "$root/ci/cluster" down "$PWD/1"
    for i in 2 3 4 5 6; do
        SLURM_CONF=$PWD/$i/etc/slurm.conf srun -N2 true
    done
}

test_cgroups_go_with_the_cluster() {
    local node
    "$root/ci/cluster" up "$PWD/c" "${plain[@]}" --example cgroup --task-plugin task/cgroup,task/affinity
    trap '"$root/ci/cluster" down "$PWD/c"' EXIT
    node=$(SLURM_CONF=$PWD/c/etc/slurm.conf sinfo -h -o %N)
    SLURM_CONF=$PWD/c/etc/slurm.conf srun -n1 true
    "$root/ci/cluster" down "$PWD/c"
    same "$(find /sys/fs/cgroup -name "*$node*")" ''
}

test_the_default_state_folder_goes_with_the_cluster() {
    local node
    "$root/ci/cluster" up "$PWD/c" --task-plugin task/berth --no-plugstack
    trap '"$root/ci/cluster" down "$PWD/c"' EXIT
    node=$(SLURM_CONF=$PWD/c/etc/slurm.conf sinfo -h -o %N)
    SLURM_CONF=$PWD/c/etc/slurm.conf srun -n1 true
    [ -d "/run/berth/$node" ]
    "$root/ci/cluster" down "$PWD/c"
    [ ! -e "/run/berth/$node" ]
}

test_a_bad_start_shows_the_log_and_leaves_nothing() {
    refuses 'cannot create task context for task/nope' \
        "$root/ci/cluster" up "$PWD/c" --task-plugin task/nope --no-plugstack
    [ ! -e c ]
    same "$(processes_of "$PWD/c/")" ''
}

test_a_missing_plugin_is_named() {
    refuses "there is no $PWD/none.so" "$root/ci/cluster" up "$PWD/c" --plugin "$PWD/none.so"
}

test_two_in_one_folder_are_refused() {
    "$root/ci/cluster" up "$PWD/c" "${plain[@]}"
    trap '"$root/ci/cluster" down "$PWD/c"' EXIT
    refuses 'lives in' "$root/ci/cluster" up "$PWD/c" "${plain[@]}"
}
