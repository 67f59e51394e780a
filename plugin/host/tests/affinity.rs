//! The kernel does what `set_affinity` asks and tells it back.
//! Needs one CPU; binds only children of its own.
//! A set wider than this host's CPUs is part of it.

mod sleeper;

use berth_host::affinity::{affinity_from_status, affinity_of, reachable, set_affinity};
use berth_placement::CpuSet;
use berth_placement::sets::ids::CpuId;

use sleeper::Sleeper;

fn one(cpu: CpuId) -> CpuSet {
    [cpu].into_iter().collect()
}

#[test]
fn what_is_reachable_is_found_and_nothing_changed() {
    // A thread of its own: the kernel's masks are a thread's.
    let all = affinity_of(0).unwrap();
    std::thread::spawn(move || {
        let first = one(all.iter().next().unwrap());
        set_affinity(0, &first).unwrap();
        let mut more = all.clone();
        more.insert(CpuId(4000));
        let reached = reachable(&more.to_words()).unwrap();
        let found: CpuSet = more.iter().filter(|cpu| reached.has(*cpu)).collect();
        assert_eq!(found, all);
        assert!(!reached.has(CpuId(u32::MAX)));
        assert_eq!(affinity_of(0).unwrap(), first);
        assert_eq!(
            reachable(&one(CpuId(4000)).to_words()).err(),
            Some(libc::EINVAL)
        );
        assert_eq!(affinity_of(0).unwrap(), first);
    })
    .join()
    .unwrap();
}

#[test]
fn what_is_set_is_what_the_kernel_tells() {
    let sleeper = Sleeper::start();
    let all = affinity_of(sleeper.pid()).unwrap();
    assert_eq!(all, affinity_of(0).unwrap(), "a child inherits");
    assert_eq!(all, affinity_from_status(sleeper.pid()).unwrap());
    for cpu in all.iter() {
        set_affinity(sleeper.pid(), &one(cpu)).unwrap();
        assert_eq!(affinity_of(sleeper.pid()).unwrap(), one(cpu));
        assert_eq!(affinity_from_status(sleeper.pid()).unwrap(), one(cpu));
    }
    set_affinity(sleeper.pid(), &all).unwrap();
    assert_eq!(affinity_of(sleeper.pid()).unwrap(), all);
}

#[test]
fn cpus_beyond_the_kernels_are_dropped_by_it_and_seen_on_reading_back() {
    let sleeper = Sleeper::start();
    let first = affinity_of(0).unwrap().lowest().unwrap();
    let mut wide = one(first);
    wide.insert(CpuId(65_535));
    set_affinity(sleeper.pid(), &wide).unwrap();
    assert_eq!(affinity_of(sleeper.pid()).unwrap(), one(first));
}

#[test]
fn a_set_without_a_usable_cpu_is_refused_with_what_to_compare() {
    let sleeper = Sleeper::start();
    for cpus in [CpuSet::new(), one(CpuId(65_535))] {
        let why = set_affinity(sleeper.pid(), &cpus).unwrap_err();
        assert_eq!(why.errno, libc::EINVAL);
        assert_eq!(why.requested.as_ref(), Some(&cpus));
        assert!(!why.is_gone());
        let told = why.to_string();
        assert!(told.contains("Cpus_allowed_list"), "{told}");
        assert!(told.contains(&sleeper.pid().to_string()), "{told}");
    }
}

#[test]
fn a_process_that_ended_is_told_apart() {
    let mut sleeper = Sleeper::start();
    let pid = sleeper.pid();
    sleeper.end();
    let why = affinity_of(pid).unwrap_err();
    assert!(why.is_gone(), "{why}");
    assert!(why.to_string().contains("has ended"), "{why}");
    assert!(set_affinity(pid, &one(CpuId(0))).unwrap_err().is_gone());
    assert!(affinity_from_status(pid).is_err());
}
