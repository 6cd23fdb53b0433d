//! An HTTP server on loopback with the layout of the release site, which fails as it is told.

#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// What a path answers.
#[derive(Clone)]
pub(crate) enum Answer {
    /// The whole file.
    Whole(Vec<u8>),
    /// The announced length, and only this many bytes of it.
    BreaksOff(Vec<u8>, usize),
    /// Another status.
    Status(u16),
}

/// The server; it ends with the process.
pub(crate) struct Loopback {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Loopback {
    pub(crate) fn serve(answers: BTreeMap<String, Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                answer(connection, &answers, &seen);
            }
        });
        Loopback { url, requests }
    }

    /// The request lines so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn answer(connection: TcpStream, answers: &BTreeMap<String, Answer>, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut request = String::new();
    if reader.read_line(&mut request).is_err() || request.is_empty() {
        return;
    }
    let mut header = String::new();
    while reader.read_line(&mut header).is_ok_and(|count| count > 2) {
        header.clear();
    }
    seen.lock().unwrap().push(request.trim_end().to_owned());
    let target = request.split(' ').nth(1).unwrap_or_default();
    // A proxy is asked for a whole address.
    let path = match target.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |slash| &rest[slash..]),
        None => target,
    };
    let (status, length, body) = match answers.get(path) {
        Some(Answer::Whole(body)) => (200, body.len(), &body[..]),
        Some(Answer::BreaksOff(body, at)) => (200, body.len(), &body[..*at]),
        Some(Answer::Status(status)) => (*status, 0, &[][..]),
        None => (404, 0, &[][..]),
    };
    let mut connection = connection;
    // A client that has seen enough goes away: nothing to do about it.
    let _ = write!(
        connection,
        "HTTP/1.1 {status} As told\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let _ = connection.write_all(body);
    let _ = connection.shutdown(Shutdown::Both);
}
