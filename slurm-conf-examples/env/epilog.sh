#!/bin/bash
# Epilog=: tidies up what the job had on this node. slurmctld no longer tells which GPUs these were;
# berth has kept it.
berth=/usr/bin/berth

statements=$("$berth" env --mode epilog --only) || {
    echo "no facts about job $SLURM_JOB_ID" >&2
    exit 0
}
eval "$statements"

# Your own steps come here, such as:
for index in $BERTH_EPILOG_GPU; do
    echo "job $BERTH_EPILOG_JOB_ID had GPU $index"
done
exit 0
