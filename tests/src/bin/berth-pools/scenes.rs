//! The lines of the experiment: which there are, which are chosen, and what came of them.

use crate::{
    CLASSES, Here, Told, bare, cancel, changed, crowd, ended, fences, full, hidden, job, killed,
    shares, steps, wakes,
};

/// A line: its name, the classes that have it, and how it is played.
pub(crate) struct Scene {
    name: &'static str,
    classes: &'static [&'static str],
    play: fn(&Here) -> Told,
}

impl Scene {
    /// One that each class has.
    pub(crate) const fn new(name: &'static str, play: fn(&Here) -> Told) -> Self {
        Self::of(&CLASSES, name, play)
    }

    /// One of some classes.
    pub(crate) const fn of(
        classes: &'static [&'static str],
        name: &'static str,
        play: fn(&Here) -> Told,
    ) -> Self {
        Self {
            name,
            classes,
            play,
        }
    }
}

/// All of a class, in their order.
fn scenes(class: &str) -> impl Iterator<Item = (String, &'static Scene)> {
    let all = [
        shares::SCENES,
        bare::SCENES,
        fences::SCENES,
        hidden::SCENES,
        cancel::SCENES,
        full::SCENES,
        wakes::SCENES,
        steps::SCENES,
        changed::SCENES,
        ended::SCENES,
        killed::SCENES,
        crowd::SCENES,
    ];
    let its = all.into_iter().flatten();
    its.filter(move |scene| scene.classes.contains(&class))
        .map(move |scene| (format!("{class} {}", scene.name), scene))
}

/// Prints the names.
pub(crate) fn list() {
    for (line, _) in CLASSES.into_iter().flat_map(scenes) {
        println!("{line}");
    }
}

/// The lines that some words choose; all without words.
fn chosen(words: &[String]) -> Result<Vec<String>, String> {
    let all: Vec<_> = CLASSES.into_iter().flat_map(scenes).collect();
    let mut chosen = Vec::new();
    for word in words {
        let is_name = |(line, scene): &&(String, &Scene)| line == word || scene.name == word;
        let has = |(line, _): &&(String, &Scene)| line.contains(word.as_str());
        let mut its: Vec<_> = all.iter().filter(is_name).collect();
        if its.is_empty() {
            its = all.iter().filter(has).collect();
        }
        if its.is_empty() {
            return Err(word.clone());
        }
        chosen.extend(its.into_iter().map(|(line, _)| line.clone()));
    }
    match words {
        [] => Ok(all.into_iter().map(|(line, _)| line).collect()),
        _ => Ok(chosen),
    }
}

/// What is played, and what came of it.
pub(crate) struct Count {
    chosen: Vec<String>,
    pub passed: u32,
    pub failed: u32,
}

impl Count {
    /// The lines that some words choose.
    ///
    /// # Errors
    /// A word that chooses none.
    pub(crate) fn of(words: &[String]) -> Result<Self, String> {
        Ok(Self {
            chosen: chosen(words)?,
            passed: 0,
            failed: 0,
        })
    }

    fn is_chosen(&self, line: &String) -> bool {
        self.chosen.contains(line)
    }

    /// Whether a line of this class is chosen.
    pub(crate) fn has(&self, class: &str) -> bool {
        scenes(class).any(|(line, _)| self.is_chosen(&line))
    }

    /// Plays the chosen lines of the class that holds, and ends every job after each.
    pub(crate) fn play(&mut self, here: &Here) {
        for (line, scene) in scenes(here.class) {
            if !self.is_chosen(&line) {
                continue;
            }
            println!("{line}");
            let told = (scene.play)(here);
            job::end_all(&here.cluster);
            match told.and(undrained(here)) {
                Ok(()) => self.passed += 1,
                Err(why) => {
                    self.failed += 1;
                    println!("FAIL {line}: {why}");
                }
            }
        }
    }
}

/// No node is drained; of one that is, the reason is printed, and it serves the next line again.
fn undrained(here: &Here) -> Told {
    let cluster = &here.cluster;
    let state = cluster.sinfo_state();
    if !state.contains("drain") {
        return Ok(());
    }
    let reason = cluster.run("sinfo", &["-hR", "-o%E"]).stdout;
    let log = cluster.slurmd_log();
    let says = |line: &&str| line.contains("error") || line.contains("unkillable");
    let lines: Vec<_> = log.lines().filter(says).collect();
    for line in lines.iter().rev().take(20).rev() {
        println!("  {line}");
    }
    let node = format!("NodeName={}", here.node());
    cluster
        .scontrol(&["update", &node, "State=RESUME"])
        .expect_ok();
    Err(format!("the node is {state}: {}", reason.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(words: &[&str]) -> Vec<String> {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        chosen(&words).unwrap_or_default()
    }

    #[test]
    fn each_line_can_be_chosen_alone() {
        let all = lines(&[]);
        assert!(all.len() > 50, "{all:?}");
        for line in &all {
            assert_eq!(lines(&[line]), [line.as_str()]);
            assert_eq!(all.iter().filter(|other| *other == line).count(), 1);
        }
    }

    #[test]
    fn a_name_chooses_its_line_of_each_class_and_a_part_all_that_have_it() {
        let each = ["weight scancel", "idle scancel", "realtime scancel"];
        assert_eq!(lines(&["scancel"]), each);
        assert_eq!(lines(&["scanc"]).len(), 9);
        assert_eq!(lines(&["idle"]), {
            let all = lines(&[]);
            all.into_iter()
                .filter(|line| line.starts_with("idle "))
                .collect::<Vec<_>>()
        });
        assert_eq!(chosen(&["nonsense".into()]), Err("nonsense".into()));
    }
}
