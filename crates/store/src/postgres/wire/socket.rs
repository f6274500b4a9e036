//! A socket on which every wait has an end.
//!
//! Sending and receiving go on at the same time: a server that has much to say does not block on a
//! client that still has much to ask.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{BufMut as _, BytesMut};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::url::Host;
use crate::clock::tick;

/// Silence after which the other side is asked whether it is still there.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_COUNT: u32 = 4;
/// Bytes taken from the socket at a time.
const READ_BYTES: usize = 64 << 10;

/// A connected socket, encrypted or not.
#[derive(Debug)]
pub(in crate::postgres) struct Socket {
    stream: Stream,
    tls: Option<Box<ClientConnection>>,
    piece: Vec<u8>,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects to one host.
    pub(in crate::postgres) fn connect(host: &Host, patience: Duration) -> io::Result<Self> {
        let stream = match host {
            Host::Tcp(name, port) => Stream::Tcp(tcp(name, *port, patience)?),
            Host::Unix(folder, port) => {
                Stream::Unix(UnixStream::connect(folder.join(format!(".s.PGSQL.{port}")))?)
            }
        };
        match &stream {
            Stream::Tcp(s) => s.set_nonblocking(true)?,
            Stream::Unix(s) => s.set_nonblocking(true)?,
        }
        Ok(Self { stream, tls: None, piece: vec![0; READ_BYTES] })
    }

    /// Encrypts from here on.
    pub(in crate::postgres) fn encrypt(
        &mut self,
        config: Arc<ClientConfig>,
        host: &str,
        until: Instant,
    ) -> io::Result<()> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| io::Error::other(format!("{host} is no name a certificate could have")))?;
        let tls = ClientConnection::new(config, name).map_err(io::Error::other)?;
        self.tls = Some(Box::new(tls));
        while self.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
            let sent = self.push_tls()?;
            let got = self.pull_tls()?;
            if !sent && !got {
                self.wait(self.tls.as_ref().is_some_and(|tls| tls.wants_write()), until)?;
            }
        }
        Ok(())
    }

    /// Sends everything in `out`, taking in meanwhile what arrives.
    pub(in crate::postgres) fn send(
        &mut self,
        out: &mut BytesMut,
        heard: &mut BytesMut,
        until: Instant,
    ) -> io::Result<()> {
        loop {
            let moved = self.push(out)?;
            if out.is_empty() && !self.tls.as_ref().is_some_and(|tls| tls.wants_write()) {
                return Ok(());
            }
            if !moved && !self.pull(heard)? {
                self.wait(true, until)?;
            }
        }
    }

    /// Waits for more to arrive.
    pub(in crate::postgres) fn receive(
        &mut self,
        heard: &mut BytesMut,
        until: Instant,
    ) -> io::Result<()> {
        while !self.pull(heard)? {
            self.wait(false, until)?;
        }
        Ok(())
    }

    /// Writes what the socket takes; says whether it took something.
    fn push(&mut self, out: &mut BytesMut) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else {
            return match none_if_blocked(self.stream.write(out))? {
                Some(n) => {
                    drop(out.split_to(n));
                    Ok(n > 0)
                }
                None => Ok(false),
            };
        };
        let n = if out.is_empty() { 0 } else { tls.writer().write(out)? };
        drop(out.split_to(n));
        let sent = self.push_tls()?;
        Ok(n > 0 || sent)
    }

    /// Reads what has arrived; says whether there was something.
    fn pull(&mut self, heard: &mut BytesMut) -> io::Result<bool> {
        if self.tls.is_some() {
            let got = self.pull_tls()?;
            let Some(tls) = &mut self.tls else { return Ok(got) };
            let n = none_if_blocked(tls.reader().read(&mut self.piece))?.unwrap_or(0);
            heard.put_slice(self.piece.get(..n).unwrap_or_default());
            return Ok(n > 0);
        }
        match none_if_blocked(self.stream.read(&mut self.piece))? {
            Some(0) => Err(gone()),
            Some(n) => {
                heard.put_slice(self.piece.get(..n).unwrap_or_default());
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn push_tls(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        let mut moved = false;
        while tls.wants_write() {
            match none_if_blocked(tls.write_tls(&mut self.stream))? {
                Some(_) => moved = true,
                None => break,
            }
        }
        Ok(moved)
    }

    fn pull_tls(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        if !tls.wants_read() {
            return Ok(false);
        }
        match none_if_blocked(tls.read_tls(&mut self.stream))? {
            Some(0) => Err(gone()),
            Some(_) => {
                tls.process_new_packets().map_err(io::Error::other)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn wait(&self, to_write: bool, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(tick());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the database did not answer"));
        }
        let flags = if to_write { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut fds = [PollFd::from_borrowed_fd(self.stream.as_fd(), flags)];
        let left = Timespec::try_from(left).map_err(|_| io::Error::other("too long a wait"))?;
        match poll(&mut fds, Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(s) => s.as_fd(),
            Self::Unix(s) => s.as_fd(),
        }
    }
}

impl io::Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(s) => s.read(buf),
            Self::Unix(s) => s.read(buf),
        }
    }
}

impl io::Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(s) => s.write(buf),
            Self::Unix(s) => s.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn tcp(name: &str, port: u16, patience: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::other(format!("{name} has no address"));
    for address in (name, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                sockopt::set_socket_keepalive(&stream, true)?;
                sockopt::set_tcp_keepidle(&stream, KEEPALIVE_IDLE)?;
                sockopt::set_tcp_keepintvl(&stream, KEEPALIVE_INTERVAL)?;
                sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_COUNT)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the database closed the connection")
}

fn none_if_blocked(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(n) => Ok(Some(n)),
        Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}
