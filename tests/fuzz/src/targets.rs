//! The parsers, and the words that their texts are made of.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use berth_placement::request::gres_bind::{Indices, Reading, gpu_bind};
use berth_placement::request::keyword_options::CoreKindWish;
use berth_placement::request::mapping::{BindTo, MapBy, RankBy};
use berth_placement::{Binding, CpuSet, Fixes, Gres, MemBind, Mode, Near, NodeSet, Numbering};
use berth_srun::options::Command;
use berth_srun::{Release, spelling};

/// What a parser did with a text.
pub enum Verdict {
    /// It reads the same again from its own text.
    Accepted,
    /// With this error.
    Refused(String),
    /// It broke a promise.
    Wrong(String),
}

/// A parser.
pub struct Target {
    /// Name.
    pub name: &'static str,
    /// Words that its texts are made of.
    pub words: &'static [&'static str],
    /// Reads a text.
    pub parse: fn(&str) -> Verdict,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "cpu list",
        words: &["0-3", "5", "7-7", ",", "8-15", "3-1", "0-4095"],
        parse: |text| {
            judged(CpuSet::from_list(text), |set| {
                CpuSet::from_list(&set.to_string()).ok()
            })
        },
    },
    Target {
        name: "mask",
        words: &[
            "0x",
            "f",
            "F0",
            "00",
            "3",
            "DeadBeef",
            "0000000000000000",
            "ffffffffffffffff",
        ],
        parse: |text| {
            judged(CpuSet::from_hex(text), |set| {
                CpuSet::from_hex(&set.to_hex(1)).ok()
            })
        },
    },
    Target {
        name: "node mask",
        words: &["0x", "f", "F0", "00", "3", "ffffffffffffffff"],
        parse: |text| {
            judged(NodeSet::from_hex(text), |set| {
                NodeSet::from_hex(&set.to_hex()).ok()
            })
        },
    },
    Target {
        name: "map_cpu",
        words: &["0,1", "3", ",", "0x1f", "1*4", "7*2", "2*0"],
        parse: |text| mode("map_cpu", text),
    },
    Target {
        name: "mask_cpu",
        words: &["0x1,0x2", "f", ",", "0xff00", "3*4", "0"],
        parse: |text| mode("mask_cpu", text),
    },
    Target {
        name: "map_ldom",
        words: &["0,1", "3", ",", "0x1", "1*4"],
        parse: |text| mode("map_ldom", text),
    },
    Target {
        name: "mask_ldom",
        words: &["0x1,0x2", "f", ",", "3*4"],
        parse: |text| mode("mask_ldom", text),
    },
    Target {
        name: "cpu-bind",
        words: &[
            "cores",
            "threads",
            "verbose",
            "quiet",
            ",",
            "none",
            "map_cpu:0,1",
            "mask_cpu:0x3",
            "rank",
            "sockets",
            "ldoms",
            "one_thread",
            "no",
            "rank_ldom",
            "Cores",
        ],
        parse: cpu_bind,
    },
    Target {
        name: "mem-bind",
        words: &[
            "local",
            "rank",
            "none",
            "verbose",
            "prefer",
            "p",
            ",",
            "map_mem:0,1",
            "mask_mem:0x3",
            "sort",
            "nosort",
            "quiet",
        ],
        parse: mem_bind,
    },
    Target {
        name: "distribution",
        words: &[
            "block",
            "cyclic",
            "fcyclic",
            ":",
            "plane=4",
            "arbitrary",
            "*",
            ",Pack",
            ",NoPack",
            "Block",
        ],
        parse: distribution,
    },
    Target {
        name: "srun line",
        words: &[
            "-n4 ",
            "-B 2:2:2 ",
            "--hint=multithread ",
            "--cpu-bind=cores ",
            "--mem-bind=local ",
            "-m block:*:fcyclic ",
            "-w n[1-3] ",
            "-N 2-4 ",
            "--ntasks-per-core=2 ",
            "--exclusive ",
            "-lu ",
            "--cpu ",
            "-- ",
            ": ",
            "./app ",
        ],
        parse: line,
    },
    Target {
        name: "binding",
        words: &[
            "linear:2",
            "env:strict:auto:pack:smt=2",
            "striding:2:4",
            "explicit:0,1:1,0",
            "set:",
            "env ",
            "pe,",
            "task:",
            "host:",
            "strict:",
            "none",
            ":0,1",
            ";1,2",
        ],
        parse: again::<Binding>,
    },
    Target {
        name: "map by",
        words: &["l3", "core", "ppr:", "2:numa", "pe-list=", "0-3", ":pe=2"],
        parse: again::<MapBy>,
    },
    Target {
        name: "bind to",
        words: &["none", "L2cache", ":limit=", ":overload", "numa"],
        parse: again::<BindTo>,
    },
    Target {
        name: "rank by",
        words: &["slot", "node", "Fill", "span"],
        parse: again::<RankBy>,
    },
    Target {
        name: "near",
        words: &[
            "gpu",
            "network",
            "0302",
            "mlx5_0",
            ":2",
            ":strict",
            ":own",
            ":OWN:strict",
        ],
        parse: again::<Near>,
    },
    Target {
        name: "tres bind",
        words: &[
            "verbose,",
            "map_gpu:",
            "MASK:",
            "per_task:",
            "single:",
            "closest",
            "0,3*2",
            "0x5,",
            "+gres/shard:none",
        ],
        parse: tres_bind,
    },
    Target {
        name: "core kind",
        words: &["performance", "efficiency", "any", "Performance"],
        parse: again::<CoreKindWish>,
    },
    Target {
        name: "fixes",
        words: &[
            "all",
            "none",
            "+third-level",
            "-smt-neighbours",
            ",",
            "+",
            "-",
        ],
        parse: |text| match Fixes::ALL.apply(text) {
            Ok(_) => Verdict::Accepted,
            Err(why) => Verdict::Refused(why.to_string()),
        },
    },
    Target {
        name: "numbering",
        words: &["block", "cyclic", "threads-last", "threads"],
        parse: |text| match text.parse::<Numbering>() {
            Ok(_) => Verdict::Accepted,
            Err(why) => Verdict::Refused(why.to_string()),
        },
    },
];

