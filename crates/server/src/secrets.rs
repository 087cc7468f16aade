//! Secrets at rest: AES-256-GCM under a key that is kept apart from the database.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use aws_lc_rs::aead::{AES_256_GCM, Aad, RandomizedNonceKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Prk, Salt};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const KEY_BYTES: usize = 32;
/// The first byte of every sealed value, so that the form can change later.
const VERSION: u8 = 1;
const NONCE_BYTES: usize = 12;

/// Why a secret could not be handled. Says nothing about the secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `CHAT_MASTER_KEY` or the key file is not a key.
    #[error("{0} must hold 32 bytes in base64")]
    BadKey(String),
    /// The key file could not be read or made.
    #[error("the key file {0} could not be read or made: {1}")]
    KeyFile(String, std::io::Error),
    /// The value was sealed with another key, for another place, or was damaged.
    #[error("a stored secret cannot be opened with this master key")]
    Unreadable,
    /// The system gave no randomness.
    #[error("no randomness")]
    Random,
}

/// The key that seals and opens.
pub struct Secrets {
    key: RandomizedNonceKey,
    root: Prk,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// From a key in base64; `name` says where it came from.
    pub fn from_base64(name: &str, text: &str) -> Result<Self, Error> {
        let bad = || Error::BadKey(name.to_owned());
        let bytes = STANDARD.decode(text.trim()).map_err(|_| bad())?;
        let key = RandomizedNonceKey::new(&AES_256_GCM, &bytes).map_err(|_| bad())?;
        Ok(Self { key, root: Salt::new(HKDF_SHA256, b"ai-chat-mcp").extract(&bytes) })
    }

    /// From the file `path`, which is made with a new key, readable by its owner alone, when it does not exist.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let failed = |error| Error::KeyFile(name.clone(), error);
        match std::fs::read_to_string(path) {
            Ok(text) => return Self::from_base64(&name, &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let text = STANDARD.encode(random::<KEY_BYTES>()?);
        let mut file =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        Self::from_base64(&name, &text)
    }

    /// Seals `plain` for one place (`table/column/row`): opened anywhere else it is unreadable.
    pub fn seal(&self, place: &str, plain: &[u8]) -> Result<Vec<u8>, Error> {
        let mut sealed = plain.to_vec();
        let nonce = self
            .key
            .seal_in_place_append_tag(Aad::from(place.as_bytes()), &mut sealed)
            .map_err(|_| Error::Unreadable)?;
        let mut out = Vec::with_capacity(1 + NONCE_BYTES + sealed.len());
        out.push(VERSION);
        out.extend_from_slice(nonce.as_ref());
        out.append(&mut sealed);
        Ok(out)
    }

    /// A key for one purpose, always the same under one master key, which it does not give away (RFC 5869).
    pub fn derive(&self, purpose: &str) -> Result<[u8; KEY_BYTES], Error> {
        let mut key = [0; KEY_BYTES];
        let info = [purpose.as_bytes()];
        self.root.expand(&info, HKDF_SHA256).and_then(|output| output.fill(&mut key)).map_err(|_| Error::Random)?;
        Ok(key)
    }

    /// Opens what [`Secrets::seal`] sealed for the same place.
    pub fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        let (&[VERSION], rest) = sealed.split_first_chunk().ok_or(Error::Unreadable)? else {
            return Err(Error::Unreadable);
        };
        let (nonce, rest) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(Error::Unreadable)?;
        let mut buffer = rest.to_vec();
        let plain = self
            .key
            .open_in_place(nonce.into(), Aad::from(place.as_bytes()), &mut buffer)
            .map_err(|_| Error::Unreadable)?;
        Ok(plain.to_vec())
    }
}

/// `N` random bytes from the system.
pub fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Error::Random)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_opens_only_in_its_own_place_and_whole() {
        let secrets = Secrets::from_base64("test", &STANDARD.encode([7; 32])).unwrap();
        let sealed = secrets.seal("t/c/1", b"token").unwrap();
        assert_eq!(secrets.open("t/c/1", &sealed).unwrap(), b"token");
        assert!(secrets.open("t/c/2", &sealed).is_err());
        for cut in 0..sealed.len() {
            assert!(secrets.open("t/c/1", &sealed[..cut]).is_err());
        }
        assert_ne!(sealed, secrets.seal("t/c/1", b"token").unwrap(), "every sealing is different");
    }

    #[test]
    fn derived_keys_depend_on_the_master_key_and_the_purpose() {
        let derive = |master, purpose| {
            Secrets::from_base64("test", &STANDARD.encode([master; 32])).unwrap().derive(purpose).unwrap()
        };
        assert_eq!(derive(7, "a"), derive(7, "a"));
        assert_ne!(derive(7, "a"), derive(7, "b"));
        assert_ne!(derive(7, "a"), derive(8, "a"));
        assert_ne!(derive(7, "a"), [7; 32]);
    }
}
