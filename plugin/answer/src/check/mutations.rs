//! Mutated scripts: a corrected script differs from its original in the concerned words and nowhere
//! else. Redirections, quotes, variables, substitutions, comments, here-documents and continued lines
//! stay byte for byte. The seed is printed, and `BERTH_SEED` repeats a run.

use berth_srun::Release;

use super::place::Surroundings;
use super::script::script;
use super::{findings, repair};
use crate::world::tests::Scripts;

/// The number of scripts that are tried, unless `PROPTEST_CASES` says otherwise.
const SCRIPTS: u64 = 10_000;

/// Words that a repair may take away or change: each belongs to a trap that a script may have.
const CONCERNED: &[&str] = &[
    "--cpus-per-taks=2",
    "--ntask=4",
    "-ntasks=4",
    "--cpu-bind=kores",
    "--cpu-bind=map_cpu:0-3",
    "--cpu-bind=rank",
    "--hint=nomultithread",
    "--ntasks-per-node=9",
    "-m blok:cyclic",
    "--binding=linear:4",
    "-N4",
    "-c1",
    "taskset -c 0-3",
    "srun",
    "mpirun",
];

/// Words that no repair concerns.
const OTHERS: &[&str] = &[
    "-n4",
    "-c2",
    "-N 1",
    "-l",
    "--label",
    "--cpu-bind=cores",
    "--mem=\"4 G\"",
    "-J 'a b'",
    "-o \"$out\"",
    "--time=$(get time)",
    "--comment=`date`",
    "--export=ALL,A=\\ b",
    "-D ${dir:-/tmp}",
    "--exclusive",
];

/// Programs with everything around them that must stay.
const PROGRAMS: &[&str] = &[
    "./a \"$@\"",
    "./a -n 4 --hint=x srun",
    "\"$app\" $(x 'y)' \"z\")",
    "./a > out 2>&1 < in",
    "./a | tee \"log file\" # a comment with srun -n4 srun",
    "./a <<EOF\nsrun -n4 srun --hint=x\nEOF",
    "./a <<-'E N D' &\n\t$(\n\tE N D",
    "'./a b' \\\n    \"c\" `d` $((1 << 2))",
    "./a & wait",
    "bash -c 'srun -n4 srun ./a'",
];

/// Lines of a script that are no launch.
const LINES: &[&str] = &[
    "# srun -n4 --cpu-bind=rank",
    "#SBATCH -n4",
    "#SBATCH -n 4 -c2 # -c9",
    "#SBATCH --cpus-per-taks=2",
    "#SBATCH --cpu-bind=cores",
    "module load openmpi",
    "export OMP_NUM_THREADS=4",
    "OMP_NUM_THREADS=8 OMP_PLACES=cores",
    "for i in 1 2 3; do echo \"$i\"; done",
    "if [[ $x == \"srun\" ]]; then y; fi",
    "x=(srun -n4 'a b')",
    "\t ",
    "case $1 in srun) ;; *) exit ;; esac",
    "f() { echo ${x%\"}\"}; }",
];

/// A generator whose numbers follow from its seed. Source: Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % count
    }

    fn of(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }
}

fn launch(random: &mut Random) -> String {
    let mut words = vec!["srun".to_string()];
    for _ in 0..random.below(5) {
        let word = match random.below(3) {
            0 => random.of(&CONCERNED[..12]),
            _ => random.of(OTHERS),
        };
        words.push(word.into());
    }
    if random.below(5) == 0 {
        words.push(random.of(&CONCERNED[12..]).into());
    }
    words.push(random.of(PROGRAMS).into());
    let mut line = String::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            line += ["  ", " ", "\t", " \\\n   "][random.below(4)];
        }
        line += word;
    }
    line
}

/// Lines that begin a here-document which is a script, and the line that ends it.
const DOCUMENTS: &[(&str, &str)] = &[
    ("sbatch -n4 <<EOF", "EOF"),
    ("sbatch --ntask=4 -c2 <<'EOF' > \"$out\" # x", "EOF"),
    ("cat <<\\EOF | sbatch -N4 -n2", "EOF"),
    ("sbatch -N2 <<-E", "\tE"),
    ("cat > job.sh <<'E N'", "E N\nsbatch -n4 job.sh \"$@\""),
    ("srun -n2 bash -s <<EOF", "EOF"),
    ("salloc -n4 -c2 <<EOF", "EOF"),
    ("bash <<EOF", "EOF"),
];

/// Some lines and launches.
fn lines(random: &mut Random) -> Vec<String> {
    let mut lines = vec!["#!/bin/bash".to_string()];
    for _ in 0..random.below(6) {
        lines.push(random.of(LINES).into());
    }
    for _ in 0..=random.below(2) {
        lines.push(launch(random));
    }
    lines
}

/// A here-document with lines of its own, in which a backslash may stand before a dollar sign.
fn document(random: &mut Random) -> Vec<String> {
    let (first, last) = DOCUMENTS[random.below(DOCUMENTS.len())];
    // A document within has another end.
    let all = lines(random).join("\n").replace("EOF", "INNER");
    let all = match random.below(3) {
        0 => all.replace('$', "\\$"),
        _ => all,
    };
    let tabs = if first.contains("<<-") { "\t" } else { "" };
    let all = all.lines().map(|line| format!("{tabs}{line}"));
    let first = std::iter::once(first.to_string());
    first.chain(all).chain([last.to_string()]).collect()
}

