//! Texts for a target, and how they are spoiled.

use crate::random::Random;
use crate::targets::Target;

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "7",
    "15",
    "63",
    "64",
    "1023",
    "65535",
    "65536",
    "4294967296",
    "99999999999999999999",
];
const SPOILERS: &[&str] = &[
    ",", ":", ";", "-", "*", "=", "x", "0x", " ", "\t", "\0", "é", "𝄞", "-1", "+1", "1e9", "/",
    "\"", ",,", "::",
];

/// A text for a target: its words, right or spoiled; now and then anything at all, or very long.
pub fn text(target: &Target, random: &mut Random) -> String {
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
        text.push_str(match random.below(5) {
            0 => random.pick(NUMBERS),
            _ => random.pick(target.words),
        });
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
        0 => text.insert_str(at, random.pick(SPOILERS)),
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
