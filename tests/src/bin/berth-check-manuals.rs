//! `berth-check-manuals`: asks the installed sbatch and srun for the corrections that `berth check`
//! proposes for the collection of lines, and ends with 1 if they refuse one. It needs root and Slurm,
//! as `ci/cluster` does.

use std::process::ExitCode;

use berth_tests::check_manuals::ask;

fn main() -> ExitCode {
    let tried = ask();
    for refused in &tried.refused {
        println!("refused {refused}");
    }
    if !tried.notices {
        println!("a wrong option was not refused, so nothing was tried");
    }
    let (accepted, refused) = (tried.accepted, tried.refused.len());
    println!("{accepted} corrected lines and scripts were accepted, {refused} refused");
    ExitCode::from(u8::from(!tried.is_good()))
}
