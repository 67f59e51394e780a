//! The page in a real browser, from disk and over http: random lines have the text that the command prints, byte for
//! byte; a person's walk works; bad input gives a message. `BERTH_SEED` repeats a run. `ci/web check` builds the page
//! and runs this; `BERTH_PAGE` is the page's folder and `BERTH_COMMAND` the command. Without them nothing is tried.

#[path = "../lines/mod.rs"]
mod lines;
#[path = "../../../cli/tests/cli/random/mod.rs"]
mod random;
mod server;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use server::Server;

/// The number of lines that are compared.
const LINES: usize = 300;

/// The longest that a browser may take.
const LIMIT: Duration = Duration::from_secs(180);

/// The page in a folder of its own, with the document that tries it.
fn staged(page: &str, folder: &Path, cases: &str) -> PathBuf {
    for entry in fs::read_dir(page).unwrap().flatten() {
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    let presets =
        r#"[{"name": "alpha", "words": "<b>Alpha</b>", "machine": "pack:2 core:4 pu:2"}, 7]"#;
    fs::write(folder.join("presets.json"), presets).unwrap();
    fs::write(folder.join("cases.js"), cases).unwrap();
    fs::write(folder.join("check.js"), include_str!("check.js")).unwrap();
    fs::write(folder.join("walk.js"), include_str!("walk.js")).unwrap();
    folder.join("check.html")
}

/// The document that tries the page; it sends its result to the server.
fn document(server: &Server) -> String {
    format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>check</title><link rel=\"icon\" href=\"data:,\">\
         <script>const SERVER = \"{}\";</script><script src=\"engine.js\"></script><script src=\"wasm.js\"></script>\
         <script src=\"cases.js\"></script><script src=\"walk.js\"></script><script src=\"check.js\"></script></html>",
        server.address
    )
}

struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Opens an address in a new browser, and returns what its document sends. No message may be on its console.
fn result_of(address: &str, server: &Server) -> String {
    let profile = tempfile::tempdir().unwrap();
    let log = profile.path().join("log");
    let child = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
        ])
        .args([
            "--allow-file-access-from-files",
            "--remote-debugging-port=0",
            "--enable-logging=stderr",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(address)
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let browser = Browser(child);
    let result = server.results.recv_timeout(LIMIT);
    drop(browser);
    let log = fs::read_to_string(&log).unwrap_or_default();
    let console: Vec<_> = log
        .lines()
        .filter(|line| line.contains("CONSOLE"))
        .collect();
    let result = result.unwrap_or_else(|_| format!("no result from {address}\n{log}"));
    match console.as_slice() {
        [] => result,
        _ => format!("{result}\non the console:\n{}\nfailed", console.join("\n")),
    }
}

/// `ci/test` lists what is not tried.
fn skip(why: &str) {
    let line = format!("the page in a browser: {why}\n");
    eprint!("skipped {line}");
    if let Some(file) = std::env::var_os("BERTH_SKIP_FILE") {
        let file = fs::OpenOptions::new().append(true).create(true).open(file);
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }
}

#[test]
fn the_page_answers_as_the_command_does() {
    let variable = |name: &str| std::env::var(name).ok();
    let (Some(page), Some(command)) = (variable("BERTH_PAGE"), variable("BERTH_COMMAND")) else {
        return skip("no page is built; run ci/web check");
    };
    if Command::new("chromium").arg("--version").output().is_err() {
        return skip("Chromium is not installed; ci/book setup");
    }
    let seed = random::seed();
    let cases = lines::cases(&command, seed, LINES);
    let text = serde_json::to_string(&(lines::machines(), cases)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let check = staged(
        &page,
        folder.path(),
        &format!("const [machines, cases] = {text};"),
    );
    let server = Server::of(folder.path());
    fs::write(&check, document(&server)).unwrap();
    for address in [
        format!("file://{}", check.display()),
        format!("{}/check.html", server.address),
    ] {
        let result = result_of(&address, &server);
        println!("{result}");
        assert!(result.ends_with("\n0 failed"), "{address}: {result}");
    }
}
