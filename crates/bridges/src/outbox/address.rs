//! Where letters may go: anywhere public, and to private addresses that were allowed by name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Hosts that may be private.
#[derive(Clone, Debug, Default)]
pub(super) struct Allowed(Vec<(String, Option<u16>)>);

impl Allowed {
    /// Reads `HOST` or `HOST:PORT`; an address of version 6 stands in brackets.
    pub(super) fn new(hosts: &[String]) -> Self {
        let one = |text: &String| {
            let text = text.trim().to_ascii_lowercase();
            let port = text
                .rsplit_once(':')
                .filter(|(host, _)| !host.contains(':') || host.ends_with(']'));
            match port.and_then(|(host, port)| Some((host, port.parse().ok()?))) {
                Some((host, port)) => (host.to_owned(), Some(port)),
                None => (text, None),
            }
        };
        Self(hosts.iter().map(one).collect())
    }

    pub(super) fn holds(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        self.0.iter().any(|(name, only)| *name == host && only.is_none_or(|only| only == port))
    }
}

/// Whether an address can be reached from anywhere, as far as it says.
pub(super) fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let protocol = a == 192 && b == 0 && c == 0;
    let benchmark = a == 198 && (b == 18 || b == 19);
    !(ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_documentation()
        || a == 0
        || shared
        || protocol
        || benchmark
        || a >= 224)
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let s = ip.segments();
    let inner = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match s {
        // Addresses of version 4 in another coat.
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] => (high, low) > (0, 1) && inner(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => inner(high, low),
        [0x2002, high, low, ..] => inner(high, low),
        // Global unicast, without documentation and what tunnels elsewhere.
        [0x2001, 0xdb8 | 0, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// A destination as it may stand in a log: without user, password and query.
pub(super) fn shown(to: &str) -> String {
    let (head, rest) = to.split_once("://").unwrap_or(("", to));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    let text = if head.is_empty() { rest.to_owned() } else { format!("{head}://{host}{path}") };
    text.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_in_every_coat() {
        for text in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "2001:0::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn hosts_are_allowed_with_and_without_port() {
        let hosts = ["Hooks.example:8080", "inner.example", "[::1]:9", "127.0.0.1"];
        let allowed = Allowed::new(&hosts.map(str::to_owned));
        for (host, port, yes) in [
            ("hooks.example", 8080, true),
            ("hooks.example", 80, false),
            ("INNER.example", 443, true),
            ("[::1]", 9, true),
            ("[::1]", 10, false),
            ("127.0.0.1", 1, true),
            ("x.inner.example", 443, false),
        ] {
            assert_eq!(allowed.holds(host, port), yes, "{host}:{port}");
        }
    }

    #[test]
    fn what_is_logged_holds_no_secret() {
        assert_eq!(
            shown("https://me:secret@host.example/a/b?key=secret"),
            "https://host.example/a/b"
        );
        assert_eq!(shown("file:letters"), "file:letters");
    }
}
