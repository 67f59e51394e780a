//! `-m NODES:SOCKETS:CORES`, as `verify_dist_type` reads it.
//! In: the option's text. Out: a [`Distribution`].

use berth_placement::{AcrossHosts, Distribution, Order, TextError};

use crate::number;

/// The meaning of a `-m`. Case does not count; `*` is `block` in the first place, `cyclic` in the
/// second, and the second level's value in the third.
///
/// # Errors
/// A text that srun refuses, and a plane whose size comes from `SLURM_DIST_PLANESIZE` alone.
pub fn distribution(text: &str) -> Result<Distribution, TextError> {
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("plane") {
        return plane(&lower);
    }
    // `strtok_r` at the first comma; what follows it is one flag.
    let (levels, flag) = match lower.split_once(',') {
        Some((levels, flag)) => (levels, Some(flag).filter(|flag| !flag.is_empty())),
        None => (lower.as_str(), None),
    };
    let words: Vec<_> = levels.split(':').filter(|word| !word.is_empty()).collect();
    let mut found = match words.as_slice() {
        [one] if pack(one).is_some() => Distribution {
            pack: pack(one),
            ..Distribution::default()
        },
        [] => return Err(wrong(text)),
        words => leveled(words).ok_or_else(|| wrong(text))?,
    };
    if let Some(flag) = flag {
        let flag = pack(flag).ok_or_else(|| wrong(text))?;
        // srun takes `pack,nopack` and slurmctld cannot follow both.
        if found.pack.is_some_and(|pack| pack != flag) {
            return Err(wrong(text));
        }
        found.pack = Some(flag);
    }
    Ok(found)
}

fn wrong(text: &str) -> TextError {
    TextError::new(
        text,
        "a distribution: block|cyclic|* for nodes, then :block|cyclic|fcyclic|* for sockets and \
         again for cores; or arbitrary, plane=N, pack, nopack",
    )
}

/// `plane=N`: text between the word and `=` is ignored.
fn plane(text: &str) -> Result<Distribution, TextError> {
    let size = text.split_once('=').map(|(_, size)| size);
    let number = size.map(number::leading);
    match number {
        Some((size, "")) if (1..=i64::from(i32::MAX)).contains(&size) => Ok(Distribution {
            hosts: AcrossHosts::Plane,
            plane_size: u32::try_from(size).ok(),
            ..Distribution::default()
        }),
        _ => {
            let wanted = "a plane: write plane=N, N tasks at least 1, and nothing behind it";
            Err(TextError::new(text, wanted))
        }
    }
}

fn leveled(words: &[&str]) -> Option<Distribution> {
    let hosts = match *words.first()? {
        "block" | "*" => AcrossHosts::Block,
        "cyclic" => AcrossHosts::Cyclic,
        "arbitrary" | "hostfile" if words.len() == 1 => AcrossHosts::Arbitrary,
        _ => return None,
    };
    let sockets = match words.get(1) {
        None => None,
        Some(&"*") => Some(Order::Cyclic),
        Some(word) => Some(order(word)?),
    };
    let cores = match words.get(2) {
        None => None,
        Some(&"*") => sockets,
        Some(word) => Some(order(word)?),
    };
    (words.len() <= 3).then_some(Distribution {
        hosts,
        sockets,
        cores,
        ..Distribution::default()
    })
}

fn order(word: &str) -> Option<Order> {
    Some(match word {
        "block" => Order::Block,
        "cyclic" => Order::Cyclic,
        "fcyclic" => Order::Fcyclic,
        _ => return None,
    })
}

fn pack(word: &str) -> Option<bool> {
    match word {
        "pack" => Some(true),
        "nopack" => Some(false),
        _ => None,
    }
}
