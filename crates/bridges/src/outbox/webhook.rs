//! Letters to `https://…`: a POST of the letter's JSON, with its number in a header.

use std::time::Duration;

use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, config::Config, http};

use super::Options;
use super::address::{self, Allowed};
use super::delivery::Missed;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// What is read of an answer, so that its connection can be used again.
const ANSWER_BYTES_MAX: u64 = 64 * 1024;

/// What posts.
pub(super) struct Hooks {
    agent: Agent,
}

impl Hooks {
    pub(super) fn new(options: &Options) -> Self {
        let config = Config::builder()
            .http_status_as_error(false)
            // A redirect could lead from an address that is allowed to one that is not.
            .max_redirects(0)
            .proxy(None)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(options.timeout))
            .max_idle_connections_per_host(1)
            .user_agent(concat!("armarius/", env!("CARGO_PKG_VERSION")))
            .tls_config(TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build())
            .build();
        let resolver = Guarded { allowed: Allowed::new(&options.allow) };
        Self { agent: Agent::with_parts(config, DefaultConnector::default(), resolver) }
    }

    /// Posts a letter; it has arrived when the answer is 2xx.
    pub(super) fn post(&self, to: &str, n: i64, body: &str) -> Result<(), Missed> {
        let sent = self
            .agent
            .post(to)
            .content_type("application/json")
            // The same for every delivery of this letter: who has seen it passes over it.
            .header("idempotency-key", n.to_string())
            .send(body);
        let mut response = sent.map_err(|e| Missed::new(e.to_string()))?;
        let status = response.status();
        let after = retry_after(response.headers());
        drop(response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec());
        match status.as_u16() {
            200..=299 => Ok(()),
            300..=399 => Err(Missed::new(format!("answered {status}; redirects are not followed"))),
            _ => Err(Missed { why: format!("answered {status}"), after }),
        }
    }
}

fn retry_after(headers: &http::HeaderMap) -> Option<Duration> {
    let seconds: u64 = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Looks names up, and gives no address of a private network unless that was allowed. The address
/// that is judged is the one that is used.
#[derive(Debug)]
struct Guarded {
    allowed: Allowed,
}

impl Resolver for Guarded {
    fn resolve(
        &self,
        uri: &http::Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = DefaultResolver::default().resolve(uri, config, timeout)?;
        let host = uri.host().unwrap_or_default();
        let mut good = self.empty();
        for address in found.iter() {
            if address::is_public(address.ip()) || self.allowed.holds(host, address.port()) {
                good.push(*address);
            }
        }
        if good.is_empty() {
            let why =
                format!("{host} is in a private network; add it to outbox.allow if it is meant");
            return Err(ureq::Error::Other(why.into()));
        }
        Ok(good)
    }
}
