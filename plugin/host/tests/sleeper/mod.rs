//! A process that stands for a task.
#![allow(dead_code, reason = "each test program uses a part")]

use std::process::{Child, Command};

use berth_host::ledger::Task;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A process that sleeps; it ends with the value.
pub struct Sleeper(Child);

impl Sleeper {
    pub fn start() -> Self {
        Self(Command::new("sleep").arg("600").spawn().unwrap())
    }

    pub fn pid(&self) -> i32 {
        self.0.id() as i32
    }

    pub fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Sends a signal, and waits until the task has stopped, or has not.
    pub fn signal(&self, signal: Signal, has_stopped: bool) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
        while Task::of(self.pid()).has_stopped() != has_stopped {
            std::thread::yield_now();
        }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.end();
    }
}