/// A script, and whether bytes were put into it.
fn text(random: &mut Random) -> (Vec<u8>, bool) {
    let mut lines = match random.below(2) {
        0 => lines(random),
        _ => document(random),
    };
    if random.below(4) == 0 {
        lines.push(launch(random));
    }
    let mut text = lines
        .join(["\n", "\n", "\r\n"][random.below(3)])
        .into_bytes();
    // A byte that may break what was there: a quote, a bracket, a letter.
    let before = text.len();
    for _ in 0..random.below(3) {
        let at = random.below(text.len() + 1);
        let byte = random.below(24);
        // Within an option that byte would be a misspelling, which is concerned.
        let start = text[..at]
            .iter()
            .rposition(|byte| byte.is_ascii_whitespace());
        let word = &text[start.map_or(0, |start| start + 1)..];
        if word.starts_with(b"-") || word.starts_with(b"blok") {
            continue;
        }
        text.insert(at, b"'\"`$(){};&|<>\\# \n\txsn-=\xff"[byte]);
    }
    let is_mutated = text.len() > before;
    (text, is_mutated)
}

/// The bytes of a line that belong to no option and no value, in their order: what no repair touches.
fn protected(line: &[u8]) -> Vec<u8> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_=:,. \t".contains(byte);
    line.iter().copied().filter(|byte| !is_word(byte)).collect()
}

/// The text with its corrections, if it has some.
fn corrected(text: &[u8], around: &Surroundings<'_>) -> Option<Vec<u8>> {
    let found = findings(&script(text, around), around);
    let new = repair::corrected(text, &found, around)?.text;
    (new != text).then_some(new)
}

#[test]
fn nothing_but_the_concerned_words_ever_changes() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = match std::env::var("BERTH_SEED") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => now.unwrap().as_nanos() as u64 | 1,
    };
    let scripts = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    println!("BERTH_SEED={seed}");
    let world = Scripts::default();
    let around = Surroundings::of(b"", None, Release::V22_05, &world);
    let (mut changed, mut within) = (0, 0);
    for number in 0..scripts.unwrap_or(SCRIPTS) {
        let mut random = Random((seed ^ (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1);
        let (old, is_mutated) = text(&mut random);
        if let Some(new) = corrected(&old, &around) {
            changed += 1;
            within += usize::from(!old.starts_with(b"#!"));
            let shown = format!("script {number}:\n{}", String::from_utf8_lossy(&old));
            judge(&old, &new, &shown);
            if !is_mutated {
                pieces_stay(&old, &new, &shown);
            }
        }
    }
    println!("{changed} scripts were corrected, of which {within} begin with a here-document");
    assert!(changed > within && within > 0, "nothing was tried");
}

/// A random run has found it.
#[test]
fn a_word_that_is_almost_a_variable_stays() {
    let world = Scripts::default();
    let around = Surroundings::of(b"", None, Release::V22_05, &world);
    for (old, is_changed) in [
        (
            &b"#!/bin/bash\n#SBATCH -n2\nsrun -D $={dir:-/tmp} mpirun ./a\n"[..],
            false,
        ),
        (b"#!/bin/bash\n#SBATCH -n2\nsrun -D /tmp mpirun ./a\n", true),
    ] {
        assert_eq!(
            corrected(old, &around).is_some(),
            is_changed,
            "{}",
            String::from_utf8_lossy(old)
        );
    }
}

/// Compares a script with its correction.
fn judge(old: &[u8], new: &[u8], shown: &str) {
    // A correction may take DOS line ends away, and put a wait behind the last command.
    let line = |line: &[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        protected(line.strip_suffix(b"; wait").unwrap_or(line))
    };
    let lines = |text: &[u8]| -> Vec<_> { text.split(|byte| *byte == b'\n').map(line).collect() };
    let new_text = String::from_utf8_lossy(new);
    assert_eq!(lines(old), lines(new), "{shown}\n{new_text}");
}

/// Every line without a job's options stays, and whatever stands behind a launch. A quote that was put
/// in may turn such a piece into commands, so this holds for scripts as they were made.
fn pieces_stay(old: &[u8], new: &[u8], shown: &str) {
    let count = |text: &[u8], part: &str| {
        let part = part.as_bytes();
        text.windows(part.len())
            .filter(|found| *found == part)
            .count()
    };
    // A number of threads is a step's too.
    let changes = |line: &str| line.starts_with("#SBATCH") || line.contains("OMP_NUM_THREADS=");
    let stays = |line: &&&str| !changes(line) && !line.trim().is_empty();
    let lines = LINES.iter().filter(stays);
    let programs = PROGRAMS
        .iter()
        .filter(|program| !program.starts_with("./a -n"));
    let is_quoted = |word: &&&str| word.contains(['\'', '"', '$', '`', '\\']);
    let others = OTHERS.iter().filter(is_quoted);
    for text in lines.chain(programs).chain(others) {
        assert_eq!(count(new, text), count(old, text), "{shown}: {text}");
    }
}
