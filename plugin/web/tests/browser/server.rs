//! A small web server on this host, for one browser: files of one folder, and the place where the browser leaves its
//! result.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Where it listens, and the results that arrive.
pub struct Server {
    /// `http://127.0.0.1:PORT`
    pub address: String,
    /// Texts that the browser posts.
    pub results: Receiver<String>,
}

impl Server {
    /// Serves a folder until the program ends.
    pub fn of(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (sender, results) = channel();
        let folder = folder.to_path_buf();
        // From a POST to /offline on no file is sent, as without a network.
        let is_off = Arc::new(AtomicBool::new(false));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (folder, sender, is_off) = (folder.clone(), sender.clone(), is_off.clone());
                // A browser that leaves early is no failure.
                thread::spawn(move || drop(serve(stream, &folder, &sender, &is_off)));
            }
        });
        Self { address, results }
    }
}

fn serve(
    stream: TcpStream,
    folder: &Path,
    results: &Sender<String>,
    is_off: &AtomicBool,
) -> std::io::Result<()> {
    let mut input = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    input.read_line(&mut request)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        if input.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        match header.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    if request.starts_with("POST /offline ") {
        is_off.store(true, Ordering::Relaxed);
        return respond(&stream, "200 OK", "text/plain", b"");
    }
    if request.starts_with("POST ") {
        let _ = results.send(String::from_utf8_lossy(&body).into_owned());
        return respond(&stream, "200 OK", "text/plain", b"");
    }
    if is_off.load(Ordering::Relaxed) {
        return Ok(());
    }
    let path = request.split(' ').nth(1).unwrap_or("/");
    let path = path
        .split(['?', '#'])
        .next()
        .unwrap_or("/")
        .trim_start_matches('/');
    let file = folder.join(PathBuf::from(if path.is_empty() {
        "index.html"
    } else {
        path
    }));
    match fs::read(&file) {
        Ok(bytes) if !path.contains("..") => respond(&stream, "200 OK", kind(path), &bytes),
        _ => respond(&stream, "404 Not Found", "text/plain", b"none"),
    }
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("json") => "application/json",
        _ => "text/html",
    }
}

fn respond(mut to: &TcpStream, status: &str, kind: &str, bytes: &[u8]) -> std::io::Result<()> {
    let length = bytes.len();
    write!(
        to,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    to.write_all(bytes)
}
