//! The documents that packages contain, in the folders of the repository, so that their links hold.

use std::fs;
use std::path::Path;

use crate::dist::{copy, copy_files};
use crate::failure::{Context, Outcome};

/// Documents in the root of the repository.
const ROOT_DOCUMENTS: [&str; 7] =
    ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "THIRD-PARTY.md"];
/// The dashboard that the guide to monitoring mentions.
const DASHBOARD_FILE: &str = "grafana-dashboard.json";
/// Folder of the other documents.
const DOCUMENT_FOLDER: &str = "docs";

/// Copies the documents from the root of the repository.
pub fn copy_all(root: &Path, to: &Path) -> Outcome {
    for document in ROOT_DOCUMENTS {
        copy(&root.join(document), &to.join(document))?;
    }
    copy(&root.join("packaging").join(DASHBOARD_FILE), &to.join(DASHBOARD_FILE))?;
    copy_folder(&root.join(DOCUMENT_FOLDER), &to.join(DOCUMENT_FOLDER))
}

/// Returns whether a file or folder, by its path in the repository, is among the documents.
pub fn is_shipped(path: &str) -> bool {
    let is_within = path.strip_prefix(DOCUMENT_FOLDER).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_within || ROOT_DOCUMENTS.contains(&path)
}

/// Copies a folder with those in it.
fn copy_folder(from: &Path, to: &Path) -> Outcome {
    copy_files(from, to)?;
    for entry in fs::read_dir(from).context(from.display())?.flatten() {
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_shipped_documents() {
        for path in ["LICENSE", "docs", "docs/adr", "docs/guide/install.md", "docs/screenshot-dark.png"] {
            assert!(is_shipped(path), "{path}");
        }
        for path in ["", "Cargo.toml", "docs.md", "crates/server/README.md"] {
            assert!(!is_shipped(path), "{path}");
        }
    }
}
