//! Sockets: who is let in, how long they may take, and how it ends.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// How long the head of a request may take.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(15);
/// Connections at once.
const CONNECTIONS_MAX: usize = 10_000;
/// Headers of one request.
const HEADERS_MAX: usize = 64;
/// Bytes a connection may buffer.
const BUFFER_BYTES_MAX: usize = 64 * 1024;
/// How long requests may go on after the end was asked for.
pub const LINGER_MAX: Duration = Duration::from_secs(10);
/// How long to wait when no connection can be taken, for example because no file is left to open.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// Whether a server without encryption may listen there.
#[must_use]
pub fn is_private(address: &SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Opens the socket.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Serves until `end`, then takes no new connection. What is returned waits for the requests that
/// are still being answered, at most [`LINGER_MAX`].
pub async fn serve(
    listener: TcpListener,
    router: Router,
    end: impl Future<Output = ()>,
) -> impl Future<Output = ()> {
    let graceful = GracefulShutdown::new();
    let seats = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    tokio::pin!(end);
    loop {
        let accepted = tokio::select! {
            () = &mut end => break,
            accepted = accept(&listener, &seats) => accepted,
        };
        let Some((stream, seat)) = accepted else {
            tokio::time::sleep(ACCEPT_REST).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WAIT_MAX)
            .max_headers(HEADERS_MAX)
            .max_buf_size(BUFFER_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A connection that breaks is its client's concern.
            drop(connection.await);
            drop(seat);
        });
    }
    drop(listener);
    async move {
        drop(tokio::time::timeout(LINGER_MAX, graceful.shutdown()).await);
    }
}

/// The next connection, once there is a seat for it.
async fn accept(
    listener: &TcpListener,
    seats: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let seat = Arc::clone(seats).acquire_owned().await.ok()?;
    let (stream, _) = listener.accept().await.ok()?;
    // Answers are small; waiting to fill a packet would only cost time.
    stream.set_nodelay(true).ok()?;
    Some((stream, seat))
}
