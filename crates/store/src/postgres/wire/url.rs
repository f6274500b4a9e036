//! Where a database is, as people write it: `postgres://user:password@host:port/name?key=value`.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use armarius_engine::seam::StoreError;

/// Shards of a new database unless told otherwise.
pub const SHARDS: u16 = 16;
/// More shards than that cannot be: names and words carry the shard's number.
pub(in crate::postgres) const SHARDS_MAX: u16 = 64;
/// Connections to one database unless told otherwise.
pub(in crate::postgres) const CONNECTIONS: usize = 12;

const PORT: u16 = 5432;
const CONNECT_SECONDS: u64 = 5;
const SCHEMA: &str = "armarius";
const SCHEMA_BYTES_MAX: usize = 48;

/// Where a database is and how it is spoken to. Shown without its password.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::postgres) struct Address {
    /// Tried in order.
    pub(in crate::postgres) hosts: Vec<Host>,
    pub(in crate::postgres) user: String,
    pub(in crate::postgres) password: Option<String>,
    pub(in crate::postgres) database: String,
    /// The schema that holds the tables.
    pub(in crate::postgres) schema: String,
    /// Shards, when the schema is made.
    pub(in crate::postgres) shards: u16,
    /// Connections at once.
    pub(in crate::postgres) connections: usize,
    /// Whether commits are told to other servers, and theirs listened to.
    pub(in crate::postgres) notify: bool,
    /// Whether statements get names, so that the server reads and plans each of them once per
    /// connection. Not behind a pooler that gives every transaction another connection.
    pub(in crate::postgres) named: bool,
    pub(in crate::postgres) tls: TlsMode,
    /// Certificates that are trusted; those of the system when absent.
    pub(in crate::postgres) root_certificates: Option<PathBuf>,
    pub(in crate::postgres) connect_timeout: Duration,
    pub(in crate::postgres) application: String,
}

/// One place a server may listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum Host {
    /// A machine.
    Tcp(String, u16),
    /// The folder of a socket, and its number.
    Unix(PathBuf, u16),
}

/// How much is asked of encryption, in libpq's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::postgres) enum TlsMode {
    /// Never.
    Disable,
    /// Where the server offers it.
    Prefer,
    /// Always, whoever the server is.
    Require,
    /// Always, with a certificate that is trusted.
    VerifyCa,
    /// Always, with a certificate that is trusted and names the host.
    VerifyFull,
}

impl Address {
    /// Reads an address.
    pub(in crate::postgres) fn parse(text: &str) -> Result<Self, StoreError> {
        let rest = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"))
            .ok_or_else(|| bad("it does not begin with postgres://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (decoded(user)?, Some(decoded(password)?)),
            None => (decoded(login)?, None),
        };
        let mut address = Self {
            hosts: Vec::new(),
            user,
            password,
            database: decoded(database)?,
            schema: SCHEMA.to_owned(),
            shards: SHARDS,
            connections: CONNECTIONS,
            notify: true,
            named: false,
            tls: TlsMode::Prefer,
            root_certificates: None,
            connect_timeout: Duration::from_secs(CONNECT_SECONDS),
            application: "armarius".to_owned(),
        };
        let mut names: Vec<(String, Option<u16>)> = Vec::new();
        for host in hosts.split(',').filter(|h| !h.is_empty()) {
            names.push(host_of(host)?);
        }
        let mut port = None;
        for pair in query.split('&').filter(|p| !p.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(value)?;
            match key {
                "host" => names = value.split(',').map(|h| (h.to_owned(), None)).collect(),
                "port" => port = Some(number(key, &value, 65_535)?),
                _ => address.set(key, value)?,
            }
        }
        if names.is_empty() {
            return Err(bad("it names no host; write one, or ?host=/folder/of/the/socket"));
        }
        address.hosts = names.into_iter().map(|(n, p)| place(n, p.or(port))).collect();
        address.complete()
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), StoreError> {
        match key {
            "user" => self.user = value,
            "password" => self.password = Some(value),
            "dbname" => self.database = value,
            "schema" => self.schema = value,
            "shards" => self.shards = number(key, &value, SHARDS_MAX.into())?,
            "connections" => self.connections = number::<u16>(key, &value, 1_000)?.into(),
            "notify" => self.notify = yes_or_no(key, &value)?,
            "named_statements" => self.named = yes_or_no(key, &value)?,
            "sslmode" => self.tls = tls_mode(&value)?,
            "sslrootcert" if value == "system" => self.root_certificates = None,
            "sslrootcert" => self.root_certificates = Some(PathBuf::from(value)),
            "connect_timeout" => {
                self.connect_timeout = Duration::from_secs(number::<u16>(key, &value, 600)?.into());
            }
            "application_name" => self.application = value,
            _ => {
                return Err(bad(&format!(
                    "{key} is not known; these are: host, port, user, password, dbname, schema, \
                     shards, connections, notify, named_statements, sslmode, sslrootcert, \
                     connect_timeout, application_name"
                )));
            }
        }
        Ok(())
    }

    fn complete(mut self) -> Result<Self, StoreError> {
        if self.user.is_empty() {
            "postgres".clone_into(&mut self.user);
        }
        if self.database.is_empty() {
            self.database.clone_from(&self.user);
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let begins = self.schema.starts_with(|c: char| c.is_ascii_lowercase());
        if !begins || !self.schema.chars().all(plain) || self.schema.len() > SCHEMA_BYTES_MAX {
            return Err(bad("a schema is made of a-z, 0-9 and _, and begins with a letter"));
        }
        if self.shards == 0 || self.connections == 0 {
            return Err(bad("shards and connections are at least 1"));
        }
        Ok(self)
    }
}

/// Without the password, and without what nobody asks about.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}@", self.user)?;
        for (i, host) in self.hosts.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{host}")?;
        }
        write!(f, "/{}", self.database)?;
        if self.schema == SCHEMA { Ok(()) } else { write!(f, "?schema={}", self.schema) }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(name, port) if name.contains(':') => write!(f, "[{name}]:{port}"),
            Self::Tcp(name, port) => write!(f, "{name}:{port}"),
            Self::Unix(folder, port) => write!(f, "{}:{port}", folder.display()),
        }
    }
}

