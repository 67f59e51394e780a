//! hwloc's own variables, if this host is requested: they put another
//! machine in its place, and must not be ignored in silence.
//! In: the environment. Out: the input for hwloc, and its source in words.

use std::env;
use std::path::Path;

use crate::error::{DiscoverError, shorten};
use crate::load::Input;

const SYNTHETIC: &str = "HWLOC_SYNTHETIC";
const XML_FILE: &str = "HWLOC_XMLFILE";
/// With it set, hwloc ignores the two above.
const COMPONENTS: &str = "HWLOC_COMPONENTS";
/// Makes hwloc say that any topology is this host's.
const THIS_SYSTEM: &str = "HWLOC_THISSYSTEM";
/// Other ways to another machine: only hwloc follows them, and the source names them.
const OTHERS: [&str; 2] = ["HWLOC_FSROOT", "HWLOC_CPUID_PATH"];

/// The input for hwloc, and its source in words.
pub(crate) struct Live {
    pub input: Input,
    pub source: String,
    /// A variable that only hwloc follows; the result shows whether it did.
    followed: Option<(&'static str, String)>,
}

impl Live {
    /// This host as hwloc sees it.
    ///
    /// A variable's value is loaded as if it had been given to us: so one that
    /// hwloc cannot read is an error. Where both are set, hwloc takes the synthetic
    /// string (tried with 2.9).
    pub(crate) fn from_variables() -> Result<Self, DiscoverError> {
        let instead = |name, value: &str, input: Result<Input, DiscoverError>| {
            Ok(Self {
                input: input.map_err(|why| refused(name, value, &why))?,
                source: in_words(name, value),
                followed: Some((name, value.into())),
            })
        };
        if value_of(COMPONENTS).is_none() {
            if let Some(value) = value_of(SYNTHETIC) {
                return instead(SYNTHETIC, &value, Input::from_synthetic(&value));
            }
            if let Some(value) = value_of(XML_FILE) {
                return instead(XML_FILE, &value, Input::from_xml_file(Path::new(&value)));
            }
        }
        let followed = OTHERS
            .into_iter()
            .find_map(|name| value_of(name).map(|value| (name, value)));
        let source = match &followed {
            Some((name, value)) => in_words(name, value),
            None => "this host".into(),
        };
        Ok(Self {
            input: Input::Host,
            source,
            followed,
        })
    }

    /// Adds to an error the variable that led to it.
    pub(crate) fn blame(&self, why: DiscoverError) -> DiscoverError {
        match (&self.input, &self.followed) {
            (Input::Host, _) | (_, None) => why,
            (_, Some((name, value))) => refused(name, value, &why),
        }
    }

    /// hwloc silently ignores a value that it cannot follow.
    pub(crate) fn check_followed(&self, is_this_system: bool) -> Result<(), DiscoverError> {
        match (&self.input, &self.followed) {
            (Input::Host, Some((name, value)))
                if is_this_system && value_of(THIS_SYSTEM).is_none() =>
            {
                Err(DiscoverError::Variable {
                    name,
                    value: shorten(value),
                    why: "it was ignored".into(),
                })
            }
            _ => Ok(()),
        }
    }
}

/// An empty value counts as none, as it does for hwloc.
fn value_of(name: &str) -> Option<String> {
    env::var_os(name)
        .map(|value| value.to_string_lossy().into_owned())
        .filter(|value| !value.is_empty())
}

fn in_words(name: &str, value: &str) -> String {
    format!("{name}={}", shorten(value))
}

fn refused(name: &'static str, value: &str, why: &DiscoverError) -> DiscoverError {
    let why = match why {
        DiscoverError::BadSynthetic(_) => "it is no synthetic string".into(),
        DiscoverError::TooManyCpus(_) => "it asks for too many hardware threads".into(),
        DiscoverError::Unreadable { why, .. } => why.to_string(),
        DiscoverError::BadXml(_) => "the file is not hwloc's XML".into(),
        other => other.to_string(),
    };
    DiscoverError::Variable {
        name,
        value: shorten(value),
        why,
    }
}
