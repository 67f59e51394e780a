//! Lines of the site's file of pools, right and wrong.

use berth_placement::pools::HIGHEST;

use super::*;
use crate::facts_text::hold;

fn site() -> Site<'static> {
    Site {
        is_here: &|list| match list {
            "[" => Err("the list does not end".into()),
            list => Ok(list.starts_with("here")),
        },
        cpus: Some(16),
    }
}

fn complaints(text: &str) -> String {
    read(text.as_bytes(), &site()).unwrap_err().to_string()
}

const GOOD: &str = "\
# pools of the paper
name=multi8 partition=multi8 cpus=8 class=weight nodes=here[1-9] export=NCPUS
name=multi4 partition=multi4 cpus=4 account=phys,Chem class=idle weight=5000   # half as strong
name=far partition=multi8 cpus=512 nodes=elsewhere
name=big reservation=night qos=high cpus=15 class=realtime export=WORKERS
";

/// The pool of a job of `PARTITION ACCOUNT RESERVATION QOS`.
fn pool_of(job: &str) -> String {
    let words = job.split(' ').map(|word| word.trim_matches('-'));
    let [partition, account, reservation, qos] = words.collect::<Vec<_>>()[..] else {
        panic!("{job} has four words");
    };
    let all = read(GOOD.as_bytes(), &site()).unwrap();
    let found = all.of(JobIdentity {
        partition,
        account,
        reservation,
        qos,
    });
    found.map_or("none".into(), |pool| pool.name.clone())
}

/// The log line about pool classes, each of which is read as the highest weight.
fn about_classes(text: &str) -> String {
    let mut all = read(text.as_bytes(), &site()).unwrap();
    all.path = "/etc/pools.conf".into();
    assert!(all.here().all(|pool| pool.weight == HIGHEST));
    all.about_old_classes().unwrap_or("none".into())
}

#[test]
fn facts() {
    hold(
        include_str!("read_tests.txt"),
        |about, question| match about {
            "pool" => pool_of(question),
            "classes" => about_classes(question),
            _ => complaints(&format!("\n{question}\n")),
        },
    );
}

#[test]
fn every_word_is_read() {
    let all = read(GOOD.as_bytes(), &site()).unwrap();
    let pools: Vec<_> = all.here().collect();
    assert_eq!(pools.len(), 3);
    assert_eq!((pools[1].weight, pools[1].export.as_str()), (5000, "NCPUS"));
    assert_eq!((pools[2].line, pools[2].export.as_str()), (5, "WORKERS"));
    let old: Vec<_> = all.here().map(|pool| pool.old_class).collect();
    assert_eq!(old, [None, Some("idle"), Some("realtime")]);
    let weights = all.weights().unwrap();
    assert_eq!((weights.widest, weights.others), (15, 10));
    assert_eq!(SitePools::default().weights(), None);
    // As `nodes=` of plugstack.conf and lists in slurm.conf.
    let text = "name=a partition=p cpus=1 nodes=ALL\n";
    let all = read(text.as_bytes(), &site()).unwrap();
    assert_eq!(all.here().count(), 1);
}

#[test]
fn hostile_files_are_refused() {
    assert!(complaints("\u{0}\n").contains("no word"));
    assert!(read(b"\xff=1", &site()).is_err());
    let many = "name=a partition=p cpus=1 nodes=there\n".repeat(1025);
    assert!(complaints(&many).contains("more than 1024 pools"));
}

#[test]
fn any_bytes_are_read_or_refused() {
    for at in 0..GOOD.len() {
        for byte in [0, b'\n', b'=', b'\'', b'#', b'9', 0xff] {
            let mut text = GOOD.as_bytes().to_vec();
            text[at] = byte;
            let _ = read(&text, &site());
            let _ = read(&text[..at], &site());
        }
    }
}
