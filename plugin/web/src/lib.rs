//! The dry run in a browser: one request as JSON text in, one answer as JSON text out. What it answers is what the
//! command prints for the same words in an empty environment, with the request's variables before the line.
#![deny(unsafe_code)]

mod answers;
#[cfg(target_arch = "wasm32")]
mod exports;
mod page_world;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::page_world::PageWorld;

/// A question of the page.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// `plan`, `check`, `topo`, `machines` or `options`.
    face: String,
    /// A known machine's name, a synthetic description, or hwloc's XML.
    machine: String,
    /// The name of the file from which the XML came.
    name: Option<String>,
    /// A line as it is typed, or options of srun alone.
    line: String,
    /// Options of `berth plan` beside the line.
    words: Vec<String>,
    /// Variables of the user, as if they stood before the line; those before it win.
    variables: HashMap<String, String>,
    /// The batch script that a line with `sbatch` submits, whatever its name is.
    script: Option<String>,
}

/// The output of the command, and its exit code.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The exit code.
    pub code: u8,
    /// The text on stdout.
    pub output: String,
    /// The command's texts on stderr, each without the words before it.
    pub messages: Vec<Message>,
}

/// A text for the user.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// `note`, `refused`, `failed` or `usage`.
    pub kind: &'static str,
    /// In words.
    pub text: String,
}

impl Answer {
    fn of(output: String) -> Self {
        Self {
            output,
            ..Self::default()
        }
    }

    /// An answer without a plan.
    fn without(code: u8, kind: &'static str, text: String) -> Self {
        Self {
            code,
            output: String::new(),
            messages: vec![Message { kind, text }],
        }
    }
}

/// Answers one request.
#[must_use]
pub fn answer(request: &str) -> String {
    let answer = match serde_json::from_str::<Request>(request) {
        Ok(request) => answers::answer(&request, &PageWorld::of(&request)),
        Err(why) => Answer::without(2, "usage", format!("this is no request: {why}")),
    };
    serde_json::to_string(&answer).unwrap_or_default()
}
