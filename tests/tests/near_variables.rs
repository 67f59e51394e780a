//! The variables that list the GPUs of each task of a `--near=gpu`, in real tasks: with devices that
//! Slurm leaves alone, with devices that Slurm gave the step (GRES), and in steps inside a step.

use berth_tests::{Builder, Cluster, Done};

/// Two GPUs of NVIDIA: the first on the PCI bus is next to CPU 1, the second one next to CPU 0.
const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/topologies/kinds-gpus-2.xml");

/// What each task finds: its number, its list of GPUs, how CUDA counts them, and what berth wrote.
const LOOK: &str = "echo $SLURM_LOCALID ${CUDA_VISIBLE_DEVICES-unset} ${CUDA_DEVICE_ORDER-unset} \
     ${BERTH_DEVICES:+marked} ${ROCR_VISIBLE_DEVICES+others}";

fn builder() -> Option<Builder> {
    let builder = Cluster::builder()
        .env("HWLOC_XMLFILE", MACHINE)
        .set("SlurmdParameters=allow_ecores")
        .plugstack(Some(""));
    berth_tests::two_cpus().then_some(builder)
}

/// A cluster whose slurmd knows both GPUs, and the folder of its gres.conf.
fn with_gres() -> Option<(Cluster, tempfile::TempDir)> {
    let builder = builder()?;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("gres.conf");
    std::fs::write(&file, "Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n").expect("a file");
    let cluster = builder
        .set("GresTypes=gpu")
        .node("Gres=gpu:2")
        .file(&file)
        .up();
    Some((cluster, folder))
}

/// A script in a step of a job that has both cores.
fn step(cluster: &Cluster, options: &[&str], script: &str, variables: &[(&str, &str)]) -> Done {
    let words = [&["-Q", "-n2", "srun"], options, &["/bin/sh", "-c", script]].concat();
    cluster.run_with("salloc", &words, variables)
}

/// The tasks' lines, by task.
fn lines(done: &Done) -> Vec<String> {
    let mut lines: Vec<_> = done.stdout.lines().map(String::from).collect();
    lines.sort();
    lines
}

#[track_caller]
fn finds(
    cluster: &Cluster,
    options: &[&str],
    variables: &[(&str, &str)],
    expected: &[&str],
) -> String {
    let done = step(cluster, options, LOOK, variables);
    assert_eq!(
        lines(&done),
        expected,
        "{options:?} {variables:?} {done:#?}"
    );
    done.stderr
}

#[test]
fn each_task_sees_its_own_device_first() {
    let Some(builder) = builder() else { return };
    let cluster = builder.up();
    let both = ["0 0,1 PCI_BUS_ID marked", "1 1,0 PCI_BUS_ID marked"];
    let said = finds(&cluster, &["-n2", "--near=gpu"], &[], &both);
    assert_eq!(said, "");
    finds(
        &cluster,
        &["-n2", "--near=gpu", "--map-by=core"],
        &[],
        &both,
    );
    let own = ["0 0 PCI_BUS_ID marked", "1 1 PCI_BUS_ID marked"];
    let said = finds(&cluster, &["-n2", "--near=gpu:1:own"], &[], &own);
    assert_eq!(said, "");
    // Tasks with the same device share it.
    let shared = ["0 0,1 PCI_BUS_ID marked"; 1];
    finds(&cluster, &["-n1", "--near=gpu:1"], &[], &shared);
    finds(&cluster, &["-n1"], &[], &["0 unset unset"]);
    finds(&cluster, &["-n1", "--near=0302"], &[], &["0 unset unset"]);
    let said = finds(
        &cluster,
        &["-n1", "--near=0302:own"],
        &[],
        &["0 unset unset"],
    );
    assert!(said.contains(":own changes nothing here"), "{said}");
}

