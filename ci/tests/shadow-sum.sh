# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# ci/shadow-sum: what it makes of slurmd's logs.

lines() { printf '[2026-01-01T00:00:00.000] berth: shadow: %s\n' "$@"; }

test_each_slurmd_counts_once_in_whatever_files_its_lines_are() {
    # n1: a slurmd whose log was rotated, and the next one. n2: all of its steps are there. n3: only what INFO has.
    lines '1000 steps, 0 differ slurmd=n1@7' '2000 steps, 20 differ slurmd=n1@7' > slurmd.log.1
    lines '311000 steps, 30 differ slurmd=n1@7' '1 steps, 0 differ slurmd=n1@9' > slurmd.log
    lines 'step=1.0 same slurmd=n2@7' 'step=1.1 same slurmd=n2@7' '1 steps, 0 differ slurmd=n2@7' > a=two
    lines '10 steps, 0 differ slurmd=n3@7' 'step=1.9 differs slurmd=n3@7 fixes=one applied=0x1 other=0x2 plan="x"' > three
    local sum='311,013 steps, 31 differences
one 1
1 x x
    applied 0x1
    other   0x2'
    same "$("$root/ci/shadow-sum" slurmd.log slurmd.log.1 a=two three)" "$sum"
    same "$(cat three a=two slurmd.log slurmd.log.1 | "$root/ci/shadow-sum")" "$sum"
}

test_each_request_is_listed_once() {
    local plan='fixes=third-level,spec-lists applied=0x1,0x2 other=refused plan="berth plan -n 2 -m '\''*:block:*'\''"'
    same "$(lines "step=1.0 differs slurmd=n1@7 $plan" "step=1.1 differs slurmd=n1@7 $plan" | "$root/ci/shadow-sum")" "2 steps, 2 differences
spec-lists 2
third-level 2
2 x berth plan -n 2 -m '*:block:*'
    applied 0x1,0x2
    other   refused"
}

test_a_missing_file_is_said() {
    refuses 'cannot read nowhere' "$root/ci/shadow-sum" nowhere
}
