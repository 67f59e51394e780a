//! `berth check`: which traps are named in which lines, and that clean lines pass without a word.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn check(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_berth"))
        .arg("check")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

/// Rule and replacement of each finding.
fn findings(arguments: &[&str], input: &str) -> (Vec<(String, String)>, Option<i32>) {
    let done = check(&[&["--format=json"], arguments].concat(), input);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let found: serde_json::Value =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|_| panic!("{said}"));
    let text =
        |finding: &serde_json::Value, name: &str| finding[name].as_str().unwrap().to_string();
    let all = found["findings"].as_array().unwrap().iter();
    let all = all.map(|finding| (text(finding, "rule"), text(finding, "instead")));
    (all.collect(), done.status.code())
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn each_trap_is_named_with_the_line_to_use() {
    for (line, rule, instead) in [
        (
            "#SBATCH -n4 -c4\nsrun -m block:block ./app",
            "cpus-per-task",
            "srun -c4 -m block:block ./app",
        ),
        (
            "srun -n4 --hint=nomultithread --cpu-bind=cores ./app",
            "hint",
            "srun -n4 --cpu-bind=cores ./app",
        ),
        (
            "#SBATCH --hint=nomultithread\nsrun -n4 --threads-per-core=1 ./app",
            "hint",
            "srun -n4 ./app",
        ),
        (
            "srun -N2 -n4 --cpu-bind=map_cpu:0,1 ./app",
            "list-on-several-nodes",
            "srun --cpu-bind=cores -N2 -n4 ./app",
        ),
        (
            "srun -n2 --cpu-bind=mask_cpu:0x3,0xc ./app",
            "list-on-part-of-a-node",
            "srun --exclusive -n2 --cpu-bind=mask_cpu:0x3,0xc ./app",
        ),
        (
            "srun -n2 --cpu-bind=rank ./app",
            "rank",
            "srun --cpu-bind=threads -n2 ./app",
        ),
        (
            "srun -n4 --binding=linear:4 ./app",
            "binding-per-task",
            "srun -n1 -c4 --binding=linear:4 ./app",
        ),
        (
            "srun -n1 -c2 --binding=linear:2:0,0 ./app",
            "binding-start",
            "srun --exclusive -n1 -c2 --binding=linear:2:0,0 ./app",
        ),
        (
            "OMP_NUM_THREADS=4 srun -n2 -c4 -m block:block ./app",
            "openmp-places",
            "export OMP_PLACES=cores OMP_PROC_BIND=close",
        ),
        (
            "OMP_PLACES=cores OMP_NUM_THREADS=8 srun -n2 -c4 -m block:block ./app",
            "openmp-threads",
            "srun -c8 -n2 -m block:block ./app",
        ),
        (
            "srun -n4 mpirun -np 4 ./app",
            "nested-launcher",
            "mpirun -np 4 ./app",
        ),
        (
            "#SBATCH -n4 -c8\nmpirun ./app",
            "mpirun-one-core",
            "mpirun --map-by slot:PE=8 ./app",
        ),
        (
            "srun -n4 -c2 --cpu-bind=cores ./app",
            "cyclic-default",
            "srun -m block:block -n4 -c2 --cpu-bind=cores ./app",
        ),
        (
            "srun -n4 --gpus-per-task=1 ./app",
            "cyclic-default",
            "srun -m block:block -n4 --gpus-per-task=1 ./app",
        ),
        ("srun -n4 --cpu-bind=kores ./app", "wrong-value", ""),
        ("srun -n4 --binding=linear ./app", "wrong-value", ""),
        (
            "#$ -pe smp 8 -binding linear:8",
            "grid-engine",
            "#SBATCH -n1 -c8 --binding=linear:8\nsrun -n1 -c8 --binding=linear:8 ./program",
        ),
        (
            "qsub -pe mpi 8 -binding pe linear:1 job.sh",
            "grid-engine",
            "#SBATCH -n8 --binding=pe:linear:1\nsrun -n8 --binding=pe:linear:1 ./program",
        ),
        (
            "#$ -t 1-10:2 -binding linear:1",
            "grid-engine",
            "#SBATCH -n1 -c1 --array=1-10:2 --binding=linear:1\nsrun -n1 -c1 --array=1-10:2 --binding=linear:1 ./program",
        ),
        (
            "#SBATCH --hint=nomultithread --threads-per-core=1\nsrun -n4 ./app",
            "hint",
            "",
        ),
        (
            "#$ -binding striding:2:4",
            "grid-engine",
            "#SBATCH -n1 -c2 --binding=striding:2:4\nsrun -n1 -c2 --binding=striding:2:4 ./program",
        ),
    ] {
        let (found, code) = findings(&["-"], line);
        assert_eq!(found, [(rule.into(), instead.into())], "{line}");
        let expected = if rule == "cyclic-default" { 0 } else { 1 };
        assert_eq!(code, Some(expected), "{line}");
    }
}

