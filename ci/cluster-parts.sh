# shellcheck shell=bash
# shellcheck disable=SC2154 # $dir and the options of "up" are set by ci/cluster, which sources this.
# The parts of ci/cluster: each step of "up", and the search for everything that must be stopped.

# A cluster's record: base port, node names, slurmd's environment, the command. Written by
# "up", read by the other actions.
load_record() {
    [ -f "$dir/run/record" ] || die "no cluster lives in $dir. Start one: ci/cluster up $dir"
    # shellcheck disable=SC1091
    source "$dir/run/record"
}

make_folders() {
    [ ! -e "$dir/run/record" ] || die "a cluster lives in $dir already. Stop it first: ci/cluster down $dir"
    # Slurm puts node name, job and step behind it in socket names, which end at 107 characters.
    [ ${#dir} -le 60 ] || die "the path $dir is too long for socket names (${#dir} characters, 60 at most); use a shorter one, as \$(mktemp -d)"
    mkdir -p "$dir"/{etc,log,munge,plugins,run,spool,state}
    # Jobs of other users pass through here to munged's socket.
    chmod 0755 "$dir" "$dir"/{log,munge,run,spool}
}

# True if something listens on the port, on any address. No connection is made: Slurm's
# daemons log one that says nothing as an error.
listening() {
    local hex
    printf -v hex ':%04X' "$1"
    grep -qE "^ *[0-9]+: [0-9A-F]+$hex [0-9A-F]+:0000 0A" /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# Sets $base: slurmctld's port; the slurmds have the ones behind it, and a slurmdbd the next. A counter under a lock
# gives two runs different ports even before they listen; below the kernel's own range for
# outgoing connections, so none of those takes one either.
choose_ports() {
    local first=20000 last=30000 port tries=0
    mkdir -p /run/berth-ci
    exec 9>>/run/berth-ci/ports
    flock 9
    base=$(tail -n 1 /run/berth-ci/ports)
    [[ $base =~ ^[0-9]+$ ]] && [ "$base" -ge $first ] && [ "$base" -lt $last ] || base=$first
    port=$base
    while [ "$port" -le $((base + nodes + 1)) ]; do
        if [ "$base" -gt $last ]; then base=$first; port=$base; continue; fi
        if listening "$port"; then
            base=$((port + 1))
            tries=$((tries + 1))
            [ $tries -lt 2000 ] || die "no $((nodes + 2)) free ports in a row between $first and $last"
            port=$base
        else
            port=$((port + 1))
        fi
    done
    printf '%s\n' "$((base + nodes + 2))" > /run/berth-ci/ports
    exec 9>&-
    # The port is nobody else's while the cluster lives, and so are these names.
    node_names=()
    local i
    for ((i = 1; i <= nodes; i++)); do node_names+=("berth${base}n$i"); done
}

# Replaces a key's line in a configuration file, or adds one.
set_line() {
    local file=$1 key=${2%%=*} line=$2
    if grep -qiE "^$key=" "$file"; then
        awk -v key="$key" -v line="$line" '
            BEGIN { want = tolower(key) "=" }
            tolower(substr($0, 1, length(want))) != want { print; next }
            !done { print line; done = 1 }' "$file" > "$file.new"
        mv -- "$file.new" "$file"
    else
        printf '%s\n' "$line" >> "$file"
    fi
}

# The example's files with names, paths and ports of this cluster.
write_configuration() {
    local source=$root/slurm-conf-examples/$example conf=$dir/etc/slurm.conf stock host hardware="" line i
    [ -f "$source/slurm.conf" ] || die "no example '$example'; there are: $(cd "$root/slurm-conf-examples" && echo */)"
    stock=$(slurm_stock_plugindir)
    host=$(hostname -s)
    cp "$source"/* "$dir/etc/"
    [ ${#files[@]} -eq 0 ] || cp -- "${files[@]}" "$dir/etc/"

    # What slurmd itself sees, in the environment that it will run in.
    [ ${#shapes[@]} -gt 0 ] ||
        hardware=$(env "${environment[@]}" "$(slurm_daemon slurmd)" -C | sed -n 's/^NodeName=[^ ]* //p')
    [ -n "$hardware" ] || [ ${#shapes[@]} -gt 0 ] || die "slurmd -C printed no NodeName line, so the node's hardware is unknown"

    local lines=(
        "ClusterName=berth$base"
        "SlurmctldHost=$host(127.0.0.1)"
        "SlurmUser=root"
        "SlurmctldPort=$base"
        "AuthInfo=socket=$dir/munge/socket"
        "PluginDir=$dir/plugins:$stock"
        "StateSaveLocation=$dir/state"
        "SlurmdSpoolDir=$dir/spool/%n"
        "SlurmctldPidFile=$dir/run/slurmctld.pid"
        "SlurmdPidFile=$dir/run/slurmd-%n.pid"
        "SlurmctldLogFile=$dir/log/slurmctld.log"
        "SlurmdLogFile=$dir/log/slurmd-%n.log"
        # A batch job would wait up to three seconds to be looked at together with others, a job of several components
        # for half a minute, and the end of a cancelled job as long.
        "SchedulerParameters=batch_sched_delay=0,bf_hetjob_immediate,bf_interval=1,sched_interval=1"
        "KillWait=2"
        # No mailer is needed here; a missing one is an error line in every log.
        "MailProg=/bin/true"
    )
    [ -z "$task_plugin" ] || lines+=("TaskPlugin=$task_plugin")
    for line in "${lines[@]}" "${settings[@]}"; do set_line "$conf" "$line"; done

    sed -i '/^NodeName=/d' "$conf"
    for ((i = 1; i <= nodes; i++)); do
        printf 'NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%s %s %s\n' \
            "${node_names[i - 1]}" "$host" "$((base + i))" "${shapes[i - 1]:-$hardware}" "$node_extra" >> "$conf"
    done

    write_plugstack "$dir/etc/plugstack.conf"
    if grep -q '^[^#]*task_berth\.so' "$dir/etc/plugstack.conf" || grep -qiE '^TaskPlugin=.*berth' "$conf"; then
        [ -f "$plugin" ] || die "this cluster wants berth, and there is no $plugin. Build it (cargo build --release -p task_berth) or give --plugin FILE"
        cp -- "$plugin" "$dir/plugins/task_berth.so"
    fi
    write_cgroup_conf "$dir/etc/cgroup.conf"
    {
        # Read back inside a function, where a plain declare would be local.
        declare -p base node_names environment | sed 's/^declare -/declare -g/; s/^declare -g-/declare -g/'
        printf 'cluster_command=%q\n' "$command"
    } > "$dir/run/record"
}

write_plugstack() {
    local file=$1
    if [ -z "$command" ] && [ -x "$(dirname -- "$plugin")/berth" ]; then
        command=$(realpath -- "$(dirname -- "$plugin")/berth")
    fi
    case $plugstack in
        none) : > "$file"; return ;;
        given) sed -i -E "s|^([a-z]+ +task_berth\.so).*|\1 $arguments|" "$file" ;;
    esac
    # An example's files are here, not in Slurm's own folder.
    sed -i "s|=/etc/slurm/|=$dir/etc/|g" "$file"
    # The ledger and the machine file of this cluster are its own, and leave with it.
    grep -q 'state_dir=' "$file" || sed -i -E "s|^[a-z]+ +task_berth\.so.*|& state_dir=$dir/run/berth|" "$file"
    if [ -n "$command" ] && ! grep -q ' command=' "$file"; then
        sed -i -E "s|^[a-z]+ +task_berth\.so.*|& command=$command|" "$file"
    fi
}

write_cgroup_conf() {
    local file=$1
    if [ ! -f "$file" ]; then
        # Since 24.05 slurmd can do without its cgroup plugin, and says so; before, it starts
        # the plugin of cgroup v2 wherever that is mounted, and ends where it cannot.
        if [ "$(slurm_line)" -ge 2405 ]; then
            echo 'CgroupPlugin=disabled' > "$file"
        elif without_systemd; then
            : > "$file"
        fi
    fi
    if [ -f "$file" ] && without_systemd && ! grep -q '^CgroupPlugin=disabled' "$file"; then
        # slurmd would ask systemd for its folder, and here is none.
        echo 'IgnoreSystemd=yes' >> "$file"
        mkdir -p /sys/fs/cgroup/system.slice
    fi
}

# Pure cgroup v2, and nobody who hands out its folders.
without_systemd() { [ ! -d /run/systemd/system ] && [ -f /sys/fs/cgroup/cgroup.controllers ]; }

start_munged() {
    (umask 0077 && head -c 128 /dev/urandom > "$dir/munge/key")
    # --origin: nobody needs to know this machine's name to find its address.
    # --force: a TMPDIR that only root may enter is good enough for root's jobs.
    munged --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/run/munged.pid" \
        --log-file="$dir/log/munged.log" --seed-file="$dir/munge/seed" --origin=127.0.0.1 2>> "$dir/log/munged.err"
}

start_slurmctld() {
    "$(slurm_daemon slurmctld)" -f "$dir/etc/slurm.conf" >> "$dir/log/slurmctld.err" 2>&1 < /dev/null
    # A slurmd that finds no slurmctld tries again a whole second later.
    wait_listening slurmctld "$base" || return 1
}

start_slurmds() {
    local node i=0
    for node in "${node_names[@]}"; do
        mkdir -p "$dir/spool/$node"
        env "${environment[@]}" "$(slurm_daemon slurmd)" -f "$dir/etc/slurm.conf" -N "$node" \
            >> "$dir/log/slurmd-$node.err" 2>&1 < /dev/null
        i=$((i + 1))
        wait_listening "slurmd $node" "$((base + i))" || return 1
    done
}

# wait_until SECONDS COMMAND…: tries every 10 ms.
wait_until() {
    local end=$((${EPOCHREALTIME/[^0-9]/} + $1 * 1000000))
    shift
    until "$@"; do
        [ "${EPOCHREALTIME/[^0-9]/}" -lt "$end" ] || return 1
        sleep 0.01
    done
}

# An emulated machine on a busy host needs longer than ten seconds.
wait_listening() {
    local seconds=${BERTH_PATIENCE:-10}
    wait_until "$seconds" listening "$2" && return
    say "$1 does not listen on port $2 after $seconds seconds"
    return 1
}

# own_nodes FORMAT: sinfo of our nodes. A configuration may have others that no slurmd serves, as
# nodes of a cloud, which newer Slurms show.
own_nodes() {
    local IFS=,
    SLURM_CONF=$dir/etc/slurm.conf sinfo -h -N -n "${node_names[*]}" -o "$1"
}

all_idle() {
    local state count=0 # of each node once, in however many partitions it is
    while read -r _ state; do
        [ "$state" = idle ] || return 1
        count=$((count + 1))
    done < <(own_nodes '%N %T' 2> /dev/null | sort -u)
    [ "$count" -eq ${#node_names[@]} ]
}

wait_idle() {
    wait_until "$1" all_idle && return
    say "not all nodes are idle after $1 seconds:"
    own_nodes '%N %T %E' >&2 || true
    return 1
}

# alive PID: running, and not only waiting for a parent that never asks (PID 1 of many containers).
alive() {
    local stat
    stat=$(cat "/proc/$1/stat" 2> /dev/null) || return 1
    [[ ${stat##*) } != [ZX]* ]]
}

all_dead() {
    local pid
    for pid in "$@"; do ! alive "$pid" || return 1; done
}

# Asks, waits, insists.
stop_pids() {
    [ $# -gt 0 ] || return 0
    kill -TERM "$@" 2> /dev/null || true
    wait_until 5 all_dead "$@" || kill -KILL "$@" 2> /dev/null || true
}

# Our daemons: of these programs, and with a path in our folder as an argument. Pid files
# would miss one that has just started, and name somebody else when one was killed.
# daemon_pids [NAME]: those of one name, or all.
daemon_pids() {
    local file pid program
    grep -lszF -- "$dir/" /proc/[0-9]*/cmdline | while read -r file; do
        pid=$(cut -d / -f 3 <<< "$file")
        program=$(readlink "/proc/$pid/exe") || continue
        case $program in
            # Its name begins as slurmd's does.
            */slurmdbd) [ -n "${1:-}" ] || printf '%s\n' "$pid" ;;
            */munged | */slurmctld* | */slurmd* | */mariadbd) [[ $program != */"${1:-}"* ]] || printf '%s\n' "$pid" ;;
        esac
    done
}

# What a step leaves: slurmstepds (their working directory is slurmd's, the folder of its
# log), their children, tasks, which carry their node's name in the environment, and
# whatever is in the nodes' cgroups.
leftover_pids() {
    local process name folder
    for process in /proc/[0-9]*; do
        read -r name < "$process/comm" || continue
        [[ $name == slurmstepd* && $(readlink "$process/cwd") == "$dir"/* ]] || continue
        with_children "${process#/proc/}"
    done 2> /dev/null
    for name in "${node_names[@]}"; do
        grep -lszxF -- "SLURMD_NODENAME=$name" /proc/[0-9]*/environ | cut -d / -f 3
    done
    cgroup_folders | while read -r folder; do
        find "$folder" -name cgroup.procs -exec cat {} +
    done
}

with_children() {
    local child children
    printf '%s\n' "$1"
    read -r -a children <<< "$(cat "/proc/$1"/task/*/children 2> /dev/null | paste -sd ' ')"
    for child in "${children[@]}"; do with_children "$child"; done
}

# The folders Slurm made for these nodes and leaves behind; the names are nobody else's.
# One root with cgroup v2, one a controller with v1.
cgroup_folders() {
    local name folder
    for name in "${node_names[@]}"; do
        for folder in /sys/fs/cgroup/{,*/}{"slurm_$name",system.slice/"${name}_slurmstepd.scope"}; do
            [ ! -d "$folder" ] || printf '%s\n' "$folder"
        done
    done
}

# Kills what leftover_pids finds, until nothing is left to find.
stop_leftovers() {
    local pids
    mapfile -t pids < <(leftover_pids | sort -u)
    [ ${#pids[@]} -gt 0 ] || return 0
    kill -KILL "${pids[@]}" 2> /dev/null || true
    all_dead "${pids[@]}"
}

# Ends the jobs the polite way first: an srun whose slurmctld is gone waits for minutes.
end_jobs() {
    local -x SLURM_CONF=$dir/etc/slurm.conf
    local jobs
    mapfile -t jobs < <(timeout 2 squeue -h -o %A 2> /dev/null | sort -u)
    [ ${#jobs[@]} -gt 0 ] || return 0
    timeout 2 scancel "${jobs[@]}" &> /dev/null || true
    timeout 2 scancel --full --signal=KILL "${jobs[@]}" &> /dev/null || true
    wait_until 3 no_jobs || true
}

no_jobs() { [ -z "$(timeout 2 squeue -h -o %A 2> /dev/null)" ]; }

stop_everything() {
    local pids
    # A cluster that broke off while starting has no record, and nothing under its names.
    node_names=()
    [ ! -f "$dir/run/record" ] || load_record
    mapfile -t pids < <(daemon_pids '')
    [ ! -f "$dir/run/slurmctld.pid" ] || [ ${#node_names[@]} -eq 0 ] || end_jobs
    stop_pids "${pids[@]}"
    wait_until 5 stop_leftovers || say "some processes of this cluster would not end: $(leftover_pids | paste -sd ' ')"
}

remove_cgroups() {
    local folder
    cgroup_folders | while read -r folder; do
        wait_until 3 remove_cgroup "$folder" || say "could not remove $folder"
    done
}

# Without a state_dir= line the nodes have their folders in the default place, which outlives this cluster.
remove_state() {
    local name
    for name in "${node_names[@]}"; do rm -rf -- "/run/berth/${name:?}"; done
}

# A cgroup is empty a moment after its last process died.
remove_cgroup() {
    find "$1" -depth -type d -exec rmdir {} + 2> /dev/null
    [ ! -d "$1" ]
}
