//! Permissions of the data folder: it contains the database and the keys, so only its owner may read it.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Permission bits of the group and of others.
const SHARED_BITS: u32 = 0o077;

/// Creates the data folder if it is missing, and removes the permissions of the group and of others from it and from
/// the files in it. Logs what others could read before.
///
/// # Errors
///
/// Fails if the folder cannot be created.
pub fn prepare(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for path in restrict(folder) {
        tracing::warn!(
            path = %path,
            "other users of this machine could read this; its permissions were restricted to its owner"
        );
    }
    Ok(())
}

/// Restricts the folder and everything in it to their owner, and returns the paths that others could read. Files that
/// belong to another system user cannot be restricted and are logged.
pub fn restrict(folder: &Path) -> Vec<String> {
    let mut restricted = Vec::new();
    for (path, mode) in find_shared(folder) {
        match fs::set_permissions(&path, Permissions::from_mode(mode & !SHARED_BITS)) {
            Ok(()) => restricted.push(path.display().to_string()),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "other users of this machine can read this");
            }
        }
    }
    restricted
}

/// Returns whether users outside of the file's group can read it.
pub fn is_readable_by_all(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0)
}

/// Returns the folder and what is in it, as far as others than their owner have permissions, with these.
pub fn find_shared(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut shared = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        // Symbolic links are not followed: their targets are outside of the folder and may be shared on purpose, such
        // as the weights of a model.
        let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
        pending.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir()))
                .map(|entry| entry.path()),
        );
        // A file may disappear meanwhile, such as a temporary file of the database.
        let Ok(mode) = fs::metadata(&path).map(|metadata| metadata.permissions().mode()) else { continue };
        if mode & SHARED_BITS != 0 {
            shared.push((path, mode));
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restricts_an_existing_folder_and_its_files() {
        let outer = tempfile::TempDir::new().unwrap();
        let folder = outer.path().join("data");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        prepare(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
        let file = folder.join("ai-chat-mcp.db");
        fs::write(&file, "rows").unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        let inner = folder.join("models");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, Permissions::from_mode(0o755)).unwrap();
        let weights = inner.join("weights");
        fs::write(&weights, "numbers").unwrap();
        fs::set_permissions(&weights, Permissions::from_mode(0o640)).unwrap();
        let elsewhere = outer.path().join("elsewhere");
        fs::write(&elsewhere, "public").unwrap();
        fs::set_permissions(&elsewhere, Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.join("link")).unwrap();
        assert_eq!(restrict(&folder).len(), 4);
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        assert_eq!((mode(&inner), mode(&weights), mode(&elsewhere)), (0o700, 0o600, 0o644));
        assert!(restrict(&folder).is_empty());
    }
}
