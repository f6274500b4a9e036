//! Encryption, and whom to believe.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::url::{Address, TlsMode};

/// How the server of an address is met; `None` when nothing is to be encrypted.
pub(in crate::postgres) fn config(address: &Address) -> io::Result<Option<Arc<ClientConfig>>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let trust = match address.tls {
        TlsMode::Disable => return Ok(None),
        TlsMode::Prefer | TlsMode::Require => Trust::Anybody,
        TlsMode::VerifyCa | TlsMode::VerifyFull => {
            let roots = roots(address.root_certificates.as_deref())?;
            let known =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            let known = known.build().map_err(|e| io::Error::other(e.to_string()))?;
            if address.tls == TlsMode::VerifyFull {
                Trust::Named(known)
            } else {
                Trust::Known(known)
            }
        }
    };
    let verifier = Arc::new(Verifier { trust, provider: Arc::clone(&provider) });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| io::Error::other(e.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Some(Arc::new(config)))
}

fn roots(file: Option<&Path>) -> io::Result<RootCertStore> {
    let certificates: Vec<CertificateDer<'static>> = match file {
        Some(path) => {
            let named = |e: &dyn std::fmt::Display| {
                let path = path.display();
                io::Error::other(format!("sslrootcert {path} cannot be read: {e}"))
            };
            let found = CertificateDer::pem_file_iter(path).map_err(|e| named(&e))?;
            found.collect::<Result<_, _>>().map_err(|e| named(&e))?
        }
        None => rustls_native_certs::load_native_certs().certs,
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    if roots.is_empty() {
        return Err(io::Error::other("no trusted certificates were found; set sslrootcert"));
    }
    Ok(roots)
}

/// Whom to believe.
#[derive(Debug)]
enum Trust {
    /// Encrypted, but whoever it is: what libpq does for `prefer` and `require`.
    Anybody,
    /// Whoever has a trusted certificate.
    Known(Arc<WebPkiServerVerifier>),
    /// Whoever has a trusted certificate for the host's name.
    Named(Arc<WebPkiServerVerifier>),
}

#[derive(Debug)]
struct Verifier {
    trust: Trust,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.trust {
            Trust::Anybody => Ok(ServerCertVerified::assertion()),
            Trust::Named(known) => known.verify_server_cert(certificate, between, name, ocsp, now),
            Trust::Known(known) => {
                match known.verify_server_cert(certificate, between, name, ocsp, now) {
                    // The chain was good, or the name would not have been looked at.
                    Err(Error::InvalidCertificate(
                        CertificateError::NotValidForName
                        | CertificateError::NotValidForNameContext { .. },
                    )) => Ok(ServerCertVerified::assertion()),
                    verdict => verdict,
                }
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
