//! A machine that hwloc's short notation cannot say (sockets and cores of different size, holes in
//! the numbering), as an XML file for `HWLOC_XMLFILE`.

use crate::machine::Machine;

/// The file's text.
#[must_use]
pub fn xml(machine: &Machine) -> String {
    let (mut body, mut cores, mut objects) = (String::new(), 0, 1);
    let mut open = |kind: &str, number: usize, cpus: &[u16], nodes: u32| {
        objects += 1;
        open(kind, number, cpus, nodes, objects)
    };
    for (at, socket) in machine.tree.iter().enumerate() {
        let (node, all) = (1u32 << at, socket.concat());
        body += &open("Package", at, &all, node);
        body += &open("NUMANode", at, &all, node);
        body += CLOSE;
        for core in socket {
            body += &open("Core", cores, core, node);
            cores += 1;
            for cpu in core {
                body += &open("PU", usize::from(*cpu), &[*cpu], node);
                body += CLOSE;
            }
            body += CLOSE;
        }
        body += CLOSE;
    }
    let nodes = (1u32 << machine.tree.len()) - 1;
    let whole = open("Machine", 0, &machine.tree.concat().concat(), nodes);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
         <topology version=\"2.0\">\n{whole}{body}{CLOSE}</topology>\n"
    )
}

const CLOSE: &str = "</object>\n";

fn open(kind: &str, number: usize, cpus: &[u16], nodes: u32, index: usize) -> String {
    let set = bitmap(cpus);
    let allowed = match kind {
        "Machine" => format!(" allowed_cpuset=\"{set}\" allowed_nodeset=\"{nodes:#010x}\""),
        _ => String::new(),
    };
    format!(
        "<object type=\"{kind}\" os_index=\"{number}\" cpuset=\"{set}\" complete_cpuset=\"{set}\"{allowed} \
         nodeset=\"{nodes:#010x}\" complete_nodeset=\"{nodes:#010x}\" gp_index=\"{index}\">\n"
    )
}

/// hwloc's text of a set: words of 32 bits, the highest first.
fn bitmap(cpus: &[u16]) -> String {
    let highest = cpus.iter().max().copied().unwrap_or(0);
    let word = |at: u16| {
        let here = cpus.iter().filter(|cpu| **cpu / 32 == at);
        let bits = here.fold(0u32, |word, cpu| word | 1 << (cpu % 32));
        format!("{bits:#010x}")
    };
    let words: Vec<String> = (0..=highest / 32).rev().map(word).collect();
    words.join(",")
}
