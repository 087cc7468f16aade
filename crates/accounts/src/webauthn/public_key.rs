//! Public keys of WebAuthn credentials, as COSE keys (RFC 9052 section 7, RFC 9053), and their signatures.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use ciborium::Value;

use super::ceremony::CeremonyError;

/// Algorithms that are accepted, the preferred one first: ES256, which nearly all authenticators use, EdDSA, and RS256
/// for Windows Hello (IANA, COSE algorithms).
pub const ALGORITHMS: [i64; 3] = [ES256, EDDSA, RS256];

const ES256: i64 = -7;
const EDDSA: i64 = -8;
const RS256: i64 = -257;

// Labels of the parameters of a COSE key.
const KEY_TYPE: i64 = 1;
const ALGORITHM: i64 = 3;
const CURVE: i64 = -1;
const X: i64 = -2;
const Y: i64 = -3;
const MODULUS: i64 = -1;
const EXPONENT: i64 = -2;

// Values of the parameters.
const OCTET_KEY_PAIR: i64 = 1;
const ELLIPTIC_CURVE: i64 = 2;
const RSA: i64 = 3;
const P256: i64 = 1;
const CURVE_ED25519: i64 = 6;

/// Length of a coordinate of P-256, and of a public key of Ed25519, in bytes.
const COORDINATE_BYTES: usize = 32;
/// First byte of a point on an elliptic curve that is not compressed (SEC 1, section 2.3.3).
const UNCOMPRESSED_POINT: u8 = 4;

/// A public key of a credential.
#[derive(Debug, PartialEq, Eq)]
pub enum CredentialPublicKey {
    /// Point on P-256, not compressed.
    Es256(Vec<u8>),
    /// Key of Ed25519.
    EdDsa(Vec<u8>),
    /// Modulus and exponent.
    Rs256 { modulus: Vec<u8>, exponent: Vec<u8> },
}

impl CredentialPublicKey {
    /// Parses a COSE key.
    ///
    /// # Errors
    ///
    /// The bytes are no COSE key, or its algorithm is none of [`ALGORITHMS`].
    pub fn parse(cose: &[u8]) -> Result<Self, CeremonyError> {
        let key: Value = ciborium::from_reader(cose).map_err(|_| CeremonyError::Malformed("public key"))?;
        let parameters = key.as_map().ok_or(CeremonyError::Malformed("public key"))?;
        let find = |label: i64| {
            let known = parameters.iter().find(|(key, _)| *key == Value::from(label));
            known.map(|(_, value)| value)
        };
        let number = |label| find(label).and_then(Value::as_integer).and_then(|number| i64::try_from(number).ok());
        let bytes = |label| find(label).and_then(Value::as_bytes).ok_or(CeremonyError::Malformed("public key"));
        let coordinate = |label| {
            bytes(label).and_then(|bytes: &Vec<u8>| {
                if bytes.len() == COORDINATE_BYTES {
                    Ok(bytes.as_slice())
                } else {
                    Err(CeremonyError::Malformed("public key"))
                }
            })
        };
        match (number(KEY_TYPE), number(ALGORITHM), number(CURVE)) {
            (Some(ELLIPTIC_CURVE), Some(ES256), Some(P256)) => {
                Ok(Self::Es256([&[UNCOMPRESSED_POINT], coordinate(X)?, coordinate(Y)?].concat()))
            }
            (Some(OCTET_KEY_PAIR), Some(EDDSA), Some(CURVE_ED25519)) => Ok(Self::EdDsa(coordinate(X)?.to_vec())),
            (Some(RSA), Some(RS256), _) => {
                Ok(Self::Rs256 { modulus: bytes(MODULUS)?.clone(), exponent: bytes(EXPONENT)?.clone() })
            }
            _ => Err(CeremonyError::UnsupportedKey),
        }
    }

    /// Returns whether the owner of the key has signed `message`.
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::Es256(point) => UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point).verify(message, signature),
            Self::EdDsa(key) => UnparsedPublicKey::new(&ED25519, key).verify(message, signature),
            Self::Rs256 { modulus, exponent } => RsaPublicKeyComponents { n: modulus, e: exponent }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
        };
        verified.is_ok()
    }
}
