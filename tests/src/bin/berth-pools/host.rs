//! How much of a core each virtual CPU has while all are busy. A host with fewer cores than the machine has CPUs makes whatever
//! waits for several of them slower than in proportion, and the guest's kernel charges that time as if it had passed in
//! the guest: there slurmd's thread, which may use a fraction of a CPU, looks at slurmstepds once in seconds, and not
//! every 50 ms.
//! In: nothing. Out: a part of one.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// So long it is counted.
const TIME: Duration = Duration::from_millis(500);
/// What one thread counts between two looks at the clock.
const ROUND: u64 = 10_000;
/// A machine whose CPUs have this much of a core, or more, is judged by what the classes promise.
const ENOUGH: f64 = 0.5;

/// What the host gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    share: f64,
}

impl Host {
    /// Measures it, with a thread on each CPU.
    pub(crate) fn measured(cpus: u32) -> Self {
        let share = counted(cpus) / f64::from(cpus) / counted(1);
        let host = Self { share };
        let bounds = host.bound("promised", "wider");
        println!(
            "each of {cpus} busy CPUs has {share:.2} of a core of the host: the bounds of time are the {bounds} ones"
        );
        host
    }

    /// A bound on how soon something happens, and the wider one for a host without enough cores.
    pub(crate) fn bound<T>(&self, promised: T, without_cores: T) -> T {
        match self.share >= ENOUGH {
            true => promised,
            false => without_cores,
        }
    }
}

/// How far so many threads count together.
fn counted(threads: u32) -> f64 {
    let ready = Barrier::new(threads as usize);
    let count = || {
        ready.wait();
        let since = Instant::now();
        let mut count = 0_u64;
        while since.elapsed() < TIME {
            for _ in 0..ROUND {
                count = std::hint::black_box(count + 1);
            }
        }
        count as f64
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(count)).collect();
        all.into_iter()
            .map(|one| one.join().expect("a thread"))
            .sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_enough_cores_has_the_wider_bound() {
        let bound = |share| Host { share }.bound(2, 4);
        assert_eq!([bound(0.9), bound(0.5), bound(0.12)], [2, 2, 4]);
    }
}
