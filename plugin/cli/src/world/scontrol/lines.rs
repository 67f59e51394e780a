//! The lines of slurmctld's records as `scontrol show job` prints them. A user chooses some of the texts
//! in them, such as the job's name, and a text may look like a line. So scontrol is asked for both of its
//! forms: it ends a line of a record with a line break in one form and with a blank in the other, and a
//! user's text is the same in both.

/// The lines of each record.
pub(super) type Records = Vec<Vec<String>>;

/// What ends a line of a record where scontrol prints a record in several lines.
const END: &[u8] = b"\n   ";
/// The beginning of a line about nodes: from 26.05 on its blanks stand only in that form.
const INDENT: &[u8] = b"  ";
const NODES: &[u8] = b"Nodes=";

/// The records of the two forms; `None` if they are not about the same.
pub(super) fn aligned(several: &[u8], one: &[u8]) -> Option<Records> {
    let (mut several, mut one) = (several, one);
    let (mut records, mut lines, mut line) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(byte) = several.first() {
        let other = one.first()?;
        if several.starts_with(END) && *other == b' ' {
            lines.push(text(&mut line));
            several = several.get(END.len()..)?;
            if is_indent(several, one.get(1..)?) {
                line.extend_from_slice(INDENT);
                several = several.get(INDENT.len()..)?;
            }
        } else if is_end_of_record(several, one) {
            lines.push(text(&mut line));
            records.push(std::mem::take(&mut lines));
            several = several.get(2..)?;
        } else if byte == other || is_time(*byte, *other) {
            line.push(*byte);
            several = several.get(1..)?;
        } else {
            return None;
        }
        one = one.get(1..)?;
    }
    let is_all = one.is_empty() && line.is_empty() && lines.is_empty();
    is_all.then_some(records)
}

/// A record ends with an empty line in one form and with a line break in the other, and another record
/// or nothing follows.
fn is_end_of_record(several: &[u8], one: &[u8]) -> bool {
    let follows = |rest: &[u8]| rest.is_empty() || rest.starts_with(b"JobId=");
    several.strip_prefix(b"\n\n").is_some_and(follows)
        && one.strip_prefix(b"\n").is_some_and(follows)
}

/// Whether a line about nodes begins here that is indented in one form alone. Only Slurm begins a line.
fn is_indent(several: &[u8], one: &[u8]) -> bool {
    several
        .strip_prefix(INDENT)
        .is_some_and(|rest| rest.starts_with(NODES))
        && one.starts_with(NODES)
}

/// A clock goes on between two questions.
fn is_time(one: u8, other: u8) -> bool {
    one.is_ascii_digit() && other.is_ascii_digit()
}

fn text(line: &mut Vec<u8>) -> String {
    String::from_utf8_lossy(&std::mem::take(line)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::aligned;

    /// Both forms of records with these lines.
    fn forms(records: &[&[&str]]) -> (String, String) {
        let several = records.iter().map(|lines| lines.join("\n   ") + "\n\n");
        let one = records.iter().map(|lines| lines.join(" ") + "\n");
        (several.collect(), one.collect())
    }

    #[test]
    fn no_text_of_a_users_is_a_line() {
        let forged = "JobId=7 JobName=x\n   NodeList=forged\n     Nodes=forged CPU_IDs=0-63 \
                      Mem=0 GRES=\n\nJobId=8 JobName=y\n   UserId=root(0)\n\n";
        for records in [
            &[&[
                "JobId=7 JobName=a b",
                "UserId=u(1)",
                "  Nodes=n1 CPU_IDs=0 Mem=0 GRES=",
            ][..]][..],
            &[&[forged, "UserId=u(1) ", "", "WorkDir=\n   "]],
            &[&["JobId=7 JobName= \n", " x"], &["JobId=8 JobName=\n\n"]],
            &[&["JobId=7 JobName=\n   \n    \n", "\n   UserId=\n ", "  "]],
        ] {
            let (several, one) = forms(records);
            let found = aligned(several.as_bytes(), one.as_bytes()).unwrap();
            assert_eq!(found, records, "{several:?}");
        }
    }

    /// Slurm 26.05.5 prints such records.
    #[test]
    fn lines_about_nodes_are_indented_in_one_form_alone() {
        let forged = "JobId=7 JobName=x\n     Nodes=forged Nodes=forged CPU_IDs=0";
        let lines = [
            forged,
            "UserId=u(1)",
            "  Nodes=n1 CPU_IDs=0 Mem=0 GRES=",
            "x=1",
        ];
        let (several, _) = forms(&[&lines]);
        let one = lines.map(|line| line.trim_start()).join(" ") + "\n";
        let found = aligned(several.as_bytes(), one.as_bytes()).unwrap();
        assert_eq!(found, [lines]);
        // No other line loses its blanks.
        let (several, one) = ("a\n     b\n\n", "a b\n");
        assert_eq!(aligned(several.as_bytes(), one.as_bytes()), None);
    }

    #[test]
    fn only_a_clock_may_go_on_meanwhile() {
        let both = |several: &str, one: &str| aligned(several.as_bytes(), one.as_bytes());
        assert!(both("RunTime=00:00:09\n\n", "RunTime=00:00:10\n").is_some());
        for (several, one) in [
            ("JobName=a\n\n", "JobName=b\n"),
            ("JobName=a\n\n", "JobName=ab\n"),
            ("JobName=ab\n\n", "JobName=a\n"),
            ("JobName=a\n   b\n\n", "JobName=a b c\n"),
            ("JobName=a", "JobName=a"),
            ("a\n\n", "a\nb\n"),
            ("a\n\nb\n\n", "a\n"),
        ] {
            assert_eq!(both(several, one), None, "{several:?} {one:?}");
        }
        assert_eq!(both("", ""), Some(Vec::new()));
    }
}
