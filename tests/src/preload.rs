//! A C library that changes one result of the system or of Slurm for programs started with it in `LD_PRELOAD`. It
//! causes what a test cannot cause otherwise; all else is real.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// `open` with another file in the place of `PATH`.
const OTHER_FILE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
static int other(const char *name, const char *path, int flags, mode_t mode) {
    int (*real)(const char *, int, mode_t) = dlsym(RTLD_NEXT, name);
    const char *instead = getenv("OTHER_FILE");
    if (instead && !strcmp(path, PATH))
        path = instead;
    return real(path, flags, mode);
}
static mode_t mode_of(int flags, va_list rest) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}
int open(const char *path, int flags, ...) {
    va_list rest; va_start(rest, flags); mode_t mode = mode_of(flags, rest); va_end(rest);
    return other("open", path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    va_list rest; va_start(rest, flags); mode_t mode = mode_of(flags, rest); va_end(rest);
    return other("open64", path, flags, mode);
}
"#;

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

    /// Whoever opens this path opens the file that `OTHER_FILE` names.
    #[track_caller]
    pub fn other_file(path: &str) -> Self {
        Self::build(&format!("#define PATH \"{path}\"\n{OTHER_FILE}"))
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
