//! A blocking client of the API, for the command line and the worker.

mod feed;
pub mod output;

pub use feed::News;

use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::Body;
use ureq::http::Response;
use ureq::tls::{RootCerts, TlsConfig};

use crate::v1::Problem;
use crate::v1::lease::{Heartbeat, Listen, Renewed, Stops};
use crate::v1::report::{Report, Reported};
use crate::v1::{claim, problem};

/// Largest answer that is read.
const ANSWER_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a sign of life may take.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer may take, beyond the time a claim asks to wait.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A server and the key to it.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    url: String,
    key: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody answers there.
    #[error("no server answers at {url}: {why}")]
    Unreachable {
        /// Where.
        url: String,
        /// What happened.
        why: String,
    },
    /// The server says no.
    #[error("{}", .0.detail)]
    Refused(Box<Problem>),
    /// The server answers something that this client does not understand.
    #[error("{url} answered something unexpected: {why}")]
    Garbled {
        /// Where.
        url: String,
        /// What is wrong with it.
        why: String,
    },
}

/// What came of a request.
pub type Answer<T> = Result<T, Error>;

impl Client {
    /// A client of the server at `url`, such as `http://127.0.0.1:7700`.
    #[must_use]
    pub fn new(url: &str, key: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(ANSWER_TIMEOUT))
            .proxy(None)
            // An archive's own authority counts, if its machines know it.
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
            .build();
        let url = url.trim_end_matches('/').to_owned();
        Self { agent: config.into(), url, key: key.to_owned() }
    }

    /// The server's address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Reads something. `path` begins behind `/api/v1/`.
    pub fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, &str)]) -> Answer<T> {
        let mut request = self.agent.get(self.at(path)).header("authorization", self.bearer());
        for (name, value) in query {
            request = request.query(name, value);
        }
        self.read(request.call())
    }

    /// Reads a text, at most so many bytes of it.
    pub fn get_text(&self, path: &str, bytes_max: u64) -> Answer<String> {
        let request = self.agent.get(self.at(path)).header("authorization", self.bearer());
        let mut response = self.accept(request.call())?;
        let body = response.body_mut().with_config().limit(bytes_max).read_to_string();
        body.map_err(|e| Error::Garbled { url: self.url.clone(), why: e.to_string() })
    }

    /// Opens something large, which is read piece by piece for as long as that takes.
    pub fn open(&self, path: &str) -> Answer<impl std::io::Read + Send + use<>> {
        let request = self.agent.get(self.at(path)).header("authorization", self.bearer());
        let request = request.config().timeout_global(None).build();
        Ok(self.accept(request.call())?.into_body().into_reader())
    }

    /// Sends a body and reads the answer.
    pub fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Answer<T> {
        self.read(self.send(self.agent.post(self.at(path)), body))
    }

    /// Puts a body and reads the answer.
    pub fn put<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Answer<T> {
        self.read(self.send(self.agent.put(self.at(path)), body))
    }

    /// Puts a body where no answer but "done" is expected.
    pub fn put_done(&self, path: &str, body: &impl Serialize) -> Answer<()> {
        self.done(self.send(self.agent.put(self.at(path)), body))
    }

    /// Puts the text of a flow file.
    pub fn put_text<T: DeserializeOwned>(&self, path: &str, kind: &str, text: &str) -> Answer<T> {
        let request = self.agent.put(self.at(path)).header("authorization", self.bearer());
        self.read(request.content_type(kind).send(text.as_bytes()))
    }

    /// Deletes something.
    pub fn delete(&self, path: &str) -> Answer<()> {
        let request = self.agent.delete(self.at(path)).header("authorization", self.bearer());
        self.done(request.call())
    }

    /// Deletes something and reads the answer.
    pub fn delete_for<T: DeserializeOwned>(&self, path: &str) -> Answer<T> {
        let request = self.agent.delete(self.at(path)).header("authorization", self.bearer());
        self.read(request.call())
    }

    /// Sends a body where no answer but "done" is expected.
    pub fn tell(&self, path: &str, body: &impl Serialize) -> Answer<()> {
        self.done(self.send(self.agent.post(self.at(path)), body))
    }

    /// Asks for work; `None` when none came in time.
    pub fn claim(&self, claim: &claim::Request) -> Answer<Option<claim::Reply>> {
        self.claim_as(claim)
    }

    /// As [`Client::claim`], for those who read only some fields of the answer.
    pub fn claim_as<T: DeserializeOwned>(&self, claim: &claim::Request) -> Answer<Option<T>> {
        let patience = Duration::from_secs(u64::from(claim.wait_s)) + ANSWER_TIMEOUT;
        let request = self.agent.post(self.at("claims"));
        let request = request.config().timeout_global(Some(patience)).build();
        let response = self.accept(self.send(request, claim))?;
        if response.status().as_u16() == 204 {
            return Ok(None);
        }
        self.decode(response).map(Some)
    }

    /// Renews a lease.
    ///
    /// A sign of life that hangs holds up the next ones, so it does not wait as long as others.
    pub fn heartbeat(&self, lease: &str, beat: &Heartbeat) -> Answer<Renewed> {
        let request = self.agent.post(self.at(&format!("leases/{lease}/heartbeat")));
        let request = request.config().timeout_global(Some(HEARTBEAT_TIMEOUT)).build();
        self.read(self.send(request, beat))
    }

    /// Waits until tasks of some leases are to be stopped.
    pub fn stops(&self, listen: &Listen) -> Answer<Stops> {
        let patience = Duration::from_secs(u64::from(listen.wait_s)) + ANSWER_TIMEOUT;
        let request = self.agent.post(self.at("leases/stops"));
        let request = request.config().timeout_global(Some(patience)).build();
        self.read(self.send(request, listen))
    }

    /// Reports what came of tasks.
    pub fn report(&self, reports: &[Report]) -> Answer<Vec<Reported>> {
        self.post("reports", &reports)
    }

    fn send(
        &self,
        request: ureq::RequestBuilder<ureq::typestate::WithBody>,
        body: &impl Serialize,
    ) -> Result<Response<Body>, ureq::Error> {
        request.header("authorization", self.bearer()).send_json(body)
    }

    fn at(&self, path: &str) -> String {
        format!("{}/api/v1/{path}", self.url)
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.key)
    }

    fn read<T: DeserializeOwned>(&self, sent: Result<Response<Body>, ureq::Error>) -> Answer<T> {
        let response = self.accept(sent)?;
        self.decode(response)
    }

    fn done(&self, sent: Result<Response<Body>, ureq::Error>) -> Answer<()> {
        // The rest is read so that the connection can be used again.
        let mut response = self.accept(sent)?;
        drop(response.body_mut().read_to_vec());
        Ok(())
    }

    /// An answer that says yes, or the reason it says no.
    fn accept(&self, sent: Result<Response<Body>, ureq::Error>) -> Answer<Response<Body>> {
        let url = || self.url.clone();
        let mut response =
            sent.map_err(|e| Error::Unreachable { url: url(), why: e.to_string() })?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let text = response.body_mut().read_to_string().unwrap_or_default();
        let known: Option<Problem> = serde_json::from_str(&text).ok();
        match known {
            Some(problem) => Err(Error::Refused(Box::new(problem))),
            None => Err(Error::Garbled { url: url(), why: format!("status {status}") }),
        }
    }

    fn decode<T: DeserializeOwned>(&self, mut response: Response<Body>) -> Answer<T> {
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let garbled = |why: String| Error::Garbled { url: self.url.clone(), why };
        let bytes = body.map_err(|e| garbled(e.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|e| garbled(e.to_string()))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key stays out of logs.
        write!(f, "Client({})", self.url)
    }
}

impl Error {
    /// What to do next, where the server said.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::Refused(problem) => &problem.hint,
            Self::Unreachable { .. } | Self::Garbled { .. } => "",
        }
    }

    /// The places in a text the refusal is about.
    #[must_use]
    pub fn places(&self) -> &[problem::Place] {
        match self {
            Self::Refused(problem) => &problem.problems,
            Self::Unreachable { .. } | Self::Garbled { .. } => &[],
        }
    }
}

/// An address as it stands in a URL's path: its own escapes stay, and what a URL cannot hold is
/// escaped by the same rule.
#[must_use]
pub fn in_path(address: &str) -> String {
    let mut out = String::with_capacity(address.len() + 8);
    for byte in address.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/%".contains(&byte);
        if plain {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A name as one segment of a URL's path.
#[must_use]
pub fn segment(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_the_path() {
        for (address, path) in [
            ("maps/page/7", "maps/page/7"),
            ("maps/page/vol%201/7%23a", "maps/page/vol%201/7%23a"),
            ("é/k/a?b", "%C3%A9/k/a%3Fb"),
        ] {
            assert_eq!(in_path(address), path);
        }
        assert_eq!(segment("a/b.c"), "a%2Fb%2Ec");
    }
}
