#!/bin/sh
# HealthCheckProgram: does berth work on this node? slurmd runs it as root and gives it no argument:
#   HealthCheckProgram=/usr/share/berth/monitoring/health-check.sh
#   HealthCheckInterval=300
# It reports to the system's log. Tasks of a node that fails run, without placement; so it drains the node only if
# "drain" is its argument, and then only where no task is placed (berth doctor --placement) by a slurmd that has berth
# loaded: not for a wrong line in a file of the site or for what a single job met, neither on the way in nor on the way back,
# and not where the command is missing or hangs. BERTH_COLLECTOR=DIRECTORY makes it write the result for node_exporter's textfile collector too.
# Either takes a script of your own that calls this one. A configless slurmd gets slurm.conf from slurmctld, but not this file.
# slurmd hands on its own PATH, if that; add the folders of berth and of Slurm's commands where they are others.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
# A host's name need not be the node's name in slurm.conf.
node=${SLURMD_NODENAME:-$(hostname -s)}
# Of this node alone: the folder of another one (a slurmd that is stopped, a name that is gone) says nothing about it.
found=$(timeout 20 berth doctor --quiet ${SLURMD_NODENAME:+--node "$SLURMD_NODENAME"} 2>&1)
code=$?
if [ -n "$BERTH_COLLECTOR" ]; then
    # The collector reads *.prom; the rename is at once. With several slurmds on a host each one writes its own file.
    new=$BERTH_COLLECTOR/$node-berth-doctor.$$
    {
        echo '# HELP berth_doctor_ok Whether berth doctor found nothing wrong.'
        echo '# TYPE berth_doctor_ok gauge'
        echo "berth_doctor_ok{node=\"$node\"} $((code == 0))"
    } > "$new" && chmod 0644 "$new" && mv -f "$new" "$BERTH_COLLECTOR/$node-berth-doctor.prom"
fi
[ $code -ne 0 ] || exit 0
# A doctor that hangs says nothing.
[ $code -ne 124 ] || found="${found:+$found; }berth doctor did not end within 20 s"
[ $code -ne 127 ] || found="the command berth was not found in PATH=$PATH"
[ -n "$found" ] || found="berth doctor ended with code $code and said nothing"
report() {
    printf '%s\n' "$1"
    logger -t berth "$1" 2> /dev/null
}
report "$found"

# Whether a slurmd of this machine has berth: only then do new steps depend on it. An upgraded program is "(deleted)", and
# Debian calls it slurmd-wlm.
slurmd_has_it() {
    for exe in /proc/[0-9]*/exe; do
        case $(readlink "$exe" 2> /dev/null) in
            */slurmd | */slurmd-* | */slurmd\ *) ! grep -qs '/task_berth\.so' "${exe%/exe}/maps" || return 0 ;;
        esac
    done
    return 1
}
# Code 1 alone: a doctor that hangs, or an older one, says nothing.
nothing_is_placed() {
    timeout 20 berth doctor --quiet --placement ${SLURMD_NODENAME:+--node "$SLURMD_NODENAME"} > /dev/null 2>&1
    [ $? -eq 1 ]
}
if [ "$1" = drain ] && [ $code -eq 1 ] && slurmd_has_it && nothing_is_placed; then
    # Whoever has drained the node before has had a reason, which stays.
    if ! command -v scontrol > /dev/null; then
        report "the node was not drained: the command scontrol was not found in PATH=$PATH"
    elif ! timeout 20 scontrol show node "$node" 2> /dev/null | grep -q 'State=[^ ]*DRAIN'; then
        scontrol update "nodename=$node" state=drain reason='berth doctor fails'
    fi
fi
exit 1
