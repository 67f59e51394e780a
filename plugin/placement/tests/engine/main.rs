//! The engine's tests: laws on machines and requests made at random, and facts as machine, request, answer.

mod cpusets;
mod facts;
mod harness;
mod laws;
mod machines;
mod once_failed;
mod page;
mod shares;
mod texts;
mod variables;

use harness::trial::{Law, on_random_machines};

/// How this program tries a law.
fn try_law(law: &Law) {
    on_random_machines(law);
}
