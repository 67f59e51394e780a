//! The partition of a new job in slurm.conf: whether the job may get more cores than it requests. The file is read
//! only where a request would be refused. What scontrol or a job_submit plugin changes is not in it.
//! In: the command's own words. Out: a refusal, if it is sure.

use std::env;
use std::path::{Path, PathBuf};

use berth_host::script_file;
use berth_srun::conf::Config;
use berth_srun::submission::Words;
use slurm_sys::SlurmConf;

use crate::site::standing;

/// Ten thousand nodes have less.
const MOST: u64 = 64 << 20;

/// The reason for a refusal, if it holds whatever the job's partition gives. A file that cannot be read may say
/// anything.
pub(super) fn if_sure(words: &Words, ask: impl Fn(&Words) -> Option<String>) -> Option<String> {
    let why = ask(words)?;
    let config = path().and_then(|path| config(&path));
    match config.is_some_and(|config| !words.may_get_more(&config, super::env)) {
        true => Some(why),
        false => ask(&words.clone().where_jobs_may_get_more()),
    }
}

/// The slurm.conf of this process. Slurm names it in a variable, unless it got the file from slurmctld.
/// Source: `slurm_conf_init`.
fn path() -> Option<PathBuf> {
    let of_slurmctld = || {
        let slurm = standing::unjudged()?;
        SlurmConf::path_beside(c"slurm.conf", slurm.symbols).map(PathBuf::from)
    };
    let named = env::var_os("SLURM_CONF").map(PathBuf::from);
    named.or_else(of_slurmctld)
}

fn config(path: &Path) -> Option<Config> {
    let folder = path.parent()?;
    let read = |path: &Path| {
        let bytes = script_file::head(path, MOST + 1)?;
        match bytes.len() as u64 > MOST {
            true => Err(format!("more than {MOST} bytes")),
            false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        }
    };
    let text = read(path).ok()?;
    let mut included = |name: &str| read(&folder.join(name));
    Config::read(&path.to_string_lossy(), &text, &mut included).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_read_with_its_included_files() {
        let folder = env::temp_dir().join(format!("berth-partition.{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("slurm.conf");
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        assert!(config(&path).is_none(), "there is none");
        write(
            "slurm.conf",
            "SelectType=select/cons_tres\nInclude parts.conf\n",
        );
        assert!(config(&path).is_none(), "a part is missing");
        write(
            "parts.conf",
            "NodeName=n1 CPUs=4\nPartitionName=p Nodes=n1 OverSubscribe=EXCLUSIVE Default=YES\n\
             PartitionName=q Nodes=n1\n",
        );
        let found = config(&path).unwrap();
        for (partition, more) in [("p", true), ("q", false)] {
            let words = ["-n4", "-p", partition, "a"];
            let words = Words::read("srun", words, berth_srun::Release::NEWEST);
            assert_eq!(words.may_get_more(&found, |_| None), more, "{partition}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
