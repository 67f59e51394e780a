//! A task's variables that list devices ([`crate::answer::device_variables`]) go into an srun that the
//! task starts. Those that berth wrote are no wish of the user, and the inner step has devices of its
//! own. So berth also writes its lists into one variable, the mark. What still has the value that stands
//! there is not the user's. The mark itself comes from the user: whatever it says, only these variables
//! can go. Pure.

use crate::answer::device_variables::names;

/// The mark of a task's lists: `CUDA_VISIBLE_DEVICES=1,0 CUDA_DEVICE_ORDER=PCI_BUS_ID`.
#[must_use]
pub fn mark(entries: &[(&'static str, String)]) -> String {
    let entries = entries
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    entries.collect::<Vec<_>>().join(" ")
}

/// The variables that still have the value that berth gave them in an outer step.
pub fn inherited(
    mark: &str,
    get: impl Fn(&str) -> Option<String>,
) -> impl Iterator<Item = &'static str> {
    let written = |name: &str| {
        let mut entries = mark.split(' ').filter_map(|entry| entry.split_once('='));
        let found = entries.find(|(known, _)| *known == name);
        found.map(|(_, value)| value.to_owned())
    };
    names().filter(move |name| written(name).is_some_and(|value| get(name) == Some(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(mark: &str, environment: &[(&str, &str)]) -> Vec<&'static str> {
        let get = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        inherited(mark, get).collect()
    }

    #[test]
    fn what_berth_wrote_goes_and_what_the_user_wrote_stays() {
        let mark = mark(&[
            ("CUDA_VISIBLE_DEVICES", "1,0".into()),
            ("CUDA_DEVICE_ORDER", "PCI_BUS_ID".into()),
        ]);
        let marked = |list, order| {
            let environment = [
                ("CUDA_VISIBLE_DEVICES", list),
                ("CUDA_DEVICE_ORDER", order),
                ("ROCR_VISIBLE_DEVICES", "1,0"),
            ];
            gone(&mark, &environment)
        };
        let both = ["CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"];
        assert_eq!(marked("1,0", "PCI_BUS_ID"), both);
        assert_eq!(marked("0", "PCI_BUS_ID"), both[1..]);
        assert_eq!(marked("0", "FASTEST_FIRST"), [""; 0]);
        assert_eq!(gone("", &[("CUDA_VISIBLE_DEVICES", "1,0")]), [""; 0]);
    }

    #[test]
    fn a_forged_mark_takes_no_other_variable() {
        let environment = [("PATH", "/bin"), ("HOME", "/"), ("", "")];
        for mark in ["PATH=/bin HOME=/", "=", " ", "CUDA_VISIBLE_DEVICES", "\n"] {
            assert_eq!(gone(mark, &environment), [""; 0], "{mark}");
        }
        let empty = [("ZE_AFFINITY_MASK", "")];
        assert_eq!(gone("ZE_AFFINITY_MASK=", &empty), ["ZE_AFFINITY_MASK"]);
    }
}
