//! Lines of the site's file of pools, right and wrong.

use berth_placement::pools::HIGHEST;

use super::*;

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

#[test]
fn a_job_is_in_the_first_pool_that_has_all_of_its_words() {
    let all = read(GOOD.as_bytes(), &site()).unwrap();
    let identity = |partition, account, reservation, qos| JobIdentity {
        partition,
        account,
        reservation,
        qos,
    };
    for (job, pool) in [
        (identity("multi8", "", "", ""), Some("multi8")),
        (identity("multi8", "any", "night", "high"), Some("multi8")),
        (identity("multi4", "chem", "", ""), Some("multi4")),
        (identity("multi4", "bio", "", ""), None),
        (identity("multi4", "", "night", "high"), Some("big")),
        (identity("normal", "phys", "night", ""), None),
        (identity("", "", "", ""), None),
    ] {
        let found = all.of(job).map(|pool| pool.name.as_str());
        assert_eq!(found, pool, "{job:?}");
    }
    let pools: Vec<_> = all.here().collect();
    assert_eq!(pools.len(), 3);
    assert_eq!((pools[1].weight, pools[1].export.as_str()), (5000, "NCPUS"));
    assert_eq!((pools[2].line, pools[2].export.as_str()), (5, "WORKERS"));
    let old: Vec<_> = all.here().map(|pool| pool.old_class).collect();
    assert_eq!(old, [None, Some("idle"), Some("realtime")]);
    let weights = all.weights().unwrap();
    assert_eq!((weights.widest, weights.others), (15, 10));
    assert_eq!(SitePools::default().weights(), None);
}

/// Wrong lines, and what is said of them.
const WRONG: &[(&str, &str)] = &[
    (
        "name=a partition=p cpus=1 cpu=2",
        "there is no key cpu here; the nearest is cpus",
    ),
    ("name=a partition=p", "cpus= is missing"),
    ("partition=p cpus=1", "name= is missing"),
    ("name=a cpus=1", "does not say which jobs"),
    (
        "name=a partition=p cpus=17",
        "more than the 16 CPUs of this node",
    ),
    (
        "name=a partition=p cpus=0",
        "cpus=: \"0\" is no number from 1",
    ),
    ("name=a partition=p cpus=+1", "is no number"),
    ("name=a partition=p cpus=99999999999", "is no number"),
    (
        "name=a partition=p cpus=1 weight=10001",
        "no number from 1 to 10000",
    ),
    (
        "name=a partition=p cpus=1 class=fast",
        "class=: \"fast\" is not weight, which every pool has; leave it out",
    ),
    ("name=a partition=p cpus=1 nodes=[", "the list does not end"),
    (
        "name=a partition=p cpus=1 export=LD_PRELOAD",
        "cannot be overwritten",
    ),
    (
        "name=a partition=p cpus=1 export=1A",
        "cannot be overwritten",
    ),
    ("name='a b' partition=p cpus=1", "is no name"),
    ("name=a partition=p,q cpus=1", "is no name"),
    ("name=a name=b partition=p cpus=1", "stands twice"),
    ("name=a partition= cpus=1", "has no value"),
    ("name=a partition", "no word of the form key=value"),
];

#[test]
fn wrong_lines_have_number_and_reason() {
    for (line, says) in WRONG {
        let why = complaints(&format!("\n{line}\n"));
        assert!(
            why.starts_with("line 2: ") && why.contains(says),
            "{line}: {why}"
        );
    }
    assert!(
        complaints("name=a partition=p cpus=1\nname=a account=x cpus=1")
            .contains("line 1 has a pool a")
    );
    assert!(
        complaints("name=a partition=p cpus=1\nname=b partition=p cpus=1")
            .contains("one pool on a node")
    );
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

/// As `nodes=` of plugstack.conf and lists in slurm.conf.
#[test]
fn a_pool_of_all_nodes_is_here() {
    let text = "name=a partition=p cpus=1 nodes=ALL\n";
    let all = read(text.as_bytes(), &site()).unwrap();
    assert_eq!(all.here().count(), 1);
    assert!(complaints("name=a partition=p cpus=17 nodes=ALL\n").contains("cpus=17 are more"));
}

/// One line, however many pools ask for a class that no longer exists. Pools of other nodes give no line.
#[test]
fn classes_of_earlier_releases_are_told_and_read_as_weight() {
    let complaints = |text: &str| {
        let mut all = read(text.as_bytes(), &site()).unwrap();
        all.path = "/etc/pools.conf".into();
        assert!(all.here().all(|pool| pool.weight == HIGHEST));
        all.about_old_classes()
    };
    let weight = "name=a partition=a cpus=1\nname=b partition=b cpus=1 class=weight\n";
    assert_eq!(complaints(weight), None);
    let far = "name=c partition=d cpus=1 class=idle nodes=there\n";
    assert_eq!(complaints(far), None);
    let one = format!("{weight}name=rt partition=c cpus=1 class=realtime\n{far}");
    let why = "because a task of a real-time class could keep CPUs of the node outside of its job, and pools have weights \
               alone now";
    assert_eq!(
        complaints(&one).unwrap(),
        format!(
            "/etc/pools.conf: class=realtime of the pool rt (line 3) is read as weight, {why}; remove that word"
        )
    );
    let two = complaints(&one.replace("there", "here")).unwrap();
    let says = "class=realtime of the pool rt (line 3) and class=idle of the pool c (line 4) are read as weight";
    assert!(
        two.contains(says) && two.ends_with("remove those words"),
        "{two}"
    );
}
