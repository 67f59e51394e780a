//! One of Slurm's own commands as a child with bounds: no input, a time limit, and no more output
//! than it can rightly have.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The time it gets; slurmctld answers in milliseconds, or not at all.
const LIMIT: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 3000 });

/// Its output, or the reason why there is none, as a part of a sentence.
pub(super) fn output(program: &str, arguments: &[&str], most: u64) -> Result<String, String> {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(|why| format!("{program} cannot be started: {why}"))?;
    let pipe = child.stdout.take();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map(|pipe| pipe.take(most + 1).read_to_end(&mut bytes));
        // Nobody listens any more if the time was up.
        let _ = tell.send(read.is_some_and(|read| read.is_ok()).then_some(bytes));
    });
    let heard = told.recv_timeout(LIMIT);
    // A child that has closed its output ends by itself; every other one is stopped.
    if !matches!(&heard, Ok(Some(bytes)) if bytes.len() as u64 <= most) {
        let _ = child.kill();
    }
    let ended = child.wait();
    match heard {
        Err(_) => Err(format!(
            "{program} gave no answer within {:.0} s",
            LIMIT.as_secs_f64()
        )),
        Ok(Some(bytes)) if bytes.len() as u64 <= most => match ended {
            Ok(status) if status.success() => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            _ => Err(format!("{program} failed")),
        },
        Ok(_) => Err(format!("{program} gave more than {most} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::output;

    #[test]
    fn a_child_has_bounds() {
        let shell = |line| output("sh", &["-c", line], 16);
        assert_eq!(shell("echo yes"), Ok("yes\n".into()));
        assert_eq!(shell("exit 3"), Err("sh failed".into()));
        assert!(shell("yes").unwrap_err().contains("more than 16 bytes"));
        assert!(shell("exec sleep 60").unwrap_err().contains("no answer"));
        assert!(output("/no/such", &[], 1).unwrap_err().contains("started"));
    }
}
