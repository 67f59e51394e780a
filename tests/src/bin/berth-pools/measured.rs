//! What the kernel counts of a pool job and of the normal jobs that it meets, over some seconds.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::job::Job;
use crate::thread::{Times, times_on};

/// How long the jobs are watched.
const WINDOW: Duration = Duration::from_secs(20);
/// The kernel's unit of time in `/proc/stat`, in seconds.
const TICK: f64 = 0.01;
/// Who lost no more than this part of the asked CPUs lost nothing.
const NOTHING: f64 = 0.01;

/// CPUs on average.
#[derive(Debug)]
pub(crate) struct Measured {
    /// The CPUs of the pool job: those that it asked for.
    pub asked: f64,
    /// Those that its tasks used.
    pub own: f64,
    /// Of the time in which its threads wanted a CPU, the part in which they had one.
    pub wanted: f64,
    /// Those that each normal job's tasks used.
    pub normal: Vec<f64>,
    /// Those of the pool job's CPUs that normal jobs' tasks used, and those on which nobody ran.
    pub there: f64,
    pub idle: f64,
}

impl Measured {
    /// Delivered CPU time ÷ (CPUs that were asked for × time).
    pub(crate) fn raw(&self) -> f64 {
        self.own / self.asked
    }

    /// Delivered CPU time ÷ the time that these CPUs delivered to jobs: the daemons, this program and the kernel need
    /// time too.
    pub(crate) fn scaled(&self) -> f64 {
        self.own / (self.own + self.there)
    }

    /// CPUs that neither the pool job nor a normal job had.
    pub(crate) fn lost(&self) -> f64 {
        self.asked - self.own - self.there
    }

    /// The figure that counts beside other jobs, and its name.
    pub(crate) fn judged(&self) -> (f64, &'static str) {
        match self.lost() <= NOTHING * self.asked {
            true => (self.raw(), "raw"),
            false => (self.scaled(), "scaled"),
        }
    }

    /// What the normal job has that has least.
    pub(crate) fn least(&self) -> f64 {
        self.normal.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        format!(
            "delivered/asked {:.3} raw (of {} CPUs × time), {:.3} scaled (of what these CPUs delivered to jobs); on \
             them normal jobs have {:.3} CPUs, and {:.3} went to neither ({:.3} idle, the rest to daemons, this \
             program and the kernel)",
            self.raw(),
            self.asked,
            self.scaled(),
            self.there,
            self.lost(),
            self.idle
        )
    }
}

/// A number at a moment: reading them all takes time on a full machine.
struct At(Instant, f64);

impl At {
    fn now(value: f64) -> Self {
        Self(Instant::now(), value)
    }

    fn rate(&self, before: &Self) -> f64 {
        (self.1 - before.1) / self.0.duration_since(before.0).as_secs_f64()
    }
}

/// One look.
struct Look {
    own: At,
    times: Times,
    normal: Vec<At>,
    there: Vec<At>,
    idle: At,
}

impl Look {
    fn now(pool: &Job, normal: &[Job], cpus: &[u32]) -> Result<Self, String> {
        let used = |job: &Job| Ok::<_, String>(At::now(job.used()?));
        let there = |job: &Job| Ok::<_, String>(At::now(times_on(&job.processes(), cpus)?.ran));
        Ok(Self {
            own: used(pool)?,
            times: times_on(&pool.processes(), cpus)?,
            normal: normal.iter().map(used).collect::<Result<_, _>>()?,
            there: normal.iter().map(there).collect::<Result<_, _>>()?,
            idle: At::now(idle(cpus)),
        })
    }
}

/// Watches a pool job and the normal jobs beside it.
///
/// # Errors
/// A job has ended, or nobody knows on which CPUs its tasks run.
pub(crate) fn watch(pool: &Job, normal: &[Job]) -> Result<Measured, String> {
    let cpus = pool.cpus();
    if cpus.is_empty() {
        return Err(format!("job {} has no CPUs", pool.id));
    }
    // The first moments are a start, no load.
    thread::sleep(Duration::from_secs(2));
    let before = Look::now(pool, normal, &cpus)?;
    thread::sleep(WINDOW);
    let after = Look::now(pool, normal, &cpus)?;
    let rates = |after: &[At], before: &[At]| -> Vec<f64> {
        let both = after.iter().zip(before);
        both.map(|(after, before)| after.rate(before)).collect()
    };
    let ran = after.times.ran - before.times.ran;
    let waited = after.times.waited - before.times.waited;
    if ran <= 0.0 {
        return Err(format!("the tasks of job {} have not run", pool.id));
    }
    Ok(Measured {
        asked: cpus.len() as f64,
        own: after.own.rate(&before.own),
        wanted: ran / (ran + waited),
        normal: rates(&after.normal, &before.normal),
        there: rates(&after.there, &before.there).iter().sum(),
        idle: after.idle.rate(&before.idle),
    })
}

/// For how many seconds nobody has run on these CPUs, waiting for input and output included.
fn idle(cpus: &[u32]) -> f64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let of = |line: &str| -> Option<f64> {
        let mut words = line.strip_prefix("cpu")?.split(' ');
        let cpu: u32 = words.next()?.parse().ok()?;
        let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
        let both = numbers.get(3)? + numbers.get(4)?;
        cpus.contains(&cpu).then_some(both * TICK)
    };
    text.lines().filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scaled_figure_counts_only_where_time_was_lost() {
        let mut measured = Measured {
            asked: 8.0,
            own: 7.6,
            wanted: 0.95,
            normal: vec![0.4],
            there: 0.4,
            idle: 0.0,
        };
        let (raw, name) = measured.judged();
        assert!((raw - 0.95).abs() < 1e-9 && name == "raw", "{raw} {name}");
        measured.own = 7.2;
        let (scaled, name) = measured.judged();
        assert!((measured.lost() - 0.4).abs() < 1e-9 && name == "scaled");
        assert!((scaled - 7.2 / 7.6).abs() < 1e-9, "{scaled}");
    }
}
