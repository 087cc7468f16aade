//! DER encoding of RSA private keys (`RSAPrivateKey`, RFC 8017 appendix A.1.2), which the RSA signer expects.

const INTEGER_TAG: u8 = 0x02;
const SEQUENCE_TAG: u8 = 0x30;

/// Encodes a private key from its big-endian numbers: n, e, d, p, q, d mod (p-1), d mod (q-1), q⁻¹ mod p.
pub fn rsa_private_key(numbers: &[Vec<u8>; 8]) -> Vec<u8> {
    let mut content = integer(&[0]);
    for number in numbers {
        content.extend(integer(number));
    }
    element(SEQUENCE_TAG, &content)
}

/// Encodes an unsigned integer: without leading zeros, except for one if the first bit would be taken as a sign.
fn integer(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len());
    let digits = &bytes[start..];
    let mut content = Vec::with_capacity(digits.len() + 1);
    if digits.first().is_none_or(|&first| first & 0x80 != 0) {
        content.push(0);
    }
    content.extend_from_slice(digits);
    element(INTEGER_TAG, &content)
}

fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let significant = &length[length.iter().position(|&byte| byte != 0).unwrap_or(length.len() - 1)..];
    let mut out = vec![tag];
    if content.len() >= 0x80 {
        out.push(0x80 | significant.len() as u8);
    }
    out.extend_from_slice(significant);
    out.extend_from_slice(content);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_integers_and_lengths_as_der() {
        assert_eq!(integer(&[0]), [2, 1, 0]);
        assert_eq!(integer(&[0, 0, 127]), [2, 1, 127]);
        assert_eq!(integer(&[128]), [2, 2, 0, 128]);
        assert_eq!(element(SEQUENCE_TAG, &[1; 127])[..2], [0x30, 127]);
        assert_eq!(element(SEQUENCE_TAG, &[1; 128])[..3], [0x30, 0x81, 128]);
        assert_eq!(element(SEQUENCE_TAG, &[1; 256])[..4], [0x30, 0x82, 1, 0]);
    }
}
