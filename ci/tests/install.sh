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

# image FOLDER: Slurm's own plugins as a distribution has them, and a configuration.
image() {
    mkdir -p image/etc/slurm "image$1"
    touch "image$1/libslurmfull.so"
    echo "TaskPlugin=task/affinity" > image/etc/slurm/slurm.conf
}

# This machine's Slurm, its folders and its links have nothing to say about an image.
test_an_image_is_asked_and_not_this_machine() {
    local said
    image /usr/lib64/slurm
    mkdir -p image/usr/sbin
    touch image/usr/sbin/slurmd
    ln -s "$PWD/image/usr/lib64" here
    said=$(DESTDIR=$PWD/image "$root/ci/install" --prefix /usr 2>&1)
    contains "$said" 'PluginDir is taken from the Slurm that is installed: /usr/lib64/slurm'
    contains "$said" 'TaskPlugin is "task/affinity" now'
    cmp "$BERTH_OBJECT" image/usr/lib64/slurm/task_berth.so
    # The configuration of this machine names berth, the image's does not.
    echo 'TaskPlugin=task/berth' > slurm.conf
    SLURM_CONF=$PWD/slurm.conf DESTDIR=$PWD/image "$root/ci/install" --uninstall --prefix /usr
    DESTDIR=$PWD/image "$root/ci/install" --prefix /usr
    cp slurm.conf image/etc/slurm/slurm.conf
    refuses "$PWD/image/etc/slurm/slurm.conf has TaskPlugin=task/berth" env DESTDIR="$PWD/image" "$root/ci/install" --uninstall --prefix /usr
    # A link of this machine is no link of the image.
    said=$(DESTDIR=$PWD/other "$root/ci/install" --prefix "$PWD/here" --plugindir "$PWD/here/slurm" 2>&1)
    [ -f "other$PWD/here/slurm/task_berth.so" ] || fail "$said"
    mkdir empty
    refuses 'neither a slurm.conf with PluginDir' env DESTDIR="$PWD/empty" "$root/ci/install" --prefix /usr
    same "$(find empty -type f)" ''
}

test_no_link_leads_out_of_an_image() {
    image /usr/lib64/slurm
    mkdir outside
    ln -s "$PWD/outside" image/opt
    refuses 'leads out of it' env DESTDIR="$PWD/image" "$root/ci/install" --prefix /opt/berth
    same "$(find outside image -name '*berth*')" ''
    # One that stays inside is followed.
    ln -s usr/lib64 image/lib64
    DESTDIR=$PWD/image "$root/ci/install" --prefix /usr --plugindir /lib64/slurm
    cmp "$BERTH_OBJECT" image/usr/lib64/slurm/task_berth.so
}

# package_has FILE…: a package manager to whom these files belong.
package_has() {
    mkdir -p tools
    # shellcheck disable=SC2016 # They are that program's variables.
    printf '#!/bin/bash\nfor last in "$@"; do :; done\ncase $last in\n' > tools/dpkg-query
    # shellcheck disable=SC2016
    printf '%s) echo "berth: $last"; exit 0 ;;\n' "$@" >> tools/dpkg-query
    printf 'esac\nexit 1\n' >> tools/dpkg-query
    chmod +x tools/dpkg-query
    PATH=$PWD/tools:$PATH
}

