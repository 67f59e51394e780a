# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # Used by the scripts that source this; they have set $root.
# What every package says of itself: the deb, the rpm and the tarball are made from these lines.

product=berth
# Another tree's package is made by these scripts too: packaging/previous.
source_tree=${BERTH_SOURCE_TREE:-$root}
version=${BERTH_PACKAGE_VERSION:-$(sed -n 's/^version = "\(.*\)"/\1/p' "$source_tree/Cargo.toml")}
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

# for_processor x86_64|aarch64: each family's name of it, and where slurmds look for plugins: Debian's and Ubuntu's
# own; those built with SchedMD's spec file, on Enterprise Linux and SUSE. after-installation.in warns of others.
for_processor() {
    processor=$1
    case $processor in
        x86_64) deb_arch=amd64 loader=ld-linux-x86-64.so.2 ;;
        aarch64) deb_arch=arm64 loader=ld-linux-aarch64.so.1 ;;
        *) die "no package is made for the processor '$processor': x86_64 or aarch64" ;;
    esac
    target=$processor-unknown-linux-gnu
    deb_plugindir=/usr/lib/$processor-linux-gnu/slurm-wlm
    rpm_plugindir=/usr/lib64/slurm
    deb=${product}_$version-${revision}_$deb_arch.deb
    rpm=$product-$version-$revision.$processor.rpm
    tarball=$product-$version-$processor
}
