//! Tests of the slices in which a process's memory is moved.

use super::*;

#[test]
fn lines_of_meminfo() {
    let text = "Node 0 MemTotal:  16 kB\nNode 0 MemFree:   8 kB\nNode 0 Active(file): 2 kB\n";
    assert_eq!(bytes(text, "MemFree:"), Some(8 << 10));
    assert_eq!(bytes(text, "Active(file):"), Some(2 << 10));
    assert_eq!(bytes(text, "Slab:"), None);
}

#[test]
fn parts_that_can_have_pages() {
    let maps = "1000-3000 rw-p 00000000 00:00 0 \n\
                4000-9000 ---p 00000000 00:00 0 \n\
                a000-b000 r-xp 00000000 08:01 7   /x y\n\
                nonsense\n5000-5000 r--p 0 0 0\n\
                ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n";
    assert_eq!(parts(maps.as_bytes(), 4096), [(1, 3), (10, 11)]);
}

#[test]
fn memory_is_looked_at_slice_by_slice() {
    let size = page_size() as usize;
    let memory = vec![1_u8; size * (3 * SLICE + 1)];
    let node = |number| [NumaId(number)].into_iter().collect::<NodeSet>();
    let own = std::process::id() as pid_t;
    // A program may have reserved far more addresses than this test should look at.
    let pages = memory.as_ptr_range();
    let pages = (
        pages.start as u64 / page_size(),
        pages.end as u64 / page_size(),
    );
    let begin = || {
        let mut moving = Moving::begin(own, &node(1000), &node(0)).unwrap();
        let parts = moving.parts.iter();
        let near = parts.map(|(start, end)| ((*start).max(pages.0), (*end).min(pages.1 + 1)));
        moving.parts = near.filter(|(start, end)| start < end).collect();
        moving
    };
    let mut moving = begin();
    let (mut slices, mut found) = (0, 0);
    while !moving.parts.is_empty() {
        let there = moving.there().unwrap();
        assert!(there.len() <= SLICE, "{}", there.len());
        let range = memory.as_ptr_range();
        let range = range.start as u64..range.end as u64;
        found += there.iter().filter(|page| range.contains(page)).count();
        slices += 1;
    }
    assert!(
        slices > 3 && found >= 3 * SLICE,
        "{slices} slices, {found} pages"
    );
    // Nothing lies on a node that is not there, and nothing is moved.
    let mut moving = begin();
    loop {
        match moving.slice() {
            Ok(None) => break,
            Ok(Some(slice)) => assert_eq!(slice.left, 0),
            // A kernel without NUMA nodes, or a fence around this test.
            Err(why) => {
                let known = [libc::ENOSYS, libc::EPERM];
                assert!(known.contains(&why.raw_os_error().unwrap()), "{why}");
                break;
            }
        }
    }
    assert_eq!(memory.last(), Some(&1));
}

/// Where nothing is in memory the window grows, and one that is too wide is cut behind the last page.
#[test]
fn a_window_grows_where_there_is_nothing() {
    const WIDE: u64 = 1 << 20;
    let page = page_size();
    let empty = Part::reserve((WIDE * page) as usize);
    let own = std::process::id() as pid_t;
    let node: NodeSet = [NumaId(0)].into_iter().collect();
    let mut moving = Moving::begin(own, &node, &node).unwrap();
    let first = empty.0 as u64 / page;
    moving.parts = [(first, first + WIDE)].into_iter().collect();
    let mut slices = 0;
    while !moving.parts.is_empty() {
        assert!(moving.there().unwrap().is_empty());
        slices += 1;
    }
    assert!((8..16).contains(&slices), "{slices}");
    assert_eq!(moving.window, WIDEST);
    // All pages of a wide window are found, a slice at a time.
    let memory = vec![1_u8; page as usize * 3 * SLICE];
    let start = (memory.as_ptr() as u64).div_ceil(page);
    let count = 3 * SLICE as u64 - 1;
    moving.parts = [(start, start + count)].into_iter().collect();
    let mut found = Vec::new();
    while !moving.parts.is_empty() {
        let slice = moving.there().unwrap();
        assert!(slice.len() <= SLICE, "{}", slice.len());
        found.extend(slice);
    }
    let all: Vec<_> = (start..start + count).map(|number| number * page).collect();
    assert_eq!(found, all);
    assert_eq!(memory.last(), Some(&1));
}

/// Addresses without pages.
struct Part(*mut libc::c_void, usize);

impl Part {
    fn reserve(size: usize) -> Self {
        // SAFETY: new memory at a place of the kernel's choice; nothing of ours is there.
        let place = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert_ne!(place, libc::MAP_FAILED);
        Self(place, size)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // SAFETY: it is this value's own, and nothing points into it.
        unsafe { libc::munmap(self.0, self.1) };
    }
}

#[test]
fn an_ended_process_has_no_pages() {
    let node: NodeSet = [NumaId(0)].into_iter().collect();
    let why = Moving::begin(pid_t::MAX, &node, &node).unwrap_err();
    assert_eq!(why.kind(), io::ErrorKind::NotFound);
}
