//! Replacement of key files.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::backup_archive::{parent_of, sync_folder};

/// Writes a key to the file `target` in one step: a crash leaves the previous key or the new one. Copies the previous one
/// to the file `previous` before.
///
/// # Errors
///
/// A file cannot be read or written. The target is unchanged then.
pub fn install_key(key: &[u8], target: &Path, previous: Option<&Path>) -> io::Result<()> {
    let folder = parent_of(target);
    if let Some(previous) = previous.filter(|_| target.exists()) {
        fs::copy(target, previous)?;
        fs::File::open(previous)?.sync_all()?;
    }
    // Readable by its owner only.
    let mut partial = tempfile::NamedTempFile::new_in(folder)?;
    partial.write_all(key)?;
    partial.as_file().sync_all()?;
    partial.persist(target).map_err(|error| error.error)?;
    sync_folder(folder)
}
