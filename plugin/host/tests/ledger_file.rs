//! The ledger's file, and the public one beside it: who may open them, and what is read where
//! something else stands there.

mod ledger_node;

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};

use berth_host::ledger::{Kind, Ledger, NAME, Process, public};
use berth_host::{LedgerError, StateDir};
use berth_placement::{Machine, Numbering, SocketKind};

use ledger_node::{PATIENCE, add, entry, live, node};

#[test]
fn torn_foreign_and_cut_files() {
    let node = node();
    let path = node.dir.path().join(NAME);
    for (bytes, foreign) in [
        (&b""[..], false),
        (b"B", false),
        (
            b"somebody else's notes, which are long enough for a head and some slots of it",
            true,
        ),
        (&[0xff; 5000], true),
    ] {
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let ledger = Ledger::open(&node.dir).unwrap();
        assert_eq!(ledger.was_foreign(), foreign);
        add(&ledger, entry(1, "0"));
        assert_eq!(live(&ledger, "0"), [1]);
        assert!(!Ledger::open(&node.dir).unwrap().was_foreign());
    }
    let ledger = Ledger::open(&node.dir).unwrap();
    add(&ledger, entry(2, "0"));
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let length = file.metadata().unwrap().len();
    // Half of the last record never came; every bit of the first may be wrong.
    file.set_len(length - 100).unwrap();
    assert_eq!(live(&ledger, "0"), [1]);
    for at in (96 + 8..96 + 72).step_by(7) {
        let whole = fs::read(&path).unwrap();
        file.write_all_at(&[!whole[at]], at as u64).unwrap();
        assert_eq!(live(&ledger, "0"), Vec::<u32>::new(), "byte {at}");
        fs::write(&path, whole).unwrap();
        assert_eq!(live(&ledger, "0"), [1]);
    }
    file.set_len(0).unwrap();
    let ledger = Ledger::open(&node.dir).unwrap();
    assert_eq!(live(&ledger, "0"), Vec::<u32>::new());
    // Another boot's.
    add(&ledger, entry(1, "0"));
    file.write_all_at(b"00000000-", 24).unwrap();
    let ledger = Ledger::open(&node.dir).unwrap();
    assert!(!ledger.was_foreign());
    assert_eq!(live(&ledger, "0"), Vec::<u32>::new());
}

#[test]
fn users_can_neither_write_nor_read_it() {
    let node = node();
    let path = node.dir.path().join(NAME);
    let ledger = Ledger::open(&node.dir).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let told = Ledger::open(&node.dir).unwrap_err().to_string();
    assert!(told.contains("cannot be trusted"), "{told}");
    fs::remove_file(&path).unwrap();
    let mut session = ledger.session(PATIENCE).unwrap();
    let gone = session.hold(entry(1, "0"));
    assert!(gone.is_err(), "removed by an administrator");
    drop(session);
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    let told = Ledger::open(&node.dir).unwrap_err().to_string();
    assert!(told.contains("opening it failed"), "{told}");
    fs::remove_file(&path).unwrap();
    let gone = StateDir::new(&node.dir.path().join("no"), "n1").unwrap();
    assert!(Ledger::open(&gone).is_err());
}

#[test]
fn a_ledger_that_others_can_open_is_not_used() {
    let node = node();
    drop(Ledger::open(&node.dir).unwrap());
    let path = node.dir.path().join(NAME);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let told = Ledger::open(&node.dir).unwrap_err().to_string();
    assert!(told.contains("only root may open it"), "{told}");
    assert!(berth_host::ledger::look(&node.dir).is_err());
}

#[test]
fn more_cpus_than_there_is_room_for_are_said() {
    let node = node();
    let ledger = Ledger::open(&node.dir).unwrap();
    let far = ledger.session(PATIENCE).unwrap().hold(entry(1, "60000"));
    assert!(matches!(far, Err(LedgerError::TooManyCpus(_))));
    add(&ledger, entry(1, "1023"));
    assert_eq!(live(&ledger, "1000-1023"), [1]);
}

#[test]
fn everybody_reads_how_full_the_node_is() {
    let node = node();
    let machine = Machine::regular(2, 2, 1, Numbering::Block).unwrap();
    let ledger = Ledger::open(&node.dir).unwrap();
    add(&ledger, entry(1, "0-1"));
    let mut batch = entry(1, "0-1");
    batch.kind = Kind::Batch;
    add(&ledger, batch);
    public::publish(&ledger, &node.dir, &machine, SocketKind::Package).unwrap();
    let path = node.dir.path().join(public::NAME);
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
                    public::publish(&ledger, dir, machine, SocketKind::Package).unwrap();
                }
            });
        }
    });
    let text = fs::read_to_string(node.dir.path().join(public::NAME)).unwrap();
    assert!(text.contains("steps=100\n"), "{text}");
}
