//! `berth check` as a whole: clean lines pass without a word, a machine shows more, one line corrects
//! all traps, and no other byte changes.

use crate::check_common::{check, corrected, rules};

#[test]
fn clean_lines_pass() {
    for line in [
        "srun ./app",
        "srun -n4 --cpu-bind=cores ./app",
        "srun -n 16 -N 2 -c 2 -m block:block --cpu-bind=cores ./app --hint=x --cpu-bind=none",
        "srun -n4 --hint=nomultithread --cpu-bind=verbose ./app",
        "srun --exclusive -n2 --cpu-bind=map_cpu:0,1 ./app",
        "srun -n1 -c8 --binding=linear:8 ./app",
        "srun -n1 -c8 --binding=host:linear:8 ./app",
        "#SBATCH -n4 -c4\nsrun -c$SLURM_CPUS_PER_TASK -m block:block ./app",
        "#SBATCH -n4 -c4\nexport SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\nsrun ./app",
        "#SBATCH -n1 -c4\nsrun ./app",
        "#SBATCH -n4 -c4\nexport OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK OMP_PLACES=cores\nsrun -c4 ./app",
        "export OMP_NUM_THREADS=1\nsrun -n4 ./app",
        "#SBATCH --exclusive\nsrun -n1 -c2 --binding=explicit:0,0:0,1 ./app",
        "#SBATCH -n4\nmpirun ./app",
        "#SBATCH -n4 -c8\nmpirun --map-by socket:PE=8 ./app",
        "#SBATCH -n4 -c8\nmodule load intel-mpi\nmpirun ./app",
        "#SBATCH -n4 -c8\nmpiexec.hydra -n 4 ./app",
        "#SBATCH -n4\n# srun -n4 --cpu-bind=rank\nsrun ./app",
        "#SBATCH -n4\ncat > x <<EOF\nsrun -n4 srun\n#SBATCH -c9\nEOF\nsrun ./app",
        "#$ -cwd -N name\nsrun ./app",
        "srun --pty bash",
        "srun -n1 : -n2 ./app",
        "srun -n$N -N2 --ntasks-per-node=4 ./app",
        "srun $OPTIONS -N2 -n1 ./app",
        "srun -m arbitrary -w \"$SLURM_JOB_NODELIST\" ./app",
        "#SBATCH -N2\nsrun -N1 -n1 ./a &\nsrun -N1 -n1 ./b &\nwait",
        "#SBATCH -n4\nsrun -n4 ./a &\nwait\nsrun -n4 ./b &\nwait",
        "#SBATCH -n4\nsrun -n1 --overlap ./a &\nsrun -n3 --exact ./b",
        "srun -n4 ./a & srun -n4 ./b &",
        "srun -n4 taskset -p 1",
        "srun -n4 taskset -c $((SLURM_LOCALID * 2)) ./a",
        "srun -n4 numactl --localalloc ./a",
        "case $x in\nsrun) srun ./a ;;\nesac",
        "#SBATCH --exclusive -n1\nexport OMP_NUM_THREADS=64 OMP_PLACES=cores\nsrun ./app",
        "#SBATCH --exclusive\nexport OMP_PLACES=cores OMP_NUM_THREADS=6\nsrun --cpu-bind=mask_cpu:0x7e,0x7e00 ./a",
        "#SBATCH -n4\n./setup.sh\nsrun ./app",
        "#SBATCH -n1\nexport OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}\nsrun ./app",
        "srun -t 1-00:30 -n2 ./a",
        "srun --time=unlimited -n2 ./a",
    ] {
        let (found, code) = rules(&["--slurm=22.05", "-"], line);
        assert_eq!((found, code), (vec![], Some(0)), "{line}");
    }
    // From 23.11 on srun takes -c over.
    let (found, _) = rules(&["--slurm=23.11", "-"], "#SBATCH -n4 -c4\nsrun ./app");
    assert_eq!(found, [""; 0]);
    let (found, _) = rules(&["--slurm=23.02", "-"], "#SBATCH -n4 -c4\nsrun ./app");
    assert_eq!(found, ["cpus-per-task"]);
}

