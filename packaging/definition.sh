# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # Used by the scripts that source this; they have set $root.
# What every package says of itself: the deb, the rpm and the tarball are made from these lines.

product=berth
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
# Raised when the same version is packaged again.
revision=1
summary='CPU and memory binding for Slurm: task plugin, SPANK plugin and command'
description='berth decides which CPUs and memory each task of a Slurm job step gets, from the
real topology of the node, and binds the tasks at launch. It understands the
options of srun, of Grid Engine, of LSF and of Open MPI. The command berth
answers what a step would get, and why.'
license=GPL-2.0-or-later
# Who answers for a package: whoever builds it says so.
maintainer=${BERTH_PACKAGER:-"Who built it <root@localhost>"}

# The oldest glibc that the object and the command run with.
oldest_glibc=2.28

# Where each family's slurmd looks for plugins: Debian and Ubuntu; Enterprise Linux and SUSE.
deb_plugindir=/usr/lib/x86_64-linux-gnu/slurm-wlm
rpm_plugindir=/usr/lib64/slurm
