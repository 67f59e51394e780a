//! Whether slurmctld checks the words by which jobs are in a pool: a user can ask for every account, QOS and
//! reservation, and only Slurm's accounting says which of them are the user's.
//! In: the site's file of pools, and slurm.conf, where both can be read.

use berth_site::pools::{Pool, SitePools};
use berth_srun::Config;

use super::Checks;
use super::Verdict::{self, Note, Wrong};

/// Checks the pools of this node.
pub(super) fn check(checks: &mut Checks, site: Option<&SitePools>, config: Option<&Config>) {
    let (Some(site), Some(config)) = (site, config) else {
        return;
    };
    for pool in site.here() {
        for (verdict, text) in open(pool, config) {
            checks.add(
                verdict,
                "pools",
                text,
                "AccountingStorageEnforce in slurm.conf",
            );
        }
    }
}

/// The words of a pool's line that keep nobody out.
fn open(pool: &Pool, config: &Config) -> Vec<(Verdict, String)> {
    let name = &pool.name;
    let set = config.accounting_enforce.as_deref().unwrap_or("none");
    let mut found = Vec::new();
    let mut fault = |word: &str, what: &str, key: &str| {
        let text = format!(
            "{word}= of the pool {name} keeps nobody out, because slurmctld lets every user have any {what} \
             (AccountingStorageEnforce={set}); add {key} to it, or name a partition that has AllowGroups instead"
        );
        found.push((Wrong, text));
    };
    if pool.needs_account() && !config.checks_accounts() {
        fault("account", "account", "associations");
    }
    if pool.needs_qos() && !config.checks_qos() {
        fault("qos", "QOS", "qos");
    }
    if pool.needs_reservation() && !config.checks_accounts() {
        let text = format!(
            "the reservation of the pool {name} keeps out only whom its Users= leaves out: its Accounts= does not count, \
             because slurmctld lets every user have any account (AccountingStorageEnforce={set}); add associations to it"
        );
        found.push((Note, text));
    }
    found
}

#[cfg(test)]
mod tests {
    use berth_site::pools::{Site, read};

    use super::*;

    fn complaints(line: &str, enforce: &str) -> Vec<String> {
        let site = Site {
            is_here: &|_| Ok(true),
            cpus: Some(8),
        };
        let text = format!("name=p cpus=2 {line}\n");
        let pools = read(text.as_bytes(), &site).unwrap();
        let text = format!("AccountingStorageEnforce={enforce}\n");
        let config = Config::read("slurm.conf", &text, &mut |_: &str| Ok(String::new())).unwrap();
        let mut checks = Checks::new("n1");
        check(&mut checks, Some(&pools), Some(&config));
        let told = checks.all.into_iter();
        told.map(|check| format!("{:?}: {}", check.verdict, check.text))
            .collect()
    }

    #[test]
    fn words_that_slurmctld_does_not_check_are_told() {
        let open = complaints("account=phys", "none");
        let expected = "Wrong: account= of the pool p keeps nobody out, because slurmctld lets every user have any \
                        account (AccountingStorageEnforce=none); add associations to it, or name a partition";
        assert!(open.len() == 1 && open[0].starts_with(expected), "{open:?}");
        let open = complaints("qos=high account=phys", "limits");
        let expected = "Wrong: qos= of the pool p keeps nobody out";
        assert!(open.len() == 1 && open[0].starts_with(expected), "{open:?}");
        let open = complaints("reservation=night", "nojobs");
        let expected = "Note: the reservation of the pool p keeps out only";
        assert!(open.len() == 1 && open[0].starts_with(expected), "{open:?}");
    }

    #[test]
    fn words_that_slurmctld_checks_are_well() {
        for (line, enforce) in [
            ("account=phys", "associations"),
            ("account=phys qos=high reservation=night", "qos"),
            ("partition=multi8", "none"),
        ] {
            assert!(complaints(line, enforce).is_empty(), "{line} {enforce}");
        }
    }
}
