//! Processes that behave badly.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use super::*;

/// A program that does what its shell script says.
struct Script(PathBuf);

impl Script {
    fn new(name: &str, script: &str) -> Self {
        let path = std::env::temp_dir().join(format!("local-{name}-{}.sh", std::process::id()));
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        Self(path)
    }

    fn start(&self) -> Result<ModelProcess, InferenceError> {
        let settings = EngineSettings {
            weights_path: PathBuf::from("/nowhere"),
            subprocess_program: None,
            verify_checksum: false,
            threads: None,
            idle_timeout: None,
        };
        ModelProcess::start(&self.0, &settings, &OutputSink::discard())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn is_broken<T>(outcome: Result<T, InferenceError>) -> bool {
    matches!(outcome, Err(InferenceError::Unusable(ModelError::Unavailable(reason))) if reason.contains("stopped unexpectedly"))
}

#[test]
fn kills_process_that_ignores_cancellation() {
    let script = Script::new("deaf", "echo '\"Ready\"'; exec sleep 10000");
    let mut process = script.start().unwrap();
    process.grace_period = Duration::from_millis(50);
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert!(is_broken(process.answer(&Request::default(), &OutputSink::discard_until(cancel))));
    assert!(process.process.try_wait().unwrap().is_some(), "the process is gone");
}

#[test]
fn kills_process_with_invalid_responses() {
    for (name, nonsense) in [
        ("garbage", "hello"),
        ("out-of-order", r#"{"Event":{"Delta":{"part":0,"text":"x"}}}"#),
        ("too-soon", r#""Done""#),
        ("again", r#""Ready""#),
        ("cancelled", r#""Cancelled""#),
        ("foreign", r#"{"Failed":{"Unauthorized":"type your password"}}"#),
    ] {
        let script =
            Script::new(name, &format!("echo '\"Ready\"'; read -r order; echo '{nonsense}'; exec sleep 10000"));
        let mut process = script.start().unwrap();
        assert!(is_broken(process.answer(&Request::default(), &OutputSink::discard())), "{nonsense}");
        assert!(process.process.try_wait().unwrap().is_some(), "{nonsense}: the process is gone");
    }
}

#[test]
fn reports_exit_status_of_failed_start() {
    let Err(InferenceError::Unusable(ModelError::Unavailable(reason))) = Script::new("crash", "exit 7").start() else {
        panic!("it came up")
    };
    assert!(reason.contains("exit status: 7"), "{reason}");
    assert!(is_broken(Script::new("noise", "echo hello; exec sleep 10000").start()));
    let refused = Script::new("refused", r#"echo '{"Failed":{"Unavailable":"no memory"}}'"#).start();
    assert!(matches!(refused, Err(InferenceError::Failed(ModelError::Unavailable(reason))) if reason == "no memory"));
}
