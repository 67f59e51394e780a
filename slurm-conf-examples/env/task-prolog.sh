#!/bin/sh
# TaskProlog=: each task finds this host's facts in its environment, such as BERTH_RESOURCE_MEMLIMIT.
# It runs once for each task, and each run asks slurmctld.
/usr/bin/berth env --only --format taskprolog
exit 0
