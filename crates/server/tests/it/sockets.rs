//! Real sockets: what is not HTTP, what is too much of it, and the end.

use std::net::SocketAddr;

use armarius_server::listen;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::lab::Lab;

async fn serve(lab: &Lab) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
    let listener = listen::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (end, ended) = oneshot::channel();
    let app = lab.app.clone();
    let serving = tokio::spawn(async move {
        listen::serve(listener, app, None, async move { drop(ended.await) }).await.await;
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
