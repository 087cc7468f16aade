//! A stream wrapper that detects clients that stopped reading or lost their network.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// Lets the kernel close a connection when sent data stays unacknowledged for `timeout`. A phone that loses its
/// network does not close its connections, and the few bytes of keep-alive comments would fit into the send buffer
/// for hours. The option exists on Linux only; other systems use their defaults.
///
/// # Errors
///
/// The system rejects the option.
pub fn set_unacknowledged_timeout(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(stream).set_tcp_user_timeout(Some(timeout))?;
    #[cfg(not(target_os = "linux"))]
    let _ = (stream, timeout);
    Ok(())
}

/// A stream whose writes fail with [`io::ErrorKind::TimedOut`] when the client reads nothing for too long.
pub struct TimedWriter<S> {
    stream: S,
    timeout: Duration,
    /// Timer of the oldest write that is still pending. Boxed and created on demand, since most connections never
    /// need one.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedWriter<S> {
    /// Wraps `stream`. A write fails after it has been pending for `timeout`.
    pub fn new(stream: S, timeout: Duration) -> Self {
        Self { stream, timeout, timer: None }
    }

    /// Starts the timer on a pending write, clears it on progress, and fails when it has elapsed.
    fn check_timeout<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.timer = None;
            return done;
        }
        let timeout = self.timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        timer.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedWriter<S> {
    // Reads need no timer: the header timeout bounds idle connections, and the rate limit bounds bodies.
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedWriter<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_timeout(context, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.check_timeout(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn who_does_not_read_is_let_go_and_who_reads_slowly_is_not() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        let mut timed = TimedWriter::new(ours, Duration::from_hours(1));
        let slowly = async {
            let mut byte = [0];
            for _ in 0..100 {
                theirs.read_exact(&mut byte).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let (written, ()) = tokio::join!(timed.write_all(&[7; 100]), slowly);
        written.unwrap();

        let mut timed = TimedWriter::new(timed.stream, Duration::from_millis(20));
        let ended = timed.write_all(&[7; 100]).await.unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn who_is_gone_without_a_word_is_let_go() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let theirs = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut ours, _) = listener.accept().await.unwrap();
        set_unacknowledged_timeout(&ours, Duration::from_millis(500)).unwrap();
        ours.write_all(b": still here\n\n").await.unwrap();
        // Drops every packet in both directions, as a lost network does.
        let drop_all = [socket2::SockFilter::new(0x06, 0, 0, 0)];
        socket2::SockRef::from(&theirs).attach_filter(&drop_all).unwrap();
        ours.write_all(b": still here\n\n").await.unwrap();
        let ended = ours.read(&mut [0]).await.unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
    }
}
