//! The ledger of the release before: one table of slots, whose slurmstepds may live on beside this release. It is read
//! while one of them does, and never written. In: a state directory. Out: the entries that live.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use berth_placement::CpuSet;

use super::entry::{Cpuset, Entry, Kind, StepKey};
use super::now;
use super::process::{Process, Task};
use crate::online::boot_id;
use crate::{lock, trust};

const NAME: &str = "ledger.1";
const MAGIC: &[u8; 8] = b"BERTHLG1";
/// Bytes before the first slot: the magic, the words of a slot, the boot.
const HEAD_BYTES: usize = 96;
const WORD: usize = size_of::<u64>();
/// Words of a slot before its CPUs.
const HEAD: usize = 24;
const MOST_WORDS: usize = 4096 + 256;
const MOST_SLOTS: usize = 1 << 16;
/// The first word of a used slot, beside its checksum.
const USED: u64 = 0xBE;
/// Behind a slot's first byte: the lock of its living slurmstepd.
const LIFE: u64 = 1;
/// Words of slurmstepd's part, which the checksum leaves out.
const CONFIRMED: std::ops::Range<usize> = 9..12;
/// The request's text.
const REQUEST: std::ops::Range<usize> = 12..HEAD;
/// The second quarter of the word at 7 has a kind that is no binding, and above its lowest byte the step's.
const CPUSET: u32 = 0xC0;
const POOL: u32 = 0xA0;
const FLAGS: [u32; 3] = [1, 2, 4];
const STEP_KIND: u32 = 8;
/// In the number of the task: its job is suspended.
const SUSPENDED: u32 = 1 << 31;
/// An entry without a slurmstepd counts for so long.
const PENDING: Duration = Duration::from_secs(60);

/// The entries of that release's living steps.
pub(super) fn living(dir: &Path) -> io::Result<Vec<Entry>> {
    let file = match trust::open(&dir.join(NAME), OpenOptions::new().read(true)) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let Some(words) = words_of_a_slot(&file)? else {
        return Ok(Vec::new());
    };
    let bytes = words * WORD;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let slots = (length.saturating_sub(HEAD_BYTES) / bytes).min(MOST_SLOTS);
    let mut all = vec![0; slots * bytes];
    file.read_exact_at(&mut all, HEAD_BYTES as u64)?;
    let slots = all.chunks_exact(bytes).enumerate();
    let entry = |(slot, bytes): (usize, &[u8])| {
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let slot_words: Vec<u64> = bytes.chunks_exact(WORD).map(word).collect();
        let entry = entry(&slot_words)?;
        let life = (HEAD_BYTES + slot * bytes.len()) as u64 + LIFE;
        let is_locked = lock::is_held(&file, life).unwrap_or(true);
        (is_locked || lives(&entry)).then_some(entry)
    };
    Ok(slots.filter_map(entry).collect())
}

/// None if it is no table of this boot.
fn words_of_a_slot(file: &File) -> io::Result<Option<usize>> {
    let mut head = [0; HEAD_BYTES];
    if file.read_exact_at(&mut head, 0).is_err() {
        return Ok(None);
    }
    let (magic, rest) = head.split_at(MAGIC.len());
    let (words, boot) = rest.split_at(WORD);
    let words = u64::from_le_bytes(words.try_into().unwrap_or_default());
    let words = usize::try_from(words).unwrap_or_default();
    let is_sane = (HEAD + 1..=HEAD + MOST_WORDS).contains(&words);
    let boot = String::from_utf8_lossy(boot);
    let is_ours = magic == MAGIC && boot.trim_end_matches('\0') == boot_id()?;
    Ok((is_ours && is_sane).then_some(words))
}

fn lives(entry: &Entry) -> bool {
    match entry.stepd {
        Some(stepd) => stepd.is_alive(),
        None => Duration::from_nanos(now().saturating_sub(entry.made)) < PENDING,
    }
}