#[test]
fn what_may_be_meant_is_a_hint() {
    let script = "#SBATCH --exclusive -N2\nsrun -n4 --cpu-bind=mask_cpu:0x3,0xc ./app";
    let (found, code) = findings(&["-"], script);
    assert_eq!((found.len(), code), (1, Some(0)), "{found:?}");
    assert_eq!(found[0].0, "list-on-several-nodes");
}

#[test]
fn clean_lines_pass() {
    for line in [
        "srun ./app",
        "srun -n4 --cpu-bind=cores ./app",
        "srun -n 16 -N 2 -c 2 -m block:block --cpu-bind=cores ./app --hint=x --cpu-bind=none",
        "srun -n4 --hint=nomultithread ./app",
        "srun -n4 --hint=nomultithread --cpu-bind=verbose ./app",
        "srun --exclusive -n2 --cpu-bind=map_cpu:0,1 ./app",
        "srun -n1 -c8 --binding=linear:8 ./app",
        "srun -n1 -c8 --binding=host:linear:8 ./app",
        "#SBATCH -n4 -c4\nsrun -c4 -m block:cyclic ./app",
        "#SBATCH -n4 -c4\nsrun -c$SLURM_CPUS_PER_TASK -m block:block ./app",
        "#SBATCH -n4 -c4\nexport SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\nsrun -m block:block ./app",
        "#SBATCH -n4 -c4\nexport OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK OMP_PLACES=cores\nsrun -c4 -m block:block ./app",
        "export OMP_NUM_THREADS=1\nsrun -n4 ./app",
        "#SBATCH --exclusive\nsrun -n1 -c2 --binding=explicit:0,0:0,1 ./app",
        "#SBATCH -n4\nmpirun ./app",
        "#SBATCH -n4 -c8\nmpirun --map-by socket:PE=8 ./app",
        "#SBATCH -n4\n# srun -n4 --cpu-bind=rank\nsrun ./app",
        "#$ -cwd -N name\nsrun ./app",
        "srun --pty bash",
        "srun -n1 : -n2 ./app",
        "srun --gpus=1 -n1 ./app",
        "srun -N2-4 --cpu-bind=cores ./app",
        "#SBATCH --exclusive -n1\nexport OMP_NUM_THREADS=64 OMP_PLACES=cores\nsrun ./app",
    ] {
        let (found, code) = findings(&["-"], line);
        assert_eq!((found, code), (vec![], Some(0)), "{line}");
    }
}

#[test]
fn a_machine_shows_more() {
    for (machine, line, rule) in [
        (
            "pack:2 core:4 pu:1",
            "srun -n9 --cpu-bind=cores ./app",
            "refused",
        ),
        (
            "pack:2 core:4 pu:2",
            "srun -n12 --cpu-bind=cores ./app",
            "more-tasks-than-cores",
        ),
        (
            "pack:1 core:4 pu:1",
            "srun -n2 -c3 --cpu-bind=cores ./app",
            "not-as-asked",
        ),
        (
            "pack:1 core:4 pu:1",
            "srun -n2 --cpu-bind=map_cpu:9,1 --exclusive ./app",
            "refused",
        ),
        (
            "pack:1 core:4 pu:2",
            "srun -n2 --cpu-bind=map_cpu:0,1 --exclusive ./app",
            "list-on-one-core",
        ),
    ] {
        let (found, code) = findings(&["--machine", machine, line], "");
        assert_eq!(found.len(), 1, "{line}: {found:?}");
        assert_eq!((found[0].0.as_str(), code), (rule, Some(1)), "{line}");
    }
    for line in [
        "srun -n8 --cpu-bind=cores ./app",
        "srun -n16 --cpu-bind=threads ./app",
        "srun -n4 -c4 -m block:block ./app",
        "srun -n16 --hint=multithread ./app",
        // One socket: nothing to be apart on.
    ] {
        let (found, _) = findings(&["--machine", "pack:2 core:4 pu:2", line], "");
        assert_eq!(found, [], "{line}");
    }
    let (found, _) = findings(
        &["--machine", "pack:1 core:8 pu:1", "srun -n4 -c2 ./app"],
        "",
    );
    assert_eq!(found, []);
}

#[test]
fn a_script_is_read_as_a_file_and_lines_are_numbered() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let script = "#!/bin/sh\n#SBATCH -n 2 -c 2\nmodule load x\nsrun \\\n  ./app\nsrun -c2 -m block:block ./b\n";
    std::fs::write(file.path(), script).unwrap();
    let done = check(&[&file.path().to_string_lossy()], "");
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(text.contains("line 4: the job has -c 2"), "{text}");
    assert!(text.contains("instead  srun -c2 ./app"), "{text}");
    assert!(!text.contains("line 6"), "{text}");
    let nothing = check(&["echo hello"], "");
    assert_eq!(nothing.status.code(), Some(1));
    let said = String::from_utf8(nothing.stderr).unwrap();
    assert!(said.contains("nothing to check"), "{said}");
}

#[test]
fn comments_in_another_encoding() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        b"# gr\xfc\xdfe\nsrun -n2 --cpu-bind=rank ./app\n",
    )
    .unwrap();
    let (found, _) = findings(&[&file.path().to_string_lossy()], "");
    assert_eq!(found.len(), 1, "{found:?}");
}
