//! Sockets: who is let in, how long they may take, and how it ends.

mod patient;
mod seats;
pub mod tls;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

use crate::app::App;
use crate::identity::Peer;
use crate::router::router;
use patient::Patient;
use seats::{Seat, Seats};
use tls::Tls;

/// How long the head of a request may take, and before it the greeting of an encrypted connection.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(15);
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
    app: App,
    tls: Option<Tls>,
    end: impl Future<Output = ()>,
) -> impl Future<Output = ()> {
    let graceful = GracefulShutdown::new();
    let (seats, routes) = (Seats::default(), router(app.clone()));
    tokio::pin!(end);
    loop {
        let accepted = tokio::select! {
            () = &mut end => break,
            accepted = accept(&listener, &seats) => accepted,
        };
        let Some((stream, peer, seat)) = accepted else {
            tokio::time::sleep(ACCEPT_REST).await;
            continue;
        };
        let guest = Guest { app: app.clone(), routes: routes.clone(), peer, seat };
        let (watcher, tls) = (graceful.watcher(), tls.clone());
        tokio::spawn(async move {
            match tls {
                Some(tls) => {
                    let greeting = tokio::time::timeout(HEAD_WAIT_MAX, tls.accept(stream)).await;
                    // Whoever does not speak TLS here has nothing to say.
                    if let Ok(Ok(stream)) = greeting {
                        guest.attend(stream, watcher).await;
                    }
                }
                None => guest.attend(stream, watcher).await,
            }
        });
    }
    drop(listener);
    async move {
        drop(tokio::time::timeout(LINGER_MAX, graceful.shutdown()).await);
    }
}

/// The next connection, if there is a seat for it.
async fn accept(listener: &TcpListener, seats: &Seats) -> Option<(TcpStream, IpAddr, Seat)> {
    let free = seats.wait().await?;
    let (stream, peer) = listener.accept().await.ok()?;
    let peer = peer.ip().to_canonical();
    // Whoever has too many connections open loses the newest.
    let seat = seats.take(free, peer)?;
    // Answers are small; waiting to fill a packet would only cost time.
    stream.set_nodelay(true).ok()?;
    Some((stream, peer, seat))
}

/// One connection.
struct Guest {
    app: App,
    routes: Router,
    peer: IpAddr,
    seat: Seat,
}

impl Guest {
    async fn attend(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        watcher: Watcher,
    ) {
        let Self { app, routes, peer, seat } = self;
        let routes = TowerToHyperService::new(routes);
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            routes.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_WAIT_MAX)
            .max_headers(HEADERS_MAX)
            .max_buf_size(BUFFER_BYTES_MAX)
            .serve_connection(TokioIo::new(Patient::new(stream)), service);
        let open = &app.traffic().connections;
        open.fetch_add(1, Ordering::Relaxed);
        // A connection that breaks is its client's concern.
        drop(watcher.watch(connection).await);
        open.fetch_sub(1, Ordering::Relaxed);
        drop(seat);
    }
}
