# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# Scripts that pages name: each is run by ci/test or by ci/long and has the options that stand behind it, and the storm
# works at a small size.

# What the two run: themselves, and what they call.
runners() { printf '%s\n' .ci/run ci/test ci/long ci/check ci/vm-matrix ci/tests/*.sh; }

# Every script that stands on a page, without options.
named() {
    find . \( -path ./target -o -path ./.git \) -prune -o -name '*.md' -print0 | xargs -0 grep -ohE '(^|[^A-Za-z/.-])(ci|packaging|experiments)/[a-z][a-z0-9-]*' |
        grep -oE '(ci|packaging|experiments)/[a-z0-9-]+' | sort -u | while read -r script; do
        if [ -f "$script" ] && [ -x "$script" ]; then echo "$script"; fi
    done
}

test_every_script_of_the_pages_is_run_by_a_test() {
    cd "$root" || exit
    local script code missing='' count=0
    # What a comment says is not run.
    code=$(runners | xargs grep -vhE '^ *#')
    while read -r script; do
        count=$((count + 1))
        # ci/vm is not ci/vm-matrix.
        [[ $code =~ (^|[^A-Za-z-])$script([^A-Za-z-]|$) ]] || missing+=" $script"
    done < <(named)
    same "$missing" ''
    [ $count -gt 15 ] || fail "only $count scripts were found"
}

# Every script of the pages and an option behind it, one pair a line. Behind " -- " is another program's line.
options_named() {
    find . \( -path ./target -o -path ./.git \) -prune -o -name '*.md' -print0 | xargs -0 grep -ohE '(^|[^A-Za-z/.-])(ci|packaging|experiments)/[a-z0-9-]+ [^`|;&#()]+' |
        sed -E 's/^[^cpe]//; s/ -- .*//' | while read -r script words; do
        [ -f "$script" ] || continue
        grep -oE '(^| )--[a-z][a-z-]*' <<< "$words" | sed "s|^ *|$script |" || true
    done | sort -u
}

test_every_option_of_the_pages_is_one_of_its_script() {
    cd "$root" || exit
    local script option wrong='' count=0
    while read -r script option; do
        count=$((count + 1))
        grep -qE -- "$option([^a-z-]|$)" "$script" || wrong+=" $script $option"
    done < <(options_named)
    same "$wrong" ''
    [ $count -gt 15 ] || fail "only $count options were found"
}

test_the_parts_of_the_long_run_are_listed() {
    contains "$("$root/ci/long" --list)" 'packaging/build && packaging/previous && packaging/check'
    refuses "there is no part 'everything'" "$root/ci/long" everything
}

# block PAGE HEADING: the first block marked as text behind this heading of an administrators' page.
block() { awk -v heading="$2" '$0 == heading { on = 1 } on && /^```$/ { exit } text { print } on && /^```text$/ { text = 1 }' "$root/docs/administrators/$1"; }

