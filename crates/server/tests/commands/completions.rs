//! The command `completions`.

use std::process::Command;

use tempfile::TempDir;

use crate::program::run;

#[test]
fn prints_a_script_for_each_shell() {
    let folder = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let (code, script, error) = run(folder.path(), &[], &["completions", shell]);
        assert_eq!((code, error.as_str()), (0, ""), "{shell}");
        assert!(script.contains("restore") && script.contains("with-keys"), "{shell}: {script}");
    }
    let (_, script, _) = run(folder.path(), &[], &["completions", "bash"]);
    let checked = Command::new("bash").args(["-n", "-c", &script]).status().unwrap();
    assert!(checked.success(), "bash can read it");
    assert_eq!(run(folder.path(), &[], &["completions", "cmd"]).0, 2);
}
