//! Facts of configurations.

use berth_placement::controller::select::{Specialised, Unit};

use super::*;

fn read(text: &str) -> Result<Config, ConfError> {
    Config::read("slurm.conf", text, &mut |_| Err("no files here".into()))
}

fn chosen(text: &str) -> Chosen {
    read(text).unwrap().choose(None, SlurmLine::V22_05).unwrap()
}

const MAIN: &str = "PartitionName=main Nodes=ALL Default=YES";

/// Each node as `name sockets:cores:threads=cpus`.
fn shapes(nodes: &str) -> String {
    let found = chosen(&format!("{nodes}\n{MAIN}"));
    let shape = |node: &ClusterNode| {
        let (sockets, cores) = (node.sockets, node.cores_per_socket);
        format!(
            "{} {sockets}:{cores}:{}={}",
            node.name, node.threads_per_core, node.cpus
        )
    };
    found
        .cluster
        .nodes
        .iter()
        .map(shape)
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn shapes_of_nodes() {
    for (nodes, found) in [
        (
            "NodeName=a[1-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2",
            "a1 2:4:2=16; a2 2:4:2=16",
        ),
        (
            "NodeName=a CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2",
            "a 2:4:2=8",
        ),
        ("NodeName=a Procs=16", "a 16:1:1=16"),
        (
            "NodeName=a CPUs=32 CoresPerSocket=8 ThreadsPerCore=2",
            "a 2:8:2=32",
        ),
        (
            "NodeName=a Boards=2 SocketsPerBoard=2 CoresPerSocket=2",
            "a 4:2:1=8",
        ),
        ("NodeName=a CPUs=7 Sockets=2 CoresPerSocket=4", "a 2:4:1=8"),
        (
            "NodeName=DEFAULT Sockets=2\nNodeName=DEFAULT CoresPerSocket=3\nnodename=a\nNODENAME=b SOCKETS=1",
            "a 2:3:1=6; b 1:3:1=3",
        ),
        (
            "NodeName=a\nNodeName=b State=DOWN\nNodeName=c State=FUTURE\nNodeName=d State=CLOUD",
            "a 1:1:1=1; d 1:1:1=1",
        ),
        (
            "DownNodes=a2 State=DRAIN Reason=\"a b\"\nDownNodes=a[1,3]\nDownNodes=a4 State=UNKNOWN\nNodeName=a[1-4]",
            "a4 1:1:1=1",
        ),
    ] {
        assert_eq!(shapes(nodes), found, "{nodes}");
    }
}

#[test]
fn partitions_and_words() {
    let text = "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory,CR_LLN\n\
        AllowSpecResourcesUsage=yes\nDefMemPerCPU=100\nTaskPlugin=task/cgroup,task/berth\n\
        NodeName=n[1-4] CPUs=4 RealMemory=1000 MemSpecLimit=100 CoreSpecCount=1 Feature=fast,x\n\
        NodeSet=quick Feature=fast\nPartitionName=DEFAULT OverSubscribe=FORCE MaxNodes=3\n\
        PartitionName=few Nodes=n[2-3] ExclusiveUser=yes SelectTypeParameters=CR_Socket LLN=yes\n\
        PartitionName=all Nodes=quick Default=YES OverSubscribe=yes:1 MaxNodes=UNLIMITED DefMemPerNode=7\n";
    let config = read(text).unwrap();
    let few = config.choose(Some("few"), SlurmLine::V22_05).unwrap();
    let names: Vec<_> = few
        .cluster
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .collect();
    assert_eq!(names, ["n2", "n3"]);
    assert_eq!(
        (few.cluster.select.unit, few.cluster.select.memory),
        (Unit::Socket, false)
    );
    assert!(!few.cluster.partition.whole_nodes);
    assert_eq!(
        few.cluster.partition.default_memory,
        Some(Memory::PerCpu(100))
    );
    assert_eq!(few.cluster.partition.max_nodes, Some(3));
    let all = config.choose(None, SlurmLine::V22_05).unwrap();
    assert_eq!(few.unmodelled, ["exclusiveuser=yes"]);
    assert_eq!((all.cluster.nodes.len(), all.unmodelled.len()), (4, 0));
    assert_eq!(all.cluster.nodes[0].memory, 900);
    assert_eq!(all.cluster.nodes[0].specialised, Specialised::Count(1));
    let select = all.cluster.select;
    assert!(select.memory && select.allow_spec_usage);
    assert_eq!(select.unit, Unit::Cpu);
    assert!(!all.cluster.partition.whole_nodes);
    assert_eq!(
        all.cluster.partition.default_memory,
        Some(Memory::PerNode(7))
    );
    assert_eq!(
        config.task_plugin.as_deref(),
        Some("task/cgroup,task/berth")
    );
}

#[test]
fn defaults_of_a_release() {
    let config = read(&format!("NodeName=a\n{MAIN}")).unwrap();
    let of = |line| config.choose(None, line).unwrap().cluster.select;
    assert_eq!(of(SlurmLine::V22_05).unit, Unit::Node);
    assert_eq!(
        (of(SlurmLine::V24_11).unit, of(SlurmLine::V24_11).memory),
        (Unit::Core, true)
    );
}

#[test]
fn what_slurmd_counts_and_what_its_cgroups_have() {
    let of = |conf: &str, cgroup: &str| {
        let mut config = read(&format!("NodeName=a\n{conf}\n{MAIN}")).unwrap();
        config.add_cgroup_conf("cgroup.conf", cgroup).unwrap();
        (config.allows_ecores(), config.constrains_cores())
    };
    let yes = "# cores\nConstrainRAMSpace=yes\nConstrainCores = Yes # here\n";
    assert_eq!(of("TaskPlugin=task/berth", yes), (false, false));
    assert_eq!(of("TaskPlugin=task/cgroup,task/berth", yes), (false, true));
    assert_eq!(of("TaskPlugin=cgroup", "ConstrainCores=no"), (false, false));
    assert_eq!(of("TaskPlugin=cgroup", ""), (false, false));
    let both = "SlurmdParameters=l3cache_as_socket,Allow_ECores";
    assert_eq!(of(both, yes), (true, false));
    let config = "TaskPlugin              = cgroup\nSlurmdParameters        = allow_ecores\n\n\
                  Cgroup Support Configuration:\nConstrainCores          = yes\n";
    let nodes = "NodeName=a1 Sockets=1 CoresPerSocket=1 ThreadsPerCore=1 CPUTot=1 State=IDLE\n";
    let shown = Config::shown(
        config,
        nodes,
        "PartitionName=main Nodes=a1 Default=YES State=UP\n",
    );
    let shown = shown.unwrap();
    assert_eq!(
        (shown.allows_ecores(), shown.constrains_cores()),
        (true, true)
    );
}

#[test]
fn a_running_cluster() {
    let config = "Configuration data as of 2026\nSelectType              = select/cons_tres\n\
        SelectTypeParameters    = CR_CORE,CR_LLN\nSLURM_VERSION           = 22.05.8\n\
        DefMemPerNode           = UNLIMITED\n\nSlurmctld(primary) at x is UP\n";
    let nodes = "NodeName=a1 Arch=x86_64 CoresPerSocket=4 CPUAlloc=0 CPUEfctv=7 CPUTot=8 \
        Gres=(null) OS=Linux 6.1 #1 SMP Sockets=2 RealMemory=1000 CoreSpecCount=1 CPUSpecList=14-15 \
        State=MIXED ThreadsPerCore=2 Weight=3 Partitions=main Reason=x State=DOWN Sockets=9\n\
        NodeName=a2 CPUTot=1 State=IDLE* ThreadsPerCore=1\n\
        NodeName=a3 CPUTot=1 State=IDLE+DRAIN ThreadsPerCore=1\n";
    let parts = "PartitionName=main Default=YES MaxNodes=UNLIMITED MinNodes=0 Nodes=a[1-3] \
        OverSubscribe=NO State=UP SelectTypeParameters=NONE LLN=NO MaxCPUsPerNode=UNLIMITED\n";
    let config = Config::shown(config, nodes, parts).unwrap();
    assert_eq!(config.version.as_deref(), Some("22.05.8"));
    let found = config.choose(None, SlurmLine::V22_05).unwrap();
    let [node] = &found.cluster.nodes[..] else {
        panic!("{found:?}");
    };
    assert_eq!(
        (node.sockets, node.cpus, node.weight, node.memory),
        (2, 8, 3, 1000)
    );
    assert_eq!(node.specialised, Specialised::Count(1));
    assert!(found.unmodelled.is_empty());
}

/// Texts, and what is wrong with them.
const WRONG: &[(&str, &str)] = &[
    (
        "\nNodeName=a CPUs=x",
        "slurm.conf:2: cpus=x is no number from 0 to 65535; write one",
    ),
    (
        "NodeName=a Sockets=9999 CoresPerSocket=9999",
        "slurm.conf:1: 99980001 CPUs of one node; berth takes 65536 at most",
    ),
    (
        "NodeName=a,a",
        "slurm.conf:1: the node a stands here a second time",
    ),
    (
        "NodeName=a[1-",
        "slurm.conf:1: \"a[1-\" is not a host list: write names with commas between, ranges in brackets: n[1-4],m7",
    ),
    (
        "NodeName=a CpuSpecList=0,4",
        "slurm.conf:1: CpuSpecList=0,4 is no list of CPUs below 1; write one",
    ),
    (
        "NodeName=a CoreSpecCount=1",
        "slurm.conf:1: CoreSpecCount=1 leaves no core of 1",
    ),
    (
        "PartitionName=a OverSubscribe=x",
        "slurm.conf:1: OverSubscribe=x is none of NO, YES, FORCE, EXCLUSIVE; write one",
    ),
    (
        "NodeName=a[1-99999999]",
        "slurm.conf:1: \"a[1-99999999]\" is not a list of at most 65536 hosts with names of 16384 KiB together: give fewer",
    ),
];

#[test]
fn errors_say_where() {
    for (text, found) in WRONG {
        assert_eq!(read(text).unwrap_err().to_string(), *found);
    }
    let config = read("NodeName=a\nPartitionName=p Nodes=a,b").unwrap();
    let why = |name| {
        config
            .choose(name, SlurmLine::V22_05)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        why(Some("p")),
        "slurm.conf:2: Nodes has b, which is neither a node nor a node set here"
    );
    assert_eq!(
        why(Some("q")),
        "the cluster: there is no partition q; there are: p"
    );
    assert_eq!(
        why(None),
        "the cluster: no partition has Default=YES; give one with -p: p"
    );
}

/// Files of a few megabytes that would take hours or all memory if every list were expanded.
#[test]
fn hostile_files_end_soon() {
    let nodes = "NodeName=n[1-60000]\n";
    let many = |line: &str, count: usize| format!("{nodes}{}", line.repeat(count));
    for (text, found) in [
        (
            many("DownNodes=n[1-60000]\n", 4000),
            "DownNodes has more than",
        ),
        (
            many("NodeSet=s Nodes=n1\n", 5000) + &"x=1\n".repeat(100_000),
            "",
        ),
        (
            many("PartitionName=p Nodes=n1\n", 5000),
            "more than 4096 partitions",
        ),
        (
            (0..300)
                .map(|at| format!("NodeName=DEFAULT k{at}=1\n"))
                .collect(),
            "more than 256 keys",
        ),
        (
            many(
                &format!(
                    "NodeName=DEFAULT Feature={}\nNodeName=a\n",
                    "x".repeat(100_000)
                ),
                2,
            ),
            "a second time",
        ),
    ] {
        match read(&text) {
            Ok(_) => assert_eq!(found, ""),
            Err(why) => assert!(why.why.contains(found) && !found.is_empty(), "{why}"),
        }
    }
    let sets: String = (0..4000)
        .map(|at| format!("NodeSet=s{at} Nodes=n[1-60000]\n"))
        .collect();
    let all = format!("{nodes}{sets}PartitionName=p Nodes=s[0-3999] Default=YES\n");
    let why = read(&all)
        .unwrap()
        .choose(None, SlurmLine::V22_05)
        .unwrap_err();
    assert!(why.why.contains("more names than berth takes"), "{why}");
}

proptest::proptest! {
    #![proptest_config(crate::random::config(256))]

    /// Whatever the file holds, it is read or refused.
    #[test]
    fn any_text_is_read(text in "((NodeName|PartitionName|Include|NodeSet|CPUs|Nodes)[ =]{1,2}[a-z0-9,\\[\\]\\\\#\"-]{0,6}[ \n]){0,8}") {
        if let Ok(config) = read(&text) {
            let _ = config.choose(None, SlurmLine::V26_05);
        }
        let _ = Config::shown(&text, &text, &text);
    }
}

#[test]
fn how_many_jobs_of_a_partition_share_a_core() {
    for (words, forced) in [
        ("OverSubscribe=FORCE:1", Some(1)),
        ("OverSubscribe=Force", Some(4)),
        ("Shared=FORCE:3", Some(3)),
        ("OverSubscribe=FORCE:0", None),
        ("OverSubscribe=YES:2", None),
        ("", None),
    ] {
        let text = format!("NodeName=a\nPartitionName=p Nodes=a MaxCPUsPerNode=6 {words}\n");
        let config = read(&text).unwrap();
        let found = config.partitions_of("a");
        let [one] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(
            (one.forced, one.max_cpus_per_node),
            (forced, Some(6)),
            "{words}"
        );
    }
}

#[test]
fn what_accounting_enforces() {
    for (words, accounts, qos) in [
        ("none", false, false),
        ("0", false, false),
        ("associations", true, false),
        ("Limits", true, false),
        ("2", true, false),
        ("nojobs", false, false),
        ("associations,limits,qos", true, true),
        ("all", true, true),
    ] {
        let text = format!("AccountingStorageEnforce={words}\n");
        let shown = format!("AccountingStorageEnforce = {words}\n");
        let both = [read(&text), Config::shown(&shown, "", "")];
        for config in both.map(Result::unwrap) {
            let found = (config.checks_accounts(), config.checks_qos());
            assert_eq!(found, (accounts, qos), "{words}");
        }
    }
    let silent = read("").unwrap();
    assert!(!silent.checks_accounts() && !silent.checks_qos());
}
