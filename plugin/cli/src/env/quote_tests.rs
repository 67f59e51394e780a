//! The shells themselves read back what was quoted: `eval` of a statement gives the exact text, and
//! runs nothing of it. `BERTH_SEED` repeats a run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::statements::{Statement, in_shell};
use crate::args::EnvFormat;

const TEXTS: usize = 400;
/// What shells take for more than text, and letters beside them.
const PIECES: [&str; 40] = [
    "'",
    "\"",
    "\\",
    "`",
    "$",
    "$(",
    ")",
    "${",
    "}",
    "!",
    "!!",
    "\n",
    "\n\n",
    "\t",
    " ",
    "  ",
    ";",
    "&",
    "|",
    "<",
    ">",
    "*",
    "?",
    "[",
    "]",
    "~",
    "#",
    "^",
    "=",
    "%",
    "touch ran",
    "$(touch ran)",
    "`touch ran`",
    "\u{1}",
    "\u{7f}",
    "\u{1b}[31m",
    "ä",
    "\u{2028}",
    "a",
    "\r",
];

/// A small generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((value ^ (value >> 31)) % end as u64) as usize
    }

    fn text(&mut self) -> String {
        let length = self.below(12);
        (0..length)
            .map(|_| PIECES[self.below(PIECES.len())])
            .collect()
    }
}

/// Texts of every pair of pieces, and random ones.
fn texts() -> Vec<String> {
    let seed = std::env::var("BERTH_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("BERTH_SEED={seed}");
    let mut random = Random(seed);
    let pairs = PIECES
        .iter()
        .flat_map(|one| PIECES.iter().map(move |two| format!("{one}{two}")));
    let mut all: Vec<_> = pairs.collect();
    all.extend((0..TEXTS).map(|_| random.text()));
    all
}

/// Runs a script in an empty folder, which must stay empty, and gives its output.
fn run(shell: &[&str], script: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut child = Command::new(shell[0])
        .args(&shell[1..])
        .current_dir(&inner)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let script = script.as_bytes().to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&script));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join();
    assert!(output.status.success(), "{shell:?}");
    let left = std::fs::read_dir(&inner).unwrap().count();
    assert_eq!(left, 0, "{shell:?} ran a part of a text");
    output.stdout
}

fn statements(texts: &[String]) -> Vec<Statement> {
    vec![
        Statement::Array("MANY".into(), texts.to_vec()),
        Statement::Scalar("ONE".into(), texts.concat()),
        Statement::Scalar("EMPTY".into(), String::new()),
    ]
}

/// Each text with a NUL behind it.
fn ended(texts: &[String]) -> Vec<u8> {
    texts
        .iter()
        .flat_map(|text| [text.as_bytes(), b"\0"].concat())
        .collect()
}

#[test]
fn bash_reads_back_every_text() {
    let texts = texts();
    let file = in_shell(EnvFormat::Bash, &statements(&texts));
    let script = "eval \"$(cat ../file)\"; printf '%s\\0' \"${MANY[@]}\" \"$ONE\" \"$EMPTY\"";
    let expected = [texts.clone(), vec![texts.concat(), String::new()]].concat();
    let found = run(&["bash", "-c", script], "", &[("file", &file)]);
    assert!(found == ended(&expected));
    // Also where a user types it.
    let typed = format!("{script}\nexit 0\n");
    let interactive = ["bash", "--norc", "-i"];
    let plain: Vec<_> = texts.iter().take(200).cloned().collect();
    let file = in_shell(EnvFormat::Bash, &statements(&plain));
    let expected = [plain.clone(), vec![plain.concat(), String::new()]].concat();
    assert!(run(&interactive, &typed, &[("file", &file)]) == ended(&expected));
}

#[test]
fn the_posix_shells_read_back_every_text() {
    let texts = texts();
    let file = in_shell(EnvFormat::Sh, &statements(&texts));
    let names: Vec<_> = (0..texts.len())
        .map(|at| format!("\"$MANY_{at}\""))
        .collect();
    let script = format!(
        "eval \"$(cat ../file)\"; printf '%s\\0' {} \"$ONE\" \"$EMPTY\"",
        names.join(" ")
    );
    let expected = ended(&[texts.clone(), vec![texts.concat(), String::new()]].concat());
    for shell in [&["sh"][..], &["dash"], &["bash", "--posix"]] {
        if Path::new("/bin").join(shell[0]).exists() {
            assert!(
                run(shell, &script, &[("file", &file)]) == expected,
                "{shell:?}"
            );
        }
    }
}

/// The C shell, if this machine has one; `BERTH_CSH` names another.
fn csh() -> Option<PathBuf> {
    let named = std::env::var_os("BERTH_CSH").map(PathBuf::from);
    let usual = ["/bin/tcsh", "/usr/bin/tcsh", "/bin/csh"].map(PathBuf::from);
    named.into_iter().chain(usual).find(|path| path.exists())
}

#[test]
fn the_c_shell_reads_back_every_text() {
    let Some(csh) = csh() else {
        println!("not run: this machine has no csh (package tcsh)");
        return;
    };
    let csh = csh.to_str().unwrap();
    let all = texts();
    // `source` gives the exact text; an `eval` of the output loses line breaks, and nothing else.
    let no_breaks: Vec<_> = all
        .iter()
        .filter(|text| !text.contains('\n'))
        .cloned()
        .collect();
    for (take, texts) in [
        ("source ../file", &all),
        ("eval \"`cat ../file`\"", &no_breaks),
    ] {
        // A line of it holds less than bash's.
        for texts in texts.chunks(50) {
            let file = in_shell(EnvFormat::Csh, &statements(texts));
            let print = |name: String| format!("printf '%s\\0' ${name}:q\n");
            let names = (0..texts.len()).map(|at| format!("MANY_{at}"));
            let prints: String = names.chain(["ONE".into()]).map(print).collect();
            let script = format!("set noglob\n{take}\n{prints}");
            let expected = ended(&[texts.to_vec(), vec![texts.concat()]].concat());
            let found = run(&[csh, "-f", "-s"], &script, &[("file", &file)]);
            assert!(
                found == expected,
                "{take}: {:?}\n{:?}",
                String::from_utf8_lossy(&found),
                String::from_utf8_lossy(&expected)
            );
        }
    }
    // With line breaks `eval` still runs nothing of a text.
    for texts in all.chunks(50) {
        let file = in_shell(EnvFormat::Csh, &statements(texts));
        run(
            &[csh, "-f", "-s"],
            "eval \"`cat ../file`\"\n",
            &[("file", &file)],
        );
    }
}