pub fn again<T: FromStr<Err: Display> + Display + PartialEq + Debug>(text: &str) -> Verdict {
    judged(text.parse::<T>(), |found| found.to_string().parse().ok())
}

/// Its text says what is bound to what: `verbose` is not in it, nor a level that a mode beats.
/// Nothing at all is `auto`, which srun has no word for.
fn cpu_bind(text: &str) -> Verdict {
    let read = spelling::cpu_bind(text, Release::V22_05).map(|mut found| {
        found.verbose = false;
        found.level = found.level.filter(|_| found.mode.is_none());
        found
    });
    judged(read, |found| {
        let own = found.to_string();
        let own = own
            .strip_prefix("auto,")
            .or(own.strip_prefix("auto"))
            .unwrap_or(&own);
        match own {
            "" => Some(berth_placement::CpuBind::default()),
            own => spelling::cpu_bind(own, Release::V22_05).ok(),
        }
    })
}

/// What is asked of memory; how it is reported and sorted is not in its text.
fn mem_bind(text: &str) -> Verdict {
    let read = spelling::mem_bind(text, Release::V22_05).map(|found| MemBind {
        policy: found.policy.clone(),
        prefer: found.prefer && found.policy.is_some(),
        ..MemBind::default()
    });
    judged(read, |found| {
        spelling::mem_bind(&found.to_string(), Release::V22_05).ok()
    })
}

fn distribution(text: &str) -> Verdict {
    judged(spelling::distribution(text), |found| {
        spelling::distribution(&found.to_string()).ok()
    })
}

/// A line has no text of its own: it is read, or refused in few words, by the rules of every line.
fn line(text: &str) -> Verdict {
    let words: Vec<_> = text.split_whitespace().collect();
    for release in Release::ALL {
        let found = berth_srun::line::read(&words, Command::Srun, Some(release));
        if found.own_words > words.len() {
            return Verdict::Wrong("it has more words than there are".into());
        }
        if let Err(why) = berth_srun::reading::read(found.settings(), release) {
            return Verdict::Refused(why.to_string());
        }
    }
    Verdict::Accepted
}

/// Whatever the text says, each task gets some of the step's own GPUs, or none has any.
fn tres_bind(text: &str) -> Verdict {
    let gres = Gres {
        on_node: 6,
        step: vec![1, 2, 5],
        tasks: Vec::new(),
    };
    let text = &format!("gres/gpu:{text}");
    let mut verdict = Verdict::Refused("not read".into());
    for reading in [Reading::First, Reading::Slots, Reading::Named] {
        let Some(bind) = gpu_bind(text, reading) else {
            continue;
        };
        for indices in [Indices::OfNode, Indices::OfStep] {
            let tasks = bind.tasks(&gres, 7, (reading, indices)).unwrap_or_default();
            let is_own = |own: &Vec<u32>| {
                !own.is_empty() && own.iter().all(|index| gres.step.contains(index))
            };
            if ![0, 7].contains(&tasks.len()) || !tasks.iter().all(is_own) {
                return Verdict::Wrong(format!("{reading:?} gives {tasks:?}"));
            }
        }
        verdict = Verdict::Accepted;
    }
    verdict
}

fn mode(name: &str, text: &str) -> Verdict {
    match Mode::read(name, text) {
        None => Verdict::Wrong("the mode's name is not known".into()),
        // Of its own text `--cpu-bind=NAME:LIST` is made.
        Some(read) => judged(read, |mode| {
            let text = mode.to_string();
            spelling::cpu_bind(&text, Release::V22_05).ok()?.mode
        }),
    }
}

fn judged<T: PartialEq + Debug, E: Display>(
    read: Result<T, E>,
    again: impl Fn(&T) -> Option<T>,
) -> Verdict {
    match read {
        Err(why) => Verdict::Refused(why.to_string()),
        Ok(found) if again(&found).as_ref() == Some(&found) => Verdict::Accepted,
        Ok(_) => Verdict::Wrong("it does not read the same again from its own text".into()),
    }
}

/// Options of `berth plan`, for its batch lines.
pub const OPTIONS: Target = Target {
    name: "batch lines",
    words: &[
        " -n 2",
        " -c 2",
        " --cpu-bind=cores",
        " -m block:cyclic",
        " -B 1:1-1",
        " -B 0:0",
        " --hint=multithread",
        " --mem-bind=local",
        " -O",
        " --binding=linear:2",
        " --map-by=core",
        " --map-by ppr:1:core",
        " --rank-by=span",
        " --bind-to hwthread:overload",
        " --near=gpu",
        " --core-kind=performance",
        " --reserved=0",
        " --cores 0-1",
        " --cpu-bind=map_cpu:0",
        " --ntasks-per-core=1",
        " --fixes=none",
        " --compat affinity",
        " 'quoted",
        " \"two",
        " --threads-per-core 1",
        " -n 99999",
    ],
    parse: |_| Verdict::Accepted,
};
