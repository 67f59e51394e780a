//! One of Slurm's own commands as a child with bounds: no input, a time limit, and no more output
//! than it can rightly have.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use berth_host::{StateDir, announcement};

use super::state::{self, nodes_of};
use crate::child::{Trouble, run};

/// The time it gets; slurmctld answers in milliseconds, or not at all.
const LIMIT: Duration = Duration::from_millis(if cfg!(test) { 300 } else { 3000 });

/// Its output, or the reason why there is none, as a part of a sentence.
pub(super) fn output(program: &str, arguments: &[&str], most: u64) -> Result<String, String> {
    let bytes = bytes(program, arguments, (most, LIMIT))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The output as it was printed, with a time limit of the caller's, or the reason why there is none. A prolog has no
/// PATH, and Slurm's commands may lie beside its daemons.
pub(super) fn bytes(
    program: &str,
    arguments: &[&str],
    (most, limit): (u64, Duration),
) -> Result<Vec<u8>, String> {
    let run = |program: PathBuf| run(Command::new(program).args(arguments), most, limit);
    let ran = match run(program.into()) {
        Err(Trouble::Start(why)) if why.kind() == io::ErrorKind::NotFound => {
            beside_slurmd(program).map_or(Err(Trouble::Start(why)), run)
        }
        ran => ran,
    };
    ran.map_err(|why| match why {
        Trouble::Start(why) => format!("{program} cannot be started: {why}"),
        Trouble::Slow => {
            let seconds = limit.as_secs_f64();
            format!("{program} gave no answer within {seconds:.0} s")
        }
        Trouble::Failed(_) => format!("{program} failed"),
        Trouble::Long => format!("{program} gave more than {most} bytes"),
    })
}

/// Slurm's command in the folder of the slurmd that announced itself here, or in the `bin` beside that.
fn beside_slurmd(program: &str) -> Option<PathBuf> {
    let base = state::base(None);
    let mut slurmds = nodes_of(&base, None).into_iter().filter_map(|name| {
        let dir = StateDir::new(&base, &name).ok()?;
        Some(PathBuf::from(announcement::read(&dir).ok()?.program))
    });
    slurmds.find_map(|slurmd| {
        let folder = slurmd.parent()?;
        let mut places = [folder.join("../bin"), folder.into()].into_iter();
        places.find_map(|place| Some(place.join(program)).filter(|found| found.is_file()))
    })
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
