//! The command line of `berth-odd`.

use std::time::{SystemTime, UNIX_EPOCH};

/// What is to be done.
#[derive(Debug)]
pub struct Options {
    /// File of requests.
    pub requests: String,
    /// Random requests for each allocation.
    pub random: usize,
    /// Where the random requests begin.
    pub seed: u64,
    /// A prepared topology that slurmd and berth read instead of this machine's.
    pub machine: Option<String>,
    /// With task/cgroup and ConstrainCores.
    pub confined: bool,
    /// The performance cores' CPUs as a mask: slurmd leaves out the others.
    pub restrict: Option<String>,
}

impl Options {
    /// Reads the words behind the program's name.
    ///
    /// # Errors
    /// If a word is unknown, or its value is missing or no number.
    pub fn read(words: &[String]) -> Result<Self, String> {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut options = Options {
            requests: String::new(),
            random: 10,
            seed: clock.map_or(0, |now| now.as_secs()),
            machine: None,
            confined: false,
            restrict: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            let number = |text: &String| text.parse().map_err(|_| format!("{text} is no number"));
            match word.as_str() {
                "--random" => options.random = number(value()?)? as usize,
                "--seed" => options.seed = number(value()?)?,
                "--machine" => options.machine = Some(value()?.clone()),
                "--restrict" => options.restrict = Some(value()?.clone()),
                "--confined" => options.confined = true,
                _ if options.requests.is_empty() => options.requests.clone_from(word),
                _ => return Err(format!("does not know '{word}'")),
            }
        }
        match options.requests.is_empty() {
            true => Err("needs a file of requests".into()),
            false => Ok(options),
        }
    }
}
