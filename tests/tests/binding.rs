//! Bindings on a real cluster that need a program of their own to be seen: an OpenMP program finds its threads on the cores
//! of its task, whose masks are the plan's, and a library notes who tells the kernel the masks.

use std::path::Path;
use std::process::Command;

use berth_tests::{Cluster, Preload};

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

/// After fork slurmstepd's child descends from a process with threads: what it may do
/// is little, and telling the kernel its mask is not among it.
#[test]
fn the_parent_tells_the_kernel_not_the_task() {
    let source = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <fcntl.h>\n#include <sched.h>\n\
        #include <stdarg.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <sys/syscall.h>\n\
        #include <unistd.h>\n\
        static void note(long target) { const char *file = getenv(\"WATCH_FILE\"); char line[64];\n\
        int length = snprintf(line, sizeof line, \"%d %ld\\n\", (int)getpid(), target);\n\
        int fd = file ? open(file, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;\n\
        if (fd >= 0) { if (write(fd, line, length) < 0) abort(); close(fd); } }\n\
        int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) { note(pid);\n\
        return ((int (*)(pid_t, size_t, const cpu_set_t *))dlsym(RTLD_NEXT, \"sched_setaffinity\"))(pid, size, set); }\n\
        long syscall(long number, ...) { va_list list; va_start(list, number); long a[6];\n\
        for (int i = 0; i < 6; i++) a[i] = va_arg(list, long); va_end(list);\n\
        if (number == SYS_sched_setaffinity) note(a[0]);\n\
        return ((long (*)(long, ...))dlsym(RTLD_NEXT, \"syscall\"))(number, a[0], a[1], a[2], a[3], a[4], a[5]); }\n";
    let watch = Preload::build(source);
    let calls = watch.folder().join("calls");
    let cluster = Cluster::builder()
        .plugstack(Some(""))
        .env("LD_PRELOAD", watch.object())
        .env("WATCH_FILE", &calls.to_string_lossy())
        .up();
    // hwloc binds itself to look at each CPU, when slurmd starts and in our child.
    std::fs::remove_file(&calls).unwrap();
    cluster
        .srun(&["-n1", "-c1", "--cpu-bind=cores", "true"])
        .expect_ok();
    let calls = std::fs::read_to_string(&calls).unwrap();
    let calls: Vec<_> = calls
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    // hwloc in slurmstepd itself looks at its CPUs the same way: target 0.
    let told: Vec<_> = calls.iter().filter(|(_, target)| *target != "0").collect();
    assert_eq!(told.len(), 1, "one call for one task: {calls:?}");
    let (parent, task) = told[0];
    assert_ne!(parent, task);
    assert!(
        calls.iter().all(|(caller, _)| caller == parent),
        "the task called too: {calls:?}"
    );
}
