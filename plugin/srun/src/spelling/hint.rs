//! `--hint`: a list of words, each of which sets other options (`verify_hint`).
//! In: the option's text. Out: the options that the words set; later words override earlier ones.

use berth_placement::TextError;

use crate::spelling::{LevelBits, words};

/// The options that a `--hint` sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Any number of sockets and cores will do, whatever other options say.
    pub any_node: bool,
    /// One core of each socket.
    pub one_core_a_socket: bool,
    /// The number of threads of a core: `Some(None)` is all.
    pub threads_per_core: Option<Option<u32>>,
    /// There is no limit on the tasks of a core.
    pub any_tasks_per_core: bool,
    /// Levels, of which there may be several.
    pub levels: LevelBits,
    /// One thread of each core is used: switched on or off.
    pub one_thread: Option<bool>,
}

/// The meaning of a `--hint`. Case does not count.
///
/// # Errors
/// A word that srun does not know, and `help`, which starts no step.
pub fn hints(text: &str) -> Result<Hints, TextError> {
    let mut found = Hints::default();
    let digit = |text: &str| text.starts_with(|letter: char| letter.is_ascii_digit());
    for word in words(text, digit) {
        found.take(&word.to_ascii_lowercase()).ok_or_else(|| {
            let wanted = match word.eq_ignore_ascii_case("help") {
                true => "a hint for a step: srun prints its help and starts nothing",
                false => {
                    "a hint: compute_bound, memory_bound, multithread, nomultithread, or a list of \
                     them"
                }
            };
            TextError::new(word, wanted)
        })?;
    }
    Ok(found)
}

impl Hints {
    fn take(&mut self, word: &str) -> Option<()> {
        match word {
            "compute_bound" => {
                self.any_node = true;
                self.one_core_a_socket = false;
                self.threads_per_core = Some(Some(1));
                self.levels.cores = true;
            }
            "memory_bound" => {
                self.one_core_a_socket = true;
                self.threads_per_core = Some(Some(1));
                self.levels.cores = true;
            }
            "multithread" => {
                self.threads_per_core = Some(None);
                self.levels.threads = true;
                self.one_thread = Some(false);
                self.any_tasks_per_core = true;
            }
            "nomultithread" => {
                self.threads_per_core = Some(Some(1));
                self.levels.threads = true;
                self.one_thread = Some(true);
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_add_up() {
        let one = hints("NoMultithread").unwrap();
        assert_eq!(
            (one.threads_per_core, one.one_thread),
            (Some(Some(1)), Some(true))
        );
        assert!(one.levels.threads && !one.levels.cores);
        let two = hints("nomultithread,compute_bound").unwrap();
        assert!(two.levels.threads && two.levels.cores && two.any_node);
        let later = hints("nomultithread;multithread").unwrap();
        assert_eq!(
            (later.threads_per_core, later.one_thread),
            (Some(None), Some(false))
        );
        let both = hints("memory_bound,compute_bound").unwrap();
        assert!(!both.one_core_a_socket);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "x",
            "help",
            "multithread,",
            "multithread,1",
            "multithread, nomultithread",
        ] {
            assert!(hints(text).is_err(), "{text:?} was taken");
        }
    }
}
