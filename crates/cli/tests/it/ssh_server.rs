//! A real sshd on loopback that serves one git repository to one key.

#![expect(clippy::print_stderr, reason = "tests say what does not run")]
#![expect(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

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
    /// The user it lets in.
    pub(crate) user: String,
    /// The file of the private key that it lets in.
    pub(crate) key: PathBuf,
    child: Child,
}

impl SshServer {
    /// Starts it with its files in `directory`. Whoever has the key may read the bare repository
    /// `<root>/<name>` as `name`, and nothing else. `None`, said aloud, where there is no sshd.
    pub(crate) fn start(directory: &Path, root: &Path, name: &str) -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("not run: no sshd on this machine (package `openssh-server`)");
            return None;
        };
        fs::create_dir_all(directory).unwrap();
        make_key(&directory.join("host_key"));
        let public = make_key(&directory.join("deploy_key"));
        let serve = directory.join("serve");
        let script = format!(
            "#!/bin/sh\n[ \"$SSH_ORIGINAL_COMMAND\" = \"git-upload-pack '{name}'\" ] || exit 1\n\
             exec git upload-pack '{}'\n",
            root.join(name).display()
        );
        fs::write(&serve, script).unwrap();
        fs::set_permissions(&serve, fs::Permissions::from_mode(0o755)).unwrap();
        let line = format!("restrict,command=\"{}\" {public}\n", serve.display());
        fs::write(directory.join("authorized"), line).unwrap();
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
            user,
            key: directory.join("deploy_key"),
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

/// Makes a key and answers its public half.
fn make_key(path: &Path) -> String {
    let path = path.to_str().unwrap();
    output_of(
        "ssh-keygen",
        &["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path],
    );
    let public = fs::read_to_string(format!("{path}.pub")).unwrap();
    public.trim().to_owned()
}

fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Starts sshd on a free port and waits until it says that it listens.
fn listen(program: &Path, directory: &Path) -> Option<(Child, u16)> {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
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
