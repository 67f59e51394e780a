//! A C library that changes one result of the system or of Slurm for programs started with it in `LD_PRELOAD`. It
//! causes what a test cannot cause otherwise; all else is real.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A built library, gone when the handle is dropped.
#[derive(Debug)]
pub struct Preload {
    folder: TempDir,
    object: PathBuf,
}

impl Preload {
    /// Compiles the C text; panics with the compiler's words if it is wrong.
    #[track_caller]
    pub fn build(source: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder for a library");
        let (code, object) = (folder.path().join("p.c"), folder.path().join("p.so"));
        std::fs::write(&code, source).expect("the C text can be written");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&object, &code])
            .output()
            .expect("cc can be run");
        let says = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{says}");
        Preload { folder, object }
    }

    /// Compiles a program; panics with the compiler's words if it is wrong.
    #[track_caller]
    pub fn program(source: &str, program: &Path) {
        let code = program.with_extension("c");
        std::fs::write(&code, source).expect("the C text can be written");
        let built = Command::new("cc").arg("-o").args([program, &code]).output();
        let built = built.expect("cc can be run");
        let says = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{says}");
    }

    /// The library, as `LD_PRELOAD` wants it.
    pub fn object(&self) -> &str {
        let object = self.object.to_str();
        object.expect("temporary folders have plain names")
    }

    /// A folder for what the library writes.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