#[test]
fn whole_nodes_make_lists_fit() {
    for line in [
        "srun -N2 -n4 --cpu-bind=map_cpu:0,1 ./app",
        "srun -n2 --cpu-bind=map_cpu:0,1 ./app",
        "srun -n1 -c2 --binding=linear:2:0,0 ./app",
        "OMP_PLACES=cores OMP_NUM_THREADS=8 srun -n2 ./app",
        "#SBATCH -n4\nsrun -n8 ./app",
    ] {
        assert_eq!(
            rules(&["--slurm=24.11", "--site=exclusive", "-"], line).0,
            [""; 0],
            "{line}"
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn a_machine_shows_more() {
    for (machine, line, rule) in [
        (
            "pack:2 core:4 pu:1",
            "srun -n9 --cpu-bind=cores ./app",
            "refused",
        ),
        (
            "pack:2 core:4 pu:2",
            "srun -n12 --exclusive --cpu-bind=cores ./app",
            "more-tasks-than-cores",
        ),
        (
            "pack:1 core:4 pu:1",
            "srun -n2 -c3 --cpu-bind=cores ./app",
            "refused",
        ),
        (
            "pack:2 core:4 pu:2",
            "srun -n2 --binding=linear:1:9,9 --exclusive ./app",
            "not-as-asked",
        ),
        // slurmctld gives it 4 cores, and two tasks have each of them.
        (
            "pack:2 core:4 pu:2",
            "srun -n8 --cpu-bind=cores ./app",
            "more-tasks-than-cores",
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
        (
            "pack:2 core:4 pu:1",
            "#SBATCH --exclusive\nsrun -n3 ./app",
            "nothing-bound",
        ),
        ("pack:2 core:4 pu:2", "srun -n3 ./app", "nothing-bound"),
        (
            "pack:2 core:4 pu:1",
            "srun -n2 -c2 --exclusive --cpu-bind=cores ./app",
            "cyclic-default?",
        ),
    ] {
        let (found, code) = rules(&["--slurm=24.11", "--machine", machine, line], "");
        assert_eq!(found, [rule], "{line}");
        assert_eq!(code, Some(i32::from(!rule.ends_with('?'))), "{line}");
    }
    for line in [
        "srun -n8 ./app",
        "srun -n16 --cpu-bind=threads ./app",
        "srun -n4 -c4 -m block:block ./app",
        "srun -n16 --hint=multithread ./app",
        // Bound by nothing, and placed by nothing.
        "srun -n2 -c2 --cpu-bind=none ./app",
        // One node of one task each: nothing to be apart from.
        "srun -n1 -c2 --cpu-bind=cores ./app",
    ] {
        let (found, _) = rules(
            &["--slurm=24.11", "--machine", "pack:2 core:4 pu:2", line],
            "",
        );
        assert_eq!(found, [""; 0], "{line}");
    }
    let fixed = corrected(
        &["--slurm=24.11", "--machine", "pack:2 core:4 pu:2"],
        "srun -n3 ./a > \"$x\"",
    );
    assert_eq!(fixed, "srun -n3 --cpu-bind=threads ./a > \"$x\"");
    // Where each core has one thread, srun binds the three cores that the step gets by itself.
    let (found, _) = rules(
        &[
            "--slurm=24.11",
            "--machine",
            "pack:2 core:4 pu:1",
            "srun -n3 --exclusive ./app",
        ],
        "",
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_cluster_shows_its_partitions() {
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("slurm.conf");
    let text = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
                NodeName=a[1-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n\
                NodeName=b1 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1\n\
                PartitionName=shared Nodes=a[1-2] Default=YES\n\
                PartitionName=whole Nodes=a[1-2] OverSubscribe=EXCLUSIVE\n\
                PartitionName=small Nodes=b1\n";
    std::fs::write(&conf, text).unwrap();
    let conf = conf.to_string_lossy();
    for (line, expected) in [
        (
            "srun -n4 --cpu-bind=map_cpu:0,1,8,9 ./a",
            "list-on-part-of-a-node?",
        ),
        ("srun -p whole -n4 --cpu-bind=map_cpu:0,2,4,6 ./a", ""),
        ("#SBATCH -p whole\nsrun -n2 --cpu-bind=map_cpu:0,2 ./a", ""),
        ("srun -p small -n4 ./a", ""),
        ("srun -p small -n5 ./a", "refused"),
        ("sbatch -p small -n5 job.sh", "refused"),
        ("#SBATCH -p small -n8\nsrun ./a", "refused"),
        ("sbatch -p huge -n1 job.sh", "refused"),
        ("srun -n3 ./a", "nothing-bound"),
        ("srun -p $PART -n3 ./a", ""),
    ] {
        let (found, _) = rules(&["--slurm=24.11", "--cluster", &conf, "-"], line);
        assert_eq!(found.join(" "), expected, "{line}");
    }
    let done = check(&["--cluster=/no/such.conf", "srun ./a"], b"");
    let stderr = String::from_utf8(done.stderr).unwrap();
    assert!(stderr.contains("/no/such.conf cannot be read"), "{stderr}");
    assert_eq!(done.status.code(), Some(2));
}

#[test]
fn one_corrected_line_for_several_traps() {
    let line = "srun --cpus-per-taks=2 -n4 --hint=nomultithread --cpu-bind=kores srun ./a \"$@\" $(x) > `y` # z";
    let (found, _) = rules(&["--slurm=24.11", "-"], line);
    assert_eq!(
        found,
        ["misspelt-option", "wrong-value", "hint", "srun-in-srun"]
    );
    let instead = "srun --cpus-per-task=2 -n4 --cpu-bind=cores ./a \"$@\" $(x) > `y` # z";
    assert_eq!(corrected(&["--slurm=24.11"], line), instead);
    let done = check(&["--slurm=24.11", line], b"");
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!(text.matches("instead").count(), 1, "{text}");
    assert!(text.ends_with(&format!("instead    {instead}\n")), "{text}");
}

#[test]
fn a_script_is_read_as_a_file_and_lines_are_numbered() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let script = "#!/bin/sh\n#SBATCH -n 2 -c 2\nmodule load x\nsrun \\\n  -l ./app\nsrun -c2 ./b\n";
    std::fs::write(file.path(), script).unwrap();
    let done = check(&["--slurm=22.05", &file.path().to_string_lossy()], b"");
    let text = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(1));
    assert!(text.contains("line 4: the job has -c 2"), "{text}");
    assert!(
        text.contains("instead    line 5      -l -c2 ./app"),
        "{text}"
    );
    assert!(!text.contains("line 6"), "{text}");
}

#[test]
fn what_is_missing_is_said() {
    for (words, says) in [
        (&["no-such-job.sh"][..], "there is no such file"),
        (&["./folder/job"], "there is no such file"),
        (&["/"], "cannot be read"),
        (&["echo hello"], "nothing to check"),
    ] {
        let done = check(words, b"");
        let stderr = String::from_utf8(done.stderr).unwrap();
        assert!(stderr.contains(says), "{stderr}");
        assert_eq!(done.status.code(), Some(2), "{stderr}");
    }
    let (found, code) = rules(&["srun"], "");
    assert_eq!((found, code), (vec![], Some(0)));
}

#[test]
fn other_bytes_stay() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let script = b"# gr\xfc\xdfe \x1b[31m\r\nsrun -n2 --cpu-bind=rank ./app \xff\r\n";
    std::fs::write(file.path(), script).unwrap();
    let done = check(
        &[
            "--slurm=24.11",
            "--format=script",
            &file.path().to_string_lossy(),
        ],
        b"",
    );
    let expected = b"# gr\xfc\xdfe \x1b[31m\r\nsrun -n2 --cpu-bind=threads ./app \xff\r\n";
    assert_eq!(done.stdout, expected);
}

/// A step starts beside those that were put into the background before it.
#[test]
fn a_step_beside_one_in_the_background() {
    let text = "#SBATCH -n4\nsrun -n2 ./a &\nsrun -n2 ./b > \"$x\"\nwait";
    let (found, _) = rules(&["--slurm=24.11", "-"], text);
    assert_eq!(found, ["steps-wait", "steps-wait"]);
    let instead = "#SBATCH -n4\nsrun -n2 --exact ./a &\nsrun -n2 --exact ./b > \"$x\"\nwait";
    assert_eq!(corrected(&["--slurm=24.11"], text), instead);
    for text in [
        "#SBATCH -n4\nsrun -n2 --overlap ./a &\nsrun -n2 ./b\nwait",
        "#SBATCH -n4\nsrun -n2 ./b\nsrun -n2 ./a &\nwait",
        "#SBATCH -n4\nsrun -n2 ./a &\nwait\nsrun -n2 ./b",
    ] {
        assert_eq!(rules(&["--slurm=24.11", "-"], text).0, [""; 0], "{text}");
    }
}

#[test]
fn mappings_that_srun_refuses_are_wrong_values() {
    for options in ["--map-by cor", "--map-by core --bind-to numa"] {
        let (found, code) = rules(&["-"], &format!("srun -n2 {options} ./a"));
        assert_eq!(
            (found, code),
            (vec!["wrong-value".into()], Some(1)),
            "{options}"
        );
    }
    let (found, code) = rules(&["-"], "srun -n2 --map-by l3cache --bind-to core ./a");
    assert_eq!((found, code), (vec![], Some(0)));
}

/// On a whole node the level decides how many CPUs a task has: a core for four threads, or everything for each.
#[test]
fn threads_of_a_whole_node_have_a_cpu_each() {
    let place = [
        "--slurm=24.11",
        "--machine",
        "pack:2 core:16 pu:1",
        "--site",
        "exclusive",
    ];
    let omp = "OMP_PLACES=cores OMP_NUM_THREADS=4 srun";
    for (line, rule, instead) in [
        (
            "-n8 --cpu-bind=cores ./a",
            "openmp-threads",
            "-n8 --cpu-bind=cores -c4 ./a",
        ),
        ("-n8 ./a", "nothing-bound", "-n8 -c4 ./a"),
        (
            "-n2 --cpu-bind=sockets ./a",
            "",
            "-n2 --cpu-bind=sockets ./a",
        ),
    ] {
        let (line, instead) = (format!("{omp} {line}"), format!("{omp} {instead}"));
        let (found, _) = rules(&[&place[..], &["-"]].concat(), &line);
        let found: Vec<_> = found.iter().filter(|rule| !rule.ends_with('?')).collect();
        assert_eq!(
            found,
            Vec::from_iter(Some(rule).filter(|rule| !rule.is_empty())),
            "{line}"
        );
        assert_eq!(corrected(&place, &line), instead, "{line}");
    }
}
