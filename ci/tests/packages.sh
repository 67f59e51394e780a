# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# The scripts that a package runs on a node: what lets its files go, and what it warns of.

unset SLURM_CONF

# The scripts of the packages, for a node in the folder "node", as dpkg names an image.
removal() { DPKG_ROOT=$PWD/node sh "$root/packaging/before-removal" "${1:-remove}" 2>&1; }
after_installation() {
    sed 's|@plugindir@|/usr/lib64/slurm|' "$root/packaging/after-installation.in" > after
    DPKG_ROOT=$PWD/node sh after configure 2>&1
}
a_node() {
    mkdir -p node/etc/slurm node/usr/lib64/slurm node/usr/sbin
    touch node/usr/lib64/slurm/task_berth.so
}

test_a_package_is_removed_where_no_slurmd_is() {
    a_node
    echo 'taskplugin = task/cgroup,task/berth' > node/etc/slurm/slurm.conf
    echo 'optional task_berth.so compat=affinity' > node/etc/slurm/plugstack.conf
    # A login node, and one that has the database's daemon.
    same "$(removal)" ''
    touch node/usr/sbin/slurmdbd
    same "$(removal)" ''
    touch node/usr/sbin/slurmd
    refuses 'slurm.conf has TaskPlugin=task/berth. Without the file no step would start' removal
    # An upgrade, and somebody who knows better.
    same "$(removal upgrade)" ''
    same "$(BERTH_REMOVE_ANYWAY=1 removal)" ''
    echo 'TaskPlugin=task/affinity # was task/berth' > node/etc/slurm/slurm.conf
    same "$(removal)" ''
    rm node/usr/sbin/slurmd
    echo 'required task_berth.so' > node/etc/slurm/plugstack.conf
    refuses 'plugstack.conf requires task_berth.so. Without the file srun' removal
}

