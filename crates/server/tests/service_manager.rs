//! What the server reports to the service manager, read from a socket like systemd's.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use tempfile::TempDir;

use crate::program::Program;

/// Returns the next report.
fn next(socket: &UnixDatagram) -> String {
    let mut message = [0; 256];
    let length = socket.recv(&mut message).unwrap();
    String::from_utf8(message[..length].to_vec()).unwrap()
}

#[tokio::test]
async fn reports_ready_alive_and_stopping() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let settings = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", "200000")];
    let program = Program::start("http://127.0.0.1:1", &settings);
    assert_eq!(next(&socket), "READY=1\n");
    // Ready means that a request is answered without a retry.
    let alive = testkit::http_client().get(format!("{}/health/ready", program.url)).send().await.unwrap();
    assert_eq!(alive.status(), 200);
    for _ in 0..3 {
        assert_eq!(next(&socket), "WATCHDOG=1\n");
    }
    program.stop();
    let mut rest = std::iter::repeat_with(|| next(&socket));
    assert_eq!(rest.find(|report| report != "WATCHDOG=1\n").unwrap(), "STOPPING=1\n");
}
