use aws_lc_rs::encoding::AsDer;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::*;

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn key(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn fresh() -> Value {
    key(&generate().unwrap())
}

fn with(mut key: Value, name: &str, value: Value) -> Value {
    key[name] = value;
    key
}

fn without(mut key: Value, names: &[&str]) -> Value {
    let fields = key.as_object_mut().unwrap();
    fields.retain(|name, _| !names.contains(&name.as_str()));
    key
}

fn refusal(value: &Value) -> String {
    SigningKeys::from_json(&value.to_string()).unwrap_err().to_string()
}

fn secret() -> Value {
    json!({ "kty": "oct", "kid": "s", "k": b64([9; 32]) })
}

/// Generates an RSA key as a private JWK, from the DER document that the library returns.
fn rsa() -> Value {
    let pair = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
    let document = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
    // PKCS#8 wraps the numbers after 26 bytes: sequence, version, algorithm, octet string.
    let mut rest = &document.as_ref()[26 + 4..];
    let mut numbers = Vec::new();
    while let [0x02, tail @ ..] = rest {
        let (length, tail) = match tail {
            [0x82, high, low, tail @ ..] => (usize::from(*high) << 8 | usize::from(*low), tail),
            [0x81, length, tail @ ..] | [length, tail @ ..] => (usize::from(*length), tail),
            [] => unreachable!(),
        };
        let (number, tail) = tail.split_at(length);
        numbers.push(b64(number.strip_prefix(&[0]).unwrap_or(number)));
        rest = tail;
    }
    let names = ["n", "e", "d", "p", "q", "dp", "dq", "qi"];
    let fields = names.into_iter().zip(&numbers[1..]).map(|(name, number)| (name.to_owned(), json!(number)));
    let mut key: Value = Value::Object(fields.collect());
    key["kty"] = json!("RSA");
    key["alg"] = json!("RS256");
    key
}

#[test]
fn parses_one_key_a_set_and_an_array() {
    let first = with(fresh(), "kid", json!("first"));
    let second = with(fresh(), "kid", json!("second"));
    for text in [first.clone(), json!([first, second]), json!({ "keys": [first, second] })] {
        let keys = SigningKeys::from_json(&text.to_string()).unwrap();
        let token = keys.sign(&json!({ "n": 1 })).unwrap();
        assert_eq!(decode_header(&token).unwrap().kid.as_deref(), Some("first"));
        assert_eq!(keys.verify::<Value>(&token, NOW).unwrap(), json!({ "n": 1 }));
    }
}

#[test]
fn every_type_of_key_signs_and_verifies() {
    for (key, algorithm) in [(fresh(), "ES256"), (rsa(), "RS256"), (secret(), "HS256")] {
        let keys = SigningKeys::from_json(&key.to_string()).unwrap();
        let token = keys.sign(&json!({ "n": 1 })).unwrap();
        assert_eq!(format!("{:?}", decode_header(&token).unwrap().alg), algorithm);
        assert!(keys.verify::<Value>(&token, NOW).is_ok());
        let other = SigningKeys::from_json(&fresh().to_string()).unwrap();
        assert_eq!(other.verify::<Value>(&token, NOW), Err(InvalidSignature));
    }
}

#[test]
fn publishes_only_public_keys() {
    let keys = SigningKeys::from_json(&json!([fresh(), rsa(), secret()]).to_string()).unwrap();
    let published = keys.jwk_set()["keys"].as_array().unwrap();
    assert_eq!(published.len(), 2, "a symmetric key has nothing to publish");
    for key in published {
        let fields = key.as_object().unwrap();
        assert!(fields.keys().all(|name| {
            ["kty", "kid", "alg", "use", "key_ops", "crv", "x", "y", "n", "e"].contains(&name.as_str())
        }));
    }
    assert!(!format!("{keys:?}").contains(fresh()["d"].as_str().unwrap()));
}

#[test]
fn thumbprint_is_the_default_key_id() {
    // The example of RFC 7638, section 3.1.
    let n = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
    let key = json!({ "kty": "RSA", "n": n, "e": "AQAB" });
    let keys = SigningKeys::from_json(&json!([fresh(), key]).to_string()).unwrap();
    assert_eq!(keys.jwk_set()["keys"][1]["kid"], "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
}

#[test]
fn retired_key_verifies_but_does_not_sign() {
    let (old, new) = (with(fresh(), "kid", json!("old")), with(fresh(), "kid", json!("new")));
    let token = SigningKeys::from_json(&old.to_string()).unwrap().sign(&json!({})).unwrap();
    for retired in [without(old.clone(), &["d"]), with(old, "key_ops", json!(["verify"]))] {
        let keys = SigningKeys::from_json(&json!([retired, new]).to_string()).unwrap();
        assert!(keys.verify::<Value>(&token, NOW).is_ok());
        assert_eq!(decode_header(keys.sign(&json!({})).unwrap()).unwrap().kid.as_deref(), Some("new"));
        assert_eq!(refusal(&retired), KeyError::NoSigningKey.to_string());
    }
}

#[test]
fn key_file_errors_have_a_reason_and_no_key_material() {
    let pair = fresh();
    let mismatched = with(pair.clone(), "d", fresh()["d"].clone());
    assert!(refusal(&mismatched).contains("cannot be used"), "{}", refusal(&mismatched));
    assert!(refusal(&with(pair.clone(), "alg", json!("RS256"))).contains("\"alg\" must be"));
    assert!(refusal(&with(pair.clone(), "crv", json!("P-384"))).contains("P-256"));
    assert!(refusal(&with(pair.clone(), "d", json!("%%"))).contains("base64url"));
    assert!(refusal(&without(pair.clone(), &["x"])).contains("public field"));
    assert!(refusal(&without(rsa(), &["p"])).contains("private field is missing"));
    assert!(refusal(&json!([pair, pair])).contains("two keys have the id"));
    assert!(refusal(&json!([])).contains("none of the keys"));
    assert!(refusal(&with(secret(), "k", json!(b64("short")))).contains("32 bytes"));
    let example = b64("super-secret-jwt-token-with-at-least-32-characters-long");
    assert!(refusal(&with(secret(), "k", json!(example))).contains("publicly known"));
    let broken = SigningKeys::from_json("{\"kty\": sekrit").unwrap_err().to_string();
    assert!(broken.contains("line 1") && !broken.contains("sekrit"), "{broken}");
}

/// Returns a token with an arbitrary header, signed by `mac`.
fn forged(header: &Value, mac: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let message = format!("{}.{}", b64(header.to_string()), b64("{\"n\":1}"));
    let signature = mac(message.as_bytes());
    format!("{message}.{}", b64(signature))
}

#[test]
fn key_determines_the_algorithm() {
    use aws_lc_rs::hmac;
    for key in [fresh(), rsa()] {
        let keys = SigningKeys::from_json(&key.to_string()).unwrap();
        let kid = keys.all[0].kid.clone();
        let published = keys.jwk_set()["keys"][0].to_string();
        for alg in ["none", "None", "HS256", "ES384", "RS512", "EdDSA"] {
            let header = json!({ "alg": alg, "kid": kid });
            assert_eq!(keys.verify::<Value>(&forged(&header, |_| Vec::new()), NOW), Err(InvalidSignature), "{alg}");
            // The classic attack: the public key is used as the HMAC secret.
            let secret = hmac::Key::new(hmac::HMAC_SHA256, published.as_bytes());
            let mac = |message: &[u8]| hmac::sign(&secret, message).as_ref().to_vec();
            assert_eq!(keys.verify::<Value>(&forged(&header, mac), NOW), Err(InvalidSignature), "{alg}");
        }
    }
}

#[test]
fn rejects_tokens_without_known_kid_or_with_crit() {
    let keys = SigningKeys::from_json(&secret().to_string()).unwrap();
    let mac = |message: &[u8]| {
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &[9; 32]);
        aws_lc_rs::hmac::sign(&key, message).as_ref().to_vec()
    };
    assert!(keys.verify::<Value>(&forged(&json!({ "alg": "HS256", "kid": "s" }), mac), NOW).is_ok());
    for header in [
        json!({ "alg": "HS256" }),
        json!({ "alg": "HS256", "kid": "t" }),
        json!({ "alg": "HS256", "kid": "s", "crit": ["exp"] }),
    ] {
        assert_eq!(keys.verify::<Value>(&forged(&header, mac), NOW), Err(InvalidSignature), "{header}");
    }
}

#[test]
fn replaced_key_verifies_until_its_limit() {
    let (old, new) = (with(fresh(), "kid", json!("old")), with(fresh(), "kid", json!("new")));
    let token = SigningKeys::from_json(&old.to_string()).unwrap().sign(&json!({})).unwrap();
    let mut keys = SigningKeys::from_json(&json!([new, old]).to_string()).unwrap();
    keys.all[1].accepted_until = Some(NOW);
    assert!(keys.verify::<Value>(&token, NOW.plus_seconds(-1)).is_ok());
    assert_eq!(keys.verify::<Value>(&token, NOW), Err(InvalidSignature));
}
