# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# ci/demo: it agrees with itself, twice at once, and leaves nothing whatever happens.

export TMPDIR

left_over() {
    find "$PWD" -mindepth 1 -maxdepth 1 -name 'berth-demo-*'
    processes_of "$PWD/berth-demo-"
}

test_two_demos_at_once() {
    TMPDIR=$PWD
    local first
    "$root/ci/demo" > first.log 2>&1 &
    first=$!
    "$root/ci/demo" > second.log 2>&1 || fail "$(cat second.log)"
    wait $first || fail "$(cat first.log)"
    contains "$(tail -n 1 first.log)" 'Every task runs where it was planned'
    contains "$(cat second.log)" 'names CPU'
    same "$(left_over)" ''
}

# A terminal's Ctrl-C reaches the whole group; bash starts background jobs deaf to it.
test_ctrl_c_leaves_nothing() {
    TMPDIR=$PWD
    local seconds
    for seconds in 0.3 0.7; do
        timeout --preserve-status --signal=INT $seconds "$root/ci/demo" > demo.log 2>&1 && fail "not interrupted: $(cat demo.log)"
        same "$(left_over)" ''
    done
}

test_keep_prints_how_to_use_and_stop_it() {
    TMPDIR=$PWD
    local use stop
    "$root/ci/demo" --keep > demo.log 2>&1 || fail "$(cat demo.log)"
    use=$(tail -n 2 demo.log | head -n 1)
    stop=$(tail -n 1 demo.log)
    trap 'eval "$stop"' EXIT
    (eval "$use"; same "$(sinfo -h -o %T)" idle; srun -n1 true)
    eval "$stop"
    trap - EXIT
    same "$(left_over)" ''
}
