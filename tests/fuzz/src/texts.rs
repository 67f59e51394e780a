//! Texts for a target, and how they are spoiled.

use crate::random::Random;

const SPOILERS: [&str; 20] = [
    ",", ":", ";", "-", "*", "=", "x", "0x", " ", "\t", "\0", "é", "𝄞", "-1", "+1", "1e9", "/",
    "\"", ",,", "::",
];

/// The words that the texts of a target are made of.
pub struct Words {
    own: Vec<String>,
    numbers: Vec<String>,
}

impl Words {
    /// Those of a target, by its name.
    pub fn of(target: &str) -> Self {
        Self {
            own: words(target),
            numbers: words("numbers"),
        }
    }
}

/// The words that `words.txt` has under a name.
fn words(name: &str) -> Vec<String> {
    let mut lines = include_str!("words.txt").lines();
    let first = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let first = first.unwrap_or_else(|| panic!("words.txt has no {name}"));
    let more = lines.take_while(|line| line.starts_with(' '));
    let all = std::iter::once(first).chain(more);
    all.flat_map(|line| line.split(' ').filter(|word| !word.is_empty()))
        .map(|word| word.replace('␣', " ").replace('↵', "\n"))
        .collect()
}

/// A text of a target's words, right or spoiled; now and then anything at all, or very long.
pub fn text(words: &Words, random: &mut Random) -> String {
    let mut text = String::new();
    let count = match random.below(1000) {
        0 => 2000,
        1..=300 => 1,
        _ => 1 + random.below(6),
    };
    for at in 0..count {
        if at > 0 && random.below(2) == 0 {
            text.push(',');
        }
        let words = match random.below(5) {
            0 => &words.numbers,
            _ => &words.own,
        };
        text.push_str(&words[random.below(words.len())]);
    }
    for _ in 0..[0, 0, 0, 1, 1, 2, 5][random.below(7)] {
        spoil(&mut text, random);
    }
    text
}

fn spoil(text: &mut String, random: &mut Random) {
    let mut at = random.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    match random.below(4) {
        0 => text.insert_str(at, random.pick(&SPOILERS)),
        1 => text.truncate(at),
        2 => {
            let tail = text.split_off(at);
            text.extend(tail.chars().skip(1));
        }
        _ => {
            let any = char::from_u32(random.number() as u32 % 0x11_0000);
            text.insert(at, any.unwrap_or('\u{fffd}'));
        }
    }
}
