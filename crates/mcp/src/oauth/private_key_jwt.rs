//! Client authentication with a private key (`private_key_jwt`, RFC 7523).

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Timestamp;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;

use super::credentials::SecretString;
use super::error::SignInError;

/// Validity of an assertion, which is made for one request.
const ASSERTION_LIFETIME_SECONDS: i64 = 60;

/// Signs an assertion of `client` for the authorization server `issuer`.
///
/// # Errors
///
/// [`SignInError::Key`] if the key is neither P-256 nor RSA in PKCS#8.
pub(super) fn sign_client_assertion(
    client: &str,
    key: &SecretString,
    issuer: &str,
    now: Timestamp,
) -> Result<String, SignInError> {
    let key = SigningKey::parse(key)?;
    let header = json!({ "alg": key.algorithm(), "typ": "JWT" });
    let claims = json!({
        // The issuer and not the token endpoint: with the latter, one server could use the assertion at another one.
        "iss": client, "sub": client, "aud": issuer, "jti": SecretString::generate()?.expose(),
        "iat": now.as_seconds(), "exp": now.as_seconds() + ASSERTION_LIFETIME_SECONDS,
    });
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes())?);
    Ok(format!("{signed}.{signature}"))
}

enum SigningKey {
    P256(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    fn parse(pem: &SecretString) -> Result<Self, SignInError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.expose().as_bytes()).map_err(|_| SignInError::Key)?;
        let der = der.secret_pkcs8_der();
        // The type of the key is in the PKCS#8 structure, and each parser rejects the other's.
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

    fn pem(der: &[u8]) -> SecretString {
        let text = STANDARD.encode(der);
        let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        SecretString::new(format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n")))
    }

    /// Returns header and claims of an assertion, after `check` has verified its signature.
    fn decode(pem: &SecretString, check: impl Fn(&[u8], &[u8]) -> bool) -> (serde_json::Value, serde_json::Value) {
        let now = Timestamp::default().plus_seconds(1_000);
        let jwt = sign_client_assertion("me", pem, "https://as.example", now).unwrap();
        let (said, signature) = jwt.rsplit_once('.').unwrap();
        assert!(check(said.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()));
        let part = |text: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap();
        let (header, claims) = said.split_once('.').unwrap();
        (part(header), part(claims))
    }

    #[test]
    fn signs_with_either_kind_of_key() {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref()).unwrap();
        let key = pem(document.as_ref());
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key().as_ref().to_vec());
        let (header, mut claims) = decode(&key, |message, signature| public.verify(message, signature).is_ok());
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
        let (header, _) = decode(&key, |message, signature| public.verify(message, signature).is_ok());
        assert_eq!(header["alg"], "RS256");
    }

    #[test]
    fn rejects_invalid_keys() {
        for key in ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"] {
            let refused = sign_client_assertion("me", &SecretString::new(key), "x", Timestamp::default());
            assert!(matches!(refused, Err(SignInError::Key)), "{key}");
        }
    }
}
