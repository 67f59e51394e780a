# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# experiments/binding: that it measures every binding in every round, and reports what srun refuses.

cluster() {
    "$root/ci/cluster" up "$PWD/c" --plugstack ''
    trap '"$root/ci/cluster" down "$PWD/c"' EXIT
    # shellcheck disable=SC1090
    source <("$root/ci/cluster" env "$PWD/c")
}

test_every_binding_is_measured() {
    printf '%s\n' '# a comment' 'none --cpu-bind=none' 'first --cpu-bind=map_cpu:CPU' 'absent --cpu-bind=map_cpu:999' > bindings
    cluster
    local said
    said=$("$root/experiments/binding" --bindings bindings --csv raw.csv --rounds 2 --seconds 0.05 --size 60 --memory 1 --tasks 2)
    # Two rounds, three programs, two bindings, two tasks.
    same "$(grep -c -v -e '^round' -e refused raw.csv)" 24
    same "$(grep -c 'absent,,,refused$' raw.csv)" 6
    # Each task says where it ran: all tasks of "first" on one CPU.
    same "$(awk -F, '$3 == "first" { print $5 }' raw.csv | sort -u | wc -l)" 1
    same "$(grep -c '^absent  *refused$' <<< "$said")" 3
    contains "$said" 'absent was refused: '
    contains "$said" 'names CPU 999'
    # Nobody has to say how many tasks: one for each core.
    said=$("$root/experiments/binding" --bindings <(echo none --cpu-bind=none) --csv raw.csv --rounds 1 --seconds 0.05 --size 60 --programs matrix)
    contains "$said" "$(lscpu --online --parse=core,socket | grep -v '^#' | sort -u | wc -l) tasks on"
    # What begins and fails was not refused.
    said=$("$root/experiments/binding" --bindings <(echo breaks --cpu-bind=none bash -c false) --csv raw.csv --rounds 1 --seconds 0.05 --size 60 --programs matrix)
    contains "$said" 'breaks failed: '
    same "$(grep -c 'breaks,,,failed$' raw.csv)" 1
    same "$(find . -maxdepth 1 -name '.binding-*')" ''
}

test_the_table_says_what_the_raw_results_say() {
    printf '%s\n' round,program,binding,task,cpu,rate 1,triad,none,0,0,10 1,triad,none,1,1,10 2,triad,none,0,0,30 2,triad,none,1,1,10 \
        1,triad,far,0,0,10 1,triad,far,1,1,5 2,triad,far,,,refused 1,triad,gone,,,failed 1,chase,none,0,0,99 > raw.csv
    local table
    table=$(awk -F, -v program=triad -v order='none far gone never' -f "$root/experiments/summary.awk" raw.csv | tr -s ' ')
    same "$table" 'none 30 20 40 66.7% 1.00 0.67
far 15 15 15 0.0% 0.50 0.50
gone failed
never -'
}

test_unknown_words_are_refused() {
    refuses "there is no program 'linpack'" "$root/experiments/binding" --programs linpack
    refuses "unknown option '--bindingss'" "$root/experiments/binding" --bindingss x
    refuses 'needs a number' "$root/experiments/binding" --rounds many
}
