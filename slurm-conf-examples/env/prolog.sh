#!/bin/bash
# Prolog=: logs what a job gets on this node, and keeps slurmctld's answer for the epilog.
# Prologs have no PATH. A prolog that fails drains its node, so a missing answer is only logged.
berth=/usr/bin/berth

statements=$("$berth" env --mode prolog --only) || {
    echo "no facts about job $SLURM_JOB_ID" >&2
    exit 0
}
# Prints lines for the log, and sets the variables.
eval "$statements"

# Your own steps come here, such as:
for index in $BERTH_PROLOG_GPU; do
    echo "job $BERTH_PROLOG_JOB_ID gets GPU $index"
done
exit 0
