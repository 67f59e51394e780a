//! `berth check` and scripts within a script: here-documents that sbatch, salloc or a shell reads, and
//! the job files that lines of sbatch name. What anybody may have written there does no harm.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::check_common::{check, corrected, rules};

/// A text, the rules that it breaks, and its correction.
type Row = (&'static str, &'static str, &'static str);

fn hold(rows: &[Row]) {
    for (text, expected, instead) in rows {
        let (found, _) = rules(&["--slurm=22.05", "-"], text);
        assert_eq!(found.join(" "), *expected, "{text}");
        assert_eq!(corrected(&["--slurm=22.05"], text), *instead, "{text}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn here_documents_that_run_are_scripts() {
    hold(&[
        (
            "sbatch <<EOF\n#!/bin/sh\n#SBATCH -n4 -c4\nsrun ./a > \"\\$x\"\nEOF\n",
            "cpus-per-task",
            "sbatch <<EOF\n#!/bin/sh\n#SBATCH -n4 -c4\nsrun -c4 ./a > \"\\$x\"\nEOF\n",
        ),
        // The line's options override the script's.
        (
            "sbatch -n2 <<'EOF'\n#SBATCH -n8\nsrun -n4 ./a\nEOF",
            "more-than-the-job",
            "sbatch -n2 <<'EOF'\n#SBATCH -n8\nsrun -n2 ./a\nEOF",
        ),
        (
            "sbatch -c4 <<-E\n\t#SBATCH -n2\n\tsrun \\\\\n\t\t./a $x\n\tE\nsrun -n2 ./b",
            "cpus-per-task",
            "sbatch -c4 <<-E\n\t#SBATCH -n2\n\tsrun -c4 \\\\\n\t\t./a $x\n\tE\nsrun -n2 ./b",
        ),
        (
            "sbatch -N4 <<E\n#SBATCH -n2\nsrun ./a\nE\n",
            "tasks-and-nodes",
            "sbatch -N2 <<E\n#SBATCH -n2\nsrun ./a\nE\n",
        ),
        (
            "sbatch -n4 <<E\n#SBATCH --cpus-per-taks=2\nsrun ./a\nE\n",
            "misspelt-option cpus-per-task",
            "sbatch -n4 <<E\n#SBATCH --cpus-per-task=2\nsrun -c2 ./a\nE\n",
        ),
        (
            "cat <<'E' | sbatch --cpus-per-taks=2\n#SBATCH -n2\nsrun -c2 ./a\nE\n",
            "misspelt-option",
            "cat <<'E' | sbatch --cpus-per-task=2\n#SBATCH -n2\nsrun -c2 ./a\nE\n",
        ),
        (
            "sbatch <<E\n#SBATCH -n4\n./a\nE\n",
            "no-launcher?",
            "sbatch <<E\n#SBATCH -n4\n./a\nE\n",
        ),
        (
            "sbatch <<E\n#SBATCH -n4\nsrun ./a\n#SBATCH -c2\nE\n",
            "late-directive",
            "sbatch <<E\n#SBATCH -n4\nsrun ./a\n#SBATCH -c2\nE\n",
        ),
        // srun's shell runs it in every task.
        (
            "srun -n4 bash <<E\nsrun -n2 ./a\nhostname\nE\n",
            "srun-in-srun",
            "srun -n4 bash <<E\nsrun -n2 ./a\nhostname\nE\n",
        ),
        (
            "srun -n4 bash -s x <<E\nmpirun ./a\nE\n",
            "nested-launcher",
            "srun -n4 bash -s x <<E\nmpirun ./a\nE\n",
        ),
        (
            "salloc -n4 -c2 <<E\nsrun ./a\nE\n",
            "cpus-per-task",
            "salloc -n4 -c2 <<E\nsrun -c2 ./a\nE\n",
        ),
        (
            "#SBATCH -n4 -c2\nbash <<'E'\nsrun ./a # x\nE\n",
            "cpus-per-task",
            "#SBATCH -n4 -c2\nbash <<'E'\nsrun -c2 ./a # x\nE\n",
        ),
        // A file that the script writes, and submits.
        (
            "cat > job.sh <<'EOF'\n#SBATCH -n4 -c2\nsrun ./a\nEOF\nsbatch -n2 ./job.sh x\n",
            "cpus-per-task",
            "cat > job.sh <<'EOF'\n#SBATCH -n4 -c2\nsrun -c2 ./a\nEOF\nsbatch -n2 ./job.sh x\n",
        ),
    ]);
}

#[test]
fn other_here_documents_are_no_commands() {
    for text in [
        "cat > x <<EOF\nsrun -n4 srun ./a\n#SBATCH -n9 --foo\nEOF\nsrun -n4 ./a",
        "srun -n4 ./a <<EOF\nsrun -n4 srun\nEOF\n",
        "srun -n4 bash job.sh <<EOF\nsrun -n4 srun\nEOF\n",
        "srun -n4 bash -c './a' <<EOF\nsrun -n4 srun\nEOF\n",
        "sbatch -n4 --wrap 'srun ./a' <<EOF\nsrun -n4 srun\nEOF\n",
        "sbatch -n4 3<<EOF\nsrun -n4 srun\nEOF\n",
        "ssh host bash <<EOF\nsrun -n4 srun\nEOF\nsrun -n4 ./a",
        "python <<EOF | bash\nsrun -n4 srun\nEOF\nsrun -n4 ./a",
        "cat <<EOF\n#$ -pe smp 8 -binding linear:8\nEOF\nsrun -n4 ./a",
        "x=$((1<<2)); echo \"<<EOF\" '<<EOF' a\\<\\<EOF\nsrun -n4 ./a",
        // Only the submitting shell knows $N, and the variable that the job sets is another one.
        "sbatch -n4 <<E\nN=8\nsrun -n$N ./a\nE\n",
    ] {
        let (found, code) = rules(&["--slurm=22.05", "-"], text);
        assert_eq!((found, code), (vec![], Some(0)), "{text}");
    }
    // With a backslash it is the job's.
    let text = "sbatch -n4 -N1 <<E\nN=8\nsrun -n\\$N ./a\nE\n";
    assert_eq!(
        rules(&["--slurm=22.05", "-"], text).0,
        ["more-than-the-job"]
    );
}

/// Runs it in a folder, and ends it if it waits.
fn within(folder: &Path, arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_berth"))
        .args(["check", "--slurm=22.05"])
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while child.try_wait().unwrap().is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = child.try_wait().unwrap();
    let _ = child.kill();
    assert!(ended.is_some(), "{arguments:?} waits");
    child.wait_with_output().unwrap()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a story of one folder")]
fn job_files_are_read_with_the_options_of_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let sub = folder.path().join("sub");
    fs::create_dir(&sub).unwrap();
    let script = "#!/bin/sh\n#SBATCH -n8\n\nsrun -n4 ./a\n";
    fs::write(folder.path().join("job.sh"), script).unwrap();
    fs::write(
        sub.join("run.sh"),
        "sbatch -n2 beside.sh\nsbatch job.sh\nsbatch $x\n",
    )
    .unwrap();
    fs::write(sub.join("beside.sh"), script).unwrap();
    let check = |arguments: &[&str]| {
        let done = within(folder.path(), arguments);
        let text = String::from_utf8(done.stdout).unwrap();
        (text, String::from_utf8(done.stderr).unwrap())
    };
    let (clean, notes) = check(&["sbatch -n4 job.sh"]);
    assert_eq!(
        (clean.as_str(), notes.as_str()),
        ("no trap was found\n", "")
    );
    let (fewer, _) = check(&["sbatch -n2 job.sh"]);
    assert!(
        fewer.starts_with("job.sh line 4: the step asks for 4 CPUs"),
        "{fewer}"
    );
    assert!(!fewer.contains("instead"), "{fewer}");
    // The line itself is corrected all the same.
    let (line, _) = check(&["sbatch -N9 -n4 job.sh > x"]);
    assert!(
        line.contains("instead    sbatch -N4 -n4 job.sh > x"),
        "{line}"
    );
    // Beside the script, and in the working directory.
    let (both, notes) = check(&["sub/run.sh"]);
    assert!(both.starts_with("beside.sh line 4:"), "{both}");
    assert!(notes.contains("$x was not read: only the shell"), "{notes}");
    let (_, notes) = check(&["sbatch -n4 no.sh"]);
    assert!(
        notes.contains("no.sh was not read: there is no such file"),
        "{notes}"
    );
    let (_, notes) = check(&["a > job.sh; sbatch job.sh"]);
    assert!(notes.contains("the script writes it before"), "{notes}");
    // A script that submits itself again is one script.
    fs::write(
        sub.join("again.sh"),
        "#SBATCH -n4 -c2\nsrun ./a\nsbatch again.sh\n",
    )
    .unwrap();
    let (again, notes) = check(&["sub/again.sh"]);
    assert_eq!(
        (again.matches("[cpus-per-task]").count(), notes.as_str()),
        (1, "")
    );
}

#[test]
fn what_is_no_job_file_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = Command::new("mkfifo").arg(path("pipe")).status().unwrap();
    assert!(made.success());
    fs::create_dir(path("folder")).unwrap();
    symlink(path("loop"), path("loop")).unwrap();
    symlink("/dev/zero", path("zero")).unwrap();
    fs::write(path("large"), vec![b'#'; 5 << 20]).unwrap();
    for (name, why) in [
        ("pipe", "no regular file"),
        ("folder", "no regular file"),
        ("zero", "no regular file"),
        ("loop", "Too many levels of symbolic links"),
        ("large", "more than 4194304 bytes"),
    ] {
        let done = within(folder.path(), &[&format!("sbatch -n4 {name}")]);
        let stderr = String::from_utf8(done.stderr).unwrap();
        assert!(
            stderr.contains(&format!("{name} was not read: ")) && stderr.contains(why),
            "{stderr}"
        );
        assert_eq!(done.status.code(), Some(0), "{name}");
    }
    fs::write(path("nul"), b"#!/bin/sh\n#SBATCH -n4\0-c2\nsrun \0 ./a\n").unwrap();
    assert!(
        within(folder.path(), &["sbatch nul"])
            .status
            .code()
            .is_some()
    );
    let endless = within(folder.path(), &["zero"]);
    assert_eq!(endless.status.code(), Some(2));
}

#[test]
fn hostile_texts_end() {
    let long = "x".repeat(100_000);
    let many = |text: &str, times: usize| text.repeat(times);
    for text in [
        format!("srun -n4 {long} ./a"),
        format!("sbatch <<{long}\nsrun ./a\n{long}\n"),
        format!("sbatch <<E\nsrun -n4 {long} srun\nE\n"),
        many("cat <<E ", 10_000),
        many("sbatch <<E\n#SBATCH -n4\nsrun srun ./a\nE\n", 100),
        many("sbatch <<E\n", 5_000),
        many("bash <<E\n", 5_000) + "srun -n4 srun ./a\n",
        many("sbatch job.sh\n", 10_000),
        many("cat > f <<E\nsbatch f\nE\nsbatch f\n", 2_000),
        "sbatch <<E\nsrun -n4 srun \0 ./a\0\nE\0\nE\n".into(),
        "sbatch <<\nsrun\n".into(),
        "sbatch <<''\nsrun -n2 srun ./a\n\nsrun ./b".into(),
        "sbatch <<E\\\nF\nsrun -n2 srun a\nEF\n".into(),
        "cat > f <<E; sbatch f\nsrun srun\nE".into(),
    ] {
        let done = check(&["--slurm=22.05", "--format=script", "-"], text.as_bytes());
        let shown: String = text.chars().take(60).collect();
        assert!(done.status.code().is_some(), "{shown}");
    }
    let unfinished = "sbatch -n4 -c2 <<EOF\nsrun ./a\n";
    let (found, _) = rules(&["--slurm=22.05", "-"], unfinished);
    assert_eq!(found, ["unclosed?", "cpus-per-task"]);
}
