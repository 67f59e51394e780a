//! A machine that hwloc's short notation cannot say (sockets of different size, holes in the
//! numbering), as an XML file for `HWLOC_XMLFILE`.

use std::fmt::Write;

use crate::machine::Machine;

/// The file's text. CPU numbers are below 32.
#[must_use]
pub fn xml(machine: &Machine) -> String {
    let threads = usize::from(machine.threads);
    let mut cores = machine.numbers.chunks(threads);
    let mut body = String::new();
    let mut next = 1;
    let mut core_number = 0;
    for (at, count) in machine.packages.iter().enumerate() {
        let mine: Vec<&[u16]> = cores.by_ref().take(usize::from(*count)).collect();
        let node = 1u32 << at;
        let _ = writeln!(
            body,
            "{}",
            open("Package", at, &mine.concat(), node, &mut next)
        );
        let memory = open("NUMANode", at, &mine.concat(), node, &mut next);
        let _ = writeln!(body, "{memory}</object>");
        for core in mine {
            let _ = writeln!(body, "{}", open("Core", core_number, core, node, &mut next));
            core_number += 1;
            for cpu in core {
                let pu = open("PU", usize::from(*cpu), &[*cpu], node, &mut next);
                let _ = writeln!(body, "{pu}</object>");
            }
            body.push_str("</object>\n");
        }
        body.push_str("</object>\n");
    }
    let nodes = (1u32 << machine.packages.len()) - 1;
    let top = open("Machine", 0, &machine.numbers, nodes, &mut next);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
         <topology version=\"2.0\">\n{top}\n{body}</object>\n</topology>\n"
    )
}

fn open(kind: &str, number: usize, cpus: &[u16], nodes: u32, next: &mut u32) -> String {
    let set = cpus.iter().fold(0u32, |set, cpu| set | 1 << cpu);
    let index = *next;
    *next += 1;
    let allowed = match kind {
        "Machine" => format!(" allowed_cpuset=\"{set:#010x}\" allowed_nodeset=\"{nodes:#010x}\""),
        _ => String::new(),
    };
    format!(
        "<object type=\"{kind}\" os_index=\"{number}\" cpuset=\"{set:#010x}\" \
         complete_cpuset=\"{set:#010x}\"{allowed} nodeset=\"{nodes:#010x}\" \
         complete_nodeset=\"{nodes:#010x}\" gp_index=\"{index}\">"
    )
}
