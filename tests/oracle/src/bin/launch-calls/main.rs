//! `launch-calls`: the system calls of a launch, those of the hook alone against a list, and those
//! of a real slurmd beside what it makes with task/none.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use berth_oracle::arguments::{Files, NOT_HERE};
use berth_oracle::calls::hook::{self, KINDS};
use berth_oracle::calls::list::List;
use berth_oracle::calls::slurmd::{Calls, count};
use berth_oracle::{object, paths};
use berth_tests::Cluster;
use clap::{Parser, Subcommand};

/// Count the system calls of a launch
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Those of the launch hook, against a list of those that it may make
    Hook {
        /// The list
        list: PathBuf,
        /// Launches of each kind
        #[arg(long, default_value_t = 60)]
        launches: u32,
    },
    /// Those of a real slurmd, with berth and with task/none
    Slurmd {
        /// Launches in each of the two clusters
        #[arg(long, default_value_t = 1000)]
        launches: u32,
    },
    // The process that calls the hook.
    #[command(hide = true)]
    Part {
        folder: PathBuf,
        settings: String,
        launches: u32,
    },
}

/// What sites set.
const SETTINGS: [&str; 3] = ["compat=berth", "compat=affinity", "shadow=on"];

fn main() -> ExitCode {
    let Some(plugins) = paths::plugin_dir() else {
        eprintln!("launch-calls: no slurmd is installed here");
        return ExitCode::from(NOT_HERE);
    };
    let done = match Arguments::parse().what {
        What::Hook { list, launches } => of_hook(&plugins, &list, launches),
        What::Slurmd { launches } => of_slurmd(launches),
        What::Part {
            folder,
            settings,
            launches,
        } => {
            let files = Files {
                plugins,
                object: berth_tests::object(),
                command: berth_tests::command(),
                state: folder,
            };
            hook::call(&files, &settings, launches).map(|()| ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|why| {
        eprintln!("launch-calls: {why}");
        ExitCode::from(2)
    })
}

fn of_hook(plugins: &Path, list: &Path, launches: u32) -> Result<ExitCode, String> {
    if let Err(why) = object::can_stand_in(object::slurm(plugins)?.layout.line) {
        eprintln!("launch-calls: {why}");
        return Ok(ExitCode::from(NOT_HERE));
    }
    let text = std::fs::read_to_string(list).map_err(|why| format!("{}: {why}", list.display()))?;
    let list = List::read(&text)?;
    let mut wrong = 0;
    for settings in SETTINGS {
        let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
        let myself = std::env::current_exe().map_err(|why| why.to_string())?;
        let mut part = Command::new(myself);
        part.arg("part")
            .arg(folder.path())
            .args([settings, &launches.to_string()]);
        let seen = hook::trace(&mut part, folder.path())?;
        println!("{settings}: {:?} launches", seen.launches);
        let all = KINDS
            .iter()
            .all(|kind| seen.launches.get(kind) == Some(&launches.into()));
        let looked = seen
            .calls
            .keys()
            .any(|(_, words)| words.starts_with("access "));
        if !all || !looked {
            println!("  not all were seen, which proves nothing");
            wrong += 1;
        }
        for ((kind, words), often) in &seen.calls {
            let may = list.most(kind, words);
            let allowed = often.most <= may;
            wrong += u32::from(!allowed);
            println!(
                "  {} {kind}: {words}: in {} launches, at most {} in one{}",
                if allowed { "      " } else { "WRONG:" },
                often.launches,
                often.most,
                if may > 0 && !allowed {
                    format!("; {may} allowed")
                } else {
                    String::new()
                },
            );
        }
    }
    Ok(ExitCode::from(u8::from(wrong > 0)))
}

fn of_slurmd(launches: u32) -> Result<ExitCode, String> {
    println!("system calls of slurmd's threads a launch, over {launches} launches");
    let without = count(
        Cluster::builder().task_plugin("task/none").plugstack(None),
        launches,
    )?;
    let with = count(Cluster::builder(), launches)?;
    let each = |calls: &Calls, name: &str| {
        calls.get(name).copied().unwrap_or(0) as f64 / f64::from(launches)
    };
    let names: std::collections::BTreeSet<_> = without.keys().chain(with.keys()).collect();
    println!("\n| call | task/none | task/berth | difference |\n|---|---:|---:|---:|");
    let (mut before, mut after) = (0.0, 0.0);
    for name in names {
        let (none, ours) = (each(&without, name), each(&with, name));
        before += none;
        after += ours;
        println!("| {name} | {none:.2} | {ours:.2} | {:+.2} |", ours - none);
    }
    println!(
        "| all | {before:.2} | {after:.2} | {:+.2} |",
        after - before
    );
    Ok(ExitCode::SUCCESS)
}
