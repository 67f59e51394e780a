# shellcheck shell=bash
# shellcheck disable=SC2154 # $root comes from lib.sh.
# Makes the parts of a virtual machine: the tools, a suite's image, the kernel. ci/vm sources this file.

# Outside the tree: made once, used by every run.
cache=${BERTH_VM_CACHE:-/var/cache/berth-vm}
suites='bookworm trixie sid'
# Raised when what goes into an image changes.
image_version=3

vm_packages=(qemu-system-x86 mmdebstrap busybox-static cpio e2fsprogs xz-utils)
# What a guest has; nothing of Rust: it runs what the host built.
guest_packages=slurmctld,slurmd,slurm-client,slurmdbd,mariadb-server,munge,hwloc-nox,numactl,iproute2,procps,openmpi-bin,mpich
# What one with systemd as process 1 has: a node of a cluster, and no launchers of MPI.
systemd_packages=slurmctld,slurmd,slurm-client,munge,hwloc-nox,iproute2,procps,systemd-sysv,dbus

known_suite() {
    case " $suites " in
        *" $1 "*) ;;
        *) die "there are images of $suites, not of '$1'" ;;
    esac
}

tool_missing() {
    local tool
    for tool in qemu-system-x86_64 mmdebstrap busybox cpio mkfs.ext4 xz perl; do
        command -v "$tool" > /dev/null || { printf '%s\n' "$tool"; return; }
    done
}

have_tools() {
    local tool
    tool=$(tool_missing)
    [ -z "$tool" ] || die "the program $tool is not installed. Run: ci/vm setup"
}

install_tools() {
    [ -n "$(tool_missing)" ] || return 0
    need_root 'Installing packages'
    say "installing ${vm_packages[*]}"
    local log
    log=$(mktemp)
    # A new machine has no package lists yet; old ones are better than none.
    apt-get update > "$log" 2>&1 || say "going on with the package lists that are here"
    if ! DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "${vm_packages[@]}" > "$log" 2>&1; then
        cat "$log" >&2
        rm -f -- "$log"
        die "the packages of the virtual machines could not be installed (above). Is the network there, and are the package lists new (apt-get update)?"
    fi
    rm -f -- "$log"
}

# The mirror that this machine's package manager uses; one that serves the suites' pools.
mirror() {
    local uri
    # shellcheck disable=SC2016 # apt-get's own names
    uri=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(RELEASE)' 'Created-By: Packages' \
        | awk '$2 == "Debian" && $3 !~ /security/ { print $1; exit }')
    [ -n "$uri" ] || die "the package manager here knows no mirror of Debian, so no image can be made"
    printf '%s\n' "$uri"
}

# make_image SUITE [NAME]: a suite's root as an ext4 file; guests write to memory above it, so many can share it.
# NAME is SUITE or SUITE-systemd.
make_image() (
    suite=$1 name=${2:-$1} options=() packages=$guest_packages
    image=$cache/$name.ext4
    [ "$name" = "$suite" ] || packages=$systemd_packages
    have_image() { [ "$(cat "$cache/$name.version" 2> /dev/null)" = $image_version ] && [ -e "$image" ]; }
    ! have_image || return 0
    one_maker
    ! have_image || return 0
    say "making the image $name (about a minute; kept in $cache)"
    # A mirror may be behind with the newest suite: its date is not checked, its signature is.
    [ "$suite" != sid ] || options=(--aptopt='Acquire::Check-Valid-Until "false"')
    if ! mmdebstrap --variant=minbase --include="$packages" "${options[@]}" \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' --format=directory \
        "$suite" "$making/root" "$(mirror)" > "$making/log" 2>&1; then
        tail -n 20 "$making/log" >&2
        die "no image of $suite: its packages could not be fetched (above). Offline? An image made elsewhere can be put at $image, with $image_version in $cache/$name.version"
    fi
    line=$(chroot "$making/root" slurmd -V | sed -E 's/^[^0-9]*//')
    mkfs.ext4 -q -d "$making/root" -m 0 -O ^has_journal "$making/image" 2000M > "$making/log" 2>&1 ||
        { cat "$making/log" >&2; die "no image of $suite: its file system could not be made (above)"; }
    mv -- "$making/image" "$image"
    printf '%s\n' "$line" > "$cache/$name.slurm"
    printf '%s\n' $image_version > "$cache/$name.version"
)

# One at a time makes what all share; what it leaves half made goes with it.
one_maker() {
    need_root 'Making an image'
    mkdir -p "$cache"
    exec 9> "$cache/lock"
    flock 9
    making=$(mktemp -d "$cache/making-XXXXXX")
    trap 'rm -rf -- "$making"' EXIT
}

# Sets kernel_home: where the kernel is that boots, the common one or the suite's own.
choose_kernel() {
    case $1 in
        common) kernel_home=$cache ;;
        own) kernel_home=$cache/$2-kernel ;;
        *) die "--kernel is common or own, and was '$1'" ;;
    esac
}

