//! Real sockets: what is not HTTP, what is too much of it, and the end.

use std::net::SocketAddr;
use std::sync::Arc;

use armarius_server::listen;
use armarius_server::listen::tls::{Files, Tls};
use armarius_server::{Rate, Settings};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::lab::Lab;

async fn serve(lab: &Lab) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
    serve_with(lab, None).await
}

async fn serve_with(
    lab: &Lab,
    tls: Option<Tls>,
) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
    let listener = listen::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (end, ended) = oneshot::channel();
    let app = lab.app.clone();
    let serving = tokio::spawn(async move {
        listen::serve(listener, app, tls, async move { drop(ended.await) }).await.await;
    });
    (address, end, serving)
}

async fn say(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    drop(stream.read_to_string(&mut answer).await);
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn what_is_not_a_request_is_refused() {
    let lab = Lab::new();
    let (address, _end, _serving) = serve(&lab).await;
    let head = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n";
    let many: String = (0..100).map(|n| format!("x-{n}: y\r\n")).collect();
    for (text, status) in [
        (format!("{head}\r\n"), "HTTP/1.1 200 OK"),
        ("NONSENSE\r\n\r\n".to_owned(), "HTTP/1.1 400 Bad Request"),
        (format!("{head}{many}\r\n"), "HTTP/1.1 431 Request Header Fields Too Large"),
        (format!("{head}x: {}\r\n\r\n", "y".repeat(1_000_000)), ""),
        (format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "y".repeat(1_000_000)), ""),
    ] {
        let said = say(address, &text).await;
        let short: String = text.chars().take(80).collect();
        // Whoever sends far too much may lose the connection before the answer is read.
        let gone = status.is_empty() && (said.is_empty() || said.starts_with("HTTP/1.1 4"));
        assert!(said == status || gone, "{short}: {said}");
    }
}

#[tokio::test]
async fn the_end_waits_for_nobody_who_is_idle() {
    let lab = Lab::new();
    let (address, end, serving) = serve(&lab).await;
    let mut idle = TcpStream::connect(address).await.unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    let mut buffer = vec![0; 1_000];
    assert!(idle.read(&mut buffer).await.unwrap() > 0);
    end.send(()).unwrap();
    serving.await.unwrap();
    assert_eq!(idle.read(&mut buffer).await.unwrap_or(0), 0);
    assert!(TcpStream::connect(address).await.is_err());
}

#[test]
fn only_loopback_is_private() {
    for (address, private) in [
        ("127.0.0.1:1", true),
        ("127.9.9.9:1", true),
        ("[::1]:1", true),
        ("[::ffff:127.0.0.1]:1", true),
        ("0.0.0.0:1", false),
        ("[::]:1", false),
        ("192.168.0.1:1", false),
    ] {
        assert_eq!(listen::is_private(&address.parse().unwrap()), private, "{address}");
    }
}

/// A certificate for `localhost`, and a client that trusts it alone.
fn certificate(folder: &std::path::Path) -> (Files, Arc<ClientConfig>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = Files { cert: folder.join("cert.pem"), key: folder.join("key.pem") };
    std::fs::write(&files.cert, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    // A resumed connection would not look at the certificate again.
    client.resumption = rustls::client::Resumption::disabled();
    (files, Arc::new(client))
}

async fn ask_encrypted(address: SocketAddr, client: Arc<ClientConfig>) -> std::io::Result<String> {
    let stream = TcpStream::connect(address).await?;
    let name = "localhost".try_into().unwrap();
    let mut stream = tokio_rustls::TlsConnector::from(client).connect(name, stream).await?;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    drop(stream.read_to_string(&mut answer).await);
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn an_encrypted_server_answers_and_takes_a_new_certificate() {
    let (lab, folder) = (Lab::new(), tempfile::tempdir().unwrap());
    let (files, client) = certificate(folder.path());
    let tls = Tls::open(files).unwrap();
    let (address, _end, _serving) = serve_with(&lab, Some(tls.clone())).await;
    assert_eq!(ask_encrypted(address, client.clone()).await.unwrap(), "HTTP/1.1 200 OK");
    // Who speaks plainly is not answered, and nobody else is hurt.
    let plain = say(address, "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(!plain.contains("200"), "{plain}");
    // What cannot be used changes nothing.
    std::fs::write(folder.path().join("cert.pem"), "nonsense").unwrap();
    tls.reload();
    assert_eq!(ask_encrypted(address, client.clone()).await.unwrap(), "HTTP/1.1 200 OK");
    let (_, other) = certificate(folder.path());
    tls.reload();
    assert!(ask_encrypted(address, client).await.is_err(), "the old one is still shown");
    assert_eq!(ask_encrypted(address, other).await.unwrap(), "HTTP/1.1 200 OK");
}

#[test]
fn a_pair_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (files, _) = certificate(folder.path());
    let missing = Files { cert: folder.path().join("none.pem"), key: files.key.clone() };
    assert!(Tls::open(missing).unwrap_err().to_string().contains("none.pem"));
    let swapped = Files { cert: files.key.clone(), key: files.cert };
    assert!(Tls::open(swapped).is_err());
}

#[tokio::test]
async fn who_guesses_is_slowed_and_who_knows_is_not() {
    let mistakes = Rate { per_second: 0.001, burst: 3.0 };
    let lab = Lab::with(Settings { mistakes, ..Settings::default() });
    let (address, _end, _serving) = serve(&lab).await;
    let ask = async |key: &str| {
        let head = "GET /api/v1/stats HTTP/1.1\r\nhost: a\r\nconnection: close\r\n";
        say(address, &format!("{head}authorization: Bearer {key}\r\n\r\n")).await
    };
    for _ in 0..3 {
        assert_eq!(ask("ark_x_y").await, "HTTP/1.1 401 Unauthorized");
    }
    assert_eq!(ask("ark_x_y").await, "HTTP/1.1 429 Too Many Requests");
    assert_eq!(ask(&lab.admin).await, "HTTP/1.1 200 OK");
}
