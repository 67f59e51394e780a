//! Machines as hwloc describes them: the XML files of `tests/topologies`, among them machines with
//! a core offline and with NUMA nodes finer than sockets, and those of the folder that
//! `BERTH_TOPOLOGIES` names.

use std::path::{Path, PathBuf};

use berth_discover::{Source, discover};
use berth_placement::Machine;

/// Every machine with the file that describes it.
pub fn machines() -> Vec<(PathBuf, Machine)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/topologies");
    let more = std::env::var_os("BERTH_TOPOLOGIES").map(PathBuf::from);
    let folders = [Some(own), more].into_iter().flatten();
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| std::fs::read_dir(folder).expect("a folder of topologies"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "xml"))
        .collect();
    files.sort();
    assert!(files.len() >= 9, "the project's own files are there");
    let read = |path: PathBuf| {
        let source = Source::parse(path.to_str().expect("a name in UTF-8"));
        let found = discover(&source.expect("a source"));
        let machine = found
            .unwrap_or_else(|why| panic!("{}: {why}", path.display()))
            .machine;
        (path, machine)
    };
    files.into_iter().map(read).collect()
}