#[test]
fn the_users_own_values_stay() {
    let Some(builder) = builder() else { return };
    let cluster = builder.up();
    let list = [("CUDA_VISIBLE_DEVICES", "1")];
    let said = finds(&cluster, &["-n1", "--near=gpu"], &list, &["0 1 unset"]);
    assert_eq!(said, "");
    let said = finds(&cluster, &["-n1", "--near=gpu:own"], &list, &["0 1 unset"]);
    assert!(
        said.contains("CUDA_VISIBLE_DEVICES is set already"),
        "{said}"
    );
    let order = [("CUDA_DEVICE_ORDER", "FASTEST_FIRST")];
    let as_it_was = ["0 unset FASTEST_FIRST"];
    let said = finds(&cluster, &["-n1", "--near=gpu"], &order, &as_it_was);
    assert!(said.contains("unset CUDA_DEVICE_ORDER or set it"), "{said}");
    let order = [("CUDA_DEVICE_ORDER", "PCI_BUS_ID")];
    finds(
        &cluster,
        &["-n2", "--near=gpu"],
        &order,
        &["0 0,1 PCI_BUS_ID marked", "1 1,0 PCI_BUS_ID marked"],
    );
    let forged = [("BERTH_DEVICES", "PATH=/bin CUDA_VISIBLE_DEVICES=0")];
    finds(&cluster, &["-n1"], &forged, &["0 unset unset"]);
}

/// An srun inside a task exports the task's environment. What berth wrote there is no wish of the
/// user; what the task's program wrote is one.
#[test]
fn a_step_inside_a_step_has_its_own_lists() {
    let Some(builder) = builder() else { return };
    let cluster = builder.up();
    let inside = |options: &str, before: &str| {
        let script = format!("{before} exec srun --overlap {options} /bin/sh -c '{LOOK}'");
        let outer = ["-n1", "-c2", "--near=gpu:1:own"];
        let done = step(&cluster, &outer, &script, &[]);
        assert!(done.ok(), "{done:#?}");
        (lines(&done), done.stderr)
    };
    let (found, said) = inside("-n2 -c1 --near=gpu", "");
    assert_eq!(
        found,
        ["0 0,1 PCI_BUS_ID marked", "1 1,0 PCI_BUS_ID marked"],
        "{said}"
    );
    let (found, said) = inside("-n1 -c1", "");
    assert_eq!(found, ["0 unset unset"], "{said}");
    let (found, said) = inside("-n1 -c1 --near=gpu", "export CUDA_VISIBLE_DEVICES=1;");
    assert_eq!(found, ["0 1 unset"], "{said}");
}

/// sbatch exports a task's environment too.
#[test]
fn a_script_that_a_task_submits_has_no_lists() {
    let Some(builder) = builder() else { return };
    let cluster = builder.up();
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let script = format!("sbatch -Q -n1 -o {} --wrap '{LOOK}'", out.display());
    let done = step(&cluster, &["-n1", "--near=gpu:1:own"], &script, &[]);
    assert!(done.ok(), "{done:#?}");
    let found = cluster.wait_for("the script's line", || {
        let found = std::fs::read_to_string(&out).ok()?;
        found.ends_with('\n').then_some(found)
    });
    assert_eq!(found, "0 unset unset\n");
}

#[test]
fn slurms_list_keeps_its_devices_and_changes_its_order() {
    let Some((cluster, _folder)) = with_gres() else {
        return;
    };
    let gres = |options: &[&str]| {
        let options = [&["--gres=gpu:2"], options, &["/bin/sh", "-c", LOOK]].concat();
        cluster.run("srun", &options)
    };
    let slurms = gres(&["-n2"]);
    if !slurms.stdout.contains("0,1") {
        berth_tests::skip("this slurmd sets no CUDA_VISIBLE_DEVICES");
        return;
    }
    let done = gres(&["-n2", "--near=gpu"]);
    let both = [
        "0 0,1 PCI_BUS_ID marked others",
        "1 1,0 PCI_BUS_ID marked others",
    ];
    assert_eq!(lines(&done), both, "{done:#?}");
    let done = gres(&["-n2", "--near=gpu:own"]);
    let own = [
        "0 0 PCI_BUS_ID marked others",
        "1 1 PCI_BUS_ID marked others",
    ];
    assert_eq!(lines(&done), own, "{done:#?}");
    // Slurm binds the devices itself.
    let done = gres(&["-n2", "--near=gpu:own", "--gpu-bind=map_gpu:1,0"]);
    assert_eq!(
        lines(&done),
        ["0 1 unset others", "1 0 unset others"],
        "{done:#?}"
    );
    let done = gres(&["-n1", "--near=gpu:own", "--gpu-bind=none"]);
    assert!(done.stderr.contains("leave out --gpu-bind"), "{done:#?}");
}
