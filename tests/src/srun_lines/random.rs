//! Lines made of pieces: some groups are chosen, a piece of each, in any order.

use super::file::Case;

/// So many lines; the same seed makes the same lines.
pub(super) fn cases(groups: &[Vec<String>], count: usize, seed: u64) -> Vec<Case> {
    let mut random = fastrand::Rng::with_seed(seed);
    let line = |random: &mut fastrand::Rng| {
        let mut pieces: Vec<&str> = Vec::new();
        let wanted = random.usize(1..=4);
        for _ in 0..wanted {
            let Some(group) = random.choice(groups) else {
                continue;
            };
            pieces.extend(random.choice(group).map(String::as_str));
        }
        // A program's arguments do not matter, the order of options does.
        random.shuffle(&mut pieces);
        Case::new(&pieces.join(" "))
    };
    (0..count).map(|_| line(&mut random)).collect()
}
