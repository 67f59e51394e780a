#!/bin/sh
# Writes berth's metrics for node_exporter's textfile collector: write-metrics.sh DIRECTORY, as root, from cron or a timer:
#   * * * * * root /usr/share/berth/monitoring/write-metrics.sh /var/lib/prometheus/node-exporter
# That directory is Debian's. One file has all node names of the host.
set -eu
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
directory=${1:?name the directory of the textfile collector}
new=$directory/berth.$$
trap 'rm -f "$new"' EXIT
if ! timeout 20 berth status --metrics > "$new"; then
    # What was written before is not the node's state now: without the file an alert tells so.
    rm -f "$directory/berth.prom"
    exit 1
fi
chmod 0644 "$new"
# The collector reads *.prom; the rename is at once.
mv -f "$new" "$directory/berth.prom"
