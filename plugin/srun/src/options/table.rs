//! Slurm's other options, by name; one that has changed stands once for each of its forms. Facts of `common_options`
//! in `src/common/slurm_opt.c` of the newest release of each line, and of `env_vars` in the `opt.c` of each command.

use super::Takes::{Attached, Nothing, Value};
use super::row::Effect::{Gpus, Modelled, Nodes, Unmodelled};
use super::row::{Row, job, of, rows};
use super::{ALL, SALLOC, SBATCH, SBATCH_SALLOC, SRUN, SRUN_SALLOC, SRUN_SBATCH};
use crate::release::Release::{V22_05, V23_02, V23_11, V24_05, V24_11, V25_05, V25_11, V26_05};

rows! {
    OTHERS
    "accel-bind" Value SRUN;
    "account" 'A' Value ALL;
    "acctg-freq" Value ALL;
    "array" 'a' Value SBATCH;
    "async" Nothing SRUN { since: V26_05 };
    "autocomplete" Value ALL { since: V23_02 };
    "batch" Value SBATCH { effect: Nodes, variables: &[of(SBATCH, "SBATCH_BATCH")] };
    "bb" Value ALL { variables: job!("BURST_BUFFER") };
    "bbf" Value ALL;
    "bcast" Attached SRUN;
    "bcast-exclude" Value SRUN;
    "begin" 'b' Value ALL;
    "bell" Nothing SALLOC;
    "chdir" 'D' Value ALL;
    "cluster" Value ALL;
    "cluster-constraint" Value ALL { effect: Nodes, variables: job!("CLUSTER_CONSTRAINT") };
    "clusters" 'M' Value ALL {
        effect: Nodes,
        variables: &[
            of(SBATCH, "SBATCH_CLUSTERS"),
            of(SALLOC, "SALLOC_CLUSTERS"),
            of(SBATCH_SALLOC, "SLURM_CLUSTERS"),
        ],
    };
    "comment" Value ALL;
    "compress" Attached SRUN;
    "consolidate-segments" Nothing ALL { since: V25_11, effect: Nodes, variables: job!("CONSOLIDATE_SEGMENTS") };
    "constraint" 'C' Value ALL { effect: Nodes, variables: job!("CONSTRAINT") };
    "container" Value ALL;
    "container-id" Value ALL { since: V23_02 };
    "container-type" Value ALL { since: V26_05 };
    "context" Value ALL;
    "contiguous" Nothing ALL { effect: Modelled };
    "cpu-freq" Value ALL;
    "cpus-per-gpu" Value ALL { effect: Gpus, grows: true, variables: job!("CPUS_PER_GPU") };
    "deadline" Value ALL;
    "debugger-test" Nothing SRUN;
    "delay-boot" Value ALL;
    "dependency" 'd' Value ALL;
    "disable-status" 'X' Nothing SRUN;
    "epilog" Value SRUN;
    "error" 'e' Value SRUN_SBATCH;
    "exclude" 'x' Value ALL { effect: Modelled };
    "export" Value SRUN_SBATCH;
    "export-file" Value SBATCH { until: V23_02 };
    "export-file" Value SBATCH { since: V24_05 };
    "external" Nothing SBATCH { since: V25_05 };
    "external-launcher" Nothing SRUN { since: V23_11, until: V23_11 };
    "external-launcher" Attached SRUN { since: V24_05 };
    "extra" Value ALL { since: V23_02 };
    "get-user-env" Nothing SBATCH { since: V25_05 };
    "get-user-env" Attached SBATCH { since: V24_11, until: V24_11 };
    "get-user-env" Attached SBATCH_SALLOC { until: V24_05 };
    "gid" Value SBATCH { since: V23_02 };
    "gid" Value ALL { until: V22_05 };
    "gpu-bind" Value ALL;
    "gpu-freq" Value ALL;
    "gpus" 'G' Value ALL { effect: Gpus, grows: true, variables: job!("GPUS") };
    "gpus-per-node" Value ALL { effect: Gpus, grows: true, variables: job!("GPUS_PER_NODE") };
    "gpus-per-socket" Value ALL { effect: Gpus, grows: true, variables: job!("GPUS_PER_SOCKET") };
    "gpus-per-task" Value ALL { effect: Gpus, grows: true, variables: job!("GPUS_PER_TASK") };
    "gres" Value ALL { effect: Gpus, grows: true, variables: job!("GRES") };
    "gres-flags" Value ALL { effect: Gpus, variables: job!("GRES_FLAGS") };
    "help" 'h' Nothing ALL;
    "het-group" Value SRUN { alias: Some("pack-group"), effect: Unmodelled };
    "hold" 'H' Nothing ALL;
    "ignore-pbs" Nothing SBATCH;
    "ignore-signals" Value SRUN { since: V26_05 };
    "immediate" 'I' Attached SRUN_SALLOC;
    "input" 'i' Value SRUN_SBATCH;
    "interactive" Nothing SRUN;
    "job-name" 'J' Value ALL;
    "jobid" Value SRUN { grows: true };
    "kill-command" 'K' Attached SALLOC;
    "kill-on-bad-exit" 'K' Attached SRUN;
    "kill-on-invalid-dep" Value SBATCH;
    "label" 'l' Nothing SRUN;
    "licenses" 'L' Value ALL;
    "mail-type" Value ALL;
    "mail-user" Value ALL;
    "mcs-label" Value ALL;
    "mem" Value ALL { effect: Modelled, variables: job!("MEM_PER_NODE") };
    "mem-per-cpu" Value ALL { effect: Modelled, grows: true, variables: job!("MEM_PER_CPU") };
    "mem-per-gpu" Value ALL { effect: Gpus, variables: job!("MEM_PER_GPU") };
    "mem-update" Value ALL { since: V26_05 };
    "mincpus" Value ALL { effect: Modelled, grows: true };
    "mpi" Value SRUN;
    "msg-timeout" Value SRUN;
    "multi-prog" Nothing SRUN;
    "network" Value ALL;
    "nice" Attached ALL;
    "no-allocate" 'Z' Nothing SRUN { grows: true };
    "no-bell" Nothing SALLOC;
    "no-kill" 'k' Attached ALL;
    "no-requeue" Nothing SBATCH;
    "no-shell" Nothing SALLOC;
    "nodefile" 'F' Value ALL { effect: Unmodelled };
    "ntasks-per-gpu" Value ALL { effect: Gpus };
    "ntasks-per-tres" Value ALL { effect: Gpus };
    "oom-kill-step" Attached ALL { since: V24_11 };
    "open-mode" Value SRUN_SBATCH;
    "output" 'o' Value SRUN_SBATCH;
    "oversubscribe" 's' Nothing ALL { effect: Modelled };
    "parsable" Nothing SBATCH { until: V25_11 };
    "parsable" Nothing SRUN_SBATCH { since: V26_05 };
    "partition" 'p' Value ALL {
        effect: Modelled,
        variables: &[of(SRUN, "SLURM_PARTITION"), of(SBATCH, "SBATCH_PARTITION"), of(SALLOC, "SALLOC_PARTITION")],
    };
    "power" Value ALL { until: V23_11 };
    "prefer" Value ALL { effect: Nodes };
    "preserve-env" 'E' Nothing SRUN;
    "priority" Value ALL;
    "profile" Value ALL;
    "prolog" Value SRUN;
    "propagate" Attached SRUN_SBATCH;
    "pty" Nothing SRUN { until: V22_05 };
    "pty" Attached SRUN { since: V23_02 };
    "qos" 'q' Value ALL;
    "quiet" 'Q' Nothing ALL;
    "quit-on-interrupt" Nothing SRUN;
    "reboot" Nothing ALL;
    "relative" 'r' Value SRUN { effect: Unmodelled };
    "requeue" Nothing SBATCH { until: V25_05 };
    "requeue" Attached SBATCH { since: V25_11 };
    "reservation" Value ALL { effect: Nodes, variables: job!("RESERVATION") };
    "resources" Value ALL { since: V25_11 };
    "resv-ports" Attached SRUN { until: V23_11 };
    "resv-ports" Attached ALL { since: V24_05 };
    "segment" Value ALL { since: V24_05, effect: Nodes, variables: job!("SEGMENT_SIZE") };
    "send-libs" Attached SRUN;
    "signal" Value ALL;
    "slurmd-debug" Value SRUN;
    "spread-job" Nothing ALL { effect: Modelled, variables: job!("SPREAD_JOB") };
    "spread-segments" Nothing ALL { since: V25_11 };
    "stepmgr" Nothing ALL { since: V24_05 };
    "switches" Value ALL { effect: Nodes, variables: job!("REQ_SWITCH") };
    "task-epilog" Value SRUN;
    "task-prolog" Value SRUN;
    "test-only" Nothing SRUN_SBATCH;
    "threads" 'T' Value SRUN;
    "time" 't' Value ALL;
    "time-min" Value ALL;
    "tmp" Value ALL { effect: Nodes };
    "treewidth" Value SRUN { since: V23_11 };
    "tres-bind" Value ALL { since: V23_11 };
    "tres-per-task" Value ALL { since: V23_02, effect: Gpus, grows: true, variables: job!("TRES_PER_TASK") };
    "uid" Value SBATCH { since: V23_02 };
    "uid" Value ALL { until: V22_05 };
    "unbuffered" 'u' Nothing SRUN;
    "usage" Nothing ALL;
    "use-min-nodes" Nothing ALL { effect: Modelled, variables: job!("USE_MIN_NODES") };
    "verbose" 'v' Nothing ALL;
    "version" 'V' Nothing ALL;
    "wait" 'W' Nothing SBATCH;
    "wait" 'W' Value SRUN;
    "wait-all-nodes" Value SBATCH_SALLOC;
    "wait-for-children" Nothing SRUN { since: V25_05 };
    "wckey" Value ALL;
    "wrap" Value SBATCH;
    "x11" Attached SRUN_SALLOC;
}
