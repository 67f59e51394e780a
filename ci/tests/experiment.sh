# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# experiments/binding: that berth tune measures its three programs.

test_every_program_is_tuned() {
    "$root/ci/cluster" up "$PWD/c" --plugstack ''
    trap '"$root/ci/cluster" down "$PWD/c"' EXIT
    # shellcheck disable=SC1090
    source <("$root/ci/cluster" env "$PWD/c")
    local said
    said=$(WORDS='60 1' salloc -Q -n2 "$root/experiments/binding" --repeat 3 --only=--cpu-bind=cores --only=--cpu-bind=none)
    same "$(grep -c '^result ' <<< "$said")" 3
    contains "$said" 'OMP_PLACES=cores --cpu-bind=cores'
    same "$(find . -maxdepth 2 -path './binding-*/result.json' | wc -l)" 3
}

test_unknown_words_are_refused() {
    refuses "there is no program 'linpack'" "$root/experiments/binding" --programs linpack
    refuses 'needs a number' "$root/experiments/binding" --tasks many
    refuses 'this is no job' env -u SLURM_JOB_ID "$root/experiments/binding"
}
