//! The site's file of cpusets: what holds, who gets in, and what each wrong line is told.

use berth_placement::CpuSet;
use berth_placement::request::cpuset::Words;

use super::{Denied, JobIdentity, LineError, Site, SiteCpusets};

fn read(text: &str) -> Result<SiteCpusets, LineError> {
    let site = Site {
        is_here: &|list| match list {
            "bad[" => Err("\"bad[\" is not a host list".into()),
            list => Ok(list.starts_with("here")),
        },
        uid: &|name| match name {
            "ann" => Some(1001),
            "bob" => Some(1002),
            _ => None,
        },
    };
    super::read(text.as_bytes(), &site)
}

const FILE: &str = "\
# the site's cpusets
name=MYSET nodes=here[1-4] cpus=0-3 mems=0 users=ann,1500 accounts=phys partitions=low,high options=CPUSET_MEMORY_LOCAL

name=OPEN cpus=4,6   # everybody's
name=MYSET nodes=there cpus=8-9
name=FAR nodes=there cpus=0
partition=low default='CPUSET[CPU_LIST=0, 2-3]' mandatory=\"MAX_RADIUS=1\"
partition=high mandatory=CPUSET_TYPE=none
";

fn identity(uid: u32, account: &'static str, partition: &'static str) -> JobIdentity<'static> {
    JobIdentity {
        uid,
        account,
        partition,
    }
}

#[test]
fn every_word_is_read() {
    let all = read(FILE).unwrap();
    let here: Vec<_> = all
        .here()
        .map(|set| (set.line, set.name.as_str()))
        .collect();
    assert_eq!(here, [(2, "MYSET"), (4, "OPEN")]);
    let set = all.set("MYSET", identity(1001, "phys", "low")).unwrap();
    assert_eq!(set.cpus, CpuSet::from_list("0-3").unwrap());
    assert_eq!(set.mems.as_ref().unwrap().to_string(), "0");
    assert_eq!(set.options.to_string(), "CPUSET_MEMORY_LOCAL");
    let open = all.set("OPEN", identity(7, "", "")).unwrap();
    assert_eq!(
        (open.cpus.to_string(), open.mems.clone()),
        ("4,6".into(), None)
    );
    assert_eq!(all.words_of("other"), None);
    assert_eq!(all.doubts, []);
    assert_eq!(read("").unwrap(), SiteCpusets::default());
}

#[test]
fn a_partition_s_words_are_merged_with_a_job_s() {
    let all = read(FILE).unwrap();
    for (partition, job, want, line) in [
        ("low", "", "CPUSET[CPU_LIST=0, 2-3;MAX_RADIUS=1]", Some(7)),
        (
            "low",
            "CPU_LIST=5",
            "CPUSET[CPU_LIST=5;MAX_RADIUS=1]",
            Some(7),
        ),
        (
            "low",
            "CPU_LIST=;MAX_RADIUS=0",
            "CPUSET[MAX_RADIUS=1]",
            Some(7),
        ),
        ("high", "", "CPUSET[CPUSET_TYPE=none]", Some(8)),
        ("other", "NCPUS=2", "CPUSET[NCPUS=2]", None),
    ] {
        let job = match job {
            "" => Words::default(),
            job => job.parse().unwrap(),
        };
        let (words, at) = all.merged(partition, &job);
        assert_eq!(
            (words.to_string(), at),
            (want.into(), line),
            "{partition}: {job}"
        );
    }
}

#[test]
fn words_that_need_more_are_a_doubt() {
    for (line, says) in [
        (
            "partition=p mandatory=CPUSET_TYPE=static",
            "write its name too",
        ),
        (
            "partition=p default=CPUSET_OPTIONS=CPUSET_POLICY_KILL",
            "do not go together",
        ),
    ] {
        let all = read(line).unwrap();
        let doubts: Vec<_> = all.doubts.iter().map(ToString::to_string).collect();
        assert_eq!(doubts.len(), 1, "{line}: {doubts:?}");
        let text = &doubts[0];
        let whose = "line 1: jobs of the partition p that have no words of their own are refused: ";
        assert!(text.starts_with(whose) && text.contains(says), "{text}");
    }
    // A default that the mandatory words complete is none.
    let whole = "partition=p default=CPUSET_OPTIONS=CPUSET_POLICY_KILL \
        mandatory='CPUSET_OPTIONS=CPUSET_POLICY_KILL|CPUSET_MEMORY_MANDATORY'";
    assert_eq!(read(whole).unwrap().doubts, []);
}

