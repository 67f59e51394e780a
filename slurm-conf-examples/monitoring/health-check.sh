#!/bin/sh
# HealthCheckProgram: does berth work on this node? slurmd runs it as root.
#   HealthCheckProgram=/etc/slurm/health-check.sh
#   HealthCheckInterval=300
# It reports to the system's log. Tasks of a node that fails run, without placement; so it drains the node only if
# "drain" is its argument, which takes a script of your own around it.
PATH=$PATH:/usr/local/bin:/usr/bin:/bin
found=$(timeout 20 berth doctor --quiet 2>&1) && exit 0
printf '%s\n' "$found"
logger -t berth "$found" 2> /dev/null
if [ "$1" = drain ]; then
    scontrol update "nodename=$(hostname -s)" state=drain reason='berth doctor fails'
fi
exit 1
