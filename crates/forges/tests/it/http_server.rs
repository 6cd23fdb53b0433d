//! Smart HTTP with a password on loopback: `git http-backend` behind a small server.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

/// What requests need, and what was seen while they were served.
pub(crate) struct HttpServer {
    pub(crate) port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    root: PathBuf,
    /// The expected `Authorization` header's value.
    authorization: String,
    /// Searched for in the arguments and environments of all processes during every request.
    marker: String,
    found: Mutex<Vec<String>>,
    authorized: Mutex<usize>,
    stop: AtomicBool,
}

impl HttpServer {
    /// Serves the repositories below `root`.
    pub(crate) fn start(root: &Path, authorization: &str, marker: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            authorization: authorization.to_owned(),
            marker: marker.to_owned(),
            found: Mutex::default(),
            authorized: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let in_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if in_thread.stop.load(Ordering::SeqCst) {
                    break;
                }
                serve(stream.unwrap(), &in_thread);
            }
        });
        HttpServer {
            port,
            shared,
            thread: Some(thread),
        }
    }

    /// Processes in which the marker was seen.
    pub(crate) fn found(&self) -> Vec<String> {
        self.shared.found.lock().unwrap().clone()
    }

    /// Number of requests with the right password.
    pub(crate) fn authorized(&self) -> usize {
        *self.shared.authorized.lock().unwrap()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        if let Some(thread) = self.thread.take() {
            let served = thread.join();
            assert!(
                served.is_ok() || std::thread::panicking(),
                "the server failed"
            );
        }
    }
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let mut words = line.split_ascii_whitespace().map(str::to_owned);
        let (method, target) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim().split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let mut request = Request {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body: Vec::new(),
        };
        if request.header("transfer-encoding") == "chunked" {
            request.body = read_chunks(&mut reader);
        } else if let Ok(length) = request.header("content-length").parse() {
            request.body = vec![0; length];
            reader.read_exact(&mut request.body).unwrap();
        }
        Some(request)
    }

    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map_or("", |(_, value)| value)
    }
}

fn read_chunks(reader: &mut impl BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&chunk[..length]);
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    let Some(request) = Request::read(&stream) else {
        return;
    };
    let found = processes_with(&shared.marker);
    shared.found.lock().unwrap().extend(found);
    let answer = if request.header("authorization") == shared.authorization {
        *shared.authorized.lock().unwrap() += 1;
        backend(&request, &shared.root)
    } else {
        b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\n\
          Content-Length: 0\r\nConnection: close\r\n\r\n"
            .to_vec()
    };
    stream.write_all(&answer).unwrap();
}

/// Runs the backend and makes its answer one of HTTP.
fn backend(request: &Request, root: &Path) -> Vec<u8> {
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_HTTP_EXPORT_ALL", "")
        .env("GIT_PROJECT_ROOT", root)
        .env("REQUEST_METHOD", &request.method)
        .env("PATH_INFO", &request.path)
        .env("QUERY_STRING", &request.query)
        .env("REMOTE_USER", "tester")
        .env("CONTENT_TYPE", request.header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", request.header("content-encoding"))
        .env("HTTP_GIT_PROTOCOL", request.header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&request.body)
        .unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    let end = output
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let headers = String::from_utf8(output[..end].to_vec()).unwrap();
    let mut status = "200 OK";
    let mut kept = String::new();
    for line in headers.lines() {
        match line.strip_prefix("Status: ") {
            Some(line) => status = line,
            None => kept.push_str(&format!("{line}\r\n")),
        }
    }
    let mut answer = format!("HTTP/1.1 {status}\r\n{kept}Connection: close\r\n\r\n").into_bytes();
    answer.extend_from_slice(&output[end + 4..]);
    answer
}

/// Processes that show the marker in their arguments or environment.
pub(crate) fn processes_with(marker: &str) -> Vec<String> {
    let holds = |bytes: Vec<u8>| {
        bytes
            .windows(marker.len())
            .any(|part| part == marker.as_bytes())
    };
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        for file in ["cmdline", "environ"] {
            let path = entry.path().join(file);
            if entry.file_name().to_string_lossy().parse::<u32>().is_ok()
                && fs::read(&path).is_ok_and(holds)
            {
                found.push(path.display().to_string());
            }
        }
    }
    found
}
