//! The ledger's file, and the public one beside it: who may open them, and what is read where
//! something else stands there.

mod ledger_node;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use berth_host::ledger::{Entry, Kind, Ledger, NAME, Process, TaskCgroup, look, queries};
use berth_host::{LedgerError, StateDir};
use berth_placement::{CpuSet, Machine, Numbering, SocketKind};
use ledger_node::{Node, PATIENCE, add, entry, hold, live, node};

fn file(node: &Node, name: &str) -> PathBuf {
    node.dir.path().join(NAME).join(name)
}

/// Whatever stands in the folder: what is whole and locked counts, and the next step that is written removes the rest.
#[test]
fn torn_and_foreign_files() {
    let node = node();
    let ledger = node.ledger();
    add(&ledger, entry(1, "0"));
    let whole = fs::read(file(&node, "1.0.4294967294")).unwrap();
    let foreign = [
        &b""[..],
        b"{",
        b"somebody else's notes\n",
        &[0xff; 5000],
        &whole[..whole.len() - 1],
        &whole,
    ];
    for (at, bytes) in foreign.into_iter().enumerate() {
        fs::write(file(&node, &format!("{}.0", at + 10)), bytes).unwrap();
        assert_eq!(live(&ledger, "0"), [1], "{at}");
    }
    fs::create_dir(file(&node, "folder")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", file(&node, "link")).unwrap();
    let mut held = hold(&ledger, entry(2, "0"));
    let names = fs::read_dir(node.dir.path().join(NAME)).unwrap();
    assert_eq!(names.count(), 4, "nobody has a lock on the other files");
    let path = file(&node, "2.0.4294967294");
    // Removed by an administrator.
    fs::remove_file(&path).unwrap();
    assert!(matches!(
        held.started(1, Vec::new()),
        Err(LedgerError::Lost(_))
    ));
    assert_eq!(live(&ledger, "0"), [1]);
    held.release().unwrap();
}

/// A task for each hardware thread of a large node, and more tasks than a line has room for: nobody learns of half of them.
#[test]
fn all_cgroups_of_tasks_are_named_or_none() {
    let node = node();
    for (tasks, named) in [(768, 768), (5000, 0)] {
        let mut held = hold(&node.ledger(), entry(2, "0"));
        let leaf = |task| TaskCgroup {
            name: format!("task_{task}"),
            cpus: CpuSet::from_list("383,767").unwrap(),
            fence: CpuSet::from_list("383,767").unwrap(),
            ..TaskCgroup::default()
        };
        held.started(1, (0..tasks).map(leaf).collect()).unwrap();
        let found = [&look(&node.dir).unwrap()[0], held.entry()];
        assert_eq!(found.map(|entry| entry.leaves.len()), [named; 2]);
        held.release().unwrap();
    }
}

/// A full file system, or the end of a writer, leaves any part of what is written. The entry before it counts until there is
/// a whole one again.
#[test]
fn each_part_of_a_line_leaves_the_entry_before_it() {
    let node = node();
    let ledger = node.ledger();
    let _held = hold(&ledger, entry(2, "0"));
    let path = file(&node, "2.0.4294967294");
    let whole = fs::read(&path).unwrap();
    for length in 1..whole.len() {
        let part = &whole[..length];
        fs::write(&path, [&whole, part].concat()).unwrap();
        assert_eq!(live(&ledger, "0"), [2], "{length} bytes");
        // The beginning of the next one ends this part.
        fs::write(&path, [&whole, part, b"\n"].concat()).unwrap();
        assert_eq!(live(&ledger, "0"), [2], "{length} bytes and a line break");
    }
    let half = &whole[..whole.len() / 2];
    fs::write(&path, [&whole, half].concat()).unwrap();
    let mut session = ledger.session(PATIENCE).unwrap();
    let before = session.entries()[0].clone();
    let after = Entry {
        cpus: CpuSet::from_list("1").unwrap(),
        ..before.clone()
    };
    session.change(&before, &after).unwrap();
    drop(session);
    let found = look(&node.dir).unwrap();
    assert_eq!(found.first().map(|entry| &entry.cpus), Some(&after.cpus));
}

#[test]
fn users_can_neither_write_nor_read_it() {
    let node = node();
    let path = node.dir.path().join("steps.lock");
    let ledger = node.ledger();
    add(&ledger, entry(1, "0"));
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&node.dir.path().join(NAME)), 0o700);
    assert_eq!(mode(&file(&node, "1.0.4294967294")), 0o600);
    for (wrong, says) in [
        (0o666, "can be written by"),
        (0o644, "only root may open it"),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(wrong)).unwrap();
        let told = Ledger::open(&node.dir).unwrap_err().to_string();
        assert!(told.contains(says), "{told}");
    }
    fs::remove_file(&path).unwrap();
    let gone = ledger.session(PATIENCE).unwrap_err();
    assert!(
        matches!(gone, LedgerError::Lost(_)),
        "removed by an administrator"
    );
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    let told = Ledger::open(&node.dir).unwrap_err().to_string();
    assert!(told.contains("opening it failed"), "{told}");
    fs::remove_file(&path).unwrap();
    let steps = node.dir.path().join(NAME);
    fs::set_permissions(&steps, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(Ledger::open(&node.dir).is_err() && look(&node.dir).is_err());
    let gone = StateDir::new(&node.dir.path().join("no"), "n1").unwrap();
    assert!(Ledger::open(&gone).is_err());
}

/// A job that was begun again has a step of a number that lives on.
#[test]
fn steps_of_one_number_stand_beside_each_other() {
    let node = node();
    let ledger = node.ledger();
    let (first, second) = (
        hold(&ledger, entry(1, "0")),
        hold(&ledger, entry(1, "60000")),
    );
    assert_eq!(live(&ledger, "0,60000"), [1, 1]);
    first.release().unwrap();
    assert_eq!(
        (live(&ledger, "0").len(), live(&ledger, "60000").len()),
        (0, 1)
    );
    second.release().unwrap();
}

#[test]
fn everybody_reads_how_full_the_node_is() {
    let node = node();
    let machine = Machine::regular(2, 2, 1, Numbering::Block).unwrap();
    let ledger = node.ledger();
    add(&ledger, entry(1, "0-1"));
    let mut batch = entry(1, "0-1");
    batch.kind = Kind::Batch;
    add(&ledger, batch);
    queries::write_topology(&ledger, &node.dir, &machine, SocketKind::Package).unwrap();
    let path = node.dir.path().join(queries::TOPOLOGY_FILE);
    let text = fs::read_to_string(&path).unwrap();
    let lines =
        "m_topology=SCCSCC\nm_topology_inuse=sccSCC\nm_socket=2\nm_core=4\nm_thread=4\nsteps=2\n";
    assert_eq!(text, lines);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o644);
    assert!(Process::own().is_alive());
}

#[test]
fn the_public_file_is_never_older_than_the_last_who_wrote() {
    let node = node();
    let machine = Machine::regular(2, 2, 1, Numbering::Block).unwrap();
    std::thread::scope(|scope| {
        for job in 1..5 {
            let (dir, machine) = (&node.dir, &machine);
            scope.spawn(move || {
                let ledger = Ledger::open(dir).unwrap();
                for step in 0..25 {
                    let mut entry = entry(job, "0");
                    entry.step.step = step;
                    add(&ledger, entry);
                    queries::write_topology(&ledger, dir, machine, SocketKind::Package).unwrap();
                }
            });
        }
    });
    let text = fs::read_to_string(node.dir.path().join(queries::TOPOLOGY_FILE)).unwrap();
    assert!(text.contains("steps=100\n"), "{text}");
}
