//! Proving to be a client with a private key (RFC 7523): a signed statement instead of a secret.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;

use super::{Secret, SignInError, sign_in};

/// How long a statement is good for, in seconds. It is made for one request.
const GOOD_FOR: i64 = 60;

/// The statement that `client` speaks, to be believed by `issuer`.
pub(super) fn assertion(client: &str, key: &Secret, issuer: &str, now: Timestamp) -> Result<String, SignInError> {
    let key = Key::read(key)?;
    let header = json!({ "alg": key.algorithm(), "typ": "JWT" });
    let claims = json!({
        "iss": client, "sub": client, "aud": issuer, "jti": sign_in::random()?,
        "iat": now.as_seconds(), "exp": now.as_seconds() + GOOD_FOR,
    });
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let said = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(said.as_bytes())?);
    Ok(format!("{said}.{signature}"))
}

enum Key {
    P256(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl Key {
    fn read(pem: &Secret) -> Result<Self, SignInError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.expose().as_bytes()).map_err(|_| SignInError::Key)?;
        let der = der.secret_pkcs8_der();
        if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der) {
            return Ok(Self::P256(pair));
        }
        RsaKeyPair::from_pkcs8(der).map(Self::Rsa).map_err(|_| SignInError::Key)
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::P256(_) => "ES256",
            Self::Rsa(_) => "RS256",
        }
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignInError> {
        let random = SystemRandom::new();
        match self {
            Self::P256(pair) => {
                pair.sign(&random, message).map(|signature| signature.as_ref().to_vec()).map_err(|_| SignInError::Key)
            }
            Self::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let signed = pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature);
                signed.map(|()| signature).map_err(|_| SignInError::Key)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, KeyPair, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    use base64::engine::general_purpose::STANDARD;

    fn pem(der: &[u8]) -> Secret {
        let text = STANDARD.encode(der);
        let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        Secret::new(format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n")))
    }

    /// What is said in the statement, which `check` verifies.
    fn said(pem: &Secret, check: impl Fn(&[u8], &[u8]) -> bool) -> (serde_json::Value, serde_json::Value) {
        let now = Timestamp::default().plus_seconds(1_000);
        let jwt = assertion("me", pem, "https://as.example", now).unwrap();
        let (said, signature) = jwt.rsplit_once('.').unwrap();
        assert!(check(said.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()));
        let part = |text: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
        let (header, claims) = said.split_once('.').unwrap();
        (part(header), part(claims))
    }

    #[test]
    fn a_statement_is_signed_with_either_kind_of_key() {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref()).unwrap();
        let key = pem(document.as_ref());
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref().to_vec());
        let (header, mut claims) = said(&key, |message, signature| public.verify(message, signature).is_ok());
        assert_eq!(header["alg"], "ES256");
        assert!(claims["jti"].take().as_str().unwrap().len() > 20);
        assert_eq!(
            claims,
            json!({ "iss": "me", "sub": "me", "aud": "https://as.example", "iat": 1000, "exp": 1060,
            "jti": null })
        );

        let pair = RsaKeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
        let key = pem(AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).unwrap().as_ref());
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref().to_vec());
        let (header, _) = said(&key, |message, signature| public.verify(message, signature).is_ok());
        assert_eq!(header["alg"], "RS256");
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for key in ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"] {
            let refused = assertion("me", &Secret::new(key), "x", Timestamp::default());
            assert!(matches!(refused, Err(SignInError::Key)), "{key}");
        }
    }
}
