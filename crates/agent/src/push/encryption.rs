//! Encryption of push messages for one browser (RFC 8291), so that the push service cannot read them.

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};
use platform::secret_sealing::random_bytes;

/// Length of an uncompressed point of P-256, in bytes.
pub const PUBLIC_KEY_BYTES: usize = 65;
/// Length of the secret that a browser shares with this server, in bytes.
pub const AUTH_SECRET_BYTES: usize = 16;
const SALT_BYTES: usize = 16;
/// Size of the only record. Push services have to accept messages of this size, and need not accept longer ones.
const RECORD_BYTES: u32 = 4096;
/// Marks the end of the last record (RFC 8188 section 2).
const LAST_RECORD: u8 = 2;

/// The keys of a browser.
#[derive(Debug, Clone, Copy)]
pub struct BrowserKeys<'a> {
    /// Public key, an uncompressed point of P-256.
    pub public_key: &'a [u8],
    /// Shared secret.
    pub auth_secret: &'a [u8],
}

/// Error of keys that are no valid keys, or of a message that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the message cannot be encrypted for this browser")]
pub struct EncryptionError;

/// Encrypts a message with a new key and a new salt. Returns the body of the request to the push service.
///
/// # Errors
///
/// [`EncryptionError`] if the keys are invalid or the message is longer than a record.
pub fn encrypt(keys: BrowserKeys<'_>, message: &[u8]) -> Result<Vec<u8>, EncryptionError> {
    let sender = PrivateKey::generate(&ECDH_P256).map_err(|_| EncryptionError)?;
    encrypt_with(keys, message, &sender, &random_bytes().map_err(|_| EncryptionError)?)
}

fn encrypt_with(
    keys: BrowserKeys<'_>,
    message: &[u8],
    sender: &PrivateKey,
    salt: &[u8; SALT_BYTES],
) -> Result<Vec<u8>, EncryptionError> {
    // The other encodings of a point are valid for the key agreement, but not here.
    if keys.public_key.len() != PUBLIC_KEY_BYTES || keys.auth_secret.len() != AUTH_SECRET_BYTES {
        return Err(EncryptionError);
    }
    let sender_public = sender.compute_public_key().map_err(|_| EncryptionError)?;
    let receiver = UnparsedPublicKey::new(&ECDH_P256, keys.public_key);
    let key_material: [u8; 32] = agree(sender, receiver, EncryptionError, |secret| {
        let info = [b"WebPush: info\0", keys.public_key, sender_public.as_ref()];
        derive(keys.auth_secret, secret, &info)
    })?;
    let key: [u8; 16] = derive(salt, &key_material, &[b"Content-Encoding: aes128gcm\0"])?;
    let nonce: [u8; 12] = derive(salt, &key_material, &[b"Content-Encoding: nonce\0"])?;
    let cipher = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).map_err(|_| EncryptionError)?);
    let mut record = message.to_vec();
    record.push(LAST_RECORD);
    cipher
        .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut record)
        .map_err(|_| EncryptionError)?;
    // Header of the encoding (RFC 8188 section 2.1): salt, size of the records, and the sender's key with its length.
    let mut body = salt.to_vec();
    body.extend(RECORD_BYTES.to_be_bytes());
    body.push(PUBLIC_KEY_BYTES as u8);
    body.extend(sender_public.as_ref());
    body.append(&mut record);
    if body.len() > RECORD_BYTES as usize { Err(EncryptionError) } else { Ok(body) }
}

/// Derives a key (HKDF with SHA-256, RFC 5869).
fn derive<const LENGTH: usize>(salt: &[u8], secret: &[u8], info: &[&[u8]]) -> Result<[u8; LENGTH], EncryptionError> {
    struct Length(usize);
    impl KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let mut key = [0; LENGTH];
    let secret = Salt::new(HKDF_SHA256, salt).extract(secret);
    secret.expand(info, Length(LENGTH)).and_then(|output| output.fill(&mut key)).map_err(|_| EncryptionError)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    #[test]
    fn encrypts_example_of_rfc_8291() {
        let public_key =
            bytes("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
        let auth_secret = bytes("BTBZMqHH6r4Tts7J_aSIgg");
        let keys = BrowserKeys { public_key: &public_key, auth_secret: &auth_secret };
        let sender =
            PrivateKey::from_private_key(&ECDH_P256, &bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")).unwrap();
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let body = encrypt_with(keys, b"When I grow up, I want to be a watermelon", &sender, &salt).unwrap();
        assert_eq!(
            URL_SAFE_NO_PAD.encode(body),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn rejects_invalid_keys_and_long_messages() {
        let valid = bytes("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
        let is_accepted = |public_key: &[u8], auth_secret: &[u8], length: usize| {
            encrypt(BrowserKeys { public_key, auth_secret }, &vec![b'a'; length]).is_ok()
        };
        assert!(is_accepted(&valid, &[7; AUTH_SECRET_BYTES], 3000));
        assert!(!is_accepted(&valid, &[7; AUTH_SECRET_BYTES], 4096));
        assert!(!is_accepted(&valid, &[7; 15], 10));
        assert!(!is_accepted(&[4; PUBLIC_KEY_BYTES], &[7; AUTH_SECRET_BYTES], 10), "no point of the curve");
        assert!(!is_accepted(&valid[..64], &[7; AUTH_SECRET_BYTES], 10));
    }
}
