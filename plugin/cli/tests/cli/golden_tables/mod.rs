//! The requests whose tables are kept in `golden/`.

/// File name, machine, request.
pub const TABLES: &[(&str, &str, &str)] = &[
    // The paper's machine and distributions.
    (
        "paper-block-block",
        "pack:4 core:2 pu:1",
        "-n 8 -B 4:2 -m block:block",
    ),
    (
        "paper-block-cyclic",
        "pack:4 core:2 pu:1",
        "-n 8 -B 4:2 --distribution=block:cyclic",
    ),
    ("paper-one-a-socket", "pack:4 core:2 pu:1", "-n 4 -B 4:1"),
    (
        "paper-plane",
        "pack:4 core:2 pu:1",
        "-n 8 --cpu-bind=cores -m plane=2",
    ),
    // Levels, with hardware threads.
    (
        "threads-cyclic",
        "pack:2 core:4 pu:2",
        "-n 8 --cpu-bind=threads",
    ),
    (
        "threads-block",
        "pack:2 core:4 pu:2",
        "-n 8 --cpu-bind=threads -m block:block",
    ),
    (
        "cores-cyclic",
        "pack:2 core:4 pu:2",
        "-n 4 --cpu-bind=cores",
    ),
    (
        "cores-more-than-cores",
        "pack:2 core:2 pu:2",
        "-n 6 --cpu-bind=cores -m block:block",
    ),
    ("sockets", "pack:2 core:4 pu:2", "-n 2 --cpu-bind=sockets"),
    (
        "ldoms-finer-than-sockets",
        "pack:2 numa:2 core:2 pu:2",
        "-n 4 --cpu-bind=ldoms --mem-bind=local",
    ),
    ("auto-threads", "pack:2 core:2 pu:2", "-n 8"),
    ("auto-cores", "pack:2 core:2 pu:2", "-n 4"),
    ("auto-sockets", "pack:2 core:2 pu:2", "-n 2"),
    ("auto-nothing-fits", "pack:2 core:2 pu:2", "-n 3"),
    // Cores next to devices.
    (
        "near-gpus",
        "../../tests/machines/cts1-pascal.xml",
        "-n 4 --near=gpu --explain",
    ),
    (
        "near-auto",
        "../../tests/machines/cts1-pascal.xml",
        "-n 4 -c 4 --near=gpu --binding=auto --explain",
    ),
    (
        "near-too-small",
        "../../tests/machines/cts1-pascal.xml",
        "-n 40 --near=gpu:1:strict",
    ),
    // Cpusets.
    (
        "cpuset-best-fit",
        "pack:2 numa:2 core:4 pu:2",
        "-n 4 -c 2 --cpuset=CPU_LIST=4-31;MAX_RADIUS=1;NCPUS=12 --explain",
    ),
    (
        "cpuset-whole-nodes",
        "../../tests/topologies/vm-2x4x2-numa4.xml",
        "-n 6 --cpuset=CPUSET_OPTIONS=CPUSET_MEMORY_MANDATORY|CPUSET_CPU_EXCLUSIVE --format tree",
    ),
    (
        "cpuset-first-fit",
        "pack:2 numa:2 core:4 pu:2",
        "-n 4 --cpuset=CPU_LIST=30,6-9;MAX_RADIUS=0 --cpuset-best=off",
    ),
    (
        "cpuset-too-far",
        "pack:2 numa:2 core:4 pu:2",
        "-n 12 --cpuset=MAX_RADIUS=0",
    ),
    // Open MPI's mapping.
    (
        "mapped-l3",
        "pack:2 l3:2 core:4 pu:2",
        "-n 6 --map-by l3cache --bind-to core --explain",
    ),
    (
        "mapped-slots",
        "pack:2 l3:2 core:4 pu:2",
        "-n 4 --map-by slot:pe=3 --format json",
    ),
    (
        "mapped-unbound",
        "pack:1 core:4 pu:2",
        "-n 6 --map-by slot --explain",
    ),
    (
        "mapped-part",
        "pack:2 l3:2 core:4 pu:2",
        "-n 4 --cpus 0,2,4,16-17 --map-by package --bind-to core -c 2",
    ),
    (
        "mapped-refused",
        "pack:2 l3:2 core:4 pu:2",
        "-n 9 --map-by l3cache:pe=3",
    ),
    // An even share for each task.
    (
        "share-three",
        "pack:2 core:4 pu:2",
        "-n 3 --binding=auto --explain --score",
    ),
    (
        "share-caches",
        "pack:2 numa:2 l3:2 core:2 pu:1",
        "-n 6 --binding=auto --score",
    ),
    (
        "share-by-threads",
        "pack:1 core:4 pu:2",
        "-n 6 --binding=auto --explain --score",
    ),
    (
        "share-by-time",
        "pack:1 core:2 pu:2",
        "-n 6 -O --binding=auto --explain",
    ),
    (
        "share-packed",
        "pack:2 core:4 pu:2",
        "-n 3 -c 2 --binding=auto:pack:smt=1",
    ),
    (
        "share-too-small",
        "pack:2 core:4 pu:2",
        "-n 3 -c 5 --binding=auto",
    ),
    // CPUs per task, orders.
    (
        "two-each-block",
        "pack:2 core:4 pu:2",
        "-n 4 -c 2 --cpu-bind=cores -m block:block",
    ),
    (
        "two-each-fcyclic",
        "pack:2 core:4 pu:2",
        "-n 4 -c 2 --cpu-bind=cores -m block:fcyclic",
    ),
    (
        "third-level-cyclic",
        "pack:1 core:4 pu:2",
        "-n 4 --cpu-bind=threads -m block:block:cyclic",
    ),
    (
        "third-level-fcyclic",
        "pack:1 core:4 pu:2",
        "-n 2 -c 4 --cpu-bind=threads -m block:block:fcyclic",
    ),
    (
        "smt4-five-each",
        "pack:1 core:4 pu:4",
        "-n 2 -c 5 --cpu-bind=cores -m block:block",
    ),
    (
        "smt8-one-thread",
        "pack:1 core:4 pu:8",
        "-n 4 --threads-per-core=1 --cpu-bind=cores",
    ),
    (
        "hint-nomultithread",
        "pack:2 core:4 pu:2",
        "-n 4 --hint=nomultithread",
    ),
    (
        "hint-memory-bound",
        "pack:2 core:4 pu:2",
        "-n 2 --hint=memory_bound",
    ),
    (
        "per-socket-limit",
        "pack:2 core:4 pu:1",
        "-n 4 --ntasks-per-socket=2 --cpu-bind=cores -m block:block",
    ),
    // Part of a node, other numberings.
    (
        "part-of-a-node",
        "pack:2 core:4 pu:2",
        "-n 4 --cpu-bind=cores --cores 1-3,6",
    ),
    (
        "cyclic-numbering",
        "pack:2 core:4 pu:2",
        "-n 4 --cpu-bind=cores --numbering cyclic",
    ),
    (
        "threads-last-numbering",
        "pack:2 core:4 pu:2",
        "-n 4 --cpu-bind=cores --numbering threads-last",
    ),
    (
        "numa-as-socket",
        "pack:1 numa:2 core:2 pu:1",
        "-n 4 --cpu-bind=cores --socket numa",
    ),
    // Spelled out.
    (
        "map-wraps",
        "pack:2 core:4 pu:1",
        "-n 4 --cpu-bind=map_cpu:7,0",
    ),
    (
        "masks",
        "pack:2 core:4 pu:1",
        "-n 2 --cpu-bind=mask_cpu:0x81,0x42",
    ),
    (
        "memory-nodes",
        "pack:2 numa:1 core:2 pu:1",
        "-n 2 --cpu-bind=cores --mem-bind=map_mem:1,0",
    ),
    // Grid Engine's.
    (
        "linear-two",
        "pack:2 core:4 pu:1",
        "-n 2 --binding=linear:2",
    ),
    (
        "linear-three-packs",
        "pack:2 core:4 pu:1",
        "-n 2 --binding=linear:3",
    ),
    (
        "linear-host",
        "pack:2 core:4 pu:2",
        "-n 2 --binding=host:linear:2",
    ),
    (
        "linear-does-not-fit",
        "pack:2 core:2 pu:1",
        "-n 4 --binding=linear:4",
    ),
    // Notes and refusals.
    ("shrunk", "pack:1 core:4 pu:1", "-n 2 -c 4 --cpu-bind=cores"),
    (
        "overcommit",
        "pack:1 core:2 pu:1",
        "-n 4 -O --cpu-bind=cores",
    ),
    (
        "refused-too-many",
        "pack:1 core:2 pu:1",
        "-n 4 --cpu-bind=cores",
    ),
    (
        "refused-outside",
        "pack:1 core:4 pu:1",
        "-n 1 --cpu-bind=map_cpu:3 --cores 0-1",
    ),
    (
        "refused-memory",
        "pack:1 numa:1 core:4 pu:1",
        "-n 1 --mem-bind=map_mem:4",
    ),
    (
        "refused-ldom",
        "pack:2 numa:1 core:2 pu:1",
        "-n 1 --cpu-bind=map_ldom:3",
    ),
    // Several nodes.
    (
        "nodes-block",
        "pack:2 core:2 pu:1",
        "-N 2 -n 6 --cpu-bind=cores",
    ),
    (
        "nodes-plane",
        "pack:4 core:2 pu:1",
        "-w n[1-4] -n 32 --cpu-bind=cores -m plane=4",
    ),
    // Other formats.
    (
        "tree-80",
        "pack:2 numa:2 core:4 pu:2",
        "-n 8 -c 2 --cpu-bind=cores --cores 0-11 --format tree --width 80",
    ),
    (
        "tree-200",
        "pack:2 core:64 pu:2",
        "-n 100 --cpu-bind=cores --format tree --width 200",
    ),
    (
        "tree-narrow",
        "pack:2 core:4 pu:2",
        "-n 3 --cpu-bind=sockets --format tree --width 40",
    ),
    (
        "svg",
        "pack:2 numa:1 core:2 pu:2",
        "-n 4 --cpu-bind=threads --format svg",
    ),
    (
        "json",
        "pack:2 numa:1 core:2 pu:2",
        "-N 2 -n 3 --cpu-bind=cores --mem-bind=local --format json",
    ),
    (
        "brackets",
        "pack:2 core:4 pu:2",
        "-n 4 --cpu-bind=cores --format brackets",
    ),
    (
        "rankfile",
        "pack:2 core:4 pu:2",
        "-w n1,n2 -n 4 -c 4 --cpu-bind=cores -m cyclic:block --format rankfile",
    ),
    (
        "rankfile-threads",
        "pack:2 core:4 pu:2",
        "-n 3 --cpu-bind=threads --cores 0-2,7 --format rankfile",
    ),
    // Reasons.
    ("explain-exact", "pack:2 core:4 pu:2", "-n 4 -c 2 --explain"),
    ("explain-no-match", "pack:2 core:4 pu:2", "-n 3 --explain"),
    (
        "explain-list",
        "pack:2 core:2 pu:2",
        "-n 3 --cpu-bind=map_cpu:0,4 --explain",
    ),
    (
        "explain-hint",
        "pack:2 core:4 pu:2",
        "-n 12 --hint=nomultithread --explain",
    ),
    (
        "explain-shared",
        "pack:2 core:2 pu:2",
        "-n 6 --cpu-bind=cores -m block:block --explain",
    ),
    (
        "explain-binding",
        "pack:2 core:4 pu:2",
        "-n 2 --binding=linear:2 --explain",
    ),
];
