//! A bound on how long a real-time thread may run without a pause (`RLIMIT_RTTIME`; `LimitRTTIME=` of a systemd unit):
//! the kernel ends a process that exceeds it.
//! In: a process or thread id. Out: whether it has one. Children inherit it.

use std::mem::MaybeUninit;

use libc::pid_t;

/// Whether there is one. 0 is the calling process; one that has ended has none.
#[must_use]
pub fn has_bound(process: pid_t) -> bool {
    let bound = limit(process, libc::RLIMIT_RTTIME);
    bound.is_some_and(|bound| bound.rlim_cur != libc::RLIM_INFINITY)
}

/// Why no thread of this process or of its children should be a real-time one.
pub(super) fn obstacle() -> Option<String> {
    has_bound(0).then(|| {
        "slurmd and its children have a bound on how long a real-time thread may run (RLIMIT_RTTIME), and the kernel \
         ends a process that exceeds it; remove LimitRTTIME= from slurmd's unit, or DefaultLimitRTTIME= from \
         system.conf of systemd, and restart slurmd"
            .into()
    })
}

/// Nothing for a thread that has ended.
pub(super) fn limit(thread: pid_t, resource: libc::__rlimit_resource_t) -> Option<libc::rlimit> {
    let mut found = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: the kernel writes one record, which lives until the call returns.
    let read = unsafe { libc::prlimit(thread, resource, std::ptr::null(), found.as_mut_ptr()) };
    // SAFETY: zeros are a limit too, where the kernel has written none.
    (read == 0).then(|| unsafe { found.assume_init() })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::{BeforePools, realtime_refusal};
    use super::*;

    /// Set for the same test in a process that has a bound: the other tests of this one have none.
    const BOUNDED: &str = "BERTH_TEST_BOUNDED";

    #[test]
    fn a_process_with_a_bound_has_no_real_time_threads_of_ours() {
        if std::env::var_os(BOUNDED).is_some() {
            assert!(has_bound(0));
            let why = realtime_refusal().unwrap();
            assert!(why.contains("RLIMIT_RTTIME"), "{why}");
            assert!(BeforePools::begin().is_none());
            return;
        }
        assert!(!has_bound(0) && obstacle().is_none() && !has_bound(pid_t::MAX));
        let me = std::env::current_exe().unwrap();
        let name =
            "priority::bound::tests::a_process_with_a_bound_has_no_real_time_threads_of_ours";
        // A minute: nothing comes near it.
        let mut bounded = Command::new("prlimit");
        bounded.arg("--rttime=60000000:").arg(me);
        let done = bounded.args(["--exact", name]).env(BOUNDED, "1").output();
        let done = done.unwrap();
        let told = String::from_utf8_lossy(&done.stdout);
        assert!(
            done.status.success() && told.contains("1 passed"),
            "{done:?}"
        );
    }
}
