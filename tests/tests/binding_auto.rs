//! `--binding=auto` on a real cluster: the kernel's masks are the plan's, and an OpenMP program finds its
//! threads on the cores of its task.

use std::path::Path;
use std::process::Command;

use berth_tests::Cluster;

/// Each thread shows its task, its number and the CPUs that it may run on.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    #pragma omp parallel
    {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        unsigned mask = 0;
        for (int cpu = 0; cpu < 32; cpu++)
            if (CPU_ISSET(cpu, &set)) mask |= 1u << cpu;
        #pragma omp critical
        printf("%s %d/%d %x\n", getenv("SLURM_PROCID"), omp_get_thread_num(), omp_get_num_threads(), mask);
    }
}
"#;

fn openmp(folder: &Path) -> Option<String> {
    let (code, program) = (folder.join("threads.c"), folder.join("threads"));
    std::fs::write(&code, PROGRAM).expect("the C text can be written");
    let built = Command::new("cc")
        .arg("-fopenmp")
        .arg("-o")
        .args([&program, &code])
        .output();
    if !built.is_ok_and(|built| built.status.success()) {
        berth_tests::skip("needs a C compiler with OpenMP");
        return None;
    }
    Some(program.to_str().expect("a plain name").to_owned())
}

fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = text.lines().map(String::from).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn an_openmp_program_has_its_threads_on_the_cores_of_its_task() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder().plugstack(Some("")).up();
    let folder = tempfile::tempdir().expect("a folder");
    let Some(program) = openmp(folder.path()) else {
        return;
    };
    for (options, threads) in [
        (&["-n1", "-c2"][..], &["0 0/2 1", "0 1/2 2"][..]),
        (&["-n2"], &["0 0/1 1", "1 0/1 2"]),
    ] {
        let line = [&["--exclusive", "--binding=auto"], options, &[&program]].concat();
        assert_eq!(
            lines(&cluster.srun(&line).expect_ok()),
            threads,
            "{options:?}"
        );
        // The plan of the same request on the same node.
        let masks = cluster.task_masks(&line[..line.len() - 1]);
        let mut words = vec!["plan", "--cores=all", "--binding=auto", "--format", "masks"];
        words.extend(options);
        let planned = Command::new(berth_tests::command())
            .args(words)
            .output()
            .expect("berth plan runs");
        let planned = String::from_utf8_lossy(&planned.stdout)
            .trim()
            .replace("0x0", "0x");
        assert_eq!(planned, masks.join(","), "{options:?}");
    }
    // What the user has set stays, and a default of the site does the same as the option.
    let given = [("OMP_NUM_THREADS", "1"), ("OMP_PROC_BIND", "false")];
    let line = ["--exclusive", "--binding=auto", "-n1", "-c2", &program];
    let found = cluster.run_with("srun", &line, &given);
    assert_eq!(found.stdout, "0 0/1 3\n", "{found:#?}");
}

#[test]
fn a_site_makes_it_the_default_and_scripts_keep_the_allocation() {
    if !berth_tests::two_cpus() {
        return;
    }
    let cluster = Cluster::builder()
        .plugstack(Some("binding_default=auto"))
        .up();
    let ask =
        "echo \"$BERTH_CPUS|$BERTH_BINDING_CORES|$OMP_PLACES|$OMP_NUM_THREADS|$OMP_PROC_BIND\"";
    let line = ["--exclusive", "-n1", "-c2", "/bin/sh", "-c", ask];
    let found = cluster.srun(&line).expect_ok();
    assert!(found.starts_with("0-1|0,0:"), "{found}");
    assert!(found.ends_with("|{0},{1}|2|close\n"), "{found}");
    // A level that the user asks for comes before the default.
    let line = [
        "--exclusive",
        "-n2",
        "--cpu-bind=cores",
        "/bin/sh",
        "-c",
        ask,
    ];
    assert_eq!(lines(&cluster.srun(&line).expect_ok()), ["0||||", "1||||"]);
    let script = format!(
        "grep Cpus_allowed_list /proc/self/status | cut -f2\nsrun -n2 /bin/sh -c '{ask}' | sort"
    );
    let job = cluster.sbatch(&["-n2", "--binding=auto"], &script);
    let found: Vec<_> = job.output.lines().collect();
    assert_eq!(found[0], "0-1", "{job:?}");
    assert!(found[1].starts_with("0|0,0|{0}|1|close"), "{job:?}");
    assert!(
        found[2].starts_with("1|") && found[2].ends_with("|{1}|1|close"),
        "{job:?}"
    );
    let failed = cluster.srun(&[
        "--exclusive",
        "-n1",
        "-c2",
        "--binding=strict:auto:smt=0",
        "true",
    ]);
    assert!(failed.stderr.contains("(1 to 65536)"), "{failed:#?}");
    let never = cluster.srun(&["-n2", "--binding=pe:auto", "true"]);
    assert!(
        !never.ok() && never.stderr.contains("no pe: and host:"),
        "{never:#?}"
    );
}
