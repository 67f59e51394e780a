//! Facts of configurations.

use berth_placement::CpuBind;
use berth_placement::controller::select::{Specialised, Unit};

use super::*;
use crate::facts::or_refused;
use crate::facts_text::hold;

fn read(text: &str) -> Result<Config, ConfError> {
    Config::read("slurm.conf", text, &mut |_| Err("no files here".into()))
}

const MAIN: &str = "PartitionName=main Nodes=ALL Default=YES";

/// Settings before some partitions.
fn partitions(settings: &str) -> Config {
    let text = format!(
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n{settings}\nNodeName=n[1-2] CPUs=4\n\
         PartitionName=plain Nodes=ALL Default=YES\nPartitionName=whole Nodes=ALL OverSubscribe=EXCLUSIVE\n\
         PartitionName=sockets Nodes=ALL SelectTypeParameters=CR_Socket\n\
         PartitionName=memory Nodes=ALL MaxMemPerCPU=1000\n\
         PartitionName=shared Nodes=ALL OverSubscribe=FORCE:2 MaxMemPerCPU=UNLIMITED\n"
    );
    read(&text).unwrap()
}

#[test]
fn facts() {
    hold(include_str!("../facts/conf.txt"), |about, text| {
        let (first, rest) = text.split_once(" | ").unwrap_or((text, ""));
        let name = Some(first).filter(|name| *name != "-");
        match about {
            "lines" => or_refused(lines_of(text)),
            "shared" => {
                let conf = format!("NodeName=a\nPartitionName=p Nodes=a MaxCPUsPerNode=6 {text}\n");
                let config = read(&conf).unwrap();
                let found = config.partitions_of("a").into_iter();
                joined(found.map(|one| format!("{:?} of {:?}", one.forced, one.max_cpus_per_node)))
            }
            "enforced" => {
                let shown = Config::shown(&text.replace('=', " = "), "", "");
                let both = [read(text), shown].map(|config| {
                    let config = config.unwrap();
                    format!("{} {}", config.checks_accounts(), config.checks_qos())
                });
                assert_eq!(both[0], both[1], "{text}");
                both[0].clone()
            }
            "cores" => {
                let mut config = read(&format!("NodeName=a\n{first}\n{MAIN}")).unwrap();
                config.add_cgroup_conf("cgroup.conf", rest).unwrap();
                format!("{} {}", config.allows_ecores(), config.constrains_cores())
            }
            "sockets" => {
                let config = read(&format!("{text}\n{MAIN}\n")).unwrap();
                format!("{} {:?}", config.allows_ecores(), config.socket_kind())
            }
            "bind" => default_bind(text),
            "more" => partitions(rest)
                .may_give_more(name, SlurmLine::V24_11)
                .to_string(),
            "memory" => partitions("").counts_memory(name).to_string(),
            "shapes" => or_refused(nodes(&format!("{text}\n{MAIN}"), None)),
            "names" => or_refused(nodes(text, None)),
            _ => or_refused(nodes(text, about.strip_prefix("names "))),
        }
    });
}

/// The nodes of a partition as `name sockets:cores:threads=cpus`.
fn nodes(conf: &str, partition: Option<&str>) -> Result<String, ConfError> {
    let chosen = read(conf)?.choose(partition, SlurmLine::V22_05)?;
    let shape = |node: &ClusterNode| {
        let (sockets, cores) = (node.sockets, node.cores_per_socket);
        let threads = node.threads_per_core;
        format!("{} {sockets}:{cores}:{threads}={}", node.name, node.cpus)
    };
    Ok(joined(chosen.cluster.nodes.iter().map(shape)))
}

/// The default binding of `PARTITION: NODES`, and who gives it.
fn default_bind(text: &str) -> String {
    let config = read(
        "TaskPluginParam=autobind=threads,cores\n\
         NodeName=DEFAULT Sockets=2 CoresPerSocket=4\nNodeName=a[1-2] CpuBind=Threads\n\
         NodeName=b[1-2]\nNodeName=c1 CpuBind=sockets,v\nNodeName=d1 CpuBind=off\n\
         PartitionName=main Nodes=ALL Default=YES\nPartitionName=ld Nodes=ALL CpuBind=ldoms\n",
    );
    let (partition, nodes) = text.split_once(':').unwrap();
    let partition = Some(partition).filter(|name| *name != "-");
    let config = config.unwrap();
    let found = config.default_bind(partition, nodes.split_whitespace());
    let found = found.unwrap();
    let default = match found.bind == CpuBind::default() {
        true => " (default)",
        false => "",
    };
    format!("{}{default} {:?}", found.bind, found.from)
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("; ")
}

/// The lines of a file, each with its place.
fn lines_of(text: &str) -> Result<String, ConfError> {
    let mut files = |name: &str| match name {
        "more.conf" => Ok("B=2\n".to_string()),
        "self.conf" => Ok("include self.conf".to_string()),
        _ => Err("no such file".into()),
    };
    let mut all = Vec::new();
    text::lines("slurm.conf", text, &mut files, &mut |line| {
        let pairs = line.pairs.iter();
        let pairs = pairs.map(|(key, value)| format!(" {key}={value}"));
        let pairs: String = pairs.collect();
        all.push(format!("{}:{}{pairs}", line.place.file, line.place.line));
        Ok(())
    })?;
    Ok(joined(all.into_iter()))
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
fn what_scontrol_shows() {
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

/// What scontrol shows means the same as what slurm.conf says.
#[test]
fn shown_partitions_and_binds() {
    assert!(Config::default().may_give_more(None, SlurmLine::V24_11));
    let config = "MaxMemPerCPU            = UNLIMITED\nTaskPluginParam = (null type)\n";
    let nodes = "NodeName=a1 CpuBind=threads CoresPerSocket=4 CPUTot=8 Sockets=2\n\
                 NodeName=b1 CoresPerSocket=4 CPUTot=8 Sockets=2\n";
    let parts = "PartitionName=p Nodes=a1,b1 Default=YES CpuBind=cores  OverSubscribe=NO MaxMemPerCPU=500\n\
                 PartitionName=q Nodes=a1 OverSubscribe=NO MaxMemPerNode=UNLIMITED\n";
    let shown = Config::shown(config, nodes, parts).unwrap();
    assert!(shown.may_give_more(None, SlurmLine::V24_11));
    assert!(!shown.may_give_more(Some("q"), SlurmLine::V24_11));
    let bind = |name| shown.default_bind(None, [name]).unwrap().bind.to_string();
    assert_eq!([bind("a1"), bind("b1")], ["threads", "cores"]);
}

/// More than is ever read.
#[test]
fn endless_texts() {
    for text in [
        "A=1 ".repeat(300),
        format!(
            "A={}",
            "x".repeat(berth_placement::sets::limits::NODE_LIST + 1)
        ),
        "#\n".repeat(text::MOST_BYTES / 2 + 1),
    ] {
        assert!(lines_of(&text).is_err(), "{text:.40}");
    }
}
