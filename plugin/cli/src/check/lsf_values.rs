//! Values of LSF's options in Slurm's form.

use crate::shell::Word;

/// Whether a renamed option's value says more in LSF than Slurm's option can take: the indices of a job array,
/// several hosts, of which LSF takes any, or a time on a host of a certain speed.
pub(super) fn means_more(name: &str, value: &str) -> bool {
    match name {
        "-J" => value.contains('['),
        "-m" => value.trim().contains(char::is_whitespace),
        "-W" => run_limit(value).is_none(),
        _ => false,
    }
}

/// The value in Slurm's form, quoted for a shell. There is none for a word with a variable or a command in it, which only
/// the shell can replace.
pub(super) fn slurms_value(name: &str, word: &Word) -> Option<String> {
    if word.is_computed {
        return None;
    }
    match name {
        "-W" => run_limit(&word.text),
        _ => Some(shlex::try_quote(&word.text).ok()?.into_owned()),
    }
}

/// `[hours:]minutes` as Slurm's `minutes` or `hours:minutes:seconds`. Without a limit there is nothing to write.
fn run_limit(text: &str) -> Option<String> {
    let number = |text: &str| text.trim().parse::<u16>().ok();
    match text.split_once(':') {
        None => number(text)
            .filter(|minutes| *minutes > 0)
            .map(|minutes| minutes.to_string()),
        Some((hours, minutes)) => {
            let (hours, minutes) = (number(hours)?, number(minutes)?);
            (minutes < 60 && (hours, minutes) != (0, 0)).then(|| format!("{hours}:{minutes:02}:00"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_limits() {
        for (lsf, slurm) in [
            ("90", Some("90")),
            ("2:5", Some("2:05:00")),
            ("0:30", Some("0:30:00")),
            ("0", None),
            ("0:0", None),
            ("65535:59", Some("65535:59:00")),
            ("65536", None),
            ("1:99", None),
            ("30/hostA", None),
            ("", None),
            ("-5", None),
        ] {
            assert_eq!(run_limit(lsf).as_deref(), slurm, "{lsf}");
            assert_eq!(means_more("-W", lsf), slurm.is_none());
        }
    }
}
