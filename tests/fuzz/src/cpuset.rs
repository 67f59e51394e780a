//! Parsers of LSF's cpuset requests: those of jobs, and the words of partitions.

use berth_placement::CpusetRequest;
use berth_placement::request::cpuset::Words;

use crate::targets::{Target, again};

/// All of them.
pub const TARGETS: &[Target] = &[
    Target {
        name: "cpuset",
        words: &[
            "CPUSET[",
            "SGI_CPUSET[",
            "]",
            ";",
            "CPUSET_TYPE=dynamic;",
            "CPUSET_TYPE=static;",
            "CPUSET_TYPE=none",
            "CPUSET_NAME=MYSET;",
            "NCPUS=8;",
            "CPU_LIST=1, 5, 7-12;",
            "MAX_RADIUS=2;",
            "MAX_CPU_PER_NODE=4;",
            "NODE_EX=Y;",
            "MEM_LIST=0,1-2;",
            "RESUME_OPTION=ORIG_CPUS;",
            "CPUSET_OPTIONS=CPUSET_CPU_EXCLUSIVE",
            "|CPUSET_MEMORY_MANDATORY",
            "|CPUSET_POLICY_KILL;",
            "CPU_LIST=",
            "0-65535,",
        ],
        parse: again::<CpusetRequest>,
    },
    Target {
        name: "cpuset words",
        words: &[
            "CPUSET[",
            "]",
            ";",
            "CPU_LIST=;",
            "CPUSET_NAME=",
            "ncpus = 8",
            "MAX_RADIUS=2;",
            "CPUSET_OPTIONS=A | B",
        ],
        parse: again::<Words>,
    },
];
