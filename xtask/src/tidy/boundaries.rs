//! Rules: libraries that belong to one crate, dependencies between crates, and the route table.

use super::Source;
use super::manifests::{Dependency, Manifest};

/// Words with the folders and files that may contain them, and the reason.
const RESTRICTED_WORDS: [(&str, &[&str], &str); 3] = [
    (
        "sqlx",
        // Tests of `postgrest` compare with PostgreSQL itself.
        &["crates/storage", "crates/postgrest/tests", "crates/postgrest/Cargo.toml"],
        "only `storage` speaks to databases; `postgrest` builds its statements with `storage::raw`",
    ),
    (
        "axum",
        // Tests of the server script other HTTP servers with it.
        &[
            "crates/api",
            "crates/http-server",
            "crates/testkit",
            "crates/server/src/model_files/fetch/tests.rs",
            "crates/server/Cargo.toml",
        ],
        "only `api` and `http-server` speak HTTP to browsers, so that the other crates work without it",
    ),
    ("rmcp", &["crates/mcp"], "only `mcp` speaks MCP, so that its library can be changed in one place"),
];

/// Dependencies that each crate may have, and additional ones for its tests.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str], &[&str])] = &[
    ("domain", &[], &[]),
    ("llm", &["domain"], &[]),
    ("local-model", &["domain"], &[]),
    ("mcp", &["domain"], &[]),
    ("storage", &["domain"], &[]),
    ("platform", &["domain", "storage"], &[]),
    ("postgrest", &["domain", "storage"], &[]),
    ("http-server", &["domain", "platform", "storage"], &[]),
    ("accounts", &["domain", "platform", "storage"], &[]),
    ("builtin-servers", &["domain", "platform", "storage"], &[]),
    ("connections", &["domain", "mcp", "platform", "storage"], &[]),
    ("agent", &["connections", "domain", "llm", "local-model", "mcp", "platform", "storage"], &[]),
    (
        "api",
        &[
            "accounts",
            "agent",
            "builtin-servers",
            "connections",
            "domain",
            "http-server",
            "mcp",
            "platform",
            "postgrest",
            "storage",
        ],
        // Its tests run the whole server.
        &["server", "testkit"],
    ),
    (
        "ai-chat-mcp",
        &[
            "accounts",
            "agent",
            "api",
            "builtin-servers",
            "connections",
            "domain",
            "http-server",
            "local-model",
            "mcp",
            "platform",
            "storage",
        ],
        &["testkit"],
    ),
    (
        "testkit",
        &["agent", "api", "domain", "http-server", "llm", "local-model", "mcp", "platform", "storage", "server"],
        &[],
    ),
    ("xtask", &[], &[]),
];

/// Names of the workspace's crates in manifests.
const WORKSPACE_CRATES: &[&str] = &[
    "accounts",
    "agent",
    "api",
    "builtin-servers",
    "connections",
    "domain",
    "http-server",
    "llm",
    "local-model",
    "mcp",
    "platform",
    "postgrest",
    "storage",
    "server",
    "ai-chat-mcp",
    "testkit",
];

/// The only file that may call axum's routing functions; all other routes are entries of the route table.
const ROUTE_TABLE_FILE: &str = "crates/http-server/src/route.rs";
/// Calls that add a route without an entry in the table.
const UNLISTED_ROUTE_CALLS: [&str; 4] = [".route(", ".route_service(", ".nest(", ".nest_service("];

/// Checks words that belong to one crate, and routes outside the table.
pub fn words(files: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_within("crates") && file.is(&["rs", "toml"])) {
        for (number, line) in file.lines() {
            // Comments may mention what code may not use.
            let code = line.split("//").next().unwrap_or_default();
            for (word, folders, why) in RESTRICTED_WORDS {
                if says(code, word) && !folders.iter().any(|folder| file.path == *folder || file.is_within(folder)) {
                    findings.push(format!("{}:{number} says `{word}`: {why}", file.path));
                }
            }
            let names_a_path =
                file.is_within("crates/api/src") && UNLISTED_ROUTE_CALLS.iter().any(|call| code.contains(call));
            if names_a_path && file.path != ROUTE_TABLE_FILE {
                findings.push(format!("{}:{number} adds a route beside the table: give it an entry", file.path));
            }
        }
    }
    findings
}

/// Checks the dependencies between the workspace's crates.
pub fn crates(files: &[Source]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        // The rule for manifests reports unreadable ones.
        let Ok(manifest) = Manifest::read(&file.text) else { continue };
        let name = manifest.package_name();
        // A new crate must be given its place here before it can be used.
        let Some((_, always, in_tests)) = ALLOWED_DEPENDENCIES.iter().find(|(known, ..)| *known == name) else {
            findings.push(format!("{}: `{name}` is not in ALLOWED_DEPENDENCIES yet", file.path));
            continue;
        };
        for Dependency { name: other, for_tests, .. } in manifest.dependencies() {
            let allowed = always.contains(&other) || (for_tests && in_tests.contains(&other));
            if WORKSPACE_CRATES.contains(&other) && !allowed {
                findings.push(format!(
                    "{}: `{name}` may not depend on `{other}`: domain <- llm, local-model, mcp, store <- platform, postgrest <- accounts, builtin-servers, connections <- agent <- api <- server <- testkit",
                    file.path
                ));
            }
        }
    }
    findings
}

/// Returns whether the code contains a word as a whole identifier.
fn says(code: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back().is_some_and(part_of_name);
        let after = code[at + word.len()..].chars().next().is_some_and(part_of_name);
        !before && !after
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source;

    #[test]
    fn words_stand_in_their_crate_only() {
        let found = |path, text| !words(&[source(path, text)]).is_empty();
        assert!(found("crates/server/src/a.rs", "use sqlx::Row;"));
        assert!(found("crates/llm/Cargo.toml", "axum.workspace = true"));
        assert!(found("crates/server/src/app.rs", "axum::Router"));
        assert!(found("crates/server/src/tools/a.rs", "rmcp::model::Tool"));
        assert!(!found("crates/storage/src/a.rs", "use sqlx::Row;"));
        assert!(found("crates/postgrest/src/a.rs", "use sqlx::Row;"));
        assert!(!found("crates/postgrest/tests/a.rs", "use sqlx::Row;"));
        assert!(!found("crates/mcp/src/a.rs", "let axum_like = 1; // as axum does"));
        assert!(!found("crates/testkit/src/a.rs", "axum::serve"));
    }

    #[test]
    fn routes_stand_in_the_table() {
        let found = |path| !words(&[source(path, "Router::new().route(path, handler)")]).is_empty();
        assert!(found("crates/api/src/rest.rs"));
        assert!(!found(ROUTE_TABLE_FILE));
        assert!(!found("crates/api/tests/turns.rs"));
    }

    #[test]
    fn crates_know_only_what_they_may() {
        let manifest =
            |name: &str, rest: &str| source("crates/x/Cargo.toml", &format!("[package]\nname = \"{name}\"\n{rest}"));
        let findings = |name, rest| crates(&[manifest(name, rest)]).len();
        assert_eq!(findings("llm", "[dependencies]\ndomain.workspace = true\nserde.workspace = true"), 0);
        assert_eq!(findings("llm", "[dependencies]\nmcp.workspace = true"), 1);
        assert_eq!(findings("ai-chat-mcp", "[dev-dependencies]\ntestkit.workspace = true"), 0);
        assert_eq!(findings("ai-chat-mcp", "[dependencies]\ntestkit.workspace = true"), 1);
        assert_eq!(findings("new", ""), 1);
    }
}
