//! Tests of the files: where they go, what is written there, and what happens if something is in
//! their place.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use berth_placement::CpuId;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::*;
use crate::stepd::pe_texts::tests::chosen;

/// A folder of one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("berth-{name}.{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn place(&self, name: &str) -> Place {
        place(Some(self.0.clone().into()), name).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn texts(hosts: u32) -> Texts {
    let cores: Vec<_> = (0..4).map(|cpu| CpuSet::from_iter([CpuId(cpu)])).collect();
    let hosts = (0..hosts).map(|host| (format!("n{host}"), 2)).collect();
    let chosen = chosen("0,0=0:0,1=1;0,2=2:0,3=3");
    Texts::new(hosts, "all".into(), &chosen, &cores)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_list_that_is_too_long_is_reported() {
    let env = |length: usize| {
        move |name: &str| match name {
            "SLURM_JOB_NODELIST" => Some("n".repeat(length)),
            "SLURM_TASKS_PER_NODE" => Some("2".into()),
            _ => None,
        }
    };
    assert_eq!(hosts(env(3)), Ok(vec![("nnn".into(), 2)]));
    assert!(hosts(env(NODE_LIST)).is_ok());
    let error = hosts(env(NODE_LIST + 1)).unwrap_err();
    let text = "SLURM_JOB_NODELIST in the job's environment has more than 131072 bytes";
    assert_eq!(error, text);
}

#[test]
fn the_folder_is_in_tmpdir_if_that_is_a_path() {
    let folder = |tmpdir: Option<&str>| {
        let place = place(tmpdir.map(OsString::from), "berth.1.0.2").unwrap();
        place.folder.into_string().unwrap()
    };
    let long = |length| format!("/{}", "x".repeat(length));
    let most = libc::PATH_MAX as usize - "/berth.1.0.2/pe_hostfile".len() - 2;
    for (tmpdir, parent) in [
        (None, "/tmp"),
        (Some(""), "/tmp"),
        (Some("relative/folder"), "/tmp"),
        (Some("/scratch"), "/scratch"),
        (Some("/two\nlines"), "/two\nlines"),
        (Some(long(most).as_str()), long(most).as_str()),
        (Some(&long(most + 1)), "/tmp"),
        (Some(&long(1 << 20)), "/tmp"),
    ] {
        assert_eq!(folder(tmpdir), format!("{parent}/berth.1.0.2"));
    }
}

#[test]
fn the_task_writes_both_files_and_allocates_nothing() {
    let home = Folder::new("pe-written");
    let prepared = Prepared {
        // A missing TMPDIR is made, as Slurm does for the same task.
        place: place(Some(home.0.join("missing").into()), "berth.1.0.2").unwrap(),
        texts: texts(2000),
        cores: Vec::new(),
        cpus: Vec::new(),
        first: Some(FirstTask::new().unwrap()),
    };
    let calls = crate::site::count_allocations::during(|| {
        prepared.write();
        prepared.wait();
    });
    assert_eq!(calls, 0);
    let folder = home.0.join("missing/berth.1.0.2");
    assert_eq!(mode(&folder), 0o700);
    let mut expected = [const { String::new() }; 2];
    prepared.texts.hostfile(&mut expected[0]).unwrap();
    prepared.texts.rankfile(&mut expected[1]).unwrap();
    assert!(expected.iter().all(|text| text.len() > 50_000));
    for (name, text) in [("pe_hostfile", &expected[0]), ("rankfile", &expected[1])] {
        let path = folder.join(name);
        assert_eq!(mode(&path), 0o600);
        assert_eq!(fs::read_to_string(path).unwrap(), *text);
    }
}

#[test]
fn the_cores_that_the_task_sees_are_asked_without_allocating() {
    let cpus = berth_host::affinity_of(0).unwrap();
    let first: CpuSet = cpus.iter().take(1).collect();
    let home = Folder::new("pe-seen");
    let prepared = Prepared {
        place: home.place("berth.1.0.2"),
        texts: texts(1),
        // The first core is one that this machine has, the others are not.
        cores: [
            first,
            CpuSet::from_iter([CpuId(5000)]),
            CpuSet::new(),
            CpuSet::new(),
        ]
        .into(),
        cpus: cpus.to_words(),
        first: None,
    };
    assert_eq!(
        crate::site::count_allocations::during(|| prepared.write()),
        0
    );
    let rankfile = fs::read_to_string(home.0.join("berth.1.0.2/rankfile")).unwrap();
    assert_eq!(rankfile, "rank 0=n0 slot=0\n");
    assert_eq!(berth_host::affinity_of(0).unwrap(), cpus);
}

#[test]
fn what_is_in_the_place_stays_and_nobody_waits_for_it() {
    let home = Folder::new("pe-taken");
    let at = |name: &str| home.0.join(name);
    mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
    fs::write(at("file"), "mine").unwrap();
    fs::create_dir(at("folder")).unwrap();
    mkfifo(&at("folder/rankfile"), Mode::S_IRWXU).unwrap();
    symlink(at("folder"), at("link")).unwrap();
    symlink(at("nothing"), at("dangling")).unwrap();
    for name in [
        "pipe",
        "file",
        "folder",
        "link",
        "dangling",
        "no\nfolder/x/y",
    ] {
        let place = home.place(name);
        let (texts, mut found) = (texts(1), None);
        let calls = crate::site::count_allocations::during(|| {
            found = place
                .write(&texts)
                .err()
                .map(|failed| place.complaint(failed));
        });
        assert_eq!(calls, 0);
        let line = found.unwrap();
        let text = std::str::from_utf8(line.text()).unwrap();
        let why = if name.contains('/') {
            "(error 2)"
        } else {
            "(error 17)"
        };
        assert!(
            text.contains("making a new folder failed: ") && text.contains(why),
            "{text}"
        );
        assert_eq!(text.matches(char::is_control).collect::<String>(), "\n");
    }
    assert_eq!(fs::read_to_string(at("file")).unwrap(), "mine");
    assert_eq!(fs::read_dir(at("folder")).unwrap().count(), 1);
    assert!(!at("nothing").exists());
}

/// A user chooses the list's text, but not how much memory it takes.
#[test]
fn a_list_of_counts_takes_little_memory() {
    let most = "4294967295(x4294967295)";
    let calls = crate::site::count_allocations::during(|| {
        assert!(each_node(&[most; 200].join(",")).is_some());
    });
    assert!(calls < 20, "{calls} calls of the allocator");
}
