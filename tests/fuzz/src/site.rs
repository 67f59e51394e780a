//! The files and settings that an administrator writes.

use berth_site::{cpusets, pools, read_settings};

use crate::Verdict;

fn is_here(list: &str) -> Result<bool, String> {
    Ok(list.starts_with("n1"))
}

/// The file of `cpusets=`.
pub(crate) fn cpusets(text: &str) -> Verdict {
    let uid = |name: &str| (name == "root").then_some(0);
    let site = cpusets::Site {
        is_here: &is_here,
        uid: &uid,
    };
    match cpusets::read(text.as_bytes(), &site) {
        Ok(_) => Verdict::Accepted,
        Err(why) => Verdict::Refused(why.to_string()),
    }
}

/// The file of `pools=`.
pub(crate) fn pools(text: &str) -> Verdict {
    let site = pools::Site {
        is_here: &is_here,
        cpus: Some(8),
    };
    match pools::read(text.as_bytes(), &site) {
        Ok(_) => Verdict::Accepted,
        Err(why) => Verdict::Refused(why.to_string()),
    }
}

/// The words of berth's line in plugstack.conf. Each is in force, or a complaint says what is.
pub(crate) fn settings(text: &str) -> Verdict {
    let words: Vec<_> = text.split_whitespace().collect();
    let (_, complaints) = read_settings::read(&words, is_here);
    match complaints.first() {
        Some(complaint) => Verdict::Refused(complaint.text.clone()),
        None => Verdict::Accepted,
    }
}
