//! A machine that hwloc's short notation cannot say (sockets and cores of different size, holes in
//! the numbering), as an XML file for `HWLOC_XMLFILE`.

use std::fmt::Write;

use crate::machine::Machine;

/// The file's text.
#[must_use]
pub fn xml(machine: &Machine) -> String {
    let mut file = File::default();
    for (at, cores) in machine.tree.iter().enumerate() {
        let node = 1u32 << at;
        let all = cores.concat();
        file.open("Package", at, &all, node);
        file.open("NUMANode", at, &all, node);
        file.close();
        for core in cores {
            file.open("Core", file.cores, core, node);
            file.cores += 1;
            for cpu in core {
                file.open("PU", usize::from(*cpu), &[*cpu], node);
                file.close();
            }
            file.close();
        }
        file.close();
    }
    let body = std::mem::take(&mut file.body);
    let nodes = (1u32 << machine.tree.len()) - 1;
    file.open("Machine", 0, &machine.tree.concat().concat(), nodes);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
         <topology version=\"2.0\">\n{}{body}</object>\n</topology>\n",
        file.body
    )
}

/// What is written so far.
#[derive(Default)]
struct File {
    body: String,
    objects: usize,
    cores: usize,
}

impl File {
    fn open(&mut self, kind: &str, number: usize, cpus: &[u16], nodes: u32) {
        let set = bitmap(cpus);
        self.objects += 1;
        let allowed = match kind {
            "Machine" => format!(" allowed_cpuset=\"{set}\" allowed_nodeset=\"{nodes:#010x}\""),
            _ => String::new(),
        };
        let _ = writeln!(
            self.body,
            "<object type=\"{kind}\" os_index=\"{number}\" cpuset=\"{set}\" \
             complete_cpuset=\"{set}\"{allowed} nodeset=\"{nodes:#010x}\" \
             complete_nodeset=\"{nodes:#010x}\" gp_index=\"{}\">",
            self.objects
        );
    }

    fn close(&mut self) {
        self.body.push_str("</object>\n");
    }
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
