//! The option `--version`.

use tempfile::TempDir;

use crate::program::run;

#[test]
fn prints_the_version() {
    let folder = TempDir::new().unwrap();
    let (code, out, error) = run(folder.path(), &[], &["--version"]);
    assert_eq!((code, error.as_str()), (0, ""));
    // In a build that names its commit, more follows.
    assert!(out.starts_with(concat!("ai-chat-mcp ", env!("CARGO_PKG_VERSION"))) && out.ends_with('\n'), "{out}");
}
