//! A file as the body of an answer, piece by piece.

use std::fs::File;
use std::io::Read as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use hyper::body::{Body, Frame};

/// Bytes of one piece.
const PIECE_BYTES: usize = 64 * 1024;

/// A file that is sent as it is read. It is a local file of this server, so that reading a piece
/// takes no longer than copying it.
pub(crate) struct FileBody(Option<File>);

impl FileBody {
    pub(crate) fn new(file: File) -> Self {
        Self(Some(file))
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let Some(file) = &mut self.0 else { return Poll::Ready(None) };
        let mut piece = vec![0; PIECE_BYTES];
        match file.read(&mut piece) {
            Ok(0) => {
                self.0 = None;
                Poll::Ready(None)
            }
            Ok(n) => {
                piece.truncate(n);
                Poll::Ready(Some(Ok(Frame::data(piece.into()))))
            }
            Err(error) => {
                self.0 = None;
                Poll::Ready(Some(Err(error)))
            }
        }
    }
}
