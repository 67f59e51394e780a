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

# Every machine has the rules, few have Prometheus' own program.
test_promtool_reads_the_alert_rules() {
    command -v promtool > /dev/null || return 0
    promtool check rules "$root/slurm-conf-examples/monitoring/alerts.yml"
}

test_a_small_storm() {
    local said
    said=$("$root/ci/storm" --nodes 3 --wide 1 --small 4 --rounds 1 2>&1)
    contains "$said" 'task/berth: 0 steps failed, 0 refusals'
    contains "$said" 'folders in /run/berth: 3 of 3 nodes have their own'
}