/// The entry of a slot; none if it is free or torn.
fn entry(slot: &[u64]) -> Option<Entry> {
    let first = *slot.first()?;
    if first & 0xff != USED || (first >> 32) as u32 != checksum(slot) {
        return None;
    }
    let at = |word: usize| slot.get(word).copied().unwrap_or_default();
    let (job, step) = halves(at(1));
    let (component, tasks) = halves(at(2));
    let (sizes, generation) = halves(at(7));
    let (pid, task) = halves(at(9));
    let (uid, start) = halves(at(11));
    let waits = task & SUSPENDED != 0;
    let task = Task {
        pid: (task & !SUSPENDED) as i32,
        start,
    };
    let stepd = Process {
        pid: pid as i32,
        start: at(10),
    };
    let newer = sizes >> 16;
    let cpus = slot.get(HEAD..)?;
    let count = match (sizes & 0xffff) as usize {
        0 => cpus.len(),
        count => count.min(cpus.len()),
    };
    let number = match newer {
        0 => halves(at(3)).0,
        newer => newer >> STEP_KIND,
    };
    Some(Entry {
        step: StepKey {
            job,
            step,
            component,
        },
        kind: kind(number),
        cpuset: cpuset(newer),
        pool: newer & 0xff == POOL,
        tasks,
        made: at(4),
        stepd: (stepd.pid > 0).then_some(stepd),
        task: (task.pid > 0).then_some(task),
        uid,
        request: text(slot.get(REQUEST)?),
        generation,
        waits,
        cpus: CpuSet::from_words(cpus.get(..count)?.to_vec()),
        ..Entry::default()
    })
}

fn kind(number: u32) -> Kind {
    match number {
        2 => Kind::Overlap,
        3 => Kind::Batch,
        _ => Kind::Regular,
    }
}

fn cpuset(newer: u32) -> Option<Cpuset> {
    let [exclusive, of_job, memory] = FLAGS.map(|flag| newer & flag != 0);
    let of_kind = newer & 0xff & !FLAGS.iter().sum::<u32>();
    (of_kind == CPUSET).then_some(Cpuset {
        exclusive,
        of_job,
        memory,
    })
}

fn text(words: &[u64]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The checksum of all words but the first and slurmstepd's.
fn checksum(slot: &[u64]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    let all = slot.iter().enumerate().skip(1);
    for (_, word) in all.filter(|(at, _)| !CONFIRMED.contains(at)) {
        sum.update(&word.to_le_bytes());
    }
    sum.finalize()
}

fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by the release before: three steps of a slurmstepd that has ended.
    const TABLE: &[u8] = include_bytes!("../../tests/data/ledger.1");
    const BOOT: usize = 16;
    const SLOT: usize = 40 * WORD;

    /// The table in a folder, with this boot's mark.
    fn table(bytes: &[u8]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let mut bytes = bytes.to_vec();
        let boot = boot_id().unwrap();
        bytes[BOOT..BOOT + boot.len()].copy_from_slice(boot.as_bytes());
        std::fs::write(dir.path().join(NAME), bytes).unwrap();
        dir
    }

    /// A slurmstepd of that release shares the lock of its slot.
    fn lock(dir: &Path, slot: usize) -> File {
        let file = File::open(dir.join(NAME)).unwrap();
        lock::share(&file, (HEAD_BYTES + slot * SLOT) as u64 + LIFE).unwrap();
        file
    }

    #[test]
    fn entries_of_living_steps_are_read() {
        let dir = table(TABLE);
        assert_eq!(living(dir.path()).unwrap(), []);
        let _locks = [0, 1, 2].map(|slot| lock(dir.path(), slot));
        let all = living(dir.path()).unwrap();
        let text = |entry: &Entry| {
            let StepKey { job, step, .. } = entry.step;
            format!(
                "{job}.{step} {:?} {} {}",
                entry.kind, entry.request, entry.cpus
            )
        };
        assert_eq!(
            all.iter().map(text).collect::<Vec<_>>(),
            [
                "4711.3 Overlap striding:2:2 0-3,70",
                "4711.4 Regular CPU_LIST=4-5 4-5",
                "4711.5 Batch multi8 8-15",
            ]
        );
        let cpuset = Cpuset {
            exclusive: true,
            of_job: true,
            memory: false,
        };
        assert_eq!((all[1].cpuset, all[1].generation), (Some(cpuset), 7));
        assert!(all[2].pool && !all[1].pool && all[0].cpuset.is_none());
        let task = all[0].task.unwrap();
        assert!(all[0].waits && task.pid == all[0].stepd.unwrap().pid);
        assert_eq!((all[0].uid, all[0].tasks), (1000, 16));
    }

    #[test]
    fn torn_and_foreign_tables_are_empty() {
        let slot = HEAD_BYTES + 8;
        for at in (slot..slot + 64).step_by(7) {
            let mut torn = TABLE.to_vec();
            torn[at] ^= 0xff;
            let dir = table(&torn);
            let _lock = lock(dir.path(), 0);
            assert_eq!(living(dir.path()).unwrap(), [], "byte {at}");
        }
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(living(dir.path()).unwrap(), []);
        for bytes in [&b""[..], b"B", &[0xff; 5000], TABLE] {
            std::fs::write(dir.path().join(NAME), bytes).unwrap();
            assert_eq!(living(dir.path()).unwrap(), [], "another boot's");
        }
    }
}
