//! The first words of a connection: encryption, who we are, what proves it.

use std::io;
use std::time::Instant;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;

use super::socket::Socket;
use super::talk::Talk;
use super::tls;
use super::trouble::{Complaint, Trouble};
use super::url::{Address, Host, TlsMode};
use crate::clock::tick;

/// Connects to the first host of an address that answers.
pub(in crate::postgres) fn connect(address: &Address) -> Result<Talk, Trouble> {
    let mut last = Trouble::Link("there is no host to connect to".to_owned());
    for host in &address.hosts {
        match connect_to(host, address) {
            Ok(talk) => return Ok(talk),
            Err(trouble) => last = within(host, trouble),
        }
    }
    Err(last)
}

fn within(host: &Host, trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Link(why) => Trouble::Link(format!("{host}: {why}")),
        Trouble::Nonsense(why) => Trouble::Nonsense(format!("{host}: {why}")),
        Trouble::Server(complaint) => Trouble::Server(complaint),
    }
}

fn connect_to(host: &Host, address: &Address) -> Result<Talk, Trouble> {
    let until = tick() + address.connect_timeout;
    let mut socket = Socket::connect(host, address.connect_timeout)?;
    if let Host::Tcp(name, _) = host {
        encrypt(&mut socket, name, address, until)?;
    }
    let mut talk = Talk::new(socket);
    talk.names.given = address.named;
    introduce(&mut talk, address, until)?;
    Ok(talk)
}

fn encrypt(
    socket: &mut Socket,
    name: &str,
    address: &Address,
    until: Instant,
) -> Result<(), Trouble> {
    let Some(config) = tls::config(address)? else { return Ok(()) };
    let (mut out, mut heard) = (BytesMut::new(), BytesMut::new());
    frontend::ssl_request(&mut out);
    socket.send(&mut out, &mut heard, until)?;
    while heard.is_empty() {
        socket.receive(&mut heard, until)?;
    }
    // Bytes after the answer would be somebody else's, put there before the encryption began.
    match (&heard[..], address.tls) {
        (b"S", _) => Ok(socket.encrypt(config, name, until)?),
        (b"N", TlsMode::Prefer) => Ok(()),
        (b"N", _) => Err(Trouble::Nonsense("the server does not offer TLS".to_owned())),
        _ => Err(Trouble::Nonsense("the server answers the request for TLS oddly".to_owned())),
    }
}

fn introduce(talk: &mut Talk, address: &Address, until: Instant) -> Result<(), Trouble> {
    let words = [
        ("user", address.user.as_str()),
        ("database", address.database.as_str()),
        ("application_name", address.application.as_str()),
        ("client_encoding", "UTF8"),
    ];
    frontend::startup_message(words, &mut talk.out)?;
    talk.send(until)?;
    let mut scram = None;
    loop {
        match talk.hear(until)? {
            Message::AuthenticationOk => {}
            Message::AuthenticationCleartextPassword => {
                frontend::password_message(password(address)?.as_bytes(), &mut talk.out)?;
            }
            Message::AuthenticationMd5Password(body) => {
                let (user, word) = (address.user.as_bytes(), password(address)?.as_bytes());
                let hash = md5_hash(user, word, body.salt());
                frontend::password_message(hash.as_bytes(), &mut talk.out)?;
            }
            Message::AuthenticationSasl(body) => {
                offers_scram(&body)?;
                let word = password(address)?.as_bytes();
                let begun = ScramSha256::new(word, ChannelBinding::unsupported());
                frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), &mut talk.out)?;
                scram = Some(begun);
            }
            Message::AuthenticationSaslContinue(body) => {
                let scram = scram.as_mut().ok_or_else(odd)?;
                scram.update(body.data())?;
                frontend::sasl_response(scram.message(), &mut talk.out)?;
            }
            Message::AuthenticationSaslFinal(body) => {
                scram.as_mut().ok_or_else(odd)?.finish(body.data())?;
            }
            Message::ErrorResponse(body) => {
                return Err(Trouble::Server(Complaint::read(body.fields())));
            }
            Message::ReadyForQuery(_) => return Ok(()),
            Message::BackendKeyData(_)
            | Message::ParameterStatus(_)
            | Message::NoticeResponse(_) => {}
            _ => {
                return Err(Trouble::Nonsense(
                    "the server asks for a way to sign in that is not known here".to_owned(),
                ));
            }
        }
        talk.send(until)?;
    }
}

fn offers_scram(body: &AuthenticationSaslBody) -> Result<(), Trouble> {
    let mut offered = body.mechanisms();
    while let Some(mechanism) = offered.next()? {
        if mechanism == SCRAM_SHA_256 {
            return Ok(());
        }
    }
    Err(Trouble::Nonsense("the server offers no SCRAM-SHA-256".to_owned()))
}

fn password(address: &Address) -> Result<&str, Trouble> {
    address.password.as_deref().ok_or_else(|| {
        Trouble::Server(Complaint {
            code: "28P01".to_owned(),
            text: format!("the server wants a password for {}, and none was given", address.user),
            fatal: true,
        })
    })
}

fn odd() -> Trouble {
    io::Error::new(io::ErrorKind::InvalidData, "the server signs in out of order").into()
}
