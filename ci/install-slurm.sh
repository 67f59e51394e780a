# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # ci/install, which sources this, sets $destdir and $record, and uses $why and $without.
# What ci/install asks of Slurm: where the slurmd of this node looks for plugins, and whether it still needs the object.

# The configuration as a running slurmctld has it. Its PluginDir is that of the controller, which may be another machine
# with another system. The one of this machine knows nothing about an image.
running_config=''
[ -n "$destdir" ] || running_config=$(timeout 10 scontrol show config 2> /dev/null) || true
ask_slurm() {
    sed -n "s/^$1 *= //p" <<< "$running_config"
}

site_conf() {
    local file files=("$destdir/etc/slurm/slurm.conf" "$destdir/etc/slurm-llnl/slurm.conf")
    [ -n "$destdir" ] || files=("${SLURM_CONF:-}" "$(ask_slurm SLURM_CONF)" "${files[@]}" /run/slurm/conf/slurm.conf)
    for file in "${files[@]}"; do
        if [ -f "$file" ]; then printf '%s\n' "$file"; return; fi
    done
}

# with_includes FILE: its lines and those of the files that it includes, one level deep.
with_includes() {
    local file
    cat -- "$1"
    sed -nE 's/^[[:space:]]*include[[:space:]]+([^#[:space:]]+).*/\1/Ip' "$1" | while IFS= read -r file; do
        case $file in /*) file=$destdir$file ;; *) file=$(dirname -- "$1")/$file ;; esac
        [ ! -f "$file" ] || cat -- "$file"
    done
}

# slurm_conf_value KEY: from the site's slurm.conf; key and value as Slurm reads them.
slurm_conf_value() {
    local file
    file=$(site_conf)
    [ -z "$file" ] || with_includes "$file" | sed -nE "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*([^#[:space:]]+).*/\1/Ip" | tail -n 1
}

# Where Slurm's own plugins are: slurmd looks there if slurm.conf names no folder.
stock_plugindir() {
    local file program
    if [ -z "$destdir" ]; then
        # A login node has srun alone. Both are linked with a library that Slurm keeps among its plugins.
        # Fedora and EPEL have it beside their folder slurm, and call it libslurmfull-VERSION.so.
        program=$(command -v slurmd || command -v srun) || return 0
        ldd "$program" 2> /dev/null | sed -n -e 's|.*=> \(/.*\)/libslurmfull\.so.*|\1|p' -e 's|.*=> \(/.*\)/libslurmfull-[^/]*\.so.*|\1/slurm|p' || true
        return
    fi
    for file in "$destdir"/usr/lib{64,}/{slurm,*/slurm-wlm,*/slurm}/{libslurmfull,auth_munge,task_cgroup}.so; do
        if [ -f "$file" ]; then dirname -- "${file#"$destdir"}"; return; fi
    done
    die "the image $destdir has neither a slurm.conf with PluginDir nor Slurm's own plugins; name the folder that PluginDir has on the nodes: --plugindir DIR"
}

# What this node itself has comes first: slurmctld answers with its own folder.
find_plugindir() {
    local list source folder folders where=here
    [ -z "$destdir" ] || where="below $destdir"
    list=$(slurm_conf_value PluginDir) source=$(site_conf)
    if [ -z "$list" ]; then list=$(stock_plugindir) source='the Slurm that is installed'; fi
    if [ -z "$list" ]; then list=$(ask_slurm PluginDir) source="slurmctld, whose nodes may look elsewhere"; fi
    [ -n "$list" ] || die "no slurm.conf has PluginDir, there is no Slurm here, and no slurmctld answered; name the folder that PluginDir has on the nodes: --plugindir DIR"
    say "PluginDir is taken from $source: $list"
    IFS=: read -r -a folders <<< "$list"
    # An older berth is replaced where it is; else the first folder, which a site keeps for its own.
    for folder in "${folders[@]}"; do
        if [ -e "$destdir$folder/task_berth.so" ]; then printf '%s\n' "$folder"; return; fi
    done
    for folder in "${folders[@]}"; do
        if [ -d "$destdir$folder" ]; then printf '%s\n' "$folder"; return; fi
    done
    die "none of Slurm's plugin folders exists $where ($list); is this a node of the cluster? Name one: --plugindir DIR"
}

# A slurmd that was not restarted tells its slurmstepds to load the file, whatever slurm.conf says now.
slurmd_has_it() {
    local exe path objects
    objects=$(recorded_objects)
    for exe in /proc/[0-9]*/exe; do
        case $(readlink "$exe" 2> /dev/null) in */slurmd | */slurmd-* | */slurmd\ *) ;; *) continue ;; esac
        while IFS= read -r path; do
            # The kernel shows where the file is, without links in between.
            if [ -n "$path" ] && grep -qsF -e " $path" -e " $(realpath -m -- "$path")" "${exe%/exe}/maps"; then return; fi
        done <<< "$objects"
    done
    return 1
}

# TaskPlugin concerns slurmd alone, so a login node lets the object go, as packaging/before-removal does.
has_slurmd() {
    local file
    [ -n "$destdir" ] || [ -z "$(command -v slurmd)" ] || return 0
    for file in "$destdir"/usr/sbin/slurmd "$destdir"/usr/sbin/slurmd-* "$destdir"/usr/local/sbin/slurmd "$destdir"/usr/local/*/sbin/slurmd "$destdir"/opt/*/sbin/slurmd \
        "$destdir"/opt/*/*/sbin/slurmd "$destdir"/etc/systemd/system/slurmd.service "$destdir"/{usr/,}lib/systemd/system/slurmd.service; do
        [ ! -e "$file" ] || return 0
    done
    return 1
}

# Sets $why and $without: why the object must stay, or nothing. Removing that of a configured slurmd ends the node at
# its next start.
still_configured() {
    local plugin file
    why='' without='no step would start there, nor slurmd itself'
    [ -n "$(recorded_objects)" ] || return 0
    if [ -z "$destdir" ] && slurmd_has_it; then why='a slurmd that runs here has it loaded'; return; fi
    file=$(site_conf)
    if [ -n "$file" ] && grep -qsE '^[[:space:]]*required[[:space:]].*task_berth\.so' "$(dirname -- "$file")/plugstack.conf"; then
        why="$(dirname -- "$file")/plugstack.conf requires task_berth.so" without='srun, sbatch, salloc and every step would fail there'
        return
    fi
    has_slurmd || return 0
    plugin=$(ask_slurm TaskPlugin)
    if [[ ${plugin,,} == *berth* ]]; then
        why="slurmctld has TaskPlugin=$plugin (if slurm.conf has it no more: scontrol reconfigure, or restart slurmctld)"
        return
    fi
    plugin=$(slurm_conf_value TaskPlugin)
    [[ ${plugin,,} != *berth* ]] || why="$file has TaskPlugin=$plugin"
}
