//! Which masks a request gets is part of the interface: `golden-masks.txt` has requests on machines with the masks of both
//! behaviours. A mask that is another one than there fails, and the file's sum must stand in the newest entry of CHANGELOG.md, so
//! nobody changes a mask without an entry. `BERTH_MASKS=write` writes what is planned now.

use crate::run::{Done, command, output, root};
use std::fs;
use std::path::PathBuf;

/// The columns behind a request.
const BEHAVIOURS: [[&str; 4]; 3] = [
    ["--slurm", "22.05", "--compat", "affinity"],
    ["--slurm", "26.05", "--compat", "affinity"],
    ["--slurm", "26.05", "--compat", "berth"],
];

fn file() -> PathBuf {
    root().join("plugin/cli/tests/cli/golden-masks.txt")
}

/// The masks that each request gets on a machine.
fn masks(machine: &str, behaviour: [&str; 4], requests: &[&str]) -> Vec<String> {
    let mut plan = command();
    plan.current_dir(root()).env_remove("HWLOC_SYNTHETIC");
    plan.arg("plan").args(shlex::split(machine).unwrap());
    plan.args(behaviour)
        .args(["--format", "masks", "--batch", "-"]);
    let text = requests.join("\n") + "\n";
    let answer = Done::of(output(&mut plan, text.as_bytes())).stdout;
    let answers = answer.lines().map(|line| {
        let line = line.split(" # ").next().unwrap();
        // Texts of refusals are no interface.
        if line.starts_with("error:") {
            "refused"
        } else {
            line
        }
        .to_owned()
    });
    let answers: Vec<_> = answers.collect();
    assert_eq!(answers.len(), requests.len(), "{machine} {behaviour:?}");
    answers
}

/// A machine's lines as they are planned now.
fn planned(machine: &str, requests: &[&str]) -> Vec<String> {
    let columns = BEHAVIOURS.map(|behaviour| masks(machine, behaviour, requests));
    let lines = requests.iter().enumerate().map(|(at, request)| {
        let mut line = (*request).to_owned();
        let mut before = "";
        for column in &columns {
            let now = column[at].as_str();
            line += " | ";
            line += if now == before { "=" } else { now };
            before = now;
        }
        line
    });
    lines.collect()
}

/// The whole file as it is now.
fn renewed(text: &str) -> String {
    let (head, parts) = text.split_once("\non ").unwrap();
    let mut now = head.to_owned();
    for part in parts.split("\non ") {
        let mut lines = part.lines();
        let machine = lines.next().unwrap();
        let requests: Vec<_> = lines
            .filter_map(|line| line.split(" | ").next())
            .filter(|request| !request.is_empty())
            .collect();
        let planned = planned(machine, &requests).join("\n");
        now += &format!("\non {machine}\n{planned}\n");
    }
    now
}

/// A sum of the file's lines that everybody can say on the phone (FNV-1a, folded to 32 bits).
fn sum(text: &str) -> String {
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::bytes)
    {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{:08x}", (sum >> 32) ^ (sum & 0xffff_ffff))
}

#[test]
fn no_mask_has_changed() {
    let golden = fs::read_to_string(file()).unwrap();
    let now = renewed(&golden);
    if std::env::var("BERTH_MASKS").is_ok_and(|word| word == "write") {
        fs::write(file(), &now).unwrap();
        return;
    }
    let lines = golden.lines().zip(now.lines());
    let changed: Vec<_> = lines
        .filter(|(golden, now)| golden != now)
        .map(|(golden, now)| format!("  was  {golden}\n  is   {now}\n"))
        .collect();
    assert!(
        changed.is_empty() && golden == now,
        "{} requests get other masks:\n{}A changed mask is a changed interface: it is a named fix or a new major release \
         (docs/administrators/versions.md).\nIf it is meant, write the file again with BERTH_MASKS=write, and say under \
         \"### Changed\" of the newest entry of CHANGELOG.md which requests changed, and by which fix.",
        changed.len(),
        changed.concat(),
    );
    assert!(
        golden.lines().count() > 300,
        "the file is too short to be worth anything"
    );
}

#[test]
fn the_changelog_names_the_masks_of_this_release() {
    let golden = fs::read_to_string(file()).unwrap();
    let log = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let newest = log.split("\n## ").nth(1).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        newest.starts_with(version),
        "the newest entry is not {version}"
    );
    let changed = newest.split("### Changed").nth(1).unwrap_or_default();
    let changed = changed.split("\n### ").next().unwrap();
    let sum = sum(&golden);
    assert!(
        changed.contains(&format!("`{sum}`")),
        "golden-masks.txt has the sum {sum}, and \"### Changed\" of the newest entry of CHANGELOG.md does not name it. Say there \
         which requests get other masks and by which fix, or that requests were added to the file, and name the new sum."
    );
}
