//! The file of lines. A line of options stands alone; variables stand before the options, as in
//! a shell; `''` is an empty word and `_` in it a blank. `!` before a line says that the two
//! readings differ on purpose, and why stands behind `#`. Lines behind `[pieces]` are groups of
//! which the generator takes one piece each, or none.

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// As it stands in the file.
    pub text: String,
    /// Variables.
    pub variables: Vec<(String, String)>,
    /// Options.
    pub words: Vec<String>,
    /// Why the two readings may differ.
    pub differs: Option<String>,
}

impl Case {
    /// Takes a line apart.
    pub(super) fn new(line: &str) -> Self {
        let (text, comment) = line.split_once(" #").unwrap_or((line, ""));
        let (differs, text) = match text.strip_prefix('!') {
            Some(text) => (Some(comment.trim().to_string()), text),
            None => (None, text),
        };
        let word = |word: &str| match word {
            "''" => String::new(),
            word => word.replace('_', " ").replace("\\ ", "_"),
        };
        let is_variable = |word: &&str| {
            let name = word.split_once('=').map(|(name, _)| name);
            name.is_some_and(|name| name.starts_with('S') && !name.contains('-'))
        };
        let (mut variables, mut words) = (Vec::new(), Vec::new());
        for part in text.split_whitespace() {
            match part.split_once('=').filter(|_| is_variable(&part)) {
                Some((name, value)) => variables.push((name.to_string(), value.to_string())),
                None => words.push(word(part)),
            }
        }
        Self {
            text: text.trim().into(),
            variables,
            words,
            differs,
        }
    }
}

/// The lines, and the groups of pieces.
pub(super) fn read(text: &str) -> (Vec<Case>, Vec<Vec<String>>) {
    let (lines, pieces) = text.split_once("[pieces]").unwrap_or((text, ""));
    let wanted = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let cases = lines.lines().filter(wanted).map(Case::new).collect();
    let group = |line: &str| {
        line.split('|')
            .map(|piece| piece.trim().to_string())
            .collect()
    };
    (cases, pieces.lines().filter(wanted).map(group).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_pieces() {
        let (cases, pieces) =
            read("# x\n\nSLURM_HINT=x -n _4 ''\n!-B 2 # because\n[pieces]\n-n2 | -n 3\n");
        assert_eq!(
            cases[0].variables,
            [("SLURM_HINT".to_string(), "x".to_string())]
        );
        assert_eq!(cases[0].words, ["-n", " 4", ""]);
        assert_eq!(
            (cases[1].words.len(), cases[1].differs.as_deref()),
            (2, Some("because"))
        );
        assert_eq!(pieces, [["-n2", "-n 3"]]);
    }
}
