//! What a program that ended left: its exit code and both outputs, as text.

use std::process::Output;

/// A program that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// Where Slurm's messages and berth's notes go.
    pub stderr: String,
}

impl Done {
    /// Ended with exit code 0.
    pub fn ok(&self) -> bool {
        self.code == Some(0)
    }

    /// The printed text; panics with both outputs if the exit code is not 0.
    #[track_caller]
    pub fn expect_ok(self) -> String {
        assert!(self.ok(), "expected success: {self:#?}");
        self.stdout
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Done {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The kernel's way to write a mask (`00000000,00000003`) in Slurm's (`0x3`).
pub fn mask(kernel: &str) -> String {
    let digits = kernel.trim().replace(',', "");
    let digits = digits.trim_start_matches('0');
    format!(
        "0x{}",
        if digits.is_empty() { "0" } else { digits }.to_uppercase()
    )
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn masks_are_written_as_slurm_does() {
        assert_eq!(mask("3\n"), "0x3");
        assert_eq!(mask("00000000,000000ff"), "0xFF");
        assert_eq!(mask("1,00000000"), "0x100000000");
        assert_eq!(mask("0"), "0x0");
    }
}
