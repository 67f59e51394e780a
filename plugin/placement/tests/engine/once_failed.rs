//! Cases that a law failed in once, as the random tests reported them.

use crate::harness::machine_text::host;
use crate::harness::tree::Tree;
use crate::harness::trial::{Case, Verdict};
use crate::laws;

/// What is checked, and the case.
type Failed = (fn(&Case) -> Verdict, &'static str, &'static str);

const CASES: [Failed; 7] = [
    (
        laws::room::threads_apart,
        "1,4 | 2",
        "-n3 -c2 -m block:block:cyclic --cpu-bind=threads",
    ),
    (
        laws::room::cores_apart,
        "0,1 3 | 4,5 7",
        "-n3 -m block:block --cpu-bind=cores --cpus=1,3-5",
    ),
    (
        laws::own::only_present,
        "1",
        "-n1 -c3 -m block:block --one-thread -O --cores=0/1",
    ),
    (
        laws::automatic::exact,
        "33 | 18; numa 1=33 2=18",
        "-n1 -m block:block",
    ),
    (
        laws::own::somewhere,
        "5",
        "-n1 -m block:block --constrain-cores --cores=1/2",
    ),
    (
        laws::own::somewhere,
        "9,1,3,6 4 2 | 0,15,5,17 7 8 | 14,11,13,10 16 12; numa 0=1,3,6,9 1=4 2=2 3=0,5,15,17 4=7 5=8 6=10-11,13-14 7=16 8=12",
        "-n10 -c2 -m block:block --cpu-bind=ldoms --cores=2-8/9",
    ),
    (
        laws::near::divides_what_is_near,
        "pack:2 numa:2 l3:1 core:4 pu:2 threads-last; gpu 01=4-7,20-23 02=0-3,16-19 03=0-7,16-23 04=0-7,16-23",
        "-n3 --near=gpu --binding=auto --cpus=5,16-20,23,31",
    ),
];

#[test]
fn cases_that_once_failed() {
    for (check, line, request) in CASES {
        let host = host(line);
        let tree = Tree::new(host.machine, host.kind);
        let ask = request.parse().unwrap_or_else(|why| panic!("{why}"));
        let verdict = check(&Case::new(&tree, ask, 1));
        assert_ne!(
            verdict.map(|verdict| verdict.is_ok()),
            Some(false),
            "{line}: {request}"
        );
    }
}
