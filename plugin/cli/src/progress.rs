//! A progress bar for work that takes longer than a second. It is shown only if somebody sees it and
//! it does not disturb the answer.

use std::io::{IsTerminal, stderr, stdout};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The clock is read once for this number of items.
const STEP: u32 = 4096;

/// The same tasks; how many of them are done is shown on stderr if it takes long.
pub(crate) fn watched<T>(items: impl Iterator<Item = T>, count: u32) -> impl Iterator<Item = T> {
    shown(
        items,
        Some(count),
        "{bar:40} {human_pos} of {human_len} tasks, {eta}",
    )
}

/// The same for requests, whose number nobody knows before.
pub(crate) fn counted<T>(items: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
    shown(
        items,
        None,
        "{spinner} {human_pos} requests answered, {per_sec}",
    )
}

fn shown<T>(
    items: impl Iterator<Item = T>,
    count: Option<u32>,
    template: &str,
) -> impl Iterator<Item = T> {
    let bar = (stderr().is_terminal() && !stdout().is_terminal()).then(|| {
        let bar = ProgressBar::with_draw_target(count.map(u64::from), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(template);
        match style {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        }
    });
    let mut watch = Watch {
        bar,
        since: Instant::now(),
        seen: 0,
    };
    items.inspect(move |_| watch.one_more())
}

struct Watch {
    bar: Option<ProgressBar>,
    since: Instant,
    seen: u32,
}

impl Watch {
    fn one_more(&mut self) {
        self.seen += 1;
        let Some(bar) = self.bar.as_ref().filter(|_| self.seen.is_multiple_of(STEP)) else {
            return;
        };
        if bar.is_hidden() && self.since.elapsed() > Duration::from_secs(1) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(self.seen.into());
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