# A process by the name of slurmd, with a library by the object's name below /usr/lib, where this test alone sees it.
test_a_package_is_not_removed_under_a_slurmd_that_has_it_loaded() {
    local said library
    unshare --mount true 2> /dev/null || skip 'needs a mount namespace'
    cp -- "$(type -P sleep)" slurmd
    library=$(ldd slurmd | sed -n 's/.*=> \(.*libc\.so[^ ]*\) .*/\1/p')
    export library
    # shellcheck disable=SC2016 # Its own variables.
    said=$(unshare --mount bash -eu -c 'mount -t tmpfs none /usr/lib/dpkg
        cp -- "$library" /usr/lib/dpkg/task_berth.so
        LD_PRELOAD=/usr/lib/dpkg/task_berth.so ./slurmd 30 &
        trap "kill $!" EXIT
        until grep -q /usr/lib/dpkg/task_berth.so /proc/$!/maps; do sleep 0.05; done
        ! sh "$0" remove && sh "$0" upgrade && echo upgraded' "$root/packaging/before-removal" 2>&1)
    contains "$said" 'berth is not removed: a slurmd that runs here has it loaded'
    contains "$said" upgraded
}

test_a_package_warns_where_slurm_looks_elsewhere() {
    a_node
    # Nothing is known of a Slurm there.
    same "$(after_installation)" ''
    echo 'PluginDir=/usr/lib64/slurm' > node/etc/slurm/slurm.conf
    same "$(after_installation)" ''
    # As SchedMD's own packages for Debian have it.
    echo ' plugindir = /opt/site:/usr/lib/slurm # ours' > node/etc/slurm/slurm.conf
    contains "$(after_installation)" 'Slurm here looks for plugins in /opt/site:/usr/lib/slurm, and this package has task_berth.so in /usr/lib64/slurm'
    contains "$(after_installation)" 'ln -s /usr/lib64/slurm/task_berth.so /opt/site/ on'
    mkdir -p node/usr/lib/slurm
    ln -s "$PWD/node/usr/lib64/slurm/task_berth.so" node/usr/lib/slurm
    same "$(after_installation)" ''
    rm node/usr/lib/slurm/task_berth.so
    echo other > node/usr/lib/slurm/task_berth.so
    contains "$(after_installation)" "/usr/lib/slurm/task_berth.so, which is not this package's"
    # A removal says nothing, nor does a node that ci/install knows nothing about.
    same "$(sh after 0 2>&1; sh after abort-remove 2>&1)" ''
    mkdir -p node/usr/local/share/berth
    touch node/usr/local/share/berth/installed
    contains "$(after_installation)" 'run ci/install --uninstall'
}

# The controller may have another processor or another distribution.
test_a_package_asks_the_node_before_slurmctld() {
    local name
    if [ -e /etc/slurm/slurm.conf ] || [ -e /etc/slurm-llnl/slurm.conf ] || [ -e /run/slurm/conf/slurm.conf ]; then skip 'this machine has a slurm.conf'; fi
    mkdir tools bin
    printf '#!/bin/sh\necho "PluginDir               = /srv/slurm/lib"\n' > tools/scontrol
    printf '#!/bin/sh\necho "	libslurmfull.so => /opt/own/lib/libslurmfull.so (0x0000)"\n' > tools/ldd
    printf '#!/bin/sh\n' > tools/slurmd
    chmod +x tools/*
    sed 's|@plugindir@|/usr/lib64/slurm|' "$root/packaging/after-installation.in" > after
    contains "$(env PATH="$PWD/tools:$PATH" sh after 1 2>&1)" 'Slurm here looks for plugins in /opt/own/lib,'
    printf '#!/bin/sh\necho "	libslurmfull-22.05.9.so => /opt/epel/libslurmfull-22.05.9.so (0x0000)"\n' > tools/ldd
    contains "$(env PATH="$PWD/tools:$PATH" sh after 1 2>&1)" 'Slurm here looks for plugins in /opt/epel/slurm,'
    # One whose Slurm does not tell, and no slurmctld that does.
    printf '#!/bin/sh\n' > tools/ldd
    contains "$(env PATH="$PWD/tools:$PATH" sh after 1 2>&1)" 'Slurm here looks for plugins in /srv/slurm/lib,'
    mkdir silent
    cp -- tools/ldd tools/slurmd silent
    printf '#!/bin/sh\nexit 1\n' > silent/scontrol
    chmod +x silent/scontrol
    contains "$(env PATH="$PWD/silent:$PATH" sh after 1 2>&1)" 'slurmd does not tell where it looks for plugins'
    # A machine without Slurm's programs, but with a slurmctld that answers.
    for name in cat readlink sed sh tail timeout; do ln -s "$(type -P $name)" bin; done
    ln -s "$PWD/tools/scontrol" bin
    contains "$(env PATH="$PWD/bin" sh after 1 2>&1)" 'Slurm here looks for plugins in /srv/slurm/lib,'
}

# Spack's recipe says of itself what the other packages have from definition.sh.
test_the_recipe_for_spack_says_what_the_packages_say() {
    local recipe
    recipe=$(cat "$root/packaging/spack/package.py")
    # shellcheck source=packaging/definition.sh
    source "$root/packaging/definition.sh"
    # shellcheck disable=SC2154 # definition.sh sets them.
    for said in "version(\"$version\")" "berth-$version.tar.xz" "license(\"$license\")" "\"\"\"$summary.\"\"\""; do contains "$recipe" "$said"; done
}

test_a_package_reads_what_slurm_conf_includes() {
    a_node
    echo 'include plugins.conf' > node/etc/slurm/slurm.conf
    echo 'PluginDir=/opt/included' > node/etc/slurm/plugins.conf
    contains "$(after_installation)" 'Slurm here looks for plugins in /opt/included,'
}

# In a small repository, whose packaging/build only names what it would make.
test_the_release_before_is_named_by_its_own_tree() {
    local version
    command -v git > /dev/null || skip 'git is not installed'
    mkdir -p packaging ci plugin
    cp -- "$root/packaging/previous" packaging
    cp -- "$root/ci/lib.sh" ci
    touch packaging/{definition.sh,hwloc,before-removal,after-installation.in,berth.spec.in,requirements.txt,copyright} plugin/build.rs ci/{install,install-slurm.sh,shadow-sum}
    # shellcheck disable=SC2016 # Its own variables.
    printf '#!/bin/sh\ntouch "$2/berth_$BERTH_PACKAGE_VERSION-1_amd64.deb"\n' > packaging/build
    chmod +x packaging/build
    git init -q .
    for version in 0.3.1 0.4.0; do
        printf '[workspace.package]\nversion = "%s"\n' "$version" > Cargo.toml
        git add .
        git -c user.name=test -c user.email=test@localhost commit -qm "$version"
        packaging/previous "$(git rev-parse HEAD)"
        # One release at a time: the drills take whatever lies there.
        same "$(ls target/packages/previous/*.deb)" "target/packages/previous/berth_$version-1_amd64.deb"
    done
}

# EasyBuild's recipe is Python, which reads it without EasyBuild.
test_the_recipe_for_easybuild_says_what_the_packages_say() {
    local recipe
    # shellcheck source=packaging/definition.sh
    source "$root/packaging/definition.sh"
    # shellcheck disable=SC2154 # definition.sh sets them.
    recipe=$root/packaging/easybuild/berth-$version.eb
    [ -f "$recipe" ] || fail "there is no $recipe"
    for said in "version = '$version'" "description = \"$summary\""; do contains "$(cat "$recipe")" "$said"; done
    command -v python3 > /dev/null || skip 'needs python3'
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$recipe"
}

test_the_role_for_ansible_has_its_files_and_variables() {
    local role name
    role=$root/packaging/ansible/roles/berth
    for name in defaults handlers meta tasks; do [ -f "$role/$name/main.yml" ] || fail "the role has no $name/main.yml"; done
    grep -ohE '\bberth_[a-z_]+' "$role"/{tasks,handlers}/main.yml "$root/packaging/ansible/berth.yml" | sort -u | while read -r name; do
        grep -qE "^$name:" "$role/defaults/main.yml" || grep -qE "register: $name$" "$role/tasks/main.yml" || fail "nothing sets $name"
    done
    grep -ohE 'notify: .*' "$role/tasks/main.yml" | sed 's/^notify: //' | sort -u | while read -r name; do
        grep -qxF -- "- name: $name" "$role/handlers/main.yml" || fail "no handler is called $name"
    done
    python3 -c 'import yaml' 2> /dev/null || skip 'needs python3-yaml'
    python3 - "$root"/packaging/ansible/*.yml "$role"/*/main.yml <<'PYTHON'
import sys, yaml
for name in sys.argv[1:]:
    with open(name) as file:
        assert yaml.safe_load(file), name
PYTHON
}
