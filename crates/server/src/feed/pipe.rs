//! A body that is written while it is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The reading end of a pipe, as a body.
pub(super) struct Pipe(Receiver<Bytes>);

/// A pipe that holds at most so many pieces.
pub(super) fn pipe(pieces_max: usize) -> (Sender<Bytes>, Pipe) {
    let (tx, rx) = channel(pieces_max);
    (tx, Pipe(rx))
}

impl Body for Pipe {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}
