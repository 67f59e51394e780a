//! What cannot be: refused with a text that names the offending part, by berth or by
//! srun before it; nothing is launched, and the node is idle afterwards.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use berth_tests::{Cluster, Done, Preload};

/// Broken lists reach slurmd from programs that use Slurm's API. Here srun is one: its
/// own reader of these options (`slurm_verify_cpu_bind`, `slurm_verify_mem_bind`) is
/// replaced by one that sends on what two variables say.
const RAW: &str = "#include <stdint.h>\n#include <stdlib.h>\n\
    extern char *xstrdup(const char *text);\n\
    static int raw(const char *kind, char **list, uint32_t *bits) {\n\
    const char *sent = getenv(\"RAW_LIST\"), *mode = getenv(kind);\n\
    if (mode) { *bits = strtoul(mode, 0, 16); *list = sent ? xstrdup(sent) : 0; }\n\
    return 0; }\n\
    int slurm_verify_cpu_bind(const char *given, char **list, uint32_t *bits)\n\
    { (void)given; return raw(\"RAW_CPU\", list, bits); }\n\
    int slurm_verify_mem_bind(const char *given, char **list, uint32_t *bits)\n\
    { (void)given; return raw(\"RAW_MEM\", list, bits); }\n";

const MAP_CPU: &str = "80";
const MASK_CPU: &str = "100";
const MAP_LDOM: &str = "400";
const MASK_LDOM: &str = "800";
const MAP_MEM: &str = "8";
const MASK_MEM: &str = "10";

/// A cluster of two CPUs or more; the facts here need no others.
fn cluster() -> Option<Cluster> {
    if !berth_tests::two_cpus() {
        return None;
    }
    Some(Cluster::builder().plugstack(Some("")).up())
}

/// A refused step: the text for the user, no task, a node that is well.
#[track_caller]
fn refused(cluster: &Cluster, options: &[&str], variables: &[(&str, &str)], says: &str) {
    let begun = cluster.folder().join("begun");
    let touch = ["touch", &begun.to_string_lossy()];
    let done: Done = cluster.run_with("srun", &[options, &touch].concat(), variables);
    let asked = format!("{options:.200?} {variables:.200?}");
    assert!(!done.ok(), "{asked}: {done:#?}");
    assert!(
        done.stderr.contains(says),
        "no {says:?} for {asked} in {done:#?}"
    );
    assert!(done.stderr.len() < 1000, "too much for {asked}: {done:#?}");
    assert!(!done.stderr.contains('\u{1b}'), "{asked}: {done:#?}");
    assert!(!begun.exists(), "{asked}: a task was started");
    cluster.wait_idle();
}

#[test]
fn long_masks() {
    let Some(cluster) = cluster() else { return };
    let mask = |digit: &str| format!("--cpu-bind=mask_cpu:0x{}", digit.repeat(10_000));
    for (option, says) in [
        (mask("f"), "ff…\" is not in a list of CPU masks"),
        (mask("a"), "with CPUs below 1024 on this node"),
    ] {
        refused(&cluster, &["-n1", &option], &[], says);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story of one cluster")]
fn lists_that_reach_slurmd_broken() {
    let Some(cluster) = cluster() else { return };
    let raw = Preload::build(RAW);
    let long = "x".repeat(100_000);
    let no_cpu = "is not in a list of CPU numbers such as 0,2 or 1*4";
    let no_mask = "is not in a list of CPU masks such as 0x1,0xc or 0x3*4";
    let no_node = "is not in a list of NUMA node numbers such as 0,2 or 1*4";
    let cases = [
        (
            MAP_CPU,
            "",
            "--cpu-bind=map_cpu has no list in the launch request; give one",
        ),
        (
            MAP_CPU,
            "zz",
            &format!("--cpu-bind=map_cpu: \"zz\" {no_cpu}"),
        ),
        (MAP_CPU, "0,x", &format!("\"x\" {no_cpu}")),
        (MAP_CPU, "0,,1", &format!("an empty text {no_cpu}")),
        (MAP_CPU, "0-", &format!("\"0-\" {no_cpu}")),
        (MAP_CPU, "-1", &format!("\"-1\" {no_cpu}")),
        (
            MAP_CPU,
            "99999999999999999999",
            "\"99999999999999999999\" is",
        ),
        (MAP_CPU, "0*99999999999", "\"0*99999999999\" is"),
        (MAP_CPU, &long, &format!("xxx…\" {no_cpu}")),
        (
            MAP_CPU,
            "0*65537",
            "\"0*65537\" is not within 65536 entries of a list",
        ),
        (
            MASK_CPU,
            "0x",
            &format!("--cpu-bind=mask_cpu: \"0x\" {no_mask}"),
        ),
        (MASK_CPU, "0x1,0xz", &format!("\"0xz\" {no_mask}")),
        (MASK_CPU, "\u{1b}[2J0x1", &format!("[2J0x1\" {no_mask}")),
        (
            MAP_LDOM,
            "0,x",
            &format!("--cpu-bind=map_ldom: \"x\" {no_node}"),
        ),
        (MASK_LDOM, "0xg", "--cpu-bind=mask_ldom: \"0xg\" is not"),
        (
            MAP_MEM,
            "",
            "--mem-bind=map_mem has no list in the launch request; give one",
        ),
        (
            MAP_MEM,
            "0,x",
            &format!("--mem-bind=map_mem: \"x\" {no_node}"),
        ),
        (MASK_MEM, "0xg", "--mem-bind=mask_mem: \"0xg\" is not"),
    ];
    for (bits, list, says) in cases {
        let memory = [MAP_MEM, MASK_MEM].contains(&bits);
        let (option, kind) = if memory {
            ("--mem-bind=local", "RAW_MEM")
        } else {
            ("--cpu-bind=cores", "RAW_CPU")
        };
        let preload = ("LD_PRELOAD", raw.object());
        let sent = [preload, (kind, bits), ("RAW_LIST", list)];
        refused(&cluster, &["-n1", option], &sent, says);
    }
    // No list at all, not even an empty one.
    let nothing = [("LD_PRELOAD", raw.object()), ("RAW_CPU", MAP_CPU)];
    refused(
        &cluster,
        &["-n1", "--cpu-bind=cores"],
        &nothing,
        "has no list in the launch request",
    );
    let log = cluster.slurmd_log();
    assert_eq!(
        log.matches("bound=refused").count(),
        cases.len() + 1,
        "{log}"
    );
    assert_eq!(
        cluster.task_masks(&["-n1", "-c1", "--cpu-bind=cores"]),
        ["0x1"]
    );
}

/// A name in another encoding is the program's own matter.
#[test]
fn an_argument_that_is_no_utf8_hides_no_option() {
    let Some(cluster) = cluster() else { return };
    let run = |options: &[&str]| {
        let mut srun = cluster.program("srun");
        srun.args(options).arg("true");
        let done = srun.arg(OsStr::from_bytes(b"M\xfcller.dat")).output();
        Done::from(done.expect("srun can be run"))
    };
    let bound = run(&["-n1", "--binding=linear:1"]);
    assert!(bound.ok() && bound.stderr.is_empty(), "{bound:#?}");
    let refused = run(&["-n1", "-c1", "--binding=linear:2"]);
    assert!(
        !refused.ok() && refused.stderr.contains("--binding=linear:2"),
        "{refused:#?}"
    );
}