# A kernel, and what it needs before the image is there: the generic one, as the cloud kernel has no 9p.
# The common one is this machine's own release's.
make_kernel() (
    have_kernel() {
        [ -e "$kernel_home/vmlinux" ] && [ -e "$kernel_home/initramfs.cpio" ] &&
            [ ! "$root/ci/vm-init" -nt "$kernel_home/initramfs.cpio" ] && [ ! "$root/ci/vm-image.sh" -nt "$kernel_home/initramfs.cpio" ]
    }
    ! have_kernel || return 0
    one_maker
    ! have_kernel || return 0
    if [ ! -e "$kernel_home/vmlinux" ]; then
        # The release whose package lists are asked: this machine's, or the suite's.
        lists=()
        [ "$kernel_home" = "$cache" ] || lists_of "$1"
        package=$(apt-cache "${lists[@]}" depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-\(image\|binary\)-[0-9].*\)/\1/p' | head -n 1)
        [ -n "$package" ] || die "the package lists name no kernel"
        say "fetching the kernel $package"
        # Newer releases have the kernel and its modules in packages of their own.
        mapfile -t parts < <(apt-cache "${lists[@]}" depends "$package" | sed -n 's/^ *Depends: \(linux-\(binary\|modules\)-[0-9].*\)/\1/p')
        (cd "$making" && apt-get "${lists[@]}" download "$package" "${parts[@]}" > log 2>&1) || { cat "$making/log" >&2; die "the kernel's package could not be fetched (above)"; }
        rm -rf -- "$kernel_home/kernel"
        mkdir -p "$making/files" "$kernel_home/kernel/lib"
        for package in "$making"/*.deb; do dpkg-deb --extract "$package" "$making/files"; done
        mv -- "$(find "$making/files" -type d -path '*lib/modules')" "$kernel_home/kernel/lib/modules"
        unpacked_kernel "$(find "$making/files" "$kernel_home/kernel" -name 'vmlinuz*' -print -quit)" > "$making/vmlinux"
        mv -- "$making/vmlinux" "$kernel_home/vmlinux"
    fi
    release=$(basename -- "$kernel_home"/kernel/lib/modules/*)
    make_initramfs "$making" "$release"
)

# Sets lists: options that make apt use the package lists of a suite alone, kept in $making.
lists_of() {
    mkdir -p "$making/lists/partial" "$making/archives/partial"
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$(mirror)" "$1" > "$making/sources.list"
    lists=(-o "Dir::Etc::sourcelist=$making/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::Lists=$making/lists"
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root)
    apt-get -qq "${lists[@]}" update > "$making/log" 2>&1 || { cat "$making/log" >&2; die "the package lists of $1 could not be fetched (above)"; }
}

# Unpacked, the kernel is entered directly and starts three seconds earlier.
# What follows the stream is not read, so the writer of the pipe may break off.
unpacked_kernel() (
    set +o pipefail
    offset=$(perl -e 'local $/; binmode STDIN; print index(<STDIN>, "\xfd7zXZ\0")' < "$1")
    # Packed in another way, it unpacks itself.
    if [ "$offset" -lt 0 ]; then exec cat -- "$1"; fi
    tail -c +$((offset + 1)) "$1" | xz -dc --single-stream
)

# In the order of their loading.
boot_modules=(crc32c_generic virtio_pci virtio_blk virtio_net 9p 9pnet_virtio ext4 overlay)

make_initramfs() {
    local dir=$1/initramfs modules=$kernel_home/kernel/lib/modules/$2 module file
    mkdir -p "$dir"/{bin,modules,proc,sys,dev,image,memory,new}
    cp -- "$(command -v busybox)" "$dir/bin/busybox"
    cp -- "$root/ci/vm-init" "$dir/init"
    chmod 0755 "$dir/init"
    # Later kernels have them packed, which the machine's insmod does not read.
    find "$modules" -name '*.ko.xz' -exec xz -dk {} + 2> /dev/null || true
    find "$modules" -name '*.ko.xz' -delete
    depmod -b "$kernel_home/kernel" "$2" 2> /dev/null || busybox depmod -b "$kernel_home/kernel" "$2"
    : > "$dir/modules/order"
    for module in "${boot_modules[@]}"; do
        # A line of modules.dep names a module and then what it needs, nearest first.
        while read -r file; do
            [ ! -e "$dir/modules/$(basename -- "$file")" ] || continue
            cp -- "$modules/$file" "$dir/modules/"
            basename -- "$file" >> "$dir/modules/order"
        done < <(sed -n "s|^\(.*/$module\.ko[^:]*\):\(.*\)|\2 \1|p" "$modules/modules.dep" |
            awk '{ for (i = NF - 1; i > 0; i--) print $i; print $NF }')
    done
    (cd "$dir" && find . | cpio -o -H newc --quiet) > "$1/initramfs.cpio"
    mv -- "$1/initramfs.cpio" "$kernel_home/initramfs.cpio"
}
