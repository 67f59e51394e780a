//! The state directory is made when needed, and never where somebody else could
//! have prepared it.
//! Works in temporary directories only.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;

use berth_host::{StateDir, state};

fn refused(base: &Path) -> String {
    let state = StateDir::new(base, "tux1").unwrap();
    let told = state.prepare().unwrap_err().to_string();
    assert_eq!(state.check().unwrap_err().to_string(), told);
    assert!(!state.path().exists(), "it was made all the same");
    told
}

#[test]
fn it_is_made_with_all_that_is_missing_and_a_second_time_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("run/berth");
    let state = StateDir::new(&base, "tux-1.a_b").unwrap();
    assert!(state.check().is_err(), "nothing is there yet");
    state.prepare().unwrap();
    state.prepare().unwrap();
    state.check().unwrap();
    for made in [&base, &base.join("tux-1.a_b")] {
        assert_eq!(fs::metadata(made).unwrap().mode() & 0o7777, 0o755);
    }
    assert_eq!(state.path(), base.join("tux-1.a_b"));
    assert_eq!(
        state.machine_path(),
        base.join("tux-1.a_b").join("machine.json")
    );
}

#[test]
fn two_nodes_of_one_host_have_one_each() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("berth");
    for name in ["tux1", "tux2"] {
        StateDir::new(&base, name).unwrap().prepare().unwrap();
    }
    assert_eq!(fs::read_dir(&base).unwrap().count(), 2);
}

#[test]
fn a_file_off_switches_all_nodes_of_the_host() {
    let dir = tempfile::tempdir().unwrap();
    let one = StateDir::new(dir.path(), "tux1").unwrap();
    let other = StateDir::new(dir.path(), "tux2").unwrap();
    let all = || [one.is_off(), other.is_off(), state::is_off(dir.path())];
    assert_eq!(
        all(),
        [false; 3],
        "a missing directory switches nothing off"
    );
    one.prepare().unwrap();
    assert_eq!(all(), [false; 3]);
    fs::write(dir.path().join("off"), "").unwrap();
    assert_eq!(all(), [true; 3]);
    fs::remove_file(dir.path().join("off")).unwrap();
    assert_eq!(all(), [false; 3]);
}

#[test]
fn names_that_leave_or_hide_are_refused() {
    let long = "n".repeat(256);
    for name in [
        "", ".", "..", ".hidden", "a/b", "../x", "a b", "é", "off", &long,
    ] {
        let told = StateDir::new(Path::new("/run/berth"), name).unwrap_err();
        assert!(told.to_string().contains("NodeName"), "{name}: {told}");
    }
    assert!(StateDir::new(Path::new("/run/berth"), "node-01.example_x").is_ok());
    let told = StateDir::new(Path::new("berth"), "tux1").unwrap_err();
    assert!(told.to_string().contains("not an absolute path"), "{told}");
}

#[test]
fn a_link_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real");
    fs::create_dir(&real).unwrap();
    let link = dir.path().join("link");
    symlink(&real, &link).unwrap();
    assert!(refused(&link).contains("symbolic link"));
    symlink("/no/where", real.join("tux1")).unwrap();
    let state = StateDir::new(&real, "tux1").unwrap();
    let told = state.prepare().unwrap_err().to_string();
    assert!(told.contains("symbolic link"), "{told}");
}

#[test]
fn a_directory_that_others_can_change_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for mode in [0o777, 0o775, 0o1777] {
        let base = dir.path().join(format!("{mode:o}"));
        fs::create_dir(&base).unwrap();
        fs::set_permissions(&base, Permissions::from_mode(mode)).unwrap();
        let told = refused(&base);
        assert!(told.contains(&format!("(mode {mode:04o})")), "{told}");
        assert!(told.contains("chmod go-w"), "{told}");
    }
    let base = dir.path().join("file");
    fs::write(&base, "").unwrap();
    assert!(refused(&base).contains("not a directory"));
}

#[test]
fn nothing_is_made_below_a_directory_that_others_can_change() {
    let dir = tempfile::tempdir().unwrap();
    let open = dir.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    let base = open.join("deeper/berth");
    let told = StateDir::new(&base, "tux1").unwrap().prepare().unwrap_err();
    assert!(told.to_string().contains("(mode 0777)"), "{told}");
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
    // Only owners rename in a sticky directory, as in /tmp.
    fs::set_permissions(&open, Permissions::from_mode(0o1777)).unwrap();
    StateDir::new(&base, "tux1").unwrap().prepare().unwrap();
}

#[test]
fn another_users_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().join("theirs");
    fs::create_dir(&base).unwrap();
    // Only root can give directories away; everybody else has no such case here.
    if chown(&base, Some(3_999_999), None).is_ok() {
        assert!(refused(&base).contains("belongs to user 3999999"));
    }
}
