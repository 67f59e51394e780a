//! A step's devices as one word of a text: `COUNT:STEP:TASKS`, as `8:2,4,5:4;5;2,4`. Commas separate
//! devices and semicolons tasks; where Slurm leaves these to the tasks there is no last part.
//! In: [`Gres`]. Out: its text, and back. Pure.

use std::fmt;
use std::str::FromStr;

use crate::request::near::Gres;
use crate::sets::cpuset_text::parse_number;
use crate::sets::error::TextError;
use crate::sets::limits::{MAX_DEVICES, MAX_ENTRIES};

const FORM: &str = "a count, devices and each task's devices such as 8:2,4,5:4;5;2,4";

impl fmt::Display for Gres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.on_node)?;
        write_indices(f, &self.step)?;
        for (at, own) in self.tasks.iter().enumerate() {
            f.write_str(if at == 0 { ":" } else { ";" })?;
            write_indices(f, own)?;
        }
        Ok(())
    }
}

fn write_indices(f: &mut fmt::Formatter<'_>, indices: &[u32]) -> fmt::Result {
    for (at, index) in indices.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { "," })?;
        write!(f, "{index}")?;
    }
    Ok(())
}

impl FromStr for Gres {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong = || TextError::new(text, FORM);
        let mut parts = text.splitn(3, ':');
        let on_node = parts.next().and_then(parse_number).ok_or_else(wrong)?;
        let step = parts.next().and_then(indices).ok_or_else(wrong)?;
        let tasks = match parts.next() {
            None => Vec::new(),
            Some(tasks)
                if tasks.bytes().filter(|one| *one == b';').count() >= MAX_ENTRIES as usize =>
            {
                return Err(wrong());
            }
            Some(tasks) => tasks
                .split(';')
                .map(indices)
                .collect::<Option<_>>()
                .ok_or_else(wrong)?,
        };
        Ok(Self {
            on_node,
            step,
            tasks,
        })
    }
}

/// Numbers with commas between them; an empty text has none.
fn indices(text: &str) -> Option<Vec<u32>> {
    let count = text.bytes().filter(|one| *one == b',').count();
    match text {
        "" => Some(Vec::new()),
        _ if count >= MAX_DEVICES => None,
        _ => text.split(',').map(parse_number).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_as_it_is_written() {
        for text in ["0:", "8:2,4,5", "8:2,4,5:4;5;2,4", "4:1:;1;", "1:0:"] {
            let gres: Gres = text.parse().unwrap();
            assert_eq!(gres.to_string(), text);
        }
        let gres: Gres = "8:2,4,5:4;5;2,4".parse().unwrap();
        assert_eq!((gres.on_node, gres.step), (8, vec![2, 4, 5]));
        assert_eq!(gres.tasks, [vec![4], vec![5], vec![2, 4]]);
        let long = |sign: &str| format!("1:{}", format!("0{sign}").repeat(1 << 17));
        for text in [
            "",
            "8",
            "x:1",
            "8:1-2",
            "8:1:2:3",
            "8: 1",
            "8:1,",
            &long(","),
            &long(";"),
        ] {
            assert!(text.parse::<Gres>().is_err(), "{text}");
        }
        assert!(
            format!("1:0:{}", ";".repeat(1 << 17))
                .parse::<Gres>()
                .is_err()
        );
    }
}
