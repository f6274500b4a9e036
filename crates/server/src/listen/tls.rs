//! Encryption: a certificate and its key from two files, read again when they change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How often the files are looked at.
const LOOK_REST: Duration = Duration::from_secs(5);

/// The two files.
#[derive(Clone, Debug)]
pub struct Files {
    /// The certificate and those that lead to its root, as PEM.
    pub cert: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
}

/// Why there is no encryption.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read, or holds something else.
    #[error("{}: {why}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Certificate and key do not belong together, or cannot be used.
    #[error("certificate and key cannot be used: {0}")]
    Pair(String),
}

/// Encrypts connections.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    pair: Arc<Pair>,
}

/// The newest good pair.
#[derive(Debug)]
struct Pair {
    files: Files,
    newest: RwLock<Arc<CertifiedKey>>,
}

impl Tls {
    /// Reads the files.
    pub fn open(files: Files) -> Result<Self, Error> {
        let newest = RwLock::new(Arc::new(read(&files)?));
        let pair = Arc::new(Pair { files, newest });
        let provider = Arc::new(ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::Pair(e.to_string()))?;
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Pair>::clone(&pair);
        let mut config = config.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), pair })
    }

    /// Reads the files again whenever they change, until it is dropped. What cannot be used leaves
    /// the pair that is in use.
    pub async fn tend(self) {
        let mut seen = times(&self.pair.files);
        loop {
            tokio::time::sleep(LOOK_REST).await;
            let now = times(&self.pair.files);
            if now != seen {
                seen = now;
                self.reload();
            }
        }
    }

    /// Reads the files again. What cannot be used is reported, and the old pair stays.
    pub fn reload(&self) {
        match read(&self.pair.files) {
            Ok(fresh) => {
                *self.pair.newest.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fresh);
                tracing::info!("a new certificate is in use");
            }
            Err(error) => {
                tracing::error!("the new certificate cannot be used, the old one stays: {error}");
            }
        }
    }

    pub(super) async fn accept(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(stream).await
    }
}

impl ResolvesServerCert for Pair {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.newest.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn read(files: &Files) -> Result<CertifiedKey, Error> {
    let wrong = |path: &Path, why: String| Error::File { path: path.to_owned(), why };
    let certs = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| wrong(&files.cert, e.to_string()))?;
    if certs.is_empty() {
        return Err(wrong(&files.cert, "there is no certificate in it".to_owned()));
    }
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|e| wrong(&files.key, e.to_string()))?;
    CertifiedKey::from_der(certs, key, &ring::default_provider())
        .map_err(|e| Error::Pair(e.to_string()))
}

fn times(files: &Files) -> [Option<SystemTime>; 2] {
    let time = |path: &Path| std::fs::metadata(path).and_then(|m| m.modified()).ok();
    [time(&files.cert), time(&files.key)]
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tls({:?})", self.pair.files)
    }
}
