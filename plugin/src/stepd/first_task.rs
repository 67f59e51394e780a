//! A node's tasks between fork and exec: the others wait until the first one has written the files
//! that they all read. There is no wait beyond a second, whatever happens to the first task.

use std::io;

use crate::stepd::shared_word::SharedWord;

/// Two small files are written in less than a millisecond, on a busy file server in less than a
/// second.
const PATIENCE_SECONDS: i64 = 1;
const WRITING: u32 = 0;
const DONE: u32 = 1;

/// The word that the tasks share.
pub(crate) struct FirstTask(SharedWord);

impl FirstTask {
    /// In the parent, before the first fork.
    pub(crate) fn new() -> io::Result<Self> {
        SharedWord::new().map(Self)
    }

    /// In the first task, whether or not it could write.
    pub(crate) fn done(&self) {
        self.0.set(DONE);
    }

    /// In the other tasks: waits, and returns whether the first one is done.
    pub(crate) fn wait(&self) -> bool {
        self.0.wait(WRITING, PATIENCE_SECONDS) == DONE
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_others_wait_for_it_and_not_for_ever() {
        let first = FirstTask::new().unwrap();
        let start = Instant::now();
        let calls = crate::site::count_allocations::during(|| assert!(!first.wait()));
        assert_eq!(calls, 0);
        assert!(
            start.elapsed() >= Duration::from_secs(1),
            "{:?}",
            start.elapsed()
        );
        thread::scope(|scope| {
            let waiting = scope.spawn(|| (first.wait(), Instant::now()));
            thread::sleep(Duration::from_millis(20));
            let before = Instant::now();
            first.done();
            let (done, after) = waiting.join().unwrap();
            assert!(done && after > before);
        });
        assert!(first.wait(), "it stays done");
    }
}
