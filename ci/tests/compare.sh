# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# ci/compare: what it needs, and the row that it prints for the Slurm of this machine.

test_it_names_what_is_missing() {
    refuses 'the prefix of a Slurm' "$root/ci/compare"
    refuses "there is no $PWD/sbin/slurmctld" "$root/ci/compare" "$PWD"
}

test_a_row_for_this_slurm() {
    printf '%s\n' '-n1' '-n2 --cpu-bind=cores' > requests
    "$root/ci/compare" /usr "$PWD/requests" > output 2>&1 || fail "$(cat output)"
    contains "$(tail -n 1 output)" '2 requests, 0 of them refused'
    contains "$(tail -n 1 output)" '0 differences |'
}
