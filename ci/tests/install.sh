# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# ci/install: what it puts where, and that it takes away just that.

unset SLURM_CONF

installed() { "$root/ci/install" --prefix "$PWD/prefix" --plugindir "$PWD/plugins" "$@" 2>&1; }

test_dry_run_does_nothing() {
    local said
    said=$(installed --dry-run)
    contains "$said" "$PWD/plugins/task_berth.so"
    same "$(ls)" ''
}

test_installs_and_prints_the_lines() {
    local said
    said=$(installed)
    cmp "$BERTH_OBJECT" plugins/task_berth.so
    cmp "$BERTH_COMMAND" prefix/bin/berth
    same "$(prefix/bin/berth-shadow-sum < /dev/null)" '0 steps, 0 differences'
    [ -s prefix/share/man/man1/berth.1 ]
    contains "$said" 'TaskPlugin=task/berth'
    contains "$said" "optional task_berth.so compat=affinity command=$PWD/prefix/bin/berth"
    same "$(stat -c %a plugins/task_berth.so)" 644
}

test_replaces_by_renaming() {
    installed
    # Whoever has the old file mapped keeps it.
    exec 3< plugins/task_berth.so
    local before
    before=$(stat -c %i plugins/task_berth.so)
    installed
    [ "$(stat -c %i plugins/task_berth.so)" != "$before" ] || fail 'the file was written in place'
    cmp "$BERTH_OBJECT" /proc/self/fd/3
    same "$(find . -name '.berth-*')" ''
}

test_uninstall_leaves_other_files() {
    mkdir -p prefix/bin plugins
    touch prefix/bin/other plugins/other.so
    installed
    "$root/ci/install" --uninstall --prefix "$PWD/prefix"
    same "$(find . -type f | sort)" './plugins/other.so
./prefix/bin/other'
    refuses 'nothing is recorded' "$root/ci/install" --uninstall --prefix "$PWD/prefix"
}

test_uninstall_keeps_a_changed_file() {
    installed
    echo changed >> prefix/share/man/man1/berth.1
    refuses 'was changed' "$root/ci/install" --uninstall --prefix "$PWD/prefix"
    same "$(find prefix -name '*.1')" prefix/share/man/man1/berth.1
    "$root/ci/install" --uninstall --force --prefix "$PWD/prefix"
    same "$(find . -type f)" ''
}

test_configured_means_not_removed() {
    echo 'taskplugin = task/cgroup,task/berth' > slurm.conf
    export SLURM_CONF=$PWD/slurm.conf
    installed
    refuses 'has TaskPlugin=task/cgroup,task/berth' "$root/ci/install" --uninstall --prefix "$PWD/prefix"
    [ -f plugins/task_berth.so ]
    "$root/ci/install" --uninstall --force --prefix "$PWD/prefix"
    [ ! -e plugins/task_berth.so ]
}

test_asks_the_running_slurm() {
    "$root/ci/cluster" up "$PWD/c" --task-plugin task/cgroup,task/affinity --example cgroup --no-plugstack
    trap '"$root/ci/cluster" down "$PWD/c"' EXIT
    local said
    said=$(SLURM_CONF=$PWD/c/etc/slurm.conf "$root/ci/install" --prefix "$PWD/prefix" 2>&1)
    cmp "$BERTH_OBJECT" c/plugins/task_berth.so
    contains "$said" 'TaskPlugin=task/cgroup,task/berth'
}

# Whatever slurm.conf says meanwhile, its slurmstepds load it.
test_loaded_means_not_removed() {
    "$root/ci/cluster" up "$PWD/c"
    trap '"$root/ci/cluster" down "$PWD/c"' EXIT
    SLURM_CONF=$PWD/c/etc/slurm.conf "$root/ci/install" --prefix "$PWD/prefix" --plugindir "$PWD/c/plugins"
    export SLURM_CONF=$PWD/none.conf
    echo 'TaskPlugin=task/affinity' > none.conf
    refuses 'a slurmd that runs here has it loaded' "$root/ci/install" --uninstall --prefix "$PWD/prefix"
    [ -f c/plugins/task_berth.so ]
    # Slurm may name its folder by a link, and then the record does.
    ln -s c/plugins link
    sed -i "s|$PWD/c/plugins/|$PWD/link/|" prefix/share/berth/installed
    refuses 'a slurmd that runs here has it loaded' "$root/ci/install" --uninstall --prefix "$PWD/prefix"
}