# rpm answers on stdout also where no package has the file.
test_a_file_of_an_rpm_stays_as_it_is() {
    mkdir plugins tools
    echo packaged > plugins/task_berth.so
    printf '#!/bin/sh\nexit 1\n' > tools/dpkg-query
    # shellcheck disable=SC2016 # It is that program's variable.
    printf '#!/bin/bash\nfor last in "$@"; do :; done\ncase $last in %s) echo berth ;; *) echo "file $last is not owned by any package"; exit 1 ;; esac\n' \
        "$PWD/plugins/task_berth.so" > tools/rpm
    chmod +x tools/*
    PATH=$PWD/tools:$PATH refuses 'plugins/task_berth.so belongs to the package berth,' "$root/ci/install" --prefix "$PWD/prefix" --plugindir "$PWD/plugins"
    printf '#!/bin/sh\necho "file is not owned by any package"\nexit 1\n' > tools/rpm
    PATH=$PWD/tools:$PATH installed
    # All files are there, and none is a package's.
    PATH=$PWD/tools:$PATH installed
    PATH=$PWD/tools:$PATH "$root/ci/install" --uninstall --prefix "$PWD/prefix"
    same "$(find plugins prefix -type f)" ''
}

test_a_file_of_a_package_stays_as_it_is() {
    mkdir plugins
    echo packaged > plugins/task_berth.so
    package_has "$PWD/plugins/task_berth.so"
    refuses 'plugins/task_berth.so belongs to the package berth' "$root/ci/install" --prefix "$PWD/prefix" --plugindir "$PWD/plugins"
    same "$(find prefix -type f 2> /dev/null)" ''
    same "$(cat plugins/task_berth.so)" packaged
}

# From ci/install to a package: the package has taken the object over, and the rest is removed. A
# configuration that names the object is no reason to stay, because the object stays.
test_what_a_package_has_taken_over_is_not_removed() {
    local said
    installed
    echo 'TaskPlugin=task/berth' > slurm.conf
    package_has "$PWD/plugins/task_berth.so"
    said=$(SLURM_CONF=$PWD/slurm.conf "$root/ci/install" --uninstall --prefix "$PWD/prefix" 2>&1)
    contains "$said" "left: $PWD/plugins/task_berth.so belongs to the package berth now"
    same "$(find plugins prefix -type f)" plugins/task_berth.so
}

test_a_dry_run_builds_nothing() {
    local said
    unset BERTH_OBJECT BERTH_COMMAND
    printf '#!/bin/sh\ntouch %s/was-called\nexit 1\n' "$PWD" > cargo
    chmod +x cargo
    said=$(PATH=$PWD:$PATH CARGO_TARGET_DIR=$PWD/target installed --dry-run)
    contains "$said" 'ci/build would build the object and the command first'
    contains "$said" "$PWD/plugins"
    same "$(ls)" cargo
}

# The object is loaded by the nodes' slurmd, where it is too late to find out.
test_object_and_command_belong_together() {
    local number
    cp "$BERTH_COMMAND" here
    echo 'no object' > text.so
    refuses 'no object of ELF' installed --object text.so --command here
    cp "$BERTH_OBJECT" other.so
    # An object of aarch64 has 183 there.
    printf '\267\0' | dd of=other.so bs=1 seek=18 conv=notrunc status=none
    refuses 'is for another processor' installed --object other.so --command here
    number=$("$BERTH_COMMAND" --version | cut -d ' ' -f 2)
    sed "s/ready: berth $number/ready: berth 9${number#?}/" "$BERTH_OBJECT" > later.so
    refuses "of release 9${number#?}, and" installed --object later.so --command here
    same "$(find . -name prefix)" ''
}

test_without_slurm_the_folder_must_be_named() {
    local tool
    mkdir tools
    for tool in bash env awk basename cat chmod cp cut dirname grep head id mkdir mktemp mv od readlink realpath rm sed sha256sum sort sync tail timeout uname; do
        ln -s "$(type -P "$tool")" tools
    done
    # As this machine's configuration would be found there.
    if [ -e /etc/slurm/slurm.conf ] || [ -e /etc/slurm-llnl/slurm.conf ]; then skip 'this machine has a slurm.conf'; fi
    PATH=$PWD/tools refuses 'no slurmctld answered; name the folder' "$root/ci/install" --prefix "$PWD/prefix"
    [ ! -e prefix ]
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
    ( export PATH=/usr/bin:/bin CARGO_TARGET_DIR=$PWD/none; refuses 'cargo is not installed' "$root/ci/install" --prefix "$PWD/p" --plugindir "$PWD/q" )
}
