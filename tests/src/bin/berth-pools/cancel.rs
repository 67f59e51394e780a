//! How a normal job goes that is cancelled, wholly below a busy pool.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Here;
use crate::job::{Job, start};
use crate::shares::fill;

/// The tasks of such a job have gone within this time. It is judged on machines of at most four CPUs: of more, each
/// emulated CPU has too small a part of a core for any time of the guest to mean anything.
const CANCELLED: Duration = Duration::from_secs(10);
const JUDGED: u32 = 4;

/// A serial job on each CPU: one that has no pool there, and then one below the pool.
pub(crate) fn cancelled(here: &Here) {
    let mut normal = fill(here, here.cpus, 1);
    normal.sort_by_key(|job| job.cpus().to_string());
    let beside = cancel(here, &normal.pop().expect("a job"));
    let pool = start(&here.cluster, &["-pmulti8"], (here.pool, 1));
    let own = pool.cpus();
    let below = normal.iter().find(|job| job.cpus().is_subset(&own));
    let below = cancel(here, below.expect("a normal job on the pool's CPUs"));
    println!("  tasks gone after {below:.1?} below a pool, after {beside:.1?} beside none");
    assert!(
        below <= CANCELLED || here.cpus > JUDGED,
        "they took longer than {CANCELLED:?}"
    );
}

/// Cancels a job; how long its tasks took to go.
fn cancel(here: &Here, job: &Job) -> Duration {
    assert!(job.has_tasks(), "job {} does not run", job.id);
    let since = Instant::now();
    let id = job.id.clone();
    std::thread::scope(|scope| {
        scope.spawn(|| here.cluster.run("scancel", &[&id]).expect_ok());
        while job.has_tasks() {
            sleep(Duration::from_millis(100));
        }
        since.elapsed()
    })
}