#[test]
fn a_set_is_for_those_whom_each_word_lets_in() {
    let all = read(FILE).unwrap();
    for (identity, closed) in [
        (identity(1001, "phys", "low"), None),
        (identity(1500, "PHYS", "high"), None),
        (identity(1002, "phys", "low"), Some("user")),
        (identity(0, "phys", "low"), Some("user")),
        (identity(1001, "chem", "low"), Some("account")),
        (identity(1001, "", "low"), Some("account")),
        (identity(1001, "phys", "LOW"), Some("partition")),
    ] {
        let got = all.set("MYSET", identity);
        let told = got.as_ref().err().map(ToString::to_string);
        let want = closed.map(|what| format!("not open to this job's {what};"));
        assert_eq!(got.is_ok(), closed.is_none(), "{identity:?}: {told:?}");
        assert!(
            want.is_none_or(|want| told.as_ref().is_some_and(|told| told.contains(&want))),
            "{identity:?}: {told:?}"
        );
    }
    let me = identity(1001, "phys", "low");
    assert!(matches!(all.set("FAR", me), Err(Denied::Elsewhere(set)) if set.line == 6));
    let told = all.set("FAR", me).unwrap_err().to_string();
    assert!(told.contains("on there;"), "{told}");
    for (name, says) in [
        ("MYST", "the nearest is MYSET"),
        ("OTHERWISE", "shows those that it has"),
    ] {
        let told = all.set(name, me).unwrap_err().to_string();
        assert!(told.contains(says), "{told}");
    }
}

#[test]
fn an_unknown_user_opens_nothing_and_is_a_doubt() {
    let all = read("name=A cpus=0\nname=B cpus=1 users=carl").unwrap();
    let doubts: Vec<_> = all.doubts.iter().map(ToString::to_string).collect();
    assert_eq!(
        doubts,
        ["line 2: this node knows no user carl, so nobody gets in by that name"]
    );
    assert!(all.set("A", identity(1, "", "")).is_ok());
    assert!(all.set("B", identity(1, "", "")).is_err());
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn the_first_wrong_line_has_its_number_and_a_reason() {
    let long = format!("name={} cpus=0", "x".repeat(65));
    let longer = format!("# {}", "x".repeat(30_000));
    for (line, says) in [
        ("nam=A cpus=0", "no key nam here; the nearest is name"),
        ("frobnicate=A cpus=0", "the keys are name, nodes, cpus"),
        ("name=A cpu=0", "the nearest is cpus"),
        ("name=A", "cpus= is missing"),
        ("cpus=0", "name= is missing"),
        ("name=A cpus=0 cpus=1", "cpus= stands twice"),
        ("name=A cpus=", "cpus= has no value"),
        ("name=A cpus=0-", "cpus=: \"0-\" is not"),
        ("name=A cpus=0-99999999", "cpus=:"),
        (
            "name=A cpus=0 mems=x",
            "mems=: \"x\" cannot stand behind MEM_LIST=",
        ),
        (
            "name=A cpus=0 mems='0;NODE_EX=Y'",
            "only what may stand behind MEM_LIST=",
        ),
        (
            "name=A cpus=0 options=CPUSET_MEMORY_LOCL",
            "options=: there is no attribute",
        ),
        (
            "name=A cpus=0 options=CPUSET_POLICY_PAGE",
            "do not go together",
        ),
        (
            "partition=low default=CPU_LST=0",
            "default=: there is no keyword \"CPU_LST\"",
        ),
        (
            "partition=low mandatory=MAX_RADIUS=x",
            "cannot stand behind MAX_RADIUS=",
        ),
        (
            "name=A/B cpus=0",
            "name=: \"A/B\" is not the name of a cpuset",
        ),
        ("name='A B' cpus=0", "is not the name of a cpuset"),
        (&long, "is not the name of a cpuset"),
        ("name=A cpus=0 users=a,,b", "users=: \"\" is no name"),
        (
            "name=A cpus=0 nodes=bad[",
            "nodes=: \"bad[\" is not a host list",
        ),
        ("name=A cpus='0", "does not end on this line"),
        ("name=A cpus=0\\", "cpus=:"),
        ("partition=low", "also needs default= or mandatory="),
        ("default=CPU_LIST=1", "also needs partition="),
        ("partition=low defaut=CPU_LIST=1", "the nearest is default"),
        (
            "partition=low default=CPU_LIST=1 cpus=0",
            "no key cpus here",
        ),
        (
            "name=FIRST cpus=1",
            "line 1 has a cpuset FIRST for this node already",
        ),
        (
            "partition=p mandatory=NODE_EX=Y",
            "line 2 has the words of partition p already",
        ),
        (&longer, "more than 20480 bytes"),
    ] {
        let text = format!("name=FIRST cpus=0\npartition=p default=NODE_EX=Y\n{line}\nname=\n");
        let why = read(&text).unwrap_err();
        assert_eq!(why.line, 3, "{line}: {why}");
        assert!(why.to_string().contains(says), "{line}: {why}");
    }
    let bytes = b"name=A cpus=0\nname=\xff cpus=0";
    let site = Site {
        is_here: &|_| Ok(true),
        uid: &|_| None,
    };
    let why = super::read(bytes, &site).unwrap_err();
    assert_eq!(why.to_string(), "line 2: the line is no text in UTF-8");
    let many = "\n".repeat(1 << 12);
    assert!(
        read(&many)
            .unwrap_err()
            .to_string()
            .contains("more than 4096 lines")
    );
}

#[test]
fn a_set_of_all_nodes_is_here() {
    let all = read("name=A nodes=ALL cpus=0\n").unwrap();
    assert_eq!(all.here().count(), 1);
}
