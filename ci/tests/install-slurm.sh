# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# ci/install on a node: which of Slurm's folders it takes, what it installs without cargo, and what it warns of.

unset SLURM_CONF

# tool NAME TEXT: a program of that name, first in PATH, that prints this.
tool() {
    mkdir -p tools
    printf '#!/bin/sh\ncat << "END"\n%s\nEND\n' "$2" > "tools/$1"
    chmod +x "tools/$1"
    [[ $PATH == "$PWD/tools:"* ]] || PATH=$PWD/tools:$PATH
}

# a_node: slurmctld has its plugins in ctl, and the slurmd of this node in own.
a_node() {
    mkdir -p ctl own site
    tool scontrol "PluginDir               = $PWD/ctl"
    tool slurmd ''
    tool ldd "	libslurmfull.so => $PWD/own/libslurmfull.so (0x00007f0000000000)"
    echo 'TaskPlugin=task/affinity' > slurm.conf
    export SLURM_CONF=$PWD/slurm.conf
}
install_here() { "$root/ci/install" --prefix "$PWD/prefix" "$@" 2>&1; }

# The controller may have another processor or another distribution than the nodes.
test_the_nodes_own_folder_counts_before_slurmctlds() {
    a_node
    contains "$(install_here)" "PluginDir is taken from the Slurm that is installed: $PWD/own"
    cmp "$BERTH_OBJECT" own/task_berth.so
    # slurm.conf counts first, and what it includes.
    echo "PluginDir=$PWD/site" > more.conf
    echo 'Include more.conf # ours' >> slurm.conf
    contains "$(install_here)" "PluginDir is taken from $PWD/slurm.conf: $PWD/site"
    cmp "$BERTH_OBJECT" site/task_berth.so
    same "$(ls ctl)" ''
}

# As Fedora's and EPEL's packages have it.
test_a_library_beside_the_folder_of_the_plugins_leads_there() {
    a_node
    mkdir own/slurm
    tool ldd "	libslurmfull-22.05.9.so => $PWD/own/libslurmfull-22.05.9.so (0x00007f0000000000)"
    contains "$(install_here)" "PluginDir is taken from the Slurm that is installed: $PWD/own/slurm"
    cmp "$BERTH_OBJECT" own/slurm/task_berth.so
}

# A site's own plugins stay in the line that it prints.
test_the_line_for_slurm_conf_keeps_what_stands_in_it() {
    local line wanted
    a_node
    while read -r line wanted; do
        echo "TaskPlugin=$line" > slurm.conf
        contains "$(install_here)" "  slurm.conf       TaskPlugin=$wanted
"
    done <<'END'
task/cgroup,task/affinity,task/site task/cgroup,task/berth,task/site
affinity,cgroup task/berth,task/cgroup
task/affinity,task/berth task/berth
task/cgroup task/cgroup,task/berth
none task/berth
END
}

test_slurmctld_is_asked_where_there_is_no_slurm() {
    local name
    a_node
    mkdir bin
    for name in bash env awk basename cat chmod cp cut date dirname grep head id mkdir mktemp mv od readlink realpath rm sed sha256sum sort stat sync tail timeout uname; do
        ln -s "$(type -P "$name")" bin
    done
    ln -s "$PWD/tools/scontrol" bin
    contains "$(PATH=$PWD/bin install_here)" 'PluginDir is taken from slurmctld'
    cmp "$BERTH_OBJECT" ctl/task_berth.so
}

# With cargo ci/build would make them anew; without it they are all that there is.
test_without_cargo_what_was_built_is_installed() {
    local said word
    mkdir -p target/release
    cp "$BERTH_OBJECT" target/release/libtask_berth.so
    cp "$BERTH_COMMAND" target/release/berth
    unset BERTH_OBJECT BERTH_COMMAND
    export CARGO_TARGET_DIR=$PWD/target PATH=/usr/bin:/bin
    touch -d 2001-02-03T04:05 target/release/libtask_berth.so
    for word in --dry-run ''; do
        said=$(install_here --plugindir "$PWD/plugins" ${word:+"$word"})
        contains "$said" "warning: cargo is not installed, so what was built before is taken: $PWD/target/release, of 2001-02-03 04:05"
        contains "$said" 'this tree has younger sources'
    done
    cmp target/release/libtask_berth.so plugins/task_berth.so
    rm target/release/berth
    refuses 'cargo is not installed' install_here --plugindir "$PWD/plugins" --dry-run
    refuses 'cargo is not installed' install_here --plugindir "$PWD/plugins"
}

# As the plugin judges its command (plugin/host/src/trust.rs).
test_it_warns_of_a_command_that_slurmd_would_refuse() {
    local said
    [ "$(id -u)" = 0 ] || skip 'needs root'
    chmod 0755 .
    mkdir -p user/apps
    chown 65534 user
    said=$("$root/ci/install" --prefix "$PWD/user/apps" --plugindir "$PWD/plugins" 2>&1)
    contains "$said" "warning: slurmd will refuse to start $PWD/user/apps/bin/berth, because $PWD/user belongs to"
    chown 0 user
    chmod 0775 user/apps
    said=$("$root/ci/install" --prefix "$PWD/user/apps" --plugindir "$PWD/plugins" --dry-run 2>&1)
    contains "$said" "because $PWD/user/apps can be written by others than root (mode 775)"
    # Only owners rename in a sticky folder, and an image's folders have their owners later.
    chmod 1777 user/apps
    said=$("$root/ci/install" --prefix "$PWD/user/apps" --plugindir "$PWD/plugins" 2>&1)
    [[ $said != *'will refuse'* ]] || fail "$said"
    chown 65534 user
    said=$(DESTDIR=$PWD/user "$root/ci/install" --prefix /usr --plugindir /usr/lib64/slurm 2>&1)
    [[ $said != *'will refuse'* ]] || fail "$said"
}

# As a package does (packaging/before-removal).
test_a_login_node_lets_the_object_go() {
    mkdir -p image/etc/slurm image/usr/sbin
    echo 'TaskPlugin=task/cgroup,task/berth' > image/etc/slurm/slurm.conf
    export DESTDIR=$PWD/image
    "$root/ci/install" --prefix /usr --plugindir /usr/lib64/slurm
    touch image/usr/sbin/slurmd
    refuses 'no step would start there, nor slurmd itself' "$root/ci/install" --uninstall --prefix /usr
    rm image/usr/sbin/slurmd
    echo 'required task_berth.so' > image/etc/slurm/plugstack.conf
    refuses 'srun, sbatch, salloc and every step would fail there' "$root/ci/install" --uninstall --prefix /usr
    echo 'optional task_berth.so' > image/etc/slurm/plugstack.conf
    "$root/ci/install" --uninstall --prefix /usr
    [ ! -e image/usr/lib64/slurm/task_berth.so ] || fail 'the object is still there'
}
