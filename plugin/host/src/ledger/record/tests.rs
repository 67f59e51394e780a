//! Entries are read as written, also those of other releases; torn ones are none.

use super::*;

fn entry() -> Entry {
    Entry {
        step: StepKey {
            job: 4711,
            step: 3,
            component: 0xffff_fffe,
        },
        kind: Kind::Overlap,
        cpuset: None,
        pool: false,
        tasks: 16,
        made: 123_456_789_012,
        maker: Process { pid: 77, start: 99 },
        stepd: Some(Process {
            pid: 1234,
            start: 5678,
        }),
        task: Some(Task {
            pid: 1250,
            start: 5679,
            suspended: false,
        }),
        uid: 1000,
        request: "striding:2:2".into(),
        mark: 0,
        generation: 0,
        cpus: CpuSet::from_list("0-3,70").unwrap(),
    }
}

#[test]
fn what_is_written_is_read() {
    let record = write(&entry(), HEAD + 2).unwrap();
    assert_eq!(read(&record), Some(entry()));
    assert_eq!(write(&entry(), HEAD + 1), None, "CPU 70 needs two words");
    let pending = Entry {
        stepd: None,
        task: None,
        uid: 0,
        ..entry()
    };
    let record = write(&pending, HEAD + 2).unwrap();
    assert_eq!(read(&record), Some(pending));
}

/// A release that does not know the bit sees no task; one that does not know the generation ignores it.
#[test]
fn suspension_and_generation_are_read() {
    let entry = Entry {
        generation: 7,
        task: Some(Task {
            pid: 1250,
            start: 5679,
            suspended: true,
        }),
        ..entry()
    };
    let record = write(&entry, HEAD + 2).unwrap();
    assert_eq!(read(&record), Some(entry));
    let (_, task) = halves(record[CONFIRMED]);
    assert!((task as i32) < 0);
    assert_eq!(halves(record[CPU_WORDS]), (2, 7));
}

#[test]
fn an_entry_of_the_release_before_is_read() {
    // It wrote no start time of the task, and read the user from the low half alone.
    let mut record = write(&entry(), HEAD + 2).unwrap();
    let user = &mut record[CONFIRMED + 2];
    assert_eq!(*user as u32, 1000);
    *user = 1000;
    let task = Some(Task {
        pid: 1250,
        start: 0,
        suspended: false,
    });
    assert_eq!(read(&record), Some(Entry { task, ..entry() }));
}

/// Word by word as the release before wrote it, in a slot of its size.
#[test]
fn an_entry_without_the_number_of_its_words_is_read() {
    let mut record = write(&entry(), HEAD + 16).unwrap();
    record[CPU_WORDS] = 0;
    sign(&mut record);
    assert_eq!(read(&record), Some(entry()));
}

/// It takes every word behind the head for CPUs, and a kind only as a whole word: anything else is no entry to it, and it
/// gives the slot to another step.
#[test]
fn the_release_before_reads_what_is_written() {
    let cpuset = Cpuset {
        exclusive: true,
        of_job: true,
        memory: true,
    };
    let all = [
        (entry(), 2),
        (
            Entry {
                cpuset: Some(cpuset),
                ..entry()
            },
            3,
        ),
        (
            Entry {
                pool: true,
                ..entry()
            },
            2,
        ),
    ];
    for (entry, kind) in all {
        let record = write(&entry, HEAD + 16).unwrap();
        assert_eq!(CpuSet::from_words(&record[HEAD..]), entry.cpus);
        assert_eq!((record[KIND], record[8]), (kind, 0));
        assert_eq!(read(&record), Some(entry));
    }
}

#[test]
fn what_a_later_release_adds_is_ignored() {
    let mut record = write(&entry(), HEAD + 16).unwrap();
    record[KIND] |= 7 << 32;
    record[CPU_WORDS] |= 7 << 32;
    record[HEAD + 2..].fill(u64::MAX);
    assert_eq!(read(&record), None, "its checksum covers them");
    sign(&mut record);
    let generation = 7;
    let known = Entry {
        generation,
        ..entry()
    };
    assert_eq!(read(&record), Some(known.clone()));
    assert_eq!(cpu_words(&record).len(), 2);
    // A kind that is not known: nobody else may have its CPUs.
    record[KIND] = 9;
    sign(&mut record);
    let kind = Kind::Regular;
    assert_eq!(read(&record), Some(Entry { kind, ..known }));
    // More words than the slot has are all that it has.
    record[CPU_WORDS] = u64::from(u32::MAX);
    sign(&mut record);
    assert_eq!(cpu_words(&record).len(), 16);
}

fn sign(record: &mut [u64]) {
    record[0] = USED | u64::from(checksum(record)) << 32;
}

/// The release before takes it for a script of the job.
#[test]
fn a_cpuset_is_read_as_written() {
    for flags in 0..8 {
        let cpuset = Entry {
            cpuset: Some(Cpuset {
                exclusive: flags & 1 != 0,
                of_job: flags & 2 != 0,
                memory: flags & 4 != 0,
            }),
            mark: 0x1234_5678_9abc_def0,
            ..entry()
        };
        let record = write(&cpuset, HEAD + 2).unwrap();
        assert_eq!(read(&record), Some(cpuset));
        assert_eq!(record[KIND] as u32, 3);
    }
}

#[test]
fn a_long_request_is_cut_between_letters() {
    let long = Entry {
        request: "×".repeat(200),
        ..entry()
    };
    let record = write(&long, HEAD + 2).unwrap();
    assert_eq!(
        read(&record).unwrap().request,
        "×".repeat(REQUEST_BYTES / 2)
    );
}

#[test]
fn a_torn_record_is_none() {
    let whole = write(&entry(), HEAD + 2).unwrap();
    for word in (1..CONFIRMED).chain(CONFIRMED + CONFIRMED_WORDS..whole.len()) {
        for bit in [0, 31, 63] {
            let mut torn = whole.clone();
            torn[word] ^= 1 << bit;
            assert_eq!(read(&torn), None, "word {word}");
        }
    }
    for length in 0..whole.len() {
        assert_eq!(read(&whole[..length]), None, "{length} words");
    }
    assert_eq!(read(&vec![0; HEAD + 2]), None);
    assert_eq!(read(&vec![u64::MAX; HEAD + 2]), None);
}
