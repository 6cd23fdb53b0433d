//! Fetching a file over HTTP, its digest taken on the way.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use aws_lc_rs::digest::{Context, SHA256};

use super::error::ToolError;

/// The most bytes that an archive may have.
const ARCHIVE_LIMIT: u64 = 512 << 20;

const CONNECT_LIMIT: Duration = Duration::from_secs(15);

/// How long a server may say nothing.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);

/// What was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    /// The SHA-256 in hexadecimal.
    pub(super) sha256: String,
}

/// An HTTP client that honours `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
#[derive(Debug)]
pub(super) struct Client {
    ca_bundle: Option<PathBuf>,
}

impl Client {
    /// `ca_bundle` is a PEM file of authorities to trust beside the system's.
    pub(super) fn new(ca_bundle: Option<PathBuf>) -> Self {
        Client { ca_bundle }
    }

    /// Fetches `url` into the file `to`. `arrived` is told the bytes so far and the total where it
    /// was announced.
    pub(super) fn fetch(
        &self,
        url: &str,
        to: &Path,
        arrived: &mut (dyn FnMut(u64, Option<u64>) + Send),
    ) -> Result<Fetched, ToolError> {
        let unreachable =
            |source: Box<dyn std::error::Error + Send + Sync>| ToolError::Unreachable {
                url: url.to_owned(),
                source,
            };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| unreachable(error.into()))?;
        // A thread of its own: a caller that is itself inside a runtime may not block on another.
        std::thread::scope(|scope| {
            scope
                .spawn(|| runtime.block_on(self.fetch_now(url, to, arrived)))
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    async fn fetch_now(
        &self,
        url: &str,
        to: &Path,
        arrived: &mut (dyn FnMut(u64, Option<u64>) + Send),
    ) -> Result<Fetched, ToolError> {
        let unreachable = |error: reqwest::Error| ToolError::Unreachable {
            url: url.to_owned(),
            source: error.without_url().into(),
        };
        let client = self.client().await?.build().map_err(unreachable)?;
        let mut response = client.get(url).send().await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(ToolError::Status {
                url: url.to_owned(),
                status: response.status().as_u16(),
            });
        }
        let total = response.content_length();
        let mut sink = Sink::create(to)?;
        loop {
            match response.chunk().await {
                Ok(Some(bytes)) => sink.write(&bytes)?,
                Ok(None) => return sink.finish(),
                Err(error) => {
                    return Err(ToolError::Truncated {
                        url: url.to_owned(),
                        received: sink.size,
                        source: Some(error.without_url().into()),
                    });
                }
            }
            if sink.size > ARCHIVE_LIMIT {
                return Err(ToolError::TooLarge {
                    url: url.to_owned(),
                    limit: ARCHIVE_LIMIT,
                });
            }
            arrived(sink.size, total);
        }
    }

    async fn client(&self) -> Result<reqwest::ClientBuilder, ToolError> {
        let mut builder = reqwest::Client::builder()
            .connect_timeout(CONNECT_LIMIT)
            .read_timeout(SILENCE_LIMIT)
            .user_agent(concat!("groundplan/", env!("CARGO_PKG_VERSION")));
        if let Some(path) = &self.ca_bundle {
            let unusable = |source| ToolError::run(path.display().to_string(), source);
            let pem = tokio::fs::read(path).await.map_err(unusable)?;
            let authorities = reqwest::Certificate::from_pem_bundle(&pem)
                .map_err(|error| unusable(io::Error::other(error)))?;
            builder = builder.tls_certs_merge(authorities);
        }
        Ok(builder)
    }
}

impl Fetched {
    /// Copies a local file.
    pub(super) fn copy(mut from: File, to: &Path) -> Result<Fetched, ToolError> {
        let mut sink = Sink::create(to)?;
        let mut buffer = vec![0; 128 * 1024];
        loop {
            match from.read(&mut buffer) {
                Ok(0) => return sink.finish(),
                Ok(count) => sink.write(&buffer[..count])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ToolError::run("copy", error)),
            }
        }
    }
}

/// A file being written, with the digest of what was written.
struct Sink<'a> {
    path: &'a Path,
    file: File,
    context: Context,
    size: u64,
}

impl<'a> Sink<'a> {
    fn create(path: &'a Path) -> Result<Self, ToolError> {
        Ok(Sink {
            path,
            file: File::create(path).map_err(|error| ToolError::write(path, error))?,
            context: Context::new(&SHA256),
            size: 0,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        self.file
            .write_all(bytes)
            .map_err(|error| ToolError::write(self.path, error))?;
        self.context.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }

    fn finish(self) -> Result<Fetched, ToolError> {
        let sha256 = self
            .context
            .finish()
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Fetched { sha256 })
    }
}
