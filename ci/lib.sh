# shellcheck shell=bash
# shellcheck disable=SC2034 # Used by the scripts that source this.
# Functions shared by the scripts in ci/. Sourced, never run.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
me=ci/$(basename -- "$0")

# Where ci/build leaves what it built.
built=${CARGO_TARGET_DIR:-$root/target}/release

# The tests' own programs, as cargo test and cargo build -p berth-tests leave them.
programs=${CARGO_TARGET_DIR:-$root/target}/debug

# The tarball of the packages has no ci/setup.
setup_helps=''
[ ! -x "$root/ci/setup" ] || setup_helps='. ci/setup installs what is missing here'

# Everything said to the reader goes to stderr; stdout is for results.
say() { printf '%s: %s\n' "$me" "$*" >&2; }
die() { say "error: $*"; exit 1; }

need_root() {
    [ "$(id -u)" -eq 0 ] || die "$1 must run as root; this is user $(id -un). Try: sudo $me"
}

# A daemon's program, by its plain name: newer releases go by the name they are called.
slurm_daemon() {
    local program
    program=$(command -v "$1") || die "the program $1 is not installed$setup_helps"
    case $(readlink -f -- "$program") in
        *emulator*) die "$program is the front-end build of slurm-wlm-emulator, which knows no task plugin. Remove that package: apt-get remove slurm-wlm-emulator" ;;
    esac
    printf '%s\n' "$program"
}

# Where the installed Slurm keeps its own plugins. Its daemons are linked with
# libslurmfull.so, which Slurm's own build and Debian's packages put into the plugin directory.
slurm_stock_plugindir() {
    local lib
    lib=$(ldd "$(slurm_daemon slurmd)" | awk '$1 == "libslurmfull.so" { print $3 }')
    [ -e "$lib" ] || die "slurmd does not say where its libslurmfull.so is, so its plugins were not found. Is Slurm installed here?${setup_helps#.}"
    dirname -- "$lib"
}

# Release line of the installed Slurm as a number: 2205, 2411.
slurm_line() {
    "$(slurm_daemon slurmd)" -V | sed -E 's/^[^0-9]*([0-9]+)\.([0-9]+).*/\1\2/'
}
