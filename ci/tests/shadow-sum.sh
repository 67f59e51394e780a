# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# ci/shadow-sum: what it makes of slurmd's logs.

lines() { printf '[2026-01-01T00:00:00.000] berth: shadow: %s\n' "$@"; }

test_a_falling_count_is_a_restart_and_files_add_up() {
    lines '1000 steps, 0 differ' '311000 steps, 2 differ' '1000 steps, 1 differ' 'step=1.0 same' > one
    lines 'step=1.0 same' 'step=1.1 same' > a=two
    same "$("$root/ci/shadow-sum" one a=two)" '312,002 steps, 3 differences'
}

test_each_request_is_listed_once() {
    local plan='fixes=third-level,spec-lists applied=0x1,0x2 other=refused plan="berth plan -n 2 -m '\''*:block:*'\''"'
    same "$(lines "step=1.0 differs $plan" "step=1.1 differs $plan" | "$root/ci/shadow-sum")" "2 steps, 2 differences
spec-lists 2
third-level 2
2 x berth plan -n 2 -m '*:block:*'
    applied 0x1,0x2
    other   refused"
}

test_a_missing_file_is_said() {
    refuses 'cannot read nowhere' "$root/ci/shadow-sum" nowhere
}
