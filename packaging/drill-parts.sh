# shellcheck shell=bash
# What the drills share: a node with one slurmd, the steps of a drill and what is looked at. Sourced by programs
# that run as root on a machine that is thrown away afterwards: it writes /etc/slurm and starts daemons.

patience=${BERTH_PATIENCE:-30}
log=/tmp/drill.log
drill_steps=0
# Lines of slurm.conf that replace or add a key, and what TaskPlugin has beside the binding plugin, as "task/cgroup,".
settings=() beside=''

step() { drill_steps=$((drill_steps + 1)); printf '%-54s ' "$1"; }
ok() { echo "ok${1:+: $1}"; }
die() {
    echo "FAILED: $*"
    tail -n 30 "$log" /var/log/slurm/*.log 2> /dev/null
    ! has_systemd || journalctl --no-pager --lines 30 2> /dev/null
    exit 1
}
quietly() { "$@" > "$log" 2>&1 || die "$*"; }
finished() { echo "$1: all $drill_steps steps well"; }

# until_true COMMAND…: looks four times a second until it holds.
until_true() {
    local i
    for ((i = 0; i < 4 * patience; i++)); do
        ! "$@" > /dev/null 2>&1 || return 0
        sleep 0.25
    done
    die "in $patience s never true: $*"
}

has_systemd() { [ -d /run/systemd/system ]; }

# slurm.conf of a node with task/affinity.
configure() {
    local line
    mkdir -p /etc/slurm /var/log/slurm /var/spool/slurm/ctld /var/spool/slurm/d
    [ -s /etc/munge/munge.key ] || head -c 128 /dev/urandom > /etc/munge/munge.key
    chown -R munge: /etc/munge /var/lib/munge /var/log/munge
    chmod 0400 /etc/munge/munge.key
    cat > /etc/slurm/slurm.conf <<TEXT
ClusterName=drill
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=root
StateSaveLocation=/var/spool/slurm/ctld
SlurmdSpoolDir=/var/spool/slurm/d
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=${beside}task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MailProg=/bin/true
$(slurmd -C | sed -n "s/^NodeName=[^ ]*/NodeName=$(hostname -s) NodeAddr=127.0.0.1/p")
PartitionName=main Nodes=ALL Default=YES
TEXT
    for line in "${settings[@]}"; do
        sed -i "/^${line%%=*}=/d" /etc/slurm/slurm.conf
        sed -i "1i $line" /etc/slurm/slurm.conf
    done
    has_systemd || echo 'IgnoreSystemd=yes' > /etc/slurm/cgroup.conf
}

start_slurm() {
    if has_systemd; then
        quietly systemctl restart munge slurmctld slurmd
    else
        mkdir -p /run/munge
        chown munge: /run/munge
        chmod 0755 /run/munge
        [ -S /run/munge/munge.socket.2 ] || quietly runuser -u munge -- munged
        until_true test -S /run/munge/munge.socket.2
        quietly slurmctld
        quietly slurmd
    fi
    until_true is_up
}

node_state() { sinfo --noheader --format %T; }
idle() { [ "$(node_state)" = idle ]; }
# With jobs or without: it takes work.
is_up() { [[ $(node_state) =~ ^(idle|mixed|allocated|completing)$ ]]; }

slurmd_pid() {
    if has_systemd; then
        systemctl show --property MainPID --value slurmd
    else
        cat /run/slurmd.pid
    fi
}

# restart_daemon slurmctld|slurmd
restart_daemon() {
    local old
    if has_systemd; then
        quietly systemctl restart "$1"
    else
        old=$(cat "/run/$1.pid")
        kill "$old"
        until_true gone "$old"
        quietly "$1"
    fi
}

# After slurm.conf has changed: in the order of the pages, because configless nodes get what slurmctld read last.
restart_slurmd() {
    restart_daemon slurmctld
    until_true scontrol ping
    restart_daemon slurmd
    until_true is_up
}
gone() { [ ! -d "/proc/$1" ]; }

# The two lines that configure berth; and back.
berth_on() {
    sed -i "s|^TaskPlugin=.*|TaskPlugin=${beside}task/berth|" /etc/slurm/slurm.conf
    echo 'optional task_berth.so compat=affinity' > /etc/slurm/plugstack.conf
}
berth_off() {
    sed -i "s|^TaskPlugin=.*|TaskPlugin=${beside}task/affinity|" /etc/slurm/slurm.conf
    rm -f /etc/slurm/plugstack.conf
}

# masks LINE…: what the tasks of an srun have, as the kernel says; nothing if it fails, which its caller says.
masks() {
    timeout "$((4 * patience))" srun "$@" grep -h Cpus_allowed_list /proc/self/status 2>> "$log" | awk '{ print $2 }' | sort -V | tr '\n' ' ' || true
}

# planned LINE…: what `berth plan` says of them on the whole node.
planned() { berth plan --cores all "$@" --format cpus 2>> "$log" | sort -V | tr '\n' ' ' || true; }
