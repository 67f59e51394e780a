//! Texts as nobody should send them: nearly right, much too long, no text at all. None has a NUL:
//! what stands behind one no hook can see.

use crate::random::Random;

/// The longest text of all.
const LONGEST: u32 = 2 << 20;

/// A length: short as a rule, long now and then, and very long once in a thousand.
pub fn length(random: &mut Random) -> u32 {
    match random.within(0, 999) {
        0 => random.within(100_000, LONGEST),
        1..=9 => random.within(2000, 40_000),
        10..=99 => random.within(100, 2000),
        _ => random.within(0, 64),
    }
}

/// Bytes of all values but NUL.
pub fn garbage(random: &mut Random) -> Vec<u8> {
    let length = length(random);
    (0..length).map(|_| random.within(1, 255) as u8).collect()
}

/// A number as a user may write one.
pub fn number(random: &mut Random) -> String {
    match random.within(0, 9) {
        0 => "4294967295".into(),
        1 => "18446744073709551616".into(),
        2 => "-1".into(),
        3 => random
            .pick(&["65535", "65536", "65000", "1048576", "2147483648"])
            .into(),
        4 => "9".repeat(random.within(1, 40) as usize),
        5 => random.within(0, u32::MAX).to_string(),
        _ => random.within(0, 300).to_string(),
    }
}

/// Hexadecimal digits.
fn digits(random: &mut Random) -> String {
    let length = match random.within(0, 19) {
        0 => length(random),
        1 => random.within(200, 400),
        2..=4 => 16_000,
        _ => random.within(1, 32),
    };
    let digit = random.pick(b"18fF0");
    String::from_utf8_lossy(&vec![digit; length as usize]).into_owned()
}

/// A list of masks or CPUs with repeats and long entries.
fn list(random: &mut Random) -> Vec<u8> {
    let count = match random.within(0, 49) {
        0 => length(random) / 4,
        1..=4 => random.within(20, 400),
        _ => random.within(1, 6),
    };
    let prefix = random.pick(&["0x", "0x", "", "0X", "x"]);
    let is_mask = random.once_in(2);
    let once = format!("{prefix}{}", digits(random));
    let entries = (0..count).map(|_| {
        let mut entry = if !is_mask {
            number(random)
        } else if count > 400 || random.once_in(2) {
            once.chars().take(40).collect()
        } else {
            once.clone()
        };
        if random.once_in(3) {
            let repeat = random.pick(&["65000", "65000", "65535", "2", "0", "4294967295", ""]);
            entry += &format!("*{repeat}");
        }
        entry
    });
    let entries: Vec<_> = entries.collect();
    entries
        .join(random.pick(&[",", ",", ",", ",,", ";"]))
        .into_bytes()
}

/// A few things done to a text that was right.
pub fn damaged(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..random.within(1, 4) {
        let at = random.within(0, text.len() as u32) as usize;
        let from = random.within(0, at as u32) as usize;
        match random.within(0, 5) {
            0 => text.truncate(at),
            1 => text.insert(at, random.within(1, 255) as u8),
            2 => drop(text.drain(from..at)),
            3 => {
                let piece = text[from..at].repeat(random.within(1, 4) as usize);
                text.splice(at..at, piece).for_each(drop);
            }
            4 => text
                .splice(at..at, number(random).into_bytes())
                .for_each(drop),
            _ => text.extend(b"*65000"),
        }
    }
    text
}

/// A binding list: the given one, what can be made of it, or another.
pub fn binding(right: Option<&str>, random: &mut Random) -> Option<Vec<u8>> {
    match (random.within(0, 9), right) {
        (0, _) => None,
        (1..=3, Some(right)) => Some(right.as_bytes().to_vec()),
        (4..=5, Some(right)) => Some(damaged(right.as_bytes(), random)),
        (6, _) => Some(garbage(random)),
        _ => Some(list(random)),
    }
}

/// Right ones, for `--binding`.
const REQUESTS: &str = "linear:1|linear:2|linear:65535|linear:4294967295|pe:linear:1|pe:host:linear:2|env:striding:2:2|\
    striding:3:4294967295:0,0|linear:2:1,0|explicit:0,0:0,1|explicit:0,0;1,4294967295|host:linear:3|strict:linear:9|\
    host:strict:striding:2:1|none|set linear:1";

/// A value for `--binding`.
pub fn request(random: &mut Random) -> Vec<u8> {
    let requests: Vec<_> = REQUESTS.split('|').collect();
    let right = random.pick(&requests);
    match random.within(0, 9) {
        0..=4 => right.into(),
        5..=6 => damaged(right.as_bytes(), random),
        7 => garbage(random),
        8 => format!("linear:{}", number(random)).into_bytes(),
        _ => {
            let pairs = (0..length(random) / 4).map(|at| format!(":{},{at}", at % 3));
            format!("explicit{}", pairs.collect::<String>()).into_bytes()
        }
    }
}

/// A list of nodes in Slurm's notation.
pub fn nodes(own: &str, random: &mut Random) -> Vec<u8> {
    match random.within(0, 5) {
        0..=1 => own.as_bytes().to_vec(),
        2 => damaged(own.as_bytes(), random),
        3 => format!("n[0-{}]", number(random)).into_bytes(),
        4 => b"n[0-9],".repeat(length(random) as usize / 8),
        _ => garbage(random),
    }
}
