//! hwloc's own variables, where this host is asked for: they put another
//! machine in its place, and must not be ignored in silence.
//! In: the environment. Out: the machine hwloc means, and its source in words.

use std::env;
use std::path::Path;

use crate::error::{DiscoverError, shorten};
use crate::{Discovered, finish, load};

const SYNTHETIC: &str = "HWLOC_SYNTHETIC";
const XML_FILE: &str = "HWLOC_XMLFILE";
/// With it set, hwloc ignores the two above.
const COMPONENTS: &str = "HWLOC_COMPONENTS";
/// Makes hwloc say that any topology is this host's.
const THIS_SYSTEM: &str = "HWLOC_THISSYSTEM";
/// Other ways to another machine: followed by hwloc alone, named in the source.
const OTHERS: [&str; 2] = ["HWLOC_FSROOT", "HWLOC_CPUID_PATH"];

/// This host as hwloc sees it.
///
/// A variable's value is loaded as if it had been given to us: so one that
/// hwloc cannot read is an error. Where both are set, hwloc takes the synthetic
/// string (tried with 2.9).
pub(crate) fn discover_live() -> Result<Discovered, DiscoverError> {
    if value_of(COMPONENTS).is_none() {
        if let Some(value) = value_of(SYNTHETIC) {
            let topology =
                load::from_synthetic(&value).map_err(|why| refused(SYNTHETIC, &value, &why))?;
            return finish(&topology, in_words(SYNTHETIC, &value));
        }
        if let Some(value) = value_of(XML_FILE) {
            let topology = load::from_xml_file(Path::new(&value))
                .map_err(|why| refused(XML_FILE, &value, &why))?;
            return finish(&topology, in_words(XML_FILE, &value));
        }
    }
    let topology = load::live()?;
    let followed = OTHERS
        .into_iter()
        .find_map(|name| value_of(name).map(|value| (name, value)));
    let Some((name, value)) = followed else {
        return finish(&topology, "this host".into());
    };
    if topology.is_this_system() && value_of(THIS_SYSTEM).is_none() {
        return Err(DiscoverError::Variable {
            name,
            value: shorten(&value),
            why: "it was ignored".into(),
        });
    }
    finish(&topology, in_words(name, &value))
}

/// An empty value counts as none, as hwloc ends up taking it.
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
