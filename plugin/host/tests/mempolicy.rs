//! A task tells the kernel its NUMA nodes between fork and exec and reads them back.
//! Needs one NUMA node, which every machine has.

use berth_host::memory::{Kind, Nodes, WORDS, allowed, is_available, policy, set_policy};

/// Runs `work` in a forked child, which makes system calls only; its number comes back.
fn in_child(work: impl FnOnce() -> u8) -> i32 {
    // SAFETY: the child makes system calls only and leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = work();
        // SAFETY: leaves at once; nothing of the parent's is run.
        unsafe { libc::_exit(code.into()) };
    }
    assert!(child > 0);
    let mut status = 0;
    // SAFETY: waits for our own child and writes to our own number.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status));
    libc::WEXITSTATUS(status)
}

fn first(nodes: &Nodes) -> Nodes {
    let mut one = [0; WORDS];
    let word = nodes.iter().position(|word| *word != 0).unwrap();
    one[word] = 1 << nodes[word].trailing_zeros();
    one
}

#[test]
fn what_is_set_is_what_the_kernel_tells() {
    if !is_available() {
        eprintln!("this kernel has no memory policies");
        return;
    }
    assert_eq!(policy().unwrap(), (None, allowed().unwrap()));
    let one = first(&allowed().unwrap());
    let short = 1 + one.iter().position(|word| *word != 0).unwrap();
    for kind in [Kind::Bind, Kind::Prefer] {
        // As many words as needed, and as many as there is room for.
        for words in [&one[..short], &one[..]] {
            let code = in_child(|| match set_policy(kind, words) {
                Ok(()) if policy() == Ok((Some(kind), one)) => 0,
                Ok(()) => 1,
                Err(_) => 2,
            });
            assert_eq!(code, 0, "{kind:?} {}", words.len());
        }
    }
    assert_eq!(policy().unwrap().0, None, "a child's policy is its own");
}

#[test]
fn the_kernel_drops_what_is_not_there_and_refuses_when_nothing_is_left() {
    if !is_available() {
        eprintln!("this kernel has no memory policies");
        return;
    }
    let one = first(&allowed().unwrap());
    let last = 1 << 63;
    let wide = [one[0] | last];
    let code = in_child(|| match set_policy(Kind::Bind, &wide) {
        Ok(()) if policy() == Ok((Some(Kind::Bind), one)) => 0,
        // Fewer node numbers than 64 in this kernel.
        Err(libc::EINVAL) => 0,
        _ => 1,
    });
    assert_eq!(code, 0);
    for nodes in [&[last][..], &[0], &[]] {
        let code = in_child(|| match set_policy(Kind::Bind, nodes) {
            Err(libc::EINVAL) => 0,
            _ => 1,
        });
        assert_eq!(code, 0, "{nodes:?}");
    }
}
