//! Where the boxes of a picture stand. In: areas and the room there is. Out: sizes and places, in
//! pixels. Nothing is drawn here.

use crate::picture::areas::Area;

pub(super) const CELL: (usize, usize) = (38, 29);
/// The line in which a core's number stands.
pub(super) const CORE_HEAD: usize = 13;
pub(super) const CORE_PAD: usize = 3;
const CORE_GAP: usize = 6;
pub(super) const PAD: usize = 9;
pub(super) const GAP: usize = 10;
/// A line of an area's name, and about a letter of it.
pub(super) const NAME: (usize, usize) = (17, 7);
/// Pixels of the widest page: at A4's long side its smallest letters have 8 points.
const PAGE: usize = 1000;

/// Places of boxes and what they take together.
pub(super) struct Places {
    pub at: Vec<(usize, usize)>,
    pub size: (usize, usize),
}

/// Boxes beside each other while there is room, in rows of equal number where they are equal.
pub(super) fn flow(sizes: &[(usize, usize)], room: usize, gap: usize) -> Places {
    let widest = sizes.iter().map(|size| size.0).max().unwrap_or(0);
    let fit = ((room + gap) / (widest + gap)).max(1);
    let is_equal = sizes.iter().all(|size| size.0 == widest);
    let per_row = match is_equal {
        true => sizes.len().div_ceil(sizes.len().div_ceil(fit).max(1)),
        false => usize::MAX,
    };
    let (mut x, mut y, mut below, mut in_row) = (0, 0, 0, 0);
    let (mut at, mut right) = (Vec::new(), 0);
    for (width, height) in sizes {
        if in_row > 0 && (in_row == per_row || x + width > room) {
            (x, y, in_row) = (0, below + gap, 0);
        }
        at.push((x, y));
        right = right.max(x + width);
        below = below.max(y + height);
        x += width + gap;
        in_row += 1;
    }
    Places {
        at,
        size: (right, below),
    }
}

/// The room that each of several boxes has: two of the widest stand beside each other.
pub(super) fn room(boxes: usize, room: usize) -> usize {
    match boxes {
        0 | 1 => room,
        _ => (room - GAP) / 2,
    }
}

/// The room of a page.
pub(super) const fn page() -> usize {
    PAGE - 2 * PAD
}

/// The cores of an area as a grid.
pub(super) struct Grid {
    /// Hardware threads beside each other in a core; more go below.
    pub threads: usize,
    pub per_row: usize,
    pub core: (usize, usize),
}

impl Grid {
    pub(super) fn of(area: &Area<'_>, most_threads: usize, room: usize) -> Self {
        let threads = match most_threads {
            0..=2 => 1,
            3..=8 => 2,
            _ => 4,
        };
        let lines = most_threads.div_ceil(threads);
        let core = (
            threads * CELL.0 + 2 * CORE_PAD,
            lines * CELL.1 + CORE_HEAD + CORE_PAD,
        );
        let count = area.cores.len().max(1);
        let fit = ((room + CORE_GAP) / (core.0 + CORE_GAP)).clamp(1, count);
        let even = (fit.div_ceil(2)..=fit).rev();
        let per_row = even
            .into_iter()
            .find(|columns| count.is_multiple_of(*columns))
            .unwrap_or_else(|| count.div_ceil(count.div_ceil(fit)));
        Self {
            threads,
            per_row,
            core,
        }
    }

    pub(super) fn place(&self, core: usize) -> (usize, usize) {
        let (column, row) = (core % self.per_row, core / self.per_row);
        (
            column * (self.core.0 + CORE_GAP),
            row * (self.core.1 + CORE_GAP),
        )
    }

    fn size(&self, cores: usize) -> (usize, usize) {
        let last = self.place(cores.max(1) - 1);
        let columns = self.per_row.min(cores.max(1));
        let width = columns * (self.core.0 + CORE_GAP) - CORE_GAP;
        (width, last.1 + self.core.1)
    }
}

/// An area's name and devices in lines, its size, and the places of the areas in it.
pub(super) struct Extent {
    pub names: Vec<String>,
    pub inner: Places,
    pub size: (usize, usize),
}

impl Extent {
    pub(super) fn of(area: &Area<'_>, most_threads: usize, room: usize) -> Self {
        let within = room.saturating_sub(2 * PAD);
        let inner = match area.inner.as_slice() {
            [] => Places {
                at: Vec::new(),
                size: Grid::of(area, most_threads, within).size(area.cores.len()),
            },
            areas => {
                let sizes: Vec<_> = areas
                    .iter()
                    .map(|area| Self::of(area, most_threads, within).size)
                    .collect();
                flow(&sizes, within, GAP)
            }
        };
        let one_line = area.names.join(" · ");
        let fits = one_line.chars().count() * NAME.1 <= inner.size.0;
        let mut names = match fits {
            _ if area.names.is_empty() => Vec::new(),
            true => vec![one_line],
            false => area.names.clone(),
        };
        names.extend(area.devices.iter().cloned());
        let widest = names.iter().map(|name| name.chars().count() * NAME.1).max();
        let width = inner.size.0.max(widest.unwrap_or(0));
        let height = names.len() * NAME.0 + inner.size.1;
        let size = (width + 2 * PAD, height + 2 * PAD - 2);
        Self { names, inner, size }
    }

    /// Where what is in the box begins.
    pub(super) fn content(&self, (x, y): (usize, usize)) -> (usize, usize) {
        (x + PAD, y + PAD - 2 + self.names.len() * NAME.0)
    }
}
