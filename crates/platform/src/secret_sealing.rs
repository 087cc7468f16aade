//! Encryption of secrets at rest: AES-256-GCM with a master key that is stored outside the database.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use aws_lc_rs::aead::{AES_256_GCM, Aad, RandomizedNonceKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Prk, Salt};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const KEY_BYTES: usize = 32;
/// First byte of every sealed value, so that the format can change later.
const FORMAT_VERSION: u8 = 1;
const NONCE_BYTES: usize = 12;

/// An error of encryption or decryption. It reveals nothing about the secret.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// `CHAT_MASTER_KEY` or the key file does not hold a valid key.
    #[error("{0} must hold 32 bytes in base64")]
    InvalidKey(String),
    /// The key file could not be read or created.
    #[error("cannot read or create the key file {0}: {1}")]
    KeyFile(String, std::io::Error),
    /// The value was encrypted with another key or for another location, or it is damaged.
    #[error("a stored secret cannot be decrypted with this master key")]
    Unreadable,
    /// The operating system returned no random bytes.
    #[error("the operating system returned no random bytes")]
    NoRandomness,
}

/// Encrypts and decrypts secrets with the master key.
pub struct SecretSealer {
    key: RandomizedNonceKey,
    root: Prk,
}

impl std::fmt::Debug for SecretSealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretSealer")
    }
}

impl SecretSealer {
    /// Creates a sealer from a key of 32 bytes in base64. Errors name the source of the key as `name`.
    ///
    /// # Errors
    ///
    /// [`SealError::InvalidKey`] if the text is not such a key.
    pub fn from_base64(name: &str, text: &str) -> Result<Self, SealError> {
        // The error names only the source, because an almost valid key is still a secret.
        let bad = || SealError::InvalidKey(name.to_owned());
        let bytes = STANDARD.decode(text.trim()).map_err(|_| bad())?;
        // The key chooses a random nonce per value. 96 bits suffice for some 2^32 values under one key.
        let key = RandomizedNonceKey::new(&AES_256_GCM, &bytes).map_err(|_| bad())?;
        Ok(Self { key, root: Salt::new(HKDF_SHA256, b"ai-chat-mcp").extract(&bytes) })
    }

    /// Creates a sealer from the key in the file `path`. A missing file is created with a new key that only its owner
    /// can read.
    ///
    /// # Errors
    ///
    /// [`SealError::KeyFile`] if the file cannot be read or created, [`SealError::InvalidKey`] if it holds no valid
    /// key.
    pub fn from_file(path: &Path) -> Result<Self, SealError> {
        let name = path.display().to_string();
        let failed = |error| SealError::KeyFile(name.clone(), error);
        match std::fs::read_to_string(path) {
            Ok(text) => return Self::from_base64(&name, &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let text = STANDARD.encode(random_bytes::<KEY_BYTES>()?);
        // `create_new` fails if another process created the file at the same time, instead of overwriting its key.
        let mut file =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
        // Synced before the first secret is encrypted: a key that is lost in a power failure loses all of them.
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        Self::from_base64(&name, &text)
    }

    /// Encrypts `plain` for one location (`table/column/row`). It cannot be decrypted for another location, so that an
    /// attacker with access to the database cannot move a secret from one row to another.
    pub fn seal(&self, location: &str, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut sealed = plain.to_vec();
        let nonce = self
            .key
            .seal_in_place_append_tag(Aad::from(location.as_bytes()), &mut sealed)
            .map_err(|_| SealError::Unreadable)?;
        let mut out = Vec::with_capacity(1 + NONCE_BYTES + sealed.len());
        // Layout: format version, nonce, ciphertext with its tag.
        out.push(FORMAT_VERSION);
        out.extend_from_slice(nonce.as_ref());
        out.append(&mut sealed);
        Ok(out)
    }

    /// Derives a key for one purpose (HKDF, RFC 5869). The result is always the same for a master key and does not
    /// reveal it.
    pub fn derive(&self, purpose: &str) -> Result<[u8; KEY_BYTES], SealError> {
        let mut key = [0; KEY_BYTES];
        let info = [purpose.as_bytes()];
        self.root
            .expand(&info, HKDF_SHA256)
            .and_then(|output| output.fill(&mut key))
            .map_err(|_| SealError::NoRandomness)?;
        Ok(key)
    }

    /// Decrypts a value that [`SecretSealer::seal`] encrypted for the same location.
    ///
    /// # Errors
    ///
    /// [`SealError::Unreadable`] if the key or the location is another one, or the value is damaged.
    pub fn open(&self, location: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let (&[FORMAT_VERSION], rest) = sealed.split_first_chunk().ok_or(SealError::Unreadable)? else {
            return Err(SealError::Unreadable);
        };
        let (nonce, rest) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(SealError::Unreadable)?;
        let mut buffer = rest.to_vec();
        let plain = self
            .key
            .open_in_place(nonce.into(), Aad::from(location.as_bytes()), &mut buffer)
            .map_err(|_| SealError::Unreadable)?;
        Ok(plain.to_vec())
    }
}

/// Returns `N` random bytes from the operating system.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], SealError> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| SealError::NoRandomness)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_whole_values_at_their_location_only() {
        let secrets = SecretSealer::from_base64("test", &STANDARD.encode([7; 32])).unwrap();
        let sealed = secrets.seal("t/c/1", b"token").unwrap();
        assert_eq!(secrets.open("t/c/1", &sealed).unwrap(), b"token");
        assert!(secrets.open("t/c/2", &sealed).is_err());
        for cut in 0..sealed.len() {
            assert!(secrets.open("t/c/1", &sealed[..cut]).is_err());
        }
        assert_ne!(sealed, secrets.seal("t/c/1", b"token").unwrap(), "every sealing is different");
    }

    #[test]
    fn derived_keys_depend_on_master_key_and_purpose() {
        let derive = |master, purpose| {
            SecretSealer::from_base64("test", &STANDARD.encode([master; 32])).unwrap().derive(purpose).unwrap()
        };
        assert_eq!(derive(7, "a"), derive(7, "a"));
        assert_ne!(derive(7, "a"), derive(7, "b"));
        assert_ne!(derive(7, "a"), derive(8, "a"));
        assert_ne!(derive(7, "a"), [7; 32]);
    }
}