# nodes: an ssh that runs what it gets right here, where node n2 does not answer.
nodes() {
    mkdir -p bin
    # shellcheck disable=SC2016 # Its own variables.
    printf '%s\n' '#!/bin/bash' 'while [ "$1" = -o ]; do shift 2; done' '[ "$1" != n2 ] || { echo "no route to host" >&2; exit 255; }' 'export NODE=$1' 'shift' 'exec sh -c "$*"' > bin/ssh
    printf '#!/bin/sh\nprintf "n1\\nn2\\nn3\\n"\n' | tee bin/sinfo > bin/scontrol
    chmod +x bin/*
    PATH=$PWD/bin:$PATH
}

test_stage_0_tells_a_node_that_is_silent_from_one_that_lacks_the_object() {
    local found
    # The page reads the node's own slurm.conf, which is this machine's here.
    if [ -e /etc/slurm/slurm.conf ] || [ -e /run/slurm/conf/slurm.conf ]; then skip 'this machine has a slurm.conf'; fi
    nodes
    mkdir n1 n3
    touch n1/task_berth.so
    printf '#!/bin/sh\n' > bin/slurmd
    # shellcheck disable=SC2016 # Its own variable.
    printf '#!/bin/sh\necho "	libslurmfull.so => %s/$NODE/libslurmfull.so (0x0000)"\n' "$PWD" > bin/ldd
    chmod +x bin/*
    found=$(block rollout.md '## Stage 0: the file' | bash | sort)
    same "$found" "n2 does not answer: no route to host
n3: no task_berth.so in $PWD/n3"
}

test_the_installation_by_shell_names_the_nodes_that_failed() {
    local found
    nodes
    echo package > berth_0.2.0-1_amd64.deb
    # shellcheck disable=SC2016 # Its own variable.
    printf '#!/bin/sh\n[ $NODE = n1 ] || { echo "no room"; exit 100; }\n' > bin/apt-get
    chmod +x bin/*
    mkdir there
    found=$(block install.md '## Many nodes' | sed "s|/root/|$PWD/there/|g" | bash | sort)
    same "$found" "n2 does not answer
n3 failed: see n3.log"
    same "$(cat n3.log)" 'no room'
    same "$(cat there/*)" package
}

# gate WORD: the command by which Ansible's role looks at a node, of those the one that has this word.
gate() { sed -n "s/^ *ansible.builtin.shell: \(said=.*$1.*\)/\1/p" "$root/packaging/ansible/roles/berth/tasks/main.yml"; }

# The gate of an upgrade, with the page's answer of a doctor that finds nothing wrong.
test_the_play_of_an_upgrade_goes_on_with_the_new_slurmd_alone() {
    local gate
    gate=$(gate version)
    contains "$gate" 'berth doctor'
    awk '/^\$ berth doctor$/ { on = 1; next } /^```$/ { on = 0 } on' "$root/docs/administrators/monitoring.md" > doctor
    mkdir bin
    # shellcheck disable=SC2016 # Its own variable.
    printf '#!/bin/sh\ncase $1 in doctor) cat %s/doctor; exit $(cat %s/code) ;; esac\necho berth 0.2.0\n' "$PWD" "$PWD" > bin/berth
    chmod +x bin/berth
    PATH=$PWD/bin:$PATH
    echo 0 > code
    sh -c "$gate" || fail 'it stops at a node without faults'
    echo 1 > code
    ! sh -c "$gate" || fail 'a fault does not stop it'
    echo 0 > code
    sed -i 's/berth 0.2.0, \(.*\) (/berth 0.1.0, \1; this command is 0.2.0: restart slurmd to run the same release (/' doctor
    contains "$(cat doctor)" 'with berth 0.1.0, Slurm 22.05.8; this command'
    ! sh -c "$gate" || fail 'a slurmd with the old object does not stop it'
}

# The role's last task.
test_the_play_of_an_installation_stops_at_other_masks_than_task_affinitys() {
    local gate words
    gate=$(gate fixes)
    contains "$gate" compat=affinity
    mkdir bin
    # shellcheck disable=SC2016 # Its own variable.
    printf '#!/bin/sh\necho "ok n1 settings $(cat %s/words) (/run/berth/n1/slurmd.1)"\n' "$PWD" > bin/berth
    chmod +x bin/berth
    PATH=$PWD/bin:$PATH
    for words in compat=affinity 'compat=affinity shadow=on'; do
        echo "$words" > words
        sh -c "$gate" || fail "it stops at $words"
    done
    for words in compat=berth 'compat=berth fixes=-third-level' 'compat=affinity fixes=+third-level'; do
        echo "$words" > words
        ! sh -c "$gate" || fail "it goes on with $words"
    done
}

# Every machine has the rules, few have Prometheus' own program.
test_promtool_reads_the_alert_rules() {
    command -v promtool > /dev/null || skip 'needs promtool (prometheus)'
    promtool check rules "$root/slurm-conf-examples/monitoring/alerts.yml"
}

test_a_small_storm() {
    local said
    said=$("$root/ci/storm" --nodes 3 --wide 1 --small 4 --rounds 1 2>&1)
    contains "$said" 'task/berth: 0 steps failed, 0 refusals'
    contains "$said" 'folders in /run/berth: 3 of 3 nodes have their own'
}
