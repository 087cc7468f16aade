//! Key files: the present master key, and the replacement of a file.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::ensure;
use platform::SecretSealer;
use platform::config::Config;
use secrecy::ExposeSecret;

use super::backup::MASTER_KEY_FILE;
use super::backup_archive::{parent_of, sync_folder};

/// Returns the sealer of the present master key, which has to exist.
///
/// # Errors
///
/// There is no master key, or it cannot be read.
pub fn present_sealer(config: &Config) -> anyhow::Result<SecretSealer> {
    if let Some(key) = &config.master_key {
        return Ok(SecretSealer::from_base64("CHAT_MASTER_KEY", key.expose_secret())?);
    }
    let path = config.data_dir.join(MASTER_KEY_FILE);
    // It would be created otherwise.
    ensure!(path.exists(), "there is no master key at {}", path.display());
    Ok(SecretSealer::from_file(&path)?)
}

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
