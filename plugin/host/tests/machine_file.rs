//! A machine file is read back as written, and everything else is refused with
//! a text of its own that says what to do.
//! Machines of every shape, up to 5000 CPUs.

#[path = "../../discover/tests/common/facts.rs"]
mod facts;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use berth_host::machine_file::{self, MachineFile, MachineFileError, Stale};
use berth_host::{Proof, TrustError};
use berth_placement::sets::ids::{CpuId, NumaId};
use berth_placement::topology::devices::Pci;
use berth_placement::{CoreKind, CpuSet, Device, DeviceKind, Machine, NumaNode, Numbering, Parts};

/// Packages × cores × threads, numbered threads last, with memory that is nobody's and one CPU that is not allowed.
fn machine(packages: u32, cores: u32, threads: u32) -> Machine {
    let regular = Machine::regular(packages, cores, threads, Numbering::ThreadsLast);
    let mut parts = regular.unwrap().parts().clone();
    parts.numa_nodes.push(NumaNode {
        id: NumaId(252),
        cpus: CpuSet::new(),
    });
    parts.allowed = CpuSet::first(packages * cores * threads - 1);
    Machine::new(parts).unwrap()
}

fn proof() -> Proof {
    Proof {
        boot_id: "01234567-89ab-cdef-0123-456789abcdef".into(),
        online: "0-15".into(),
    }
}

fn file(machine: Machine) -> MachineFile {
    MachineFile::new(machine, true, "this host".into(), proof())
}

/// Writes a text where the machine file is to be, and tells why it is refused.
fn refused(text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(machine_file::NAME);
    fs::write(&path, text).unwrap();
    let told = machine_file::read(&path).unwrap_err().to_string();
    assert!(told.contains("machine.json"), "{told}");
    assert!(told.contains("berth discover --output"), "{told}");
    told
}

#[test]
fn machines_of_every_shape_come_back_as_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(machine_file::NAME);
    for (packages, cores, threads) in [(1, 1, 1), (2, 4, 2), (3, 5, 8), (4, 625, 2)] {
        let written = file(machine(packages, cores, threads));
        machine_file::write(&path, &written).unwrap();
        assert_eq!(machine_file::read(&path).unwrap(), written);
    }
    let mode = fs::metadata(&path).unwrap().mode();
    assert_eq!(mode & 0o7777, 0o644);
}

/// The text as older releases wrote it: they left out what is empty.
fn older(text: &str) -> String {
    let (fields, _) = text.split_once(",\"numa_distances\"").unwrap();
    format!("{fields}}}")
}

/// The text of a file, as this version writes it.
fn known(text: &str) -> String {
    text.replace("VERSION", env!("CARGO_PKG_VERSION"))
}

#[test]
fn the_text_is_stable() {
    let mut small = file(machine(1, 2, 2));
    let text = small.to_json().unwrap();
    assert_eq!(text, known(include_str!("machine_file/small.json")));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(machine_file::NAME);
    fs::write(&path, older(&text)).unwrap();
    assert_eq!(machine_file::read(&path).unwrap(), small);

    small.notes = vec!["devices are unknown".into()];
    small.machine = Machine::new(everything()).unwrap();
    let text = small.to_json().unwrap();
    assert_eq!(text, known(include_str!("machine_file/everything.json")));
}

/// A machine of one package with something in every field.
fn everything() -> Parts {
    let set = |list: &str| CpuSet::from_list(list).unwrap();
    let sets = |lists: &[&str]| lists.iter().map(|list| set(list)).collect();
    let kind = |cpus, rank, infos| CoreKind {
        cpus: set(cpus),
        rank,
        infos,
    };
    let atom = ("CoreType".into(), "IntelAtom".into());
    Parts {
        numa_distances: vec![vec![10, 21], vec![21, 10]],
        dies: sets(&["0-1", "2-3"]),
        l2_caches: sets(&["0,2", "1,3"]),
        l1_caches: sets(&["0", "1", "2", "3"]),
        whole_order: [2, 0, 3, 1].map(CpuId).to_vec(),
        kinds: vec![kind("0-1", Some(0), vec![atom]), kind("2-3", None, vec![])],
        isolated: set("3"),
        held: set("2"),
        devices: devices(),
        ..machine(1, 2, 2).parts().clone()
    }
}

fn devices() -> Vec<Device> {
    let pci = Pci {
        address: "0000:d1:00.0".parse().unwrap(),
        class: 0x380,
        vendor: 0x1002,
        product: 0x7408,
    };
    let gpu = Device {
        kind: DeviceKind::Gpu,
        names: vec!["card0".into()],
        pci: Some(pci),
        cpus: CpuSet::from_list("0-1").unwrap(),
        numa_node: Some(NumaId(0)),
    };
    let disk = Device {
        kind: DeviceKind::Storage,
        names: vec!["sda".into()],
        cpus: CpuSet::first(4),
        ..Device::default()
    };
    vec![gpu, disk]
}

#[test]
fn everything_that_a_machine_has_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(machine_file::NAME);
    let mut written = file(Machine::new(everything()).unwrap());
    written.notes = vec!["devices are unknown".into()];
    machine_file::write(&path, &written).unwrap();
    assert_eq!(machine_file::read(&path).unwrap(), written);
    // A note of any length is cut where it is written, not refused where it is read.
    written.notes = vec!["×".repeat(5000); 100];
    machine_file::write(&path, &written).unwrap();
    assert_eq!(machine_file::read(&path).unwrap().notes.len(), 32);

    let text = machine_file::devices_to_json(&devices()).unwrap();
    assert_eq!(
        machine_file::devices_from_json(text.as_bytes()).unwrap(),
        devices()
    );
}

