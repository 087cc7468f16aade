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

    fn start(&self) -> Result<Apart, Halt> {
        let settings =
            Settings { path: PathBuf::from("/nowhere"), program: None, verify: false, threads: None, idle: None };
        Apart::start(&self.0, &settings, &Outlet::unheard())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn is_broken<T>(outcome: Result<T, Halt>) -> bool {
    matches!(outcome, Err(Halt::Broken(ModelError::Unavailable(reason))) if reason.contains("broke down"))
}

#[test]
fn who_does_not_stop_is_ended() {
    let script = Script::new("deaf", "echo '\"Ready\"'; exec sleep 10000");
    let mut apart = script.start().unwrap();
    apart.grace = Duration::from_millis(50);
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert!(is_broken(apart.answer(&Request::default(), &Outlet::until(cancel))));
    assert!(apart.process.try_wait().unwrap().is_some(), "the process is gone");
}

#[test]
fn who_talks_nonsense_is_ended() {
    for (name, nonsense) in [
        ("garbage", "hello"),
        ("out-of-order", r#"{"Event":{"Delta":{"part":0,"text":"x"}}}"#),
        ("too-soon", r#""Done""#),
        ("again", r#""Ready""#),
        ("left", r#""Left""#),
        ("foreign", r#"{"Failed":{"Unauthorized":"type your password"}}"#),
    ] {
        let script =
            Script::new(name, &format!("echo '\"Ready\"'; read -r order; echo '{nonsense}'; exec sleep 10000"));
        let mut apart = script.start().unwrap();
        assert!(is_broken(apart.answer(&Request::default(), &Outlet::unheard())), "{nonsense}");
        assert!(apart.process.try_wait().unwrap().is_some(), "{nonsense}: the process is gone");
    }
}

#[test]
fn who_does_not_come_up_is_told_how_it_ended() {
    let Err(Halt::Broken(ModelError::Unavailable(reason))) = Script::new("crash", "exit 7").start() else {
        panic!("it came up")
    };
    assert!(reason.contains("exit status: 7"), "{reason}");
    assert!(is_broken(Script::new("noise", "echo hello; exec sleep 10000").start()));
    let refused = Script::new("refused", r#"echo '{"Failed":{"Unavailable":"no memory"}}'"#).start();
    assert!(matches!(refused, Err(Halt::Failed(ModelError::Unavailable(reason))) if reason == "no memory"));
}
