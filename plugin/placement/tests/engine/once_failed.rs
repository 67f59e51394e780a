//! Cases that a law failed in once, as the random tests reported them.

use crate::facts::lines::hold;
use crate::harness::machine_text::host;
use crate::harness::tree::Tree;
use crate::harness::trial::Case;
use crate::laws;

#[test]
fn cases_that_once_failed() {
    hold(include_str!("once_failed.txt"), |law, question| {
        let (line, request) = question.split_once(" / ").unwrap();
        let host = host(line);
        let tree = Tree::new(host.machine, host.kind);
        let ask = request.parse().unwrap_or_else(|why| panic!("{why}"));
        let verdict = (laws::named(law).check)(&Case::new(&tree, ask, 1));
        let broken = verdict.and_then(Result::err);
        broken.unwrap_or("holds".into())
    });
}
