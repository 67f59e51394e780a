#!/bin/sh
# Shows berth's counters to node_exporter's textfile collector: link-counters.sh DIRECTORY, as root, after slurmd's start.
# Debian's node_exporter reads /var/lib/prometheus/node-exporter. Only links are made: berth replaces its files as a whole,
# so a link always shows the newest one. A second NodeName of the host has files of its own.
set -eu
directory=${1:?name the directory of the textfile collector}
if ! [ -d "$directory" ]; then
    echo "link-counters.sh: $directory is no directory; name that of the textfile collector" >&2
    exit 1
fi
state=${BERTH_STATE_DIR:-/run/berth}
for file in "$state"/*/berth.prom "$state"/*/berth-pools.prom; do
    node=$(basename "$(dirname "$file")")
    # Pools' counters come with the first pool job.
    [ ! -e "$file" ] || ln -sfn "$file" "$directory/$node-$(basename "$file")"
done