test_an_option_has_its_value_behind_it_or_in_it() {
    "$root/ci/install" --prefix="$PWD/prefix" --plugindir="$PWD/plugins" --dry-run > said 2>&1
    contains "$(cat said)" "$PWD/prefix/bin/berth"
    contains "$(cat said)" "$PWD/plugins/task_berth.so"
    refuses "does not know 'x'" "$root/ci/install" --dry-run=x
}

test_unknown_words_are_refused() {
    refuses "does not know '--prefixx'" "$root/ci/install" --prefixx x
    refuses 'needs a folder' "$root/ci/install" --prefix
}

test_a_full_path_below_destdir() {
    DESTDIR=$PWD/image "$root/ci/install" --prefix /usr --plugindir /usr/lib/slurm
    cmp "$BERTH_OBJECT" image/usr/lib/slurm/task_berth.so
    # The record has the node's paths: the image may lie anywhere when it is booted.
    contains "$(cat image/usr/share/berth/installed)" '  /usr/lib/slurm/task_berth.so'
    DESTDIR=$PWD/image "$root/ci/install" --uninstall --prefix /usr
    same "$(find image -type f)" ''
}

test_everybody_may_read_it_under_a_narrow_umask() {
    umask 077
    installed
    same "$(find prefix plugins ! -perm -o=r)" ''
    same "$(find prefix plugins -type d ! -perm -o=x)" ''
}

test_nothing_is_written_before_all_is_checked() {
    mkdir -p prefix/share
    # The last file of all cannot be put: a folder has its name.
    mkdir -p plugins/task_berth.so
    refuses 'is a folder' "$root/ci/install" --prefix "$PWD/prefix" --plugindir "$PWD/plugins"
    same "$(find . -type f)" ''
    refuses 'is a file' "$root/ci/install" --prefix "$BERTH_COMMAND/x" --plugindir "$PWD/plugins2"
    same "$(find . -type f)" ''
}

test_one_cut_short_can_be_removed() {
    installed
    local old
    old=$(grep berth.1 prefix/share/berth/installed)
    # As after a kill between two renames: the record has both releases' lines.
    sed -i "s|^[0-9a-f]*  \(.*/bin/berth\)$|&\n$(printf '%064d' 0)  \1|" prefix/share/berth/installed
    contains "$(cat prefix/share/berth/installed)" "$(printf '%064d' 0)"
    [ -n "$old" ]
    "$root/ci/install" --uninstall --prefix "$PWD/prefix"
    same "$(find . -type f)" ''
}

test_prebuilt_files_and_what_is_missing() {
    cp "$BERTH_OBJECT" here.so
    cp "$BERTH_COMMAND" here
    installed --object here.so --command here
    cmp here.so plugins/task_berth.so
    unset BERTH_OBJECT BERTH_COMMAND
    refuses 'belong together' "$root/ci/install" --object here.so --prefix "$PWD/p" --plugindir "$PWD/q"
    refuses 'gone.so; build it' "$root/ci/install" --object gone.so --command here --prefix "$PWD/p" --plugindir "$PWD/q"
    printf '#!/bin/sh\necho "libhwloc.so.15: cannot open" >&2; exit 127\n' > broken
    chmod +x broken
    refuses 'does not run here: libhwloc.so.15' "$root/ci/install" --object here.so --command broken --prefix "$PWD/p" --plugindir "$PWD/q"
    [ ! -e p ] && [ ! -e q ]
    ( PATH=/usr/bin:/bin; refuses 'cargo is not installed' "$root/ci/install" --prefix "$PWD/p" --plugindir "$PWD/q" )
}
