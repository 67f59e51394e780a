//! `berth status --metrics`: the metrics of this host's nodes in the format of Prometheus, as node_exporter's textfile
//! collector takes it.

use std::io::Write;
use std::path::Path;

use berth_host::metrics::{Facts, Metrics, State, text};
use berth_host::{StateDir, announcement};

use crate::Failure;

/// Writes them; a node on which nothing could be counted yet has only zeros.
pub(super) fn once(base: &Path, nodes: &[String], out: &mut impl Write) -> Result<(), Failure> {
    let node = |name: &String| {
        let dir = StateDir::new(base, name)?;
        Ok((facts(name, &dir), Metrics::read(&dir).unwrap_or_default()))
    };
    let nodes: Result<Vec<_>, Failure> = nodes.iter().map(node).collect();
    out.write_all(text(&nodes?).as_bytes())?;
    Ok(())
}

/// What slurmd has announced, and whether berth is switched off now.
fn facts(name: &str, dir: &StateDir) -> Facts {
    let words = announcement::read(dir).unwrap_or_default();
    let works = words.is_task_plugin || words.serves_binding_only;
    let settings = words.settings.split(' ');
    let of_compat = settings.filter(|word| {
        ["compat=", "fixes="]
            .iter()
            .any(|key| word.starts_with(key))
    });
    let compat = of_compat.collect::<Vec<_>>().join(" ");
    Facts {
        node: name.into(),
        version: words.berth,
        compat: compat.trim_start_matches("compat=").into(),
        state: match works {
            _ if dir.is_off() => State::Off,
            true => State::Working,
            false => State::Inert,
        },
    }
}
