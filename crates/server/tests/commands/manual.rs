//! The command `manual`.

use std::fs;

use tempfile::TempDir;

use crate::program::run;

#[test]
fn writes_a_page_for_each_command() {
    let folder = TempDir::new().unwrap();
    let pages = folder.path().join("pages");
    let arguments = ["manual", pages.to_str().unwrap()];
    let (code, _, error) = run(folder.path(), &[], &arguments);
    assert_eq!((code, error.lines().count()), (1, 1), "{error}");
    fs::create_dir(&pages).unwrap();
    assert_eq!(run(folder.path(), &[], &arguments), (0, String::new(), String::new()));
    let page = |name: &str| fs::read_to_string(pages.join(name)).unwrap();
    assert!(page("ai-chat-mcp.1").contains("ai\\-chat\\-mcp\\-backup(1)"), "{}", page("ai-chat-mcp.1"));
    assert!(page("ai-chat-mcp-backup.1").contains("with\\-keys"), "{}", page("ai-chat-mcp-backup.1"));
    assert!(!pages.join("ai-chat-mcp-manual.1").exists(), "it is for packages only");
}
