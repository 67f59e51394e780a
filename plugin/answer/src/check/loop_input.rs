//! Loops that read their input line by line (`while read`), and the commands in them that read it too.

use super::script::{LoopInput, Reader};
use super::variables::assigned;
use crate::shell::Simple;

impl Reader<'_> {
    /// Notes a command; whether it reads the input of the loop around it. The shell gives one in the background none.
    pub(super) fn reads_loop_input(&mut self, simple: &Simple) -> bool {
        let Some(first) = simple.words.first() else {
            return false;
        };
        let (before, text) = self.found.text.split_at(first.range.start);
        let line = text.split(|byte| b";\n".contains(byte)).next();
        let is_redirected = line.unwrap_or_default().contains(&b'<');
        let before = before.trim_ascii_end();
        let is_condition = before.ends_with(b"while") || before.ends_with(b"until");
        let mut words = simple.words.iter().map(|word| word.text.as_str());
        let reads = words.find(|word| assigned(word).is_none()) == Some("read");
        let is_other = is_redirected || words.any(|word| word.starts_with("-u"));
        self.loop_input = match self.loop_input {
            _ if is_condition && reads && !is_other => LoopInput::Begins(simple.loops + 1),
            LoopInput::Begins(loops) if loops == simple.loops => LoopInput::Body(simple.block),
            LoopInput::Begins(_) => LoopInput::None,
            body => body,
        };
        let is_piped = before.ends_with(b"|") && !before.ends_with(b"||");
        let is_inside = matches!(self.loop_input, LoopInput::Body(block) if block == simple.block);
        is_inside && !is_redirected && !is_piped && !simple.in_background
    }
}
