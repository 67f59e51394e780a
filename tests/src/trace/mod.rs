//! Where the kernel's scheduler really ran tasks, by its own trace: events of chosen processes and of all that
//! they start, and what they say of each task.

mod event;
mod judge;
mod recorder;

pub use event::{Event, What};
pub use judge::{Judged, Task, judge};
pub use recorder::{Lost, Recorder};