#[test]
fn fields_of_a_later_release_are_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(machine_file::NAME);
    let known = file(Machine::new(everything()).unwrap());
    let text = known.to_json().unwrap();
    let later = text
        .replace("{\"id\":0", "{\"distances\":[10,21],\"id\":0")
        .replace(
            "{\"kind\":\"gpu\"",
            "{\"power\":{\"watts\":300},\"kind\":\"gpu\"",
        )
        .replace("{\"cpus\":\"2-3\"", "{\"turbo\":true,\"cpus\":\"2-3\"")
        .replace("\"l3\"", "\"clusters\":[[0],[1]],\"l3\"");
    for field in ["distances", "power", "turbo", "clusters"] {
        assert!(later.contains(field), "{later}");
    }
    fs::write(&path, &later).unwrap();
    assert_eq!(machine_file::read(&path).unwrap(), known);
    // A word for a device that this release does not know.
    fs::write(&path, text.replace("\"storage\"", "\"quantum\"")).unwrap();
    let found = machine_file::read(&path).unwrap();
    assert_eq!(found.machine.devices()[1].kind, DeviceKind::Other);
}

#[test]
fn a_file_cut_anywhere_is_torn_and_never_a_smaller_machine() {
    let whole = file(machine(2, 3, 2)).to_json().unwrap();
    let whole = whole.trim_end();
    for length in 0..whole.len() {
        let told = refused(&whole[..length]);
        assert!(told.contains("ends in the middle"), "{length}: {told}");
    }
}

#[test]
fn other_texts_are_refused_each_with_its_reason() {
    let good = older(&file(machine(1, 2, 1)).to_json().unwrap());
    let with = |field: &str| good.replace("\"l3\"", &format!("{field},\"l3\""));
    facts::hold(include_str!("machine_file.txt"), |_, change| {
        let (how, rest) = change.split_once(' ').unwrap();
        refused(&match how {
            "text" => rest.replace("\\0", "\0"),
            "behind" => good.clone() + rest,
            "with" => with(rest),
            _ => {
                let (from, to) = rest.split_once(" by ").unwrap();
                assert!(good.contains(from), "{from}");
                good.replace(from, to.trim_start_matches("nothing"))
            }
        })
    });
    for (text, found) in [
        (
            with(&format!("\"notes\":[\"{}\"]", "y".repeat(1025))),
            "above 1024 bytes",
        ),
        (
            with(&format!("\"dies\":[{}\"\"]", "\"\",".repeat(65536))),
            "65537 objects of one kind",
        ),
    ] {
        let told = refused(&text);
        assert!(told.contains(found), "{text:.80}: {told}");
    }
}

#[test]
fn nothing_a_user_could_have_written_is_believed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(machine_file::NAME);
    machine_file::write(&path, &file(machine(1, 1, 1))).unwrap();
    assert!(machine_file::read(&path).is_ok());

    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    assert!(told_by(&path).contains("chmod go-w"));
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();

    fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
    assert!(told_by(&path).contains("(mode 0777)"));
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();

    // Only root can give files away.
    if chown(&path, Some(3_999_999), None).is_ok() {
        assert!(told_by(&path).contains("belongs to user 3999999"));
    }
    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    assert!(told_by(&link).contains("symbolic link"));
    let directory = dir.path().join("directory");
    fs::create_dir(&directory).unwrap();
    assert!(told_by(&directory).contains("not a regular file"));
}

fn told_by(path: &Path) -> String {
    let why = machine_file::read(path).unwrap_err();
    assert!(
        matches!(why, MachineFileError::Untrusted(_)),
        "{why} is another error"
    );
    why.to_string()
}

#[test]
fn absent_and_huge_files_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(machine_file::NAME);
    let told = machine_file::read(&path).unwrap_err();
    assert!(matches!(told, MachineFileError::Absent(_)));
    assert!(
        told.to_string().contains("berth discover --output"),
        "{told}"
    );
    let huge = fs::File::create(&path).unwrap();
    huge.set_len((16 << 20) + 1).unwrap();
    let told = machine_file::read(&path).unwrap_err();
    assert!(matches!(told, MachineFileError::TooLarge(_)), "{told}");
}

#[test]
fn the_proof_ends_with_the_boot_and_with_the_cpus() {
    let current = file(machine(1, 1, 1));
    assert_eq!(current.check_current(&proof()), Ok(()));
    let rebooted = Proof {
        boot_id: "another".into(),
        ..proof()
    };
    assert_eq!(current.check_current(&rebooted), Err(Stale::OtherBoot));
    let fewer = Proof {
        online: "0-14".into(),
        ..proof()
    };
    let told = current.check_current(&fewer).unwrap_err().to_string();
    assert!(told.contains("0-15") && told.contains("0-14"), "{told}");
    let synthetic = MachineFile {
        this_system: false,
        ..current
    };
    assert!(
        synthetic.check_current(&fewer).is_ok(),
        "its CPUs are not this host's"
    );
    assert!(synthetic.check_current(&rebooted).is_err());
}

#[test]
fn errors_that_callers_tell_apart_stay_public() {
    let why: MachineFileError = TrustError::Symlink("/x".into(), "a directory").into();
    assert!(why.to_string().contains("cannot be trusted"));
}
