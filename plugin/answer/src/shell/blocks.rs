//! The blocks around a place of a script, and the block of each command: a function, a group, a branch, a loop, or what
//! follows `&&` or `||`. In: the words and signs that open and close. Out: the blocks.

/// A block of a script. What stands in it may not run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The block around it, whose number is smaller.
    pub around: usize,
    /// When its commands run.
    pub runs: Runs,
    /// The variable of a `for` or `select`.
    pub variable: Option<String>,
}

/// When a block's commands run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runs {
    /// Once, where they stand.
    #[default]
    Once,
    /// Once, in a shell of their own.
    Apart,
    /// Several times: a loop's body.
    Again,
    /// Where somebody calls them: a function's body.
    Called,
}

/// A word or sign that opens something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    Loop,
    /// `case`, and whether a pattern comes next.
    Case(bool),
    Group,
    Branch,
}

/// Blocks within each other that have numbers of their own; no script that people write comes near it.
const DEEPEST: usize = 64;

/// The open constructs, each with its block.
pub(super) struct OpenBlocks {
    open: Vec<(Open, usize)>,
    blocks: Vec<Block>,
    /// The block of what follows `&&` or `||` up to the end of the list, and whether it is `&&`.
    condition: Option<(usize, bool)>,
    /// The variable of the loop that opens next.
    pub variable: Option<String>,
    /// Whether a function's body opens next.
    pub is_function: bool,
}

impl Default for OpenBlocks {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            blocks: vec![Block::default()],
            condition: None,
            variable: None,
            is_function: false,
        }
    }
}

impl OpenBlocks {
    /// All blocks, by their numbers; the first one is the script itself.
    pub(super) fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }

    /// The block of the current place.
    pub(super) fn block(&self) -> usize {
        let condition = self.condition.map(|(block, _)| block);
        condition.unwrap_or_else(|| self.opened())
    }

    /// The block that was opened last.
    fn opened(&self) -> usize {
        self.open.last().map_or(0, |(_, block)| *block)
    }

    /// The number of loops around the current place.
    pub(super) fn loops(&self) -> usize {
        let loops = self.open.iter().filter(|(open, _)| *open == Open::Loop);
        loops.count()
    }

    fn new_block(&mut self, block: Block) -> usize {
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    pub(super) fn push(&mut self, open: Open) {
        let around = self.block();
        let runs = match open {
            Open::Loop => Runs::Again,
            _ if std::mem::take(&mut self.is_function) => Runs::Called,
            Open::Group => Runs::Apart,
            _ => Runs::Once,
        };
        let variable = self.variable.take().filter(|_| open == Open::Loop);
        let block = match self.open.len() < DEEPEST {
            true => self.new_block(Block {
                around,
                runs,
                variable,
            }),
            false => around,
        };
        self.open.push((open, block));
        self.condition = None;
    }

    /// Another branch of what was opened last begins.
    pub(super) fn next_branch(&mut self) {
        let before = self.blocks.get(self.opened()).cloned();
        if self.open.len() <= DEEPEST
            && let Some(before) = before
        {
            let block = self.new_block(before);
            if let Some((_, last)) = self.open.last_mut() {
                *last = block;
            }
        }
    }

    /// Closes the last one that is meant; whether there is one.
    pub(super) fn close(&mut self, is_it: impl Fn(Open) -> bool) -> bool {
        let at = self.open.iter().rposition(|(open, _)| is_it(*open));
        at.into_iter().for_each(|at| self.open.truncate(at));
        at.is_some()
    }

    /// Whether a pattern of `case` comes next.
    pub(super) fn is_pattern(&self) -> bool {
        matches!(self.open.last(), Some((Open::Case(true), _)))
    }

    /// A branch of `case` ends, and another one's pattern comes next.
    pub(super) fn next_pattern(&mut self) {
        if let Some((Open::Case(pattern), _)) = self.open.last_mut() {
            *pattern = true;
            self.next_branch();
        }
    }

    /// A pattern of `case` ends; whether there was one.
    pub(super) fn end_pattern(&mut self) -> bool {
        let is_pattern = self.is_pattern();
        if let Some((Open::Case(pattern), _)) = self.open.last_mut() {
            *pattern = false;
        }
        is_pattern
    }

    /// The list before this place has ended.
    pub(super) fn end_list(&mut self) {
        self.condition = None;
    }

    /// The next command may not run. All that `&&` joins runs together; behind `||` the command before it has failed, or
    /// was left out.
    pub(super) fn begin_condition(&mut self, is_and: bool) {
        let block = match self.condition {
            Some((block, true)) if is_and => block,
            _ => self.new_block(Block {
                around: self.opened(),
                ..Block::default()
            }),
        };
        self.condition = Some((block, is_and));
    }
}
