//! Facts of configurations.

use berth_placement::CpuBind;

use super::*;
use crate::facts::or_refused;
use crate::facts_text::hold;
use crate::release::Release;

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
            about if about.starts_with("file ") || about.starts_with("shown ") => {
                whole(about, first)
            }
            _ => or_refused(nodes(text, about.strip_prefix("names "))),
        }
    });
    assert!(Config::default().may_give_more(None, SlurmLine::V24_11));
}

/// A part of a file's configuration, or of one that scontrol shows in three texts.
fn whole(texts: &str, question: &str) -> String {
    let (kind, texts) = texts.split_once(' ').unwrap();
    let texts = texts.replace("\\n", "\n");
    let config = match kind {
        "file" => read(&texts),
        _ => {
            let texts: Vec<_> = texts.split(" || ").collect();
            Config::shown(texts[0], texts[1], texts[2])
        }
    };
    let config = config.unwrap();
    let (word, name) = question.split_once(' ').unwrap_or((question, ""));
    let partition = Some(name).filter(|name| !name.is_empty());
    match word {
        "plugins" => config.task_plugin.unwrap_or_default(),
        "version" => config.version.unwrap_or_default(),
        "cgroups" => format!("{} {}", config.allows_ecores(), config.constrains_cores()),
        "more" => config
            .may_give_more(partition, SlurmLine::V24_11)
            .to_string(),
        "bind" => config.default_bind(None, [name]).unwrap().bind.to_string(),
        release => {
            let line = release.parse::<Release>().unwrap().modelled();
            cluster(&config.choose(partition, line).unwrap())
        }
    }
}

fn cluster(chosen: &Chosen) -> String {
    let node = |node: &ClusterNode| {
        let (sockets, cpus) = (node.sockets, node.cpus);
        let (weight, memory) = (node.weight, node.memory);
        let special = &node.specialised;
        format!(
            "{} {sockets}={cpus} weight {weight} memory {memory} {special:?}",
            node.name
        )
    };
    let (select, rules) = (&chosen.cluster.select, &chosen.cluster.partition);
    format!(
        "{:?}, memory {}, special {}; whole {}, {:?}, most {:?}; [{}]; {}",
        select.unit,
        select.memory,
        select.allow_spec_usage,
        rules.whole_nodes,
        rules.default_memory,
        rules.max_nodes,
        chosen.unmodelled.join(" "),
        joined(chosen.cluster.nodes.iter().map(node))
    )
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