fn bad(why: &str) -> StoreError {
    StoreError::Unusable(format!("the address of the database cannot be used: {why}"))
}

fn host_of(text: &str) -> Result<(String, Option<u16>), StoreError> {
    let (name, port) = match text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        Some((name, rest)) => (name, rest.strip_prefix(':')),
        None => match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map(|p| number("port", p, 65_535)).transpose()?;
    Ok((decoded(name)?, port))
}

fn place(name: String, port: Option<u16>) -> Host {
    let port = port.unwrap_or(PORT);
    if name.starts_with('/') {
        Host::Unix(PathBuf::from(name), port)
    } else {
        Host::Tcp(name, port)
    }
}

fn number<T: TryFrom<u64>>(key: &str, value: &str, max: u64) -> Result<T, StoreError> {
    let number = value.parse::<u64>().ok().filter(|n| *n <= max);
    let number = number.and_then(|n| T::try_from(n).ok());
    number.ok_or_else(|| bad(&format!("{key} is a number up to {max}")))
}

fn yes_or_no(key: &str, value: &str) -> Result<bool, StoreError> {
    match value {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err(bad(&format!("{key} is on or off"))),
    }
}

fn tls_mode(value: &str) -> Result<TlsMode, StoreError> {
    Ok(match value {
        "disable" => TlsMode::Disable,
        "allow" | "prefer" => TlsMode::Prefer,
        "require" => TlsMode::Require,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" => TlsMode::VerifyFull,
        _ => return Err(bad("sslmode is disable, prefer, require, verify-ca or verify-full")),
    })
}

/// Resolves `%2F` and its like.
fn decoded(text: &str) -> Result<String, StoreError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let hex = rest.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        let byte = hex.and_then(|h| u8::from_str_radix(h, 16).ok());
        bytes.push(byte.ok_or_else(|| bad("a % is not followed by two hexadecimal digits"))?);
        rest = rest.get(2..).unwrap_or_default();
    }
    let text = String::from_utf8(bytes).map_err(|_| bad("it is not UTF-8"))?;
    if text.contains('\0') { Err(bad("it contains a NUL character")) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_secrets() {
        for (text, shown) in [
            ("postgres://ada:geheim@db/archive", "postgres://ada@db:5432/archive"),
            ("postgresql://ada@db:6432/a?schema=two", "postgres://ada@db:6432/a?schema=two"),
            ("postgres://[::1]:9/a", "postgres://postgres@[::1]:9/a"),
            ("postgres://a%40b:p%3Aw@x,y:2/", "postgres://a@b@x:5432,y:2/a@b"),
            ("postgres:///a?host=/run/pg&port=7", "postgres://postgres@/run/pg:7/a"),
            ("postgres://%2Frun%2Fpg/a", "postgres://postgres@/run/pg:5432/a"),
            ("postgres://h/a?password=geheim", "postgres://postgres@h:5432/a"),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.to_string(), shown, "{text}");
            assert!(!format!("{address:?}").contains("geheim"), "{text}");
        }
        let address =
            Address::parse("postgres://a:p%3Aw@h/x?sslmode=verify-full&shards=4").unwrap();
        assert_eq!(address.password.as_deref(), Some("p:w"));
        assert_eq!((address.tls, address.shards), (TlsMode::VerifyFull, 4));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (text, said) in [
            ("mysql://h/a", "does not begin"),
            ("postgres:///a", "names no host"),
            ("postgres://h:99999/a", "port is a number"),
            ("postgres://h/a?sslmode=maybe", "sslmode is"),
            ("postgres://h/a?shards=0", "at least 1"),
            ("postgres://h/a?shards=65", "up to 64"),
            ("postgres://h/a?schema=a;b", "schema is made of"),
            ("postgres://h/a?colour=red", "colour is not known"),
            ("postgres://h/%zz", "two hexadecimal digits"),
        ] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
