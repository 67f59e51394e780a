# shellcheck shell=bash
# shellcheck disable=SC2154 # the options of "run" are set by ci/vm, which sources this.
# A virtual machine's shape, and its one run. Sourced by ci/vm.

# Sets sockets, cores, threads, numa and apic_ids (in the order of the kernel's CPU numbers).
read_machine() {
    local word
    sockets='' cores='' threads=''
    for word in ${1//,/ }; do
        case $word in
            sockets=*) sockets=${word#*=} ;;
            cores=*) cores=${word#*=} ;;
            threads=*) threads=${word#*=} ;;
            *) die "--machine is sockets=S,cores=C,threads=T, and '$word' is none of these" ;;
        esac
    done
    for word in "$sockets" "$cores" "$threads" "${3:-1}"; do
        [[ $word =~ ^[1-9][0-9]{0,2}$ ]] || die "--machine $1 --numa ${3:-1}: '$word' is not a number from 1 to 999"
    done
    cpus=$((sockets * cores * threads))
    numa=${3:-$sockets}
    [ $((sockets * cores % numa)) -eq 0 ] || die "$((sockets * cores)) cores cannot be dealt out to $numa NUMA nodes evenly"
    local thread_bits core_bits
    thread_bits=$(bits "$threads")
    core_bits=$(bits "$cores")
    # Emulation has no x2APIC: an id is a byte, and the last one means everybody.
    [ $((((sockets - 1) << (core_bits + thread_bits)) + ((cores - 1) << thread_bits) + threads - 1)) -le 254 ] ||
        die "$1 needs APIC ids above 254; each level takes a whole number of bits"
    apic_ids=()
    local s c t
    case $2 in
        block) for ((s = 0; s < sockets; s++)); do for ((c = 0; c < cores; c++)); do for ((t = 0; t < threads; t++)); do apic; done; done; done ;;
        cyclic) for ((t = 0; t < threads; t++)); do for ((c = 0; c < cores; c++)); do for ((s = 0; s < sockets; s++)); do apic; done; done; done ;;
        threads-last) for ((t = 0; t < threads; t++)); do for ((s = 0; s < sockets; s++)); do for ((c = 0; c < cores; c++)); do apic; done; done; done ;;
        pairs)
            # With the odd numbers offline there are gaps: 0 and 16 are a core, 2 and 18 one of the other socket.
            [ $((threads % 2)) -eq 0 ] || die "--numbering pairs needs an even number of threads a core, not $threads"
            local pair
            for ((pair = 0; pair < threads / 2; pair++)); do for ((c = 0; c < cores; c++)); do for ((s = 0; s < sockets; s++)); do
                t=$pair; apic; t=$((pair + threads / 2)); apic
            done; done; done ;;
        *) die "--numbering is block, cyclic, threads-last or pairs, not '$2'" ;;
    esac
}

apic() { apic_ids+=($(((s << (core_bits + thread_bits)) + (c << thread_bits) + t))); }

# How many bits number so many things.
bits() {
    local count=0
    while [ $((1 << count)) -lt "$1" ]; do count=$((count + 1)); done
    printf '%s\n' $count
}

# 2-3,7 as 2 3 7.
each_cpu() {
    local part
    for part in ${1//,/ }; do
        [[ $part =~ ^[0-9]+(-[0-9]+)?$ ]] || die "--offline $1: '$part' is neither a CPU nor a range"
        seq -s ' ' "${part%-*}" "${part#*-}"
    done | paste -sd ' '
}

# NUMA nodes: memory in equal parts, cores dealt out in order.
numa_arguments() {
    local node core per=$((sockets * cores / numa)) part=$((memory / numa))
    for ((node = 0; node < numa; node++)); do
        printf '%s\n' -object "memory-backend-ram,id=m$node,size=${part}M" -numa "node,nodeid=$node,memdev=m$node"
    done
    for ((core = 0; core < sockets * cores; core++)); do
        printf '%s\n' -numa "cpu,node-id=$((core / per)),socket-id=$((core / cores)),core-id=$((core % cores))"
    done
}

# A network card: the end of a cable between two machines, or without --cable one that leads nowhere.
# Launchers take a node without any for one that has lost its network.
cable_arguments() {
    case $cable in
        '') printf '%s\n' -netdev hubport,id=cable,hubid=0 ;;
        listen=*) printf '%s\n' -netdev "stream,id=cable,server=on,addr.type=unix,addr.path=${cable#*=}" ;;
        connect=*) printf '%s\n' -netdev "stream,id=cable,server=off,addr.type=unix,addr.path=${cable#*=}" ;;
        *) die "--cable is listen=SOCKET or connect=SOCKET, and was '$cable'" ;;
    esac
    printf '%s\n' -device "virtio-net-pci,netdev=cable,romfile=,mac=52:54:00:00:00:$([[ $cable == listen=* ]] && echo 01 || echo 02)"
}

# Hardware acceleration where it is the processor's own: a /dev/kvm of another kind interprets
# a whole kernel and never gets anywhere. Emulated CPUs share one thread: on a few cores, threads
# of their own wait for each other, and two machines at once are the better use. But each then has its turn
# of a tenth of a second: where all are busy, whatever goes from CPU to CPU takes seconds (--parallel).
accelerator() {
    if [ -w /dev/kvm ] && { [ -d /sys/module/kvm_intel ] || [ -d /sys/module/kvm_amd ]; }; then
        printf '%s\n' -accel kvm
    else
        printf '%s\n' -accel "tcg,thread=$([ "$parallel" = yes ] && echo multi || echo single)"
    fi
}

