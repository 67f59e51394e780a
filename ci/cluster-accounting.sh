# shellcheck shell=bash
# shellcheck disable=SC2154 # $dir, $base and the options of "up" are set by ci/cluster, which sources this.
# Slurm's accounting for a cluster of ci/cluster: a MariaDB and a slurmdbd of its own, as sites have them where slurmctld
# compares a user's account and QOS with what he may have.

# The database listens on a socket alone, slurmdbd on the port behind the slurmds'.
have_accounting() {
    local tool
    for tool in slurmdbd mariadbd mariadb-install-db mariadb sacctmgr; do
        command -v "$tool" > /dev/null || die "--accounting needs $tool, which is not installed (Debian's packages slurmdbd, mariadb-server-core and mariadb-client-core)"
    done
    settings+=('AccountingStorageType=accounting_storage/slurmdbd' 'AccountingStorageHost=127.0.0.1'
        "AccountingStoragePort=$((base + nodes + 1))" "AccountingStoragePass=$dir/munge/socket" "AccountingStorageEnforce=$accounting")
}

start_accounting() {
    start_database
    local port=$((base + nodes + 1))
    (umask 0077 && cat > "$dir/etc/slurmdbd.conf") << TEXT
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$port
SlurmUser=root
AuthInfo=socket=$dir/munge/socket
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm
LogFile=$dir/log/slurmdbd.log
PidFile=$dir/run/slurmdbd.pid
TEXT
    # A database on "localhost" is reached by the socket that MYSQL_UNIX_PORT names. The daemon takes no folder as an
    # option, and has it as its name, by which it is found again.
    (
        export MYSQL_UNIX_PORT=$dir/database/socket SLURM_CONF=$dir/etc/slurm.conf
        exec -a "$dir/slurmdbd" slurmdbd >> "$dir/log/slurmdbd.err" 2>&1 < /dev/null
    )
    wait_listening slurmdbd "$port" || return 1
    SLURM_CONF=$dir/etc/slurm.conf sacctmgr -iQ add cluster "berth$base" >> "$dir/log/slurmdbd.err" 2>&1
}

# What sacctmgr changes reaches slurmctld from now on.
wait_registered() {
    wait_until "$1" is_registered && return
    say "slurmctld has not registered with slurmdbd after $1 seconds"
    return 1
}

is_registered() {
    [ "$(SLURM_CONF=$dir/etc/slurm.conf sacctmgr -nP show cluster "berth$base" format=ControlPort 2> /dev/null)" = "$base" ]
}

start_database() {
    local data=$dir/database/data log=$dir/log/mariadbd.log
    local as=(--no-defaults "--datadir=$data" --user=root)
    mkdir -p "$dir/database"
    # A bare system may know no name, not even its own.
    mariadb-install-db "${as[@]}" --force --auth-root-authentication-method=socket --skip-test-db > "$log" 2>&1
    # Nobody needs what it holds after a crash.
    mariadbd "${as[@]}" --socket="$dir/database/socket" --skip-networking --pid-file="$dir/run/mariadbd.pid" \
        --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 --innodb-log-file-size=8M --loose-innodb-snapshot-isolation=OFF >> "$log" 2>&1 < /dev/null &
    disown
    wait_until $((6 * ${BERTH_PATIENCE:-10})) mariadb --no-defaults --socket="$dir/database/socket" -e 'create database if not exists slurm' 2>> "$log" ||
        die "the database did not answer; its log: $log"
}
