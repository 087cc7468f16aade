//! Version of the program, with the commit that it was built from.

use std::sync::LazyLock;

/// Commit and its date, such as `abcdef123456, 2026-11-27`, in a build by `cargo xtask dist`. The commit's date, not
/// that of the build, so that two builds of a commit are equal.
const COMMIT: Option<&str> = option_env!("AI_CHAT_MCP_COMMIT");

static VERSION: LazyLock<String> = LazyLock::new(|| describe(env!("CARGO_PKG_VERSION"), COMMIT));

/// Returns the version: `0.1.0 (abcdef123456, 2026-11-27)`, or `0.1.0` if the build names no commit.
pub fn version() -> &'static str {
    &VERSION
}

fn describe(version: &str, commit: Option<&str>) -> String {
    match commit {
        Some(commit) if !commit.is_empty() => format!("{version} ({commit})"),
        _ => version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_commit_of_a_release_build() {
        assert_eq!(describe("0.1.0", Some("abcdef123456, 2026-11-27")), "0.1.0 (abcdef123456, 2026-11-27)");
        assert_eq!(describe("0.1.0", None), "0.1.0");
        assert_eq!(describe("0.1.0", Some("")), "0.1.0");
    }
}