# boot COMMAND…: its output is ours, and so is its exit code.
boot() {
    local here object berth code ended=0 pid reader arguments=() disks=() other words=''
    # The kernel's command line is parted at blanks, and qemu's options at commas.
    [[ $root != *[[:space:],]* ]] || die "guests cannot see this tree, because its path has a blank or a comma: $root"
    here=$(mktemp -d)
    # shellcheck disable=SC2064 # now, not later
    trap "stop_machine '$here'" EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    mkdir "$here/exchange"
    memory=${memory:-$((1024 + 8 * cpus))}
    memory=$((memory / numa * numa))
    object=${BERTH_OBJECT:-$built/libtask_berth.so}
    berth=${BERTH_COMMAND:-$built/berth}
    {
        printf 'want_apic_ids=%q\noffline=%q\n' "${apic_ids[*]}" "$(each_cpu "$offline")"
        printf 'tree=%q\nnodes=%q\nobject=%q\nberth=%q\ncable=%q\nsystemd=%q\nothers=%q\n' "$root" "$nodes" "$object" "$berth" "$cable" "$systemd" "${others[*]}"
        printf 'command=(%s)\n' "$(printf '%q ' "$@")"
    } > "$here/exchange/settings"
    : > "$here/exchange/output"
    perl "$root/ci/vm-madt" "${apic_ids[@]}" > "$here/madt"
    mkdir -p "$here/early/kernel/firmware/acpi"
    mv -- "$here/madt" "$here/early/kernel/firmware/acpi/APIC.aml"
    (cd "$here/early" && find kernel | cpio -o -H newc --quiet) > "$here/initrd"
    cat "$kernel_home/initramfs.cpio" >> "$here/initrd"
    mapfile -t arguments < <(accelerator; numa_arguments; cable_arguments)
    # Else the kernel changes its own code at a moment when emulated CPUs on other threads run it.
    [ "$parallel" = no ] || words=tsc=unstable
    for other in "${others[@]}"; do disks+=(-drive "file=$cache/$other.ext4,if=virtio,format=raw,readonly=on"); done
    start_machine
    # Once in a few times a kernel does not survive what its emulated CPUs on threads of their own do while it boots.
    for _ in 1 2; do
        if [ "$parallel" = no ] || comes_up; then break; fi
        say "the machine did not come up, and is started again; its console ended with: $(tail -n 1 "$here/console")"
        kill "$pid" 2> /dev/null || true
        wait "$pid" || true
        start_machine
    done
    # The reader ends when the machine does, having read all.
    tail -c +1 -f --pid="$pid" --sleep-interval=0.1 "$here/exchange/output" 2> /dev/null &
    reader=$!
    wait "$pid" || ended=$?
    wait "$reader" || true
    [ -z "$keep" ] || keep_files "$here"
    [ $ended -ne 124 ] || { tail -n 20 "$here/console" >&2; die "the machine was given up after $seconds seconds (--seconds)"; }
    code=$(cat "$here/exchange/exit" 2> /dev/null || true)
    if [ -z "$code" ]; then
        cat "$here/qemu" >&2
        tail -n 30 "$here/console" >&2
        die "the machine ended before its command did (its console is above)"
    fi
    exit "$code"
}

# Starts the emulator with what boot has made, and sets pid.
start_machine() {
    # Programs always at the same addresses: what was translated for one run serves the next.
    timeout --kill-after=10 "$seconds" qemu-system-x86_64 -M pc -cpu max,vendor=GenuineIntel "${arguments[@]}" \
        -smp "$cpus,sockets=$sockets,cores=$cores,threads=$threads" -m "${memory}M" \
        -nodefaults -display none -no-reboot -serial "file:$here/console" \
        -kernel "$kernel_home/vmlinux" -initrd "$here/initrd" \
        -append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr norandmaps nowatchdog transparent_hugepage=never random.trust_cpu=on $words berth.root=$root" \
        -drive "file=$cache/$image.ext4,if=virtio,format=raw,readonly=on" \
        "${disks[@]}" -fsdev "local,id=tree,path=$root,security_model=none,readonly=on" -device virtio-9p-pci,fsdev=tree,mount_tag=tree \
        -fsdev "local,id=exchange,path=$here/exchange,security_model=none" -device virtio-9p-pci,fsdev=exchange,mount_tag=exchange \
        > "$here/qemu" 2>&1 &
    pid=$!
    printf '%s\n' "$pid" > "$here/pid"
}

# Whether the machine has read what it is to do: its first program leaves a file then.
comes_up() {
    local second
    for ((second = 0; second < 120; second++)); do
        [ ! -e "$here/exchange/busybox" ] || return 0
        kill -0 "$pid" 2> /dev/null || return 1
        sleep 1
    done
    return 1
}

keep_files() {
    mkdir -p "$keep"
    cp -- "$1/console" "$1/qemu" "$keep/"
    cp -r -- "$1/exchange/out/." "$keep/" 2> /dev/null || true
}

stop_machine() {
    local pid
    pid=$(cat "$1/pid" 2> /dev/null || true)
    [ -z "$pid" ] || kill "$pid" 2> /dev/null || true
    rm -rf -- "$1"
}
