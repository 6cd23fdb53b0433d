//! A real sshd on loopback, with one host key and one authorized key.

#![expect(clippy::print_stderr, reason = "tests say what does not run")]

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// A running sshd; ended when dropped.
pub(crate) struct SshServer {
    pub(crate) port: u16,
    /// The line that pins its host key.
    pub(crate) known_hosts: String,
    /// A private key that it lets in.
    pub(crate) private_key: String,
    /// The user it lets in.
    pub(crate) user: String,
    child: Child,
}

impl SshServer {
    /// Starts it with its files in `directory`; `None`, said aloud, where there is no sshd.
    pub(crate) fn start(directory: &Path) -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("not run: no sshd on this machine (package `openssh-server`)");
            return None;
        };
        fs::create_dir_all(directory).unwrap();
        let host_key = make_key(&directory.join("host_key"));
        let public_key = make_key(&directory.join("deploy_key"));
        fs::write(directory.join("authorized"), public_key).unwrap();
        let user = output_of("id", &["-un"]);
        if user == "root" {
            // sshd started by root wants this directory of its package's service.
            fs::create_dir_all("/run/sshd").unwrap();
            fs::set_permissions("/run/sshd", fs::Permissions::from_mode(0o755)).unwrap();
        }
        // Another process may take the port between our look and sshd's: then the next one.
        let (child, port) = (0..5).find_map(|_| listen(&program, directory)).unwrap();
        Some(SshServer {
            port,
            known_hosts: format!("[127.0.0.1]:{port} {host_key}"),
            private_key: fs::read_to_string(directory.join("deploy_key")).unwrap(),
            user,
            child,
        })
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/usr/local/sbin".into()])
        .map(|directory| directory.join("sshd"))
        .find(|program| program.is_file())
}

/// Makes a key and answers its public half: kind and key.
fn make_key(path: &Path) -> String {
    let path = path.to_str().unwrap();
    output_of(
        "ssh-keygen",
        &["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path],
    );
    fs::read_to_string(format!("{path}.pub"))
        .unwrap()
        .trim()
        .to_owned()
}

fn output_of(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Starts sshd on a free port and waits until it says that it listens.
fn listen(program: &Path, directory: &Path) -> Option<(Child, u16)> {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let shown = directory.display();
    let settings = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {shown}/host_key\nPidFile none\n\
         AuthorizedKeysFile {shown}/authorized\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nUsePAM no\n\
         StrictModes no\n"
    );
    let file = directory.join("sshd_config");
    fs::write(&file, settings).unwrap();
    let mut child = Command::new(program)
        .args(["-D", "-e", "-f"])
        .arg(&file)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = String::new();
    for line in lines.by_ref() {
        let line = line.unwrap();
        if line.contains("Server listening") {
            // Its pipe must not fill up, nor break, while it runs.
            std::thread::spawn(move || lines.for_each(drop));
            return Some((child, port));
        }
        said.push_str(&line);
    }
    child.wait().unwrap();
    assert!(said.contains("Address already in use"), "{said}");
    None
}
