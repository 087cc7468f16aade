//! The two ceremonies of WebAuthn (W3C Web Authentication, level 3): registration of a credential, section 7.1, and
//! authentication with it, section 7.2.
//!
//! Attestation is not asked for, and not verified where an authenticator sends one: any authenticator may be used, so
//! its maker proves nothing that matters here.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ciborium::Value as Cbor;
use domain::UserId;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use storage::passkeys::Passkey;
use url::{Host, Url};

use super::public_key::{ALGORITHMS, PasskeyPublicKey};

/// Name of the site in the dialogues of browsers.
const SITE_NAME: &str = "AI Chat MCP";
/// Maximum length of a credential id, in bytes (section 7.1, step 25).
const MAX_CREDENTIAL_ID_BYTES: usize = 1023;

// Flags of authenticator data (section 6.1).
const USER_PRESENT: u8 = 1;
const USER_VERIFIED: u8 = 1 << 2;
const BACKUP_ELIGIBLE: u8 = 1 << 3;
const BACKED_UP: u8 = 1 << 4;
const HAS_CREDENTIAL: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;

/// Length of the hash, the flags and the counter, with which authenticator data begins.
const DATA_HEAD_BYTES: usize = 37;
/// Length of an AAGUID, the model of an authenticator.
const AAGUID_BYTES: usize = 16;

/// Reasons to reject the response of an authenticator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CeremonyError {
    /// A part of the response cannot be parsed.
    #[error("the {0} cannot be read")]
    Malformed(&'static str),
    /// The response belongs to the other ceremony.
    #[error("the response is of another ceremony")]
    WrongCeremony,
    /// The response answers another challenge.
    #[error("the response answers another challenge")]
    WrongChallenge,
    /// The browser was on a page of another site, or in a frame of one.
    #[error("the response comes from another site")]
    WrongOrigin,
    /// The credential is of another site.
    #[error("the credential is of another site")]
    WrongSite,
    /// The authenticator did not verify that its user is who it belongs to.
    #[error("the authenticator did not verify its user")]
    UserNotVerified,
    /// The algorithm of the key is not supported.
    #[error("the kind of key is not supported")]
    UnsupportedKey,
    /// Whether the credential can be copied has changed, which no authenticator does.
    #[error("the credential has changed its properties")]
    ChangedProperties,
    /// The user handle is of another account.
    #[error("the credential is of another account")]
    WrongUser,
    /// The signature is wrong.
    #[error("the signature is wrong")]
    WrongSignature,
}

/// Bytes that JSON holds as base64url.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedBytes(pub Vec<u8>);

impl<'de> Deserialize<'de> for EncodedBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('='));
        bytes.map(Self).map_err(|_| serde::de::Error::custom("expected base64url"))
    }
}

/// The response to a registration (`RegistrationResponseJSON`), without the parts that are not used.
#[derive(Debug, Deserialize)]
pub struct RegistrationResponse {
    response: AttestationResponse,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttestationResponse {
    #[serde(rename = "clientDataJSON")]
    client_data: EncodedBytes,
    attestation_object: EncodedBytes,
}

/// The response to a sign-in (`AuthenticationResponseJSON`), without the parts that are not used.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignInResponse {
    /// Id of the credential.
    #[serde(rename = "rawId")]
    pub credential_id: EncodedBytes,
    response: AssertionResponse,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AssertionResponse {
    #[serde(rename = "clientDataJSON")]
    client_data: EncodedBytes,
    authenticator_data: EncodedBytes,
    signature: EncodedBytes,
    user_handle: Option<EncodedBytes>,
}

/// Data of a ceremony from the browser (`CollectedClientData`).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    r#type: String,
    challenge: EncodedBytes,
    origin: String,
    #[serde(default)]
    cross_origin: bool,
}

/// A credential that was just created.
#[derive(Debug, PartialEq, Eq)]
pub struct NewCredential {
    /// Id that the authenticator has chosen.
    pub id: Vec<u8>,
    /// Public key, as a COSE key.
    pub public_key: Vec<u8>,
    /// Signature counter.
    pub sign_count: u32,
    /// Whether the authenticator may copy it to other devices.
    pub is_backup_eligible: bool,
}

/// This site, for which credentials are created (relying party).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelyingParty {
    /// Domain of the site.
    id: String,
    origin: Url,
    /// True if the server may be reached at another port than that of `origin`.
    allows_any_port: bool,
}

impl RelyingParty {
    /// Creates the relying party of a site; `None` if the site has no domain name, without which browsers have no
    /// passkeys.
    pub fn new(site_url: &Url, is_site_url_configured: bool) -> Option<Self> {
        let Some(Host::Domain(domain)) = site_url.host() else { return None };
        Some(Self { id: domain.to_owned(), origin: site_url.clone(), allows_any_port: !is_site_url_configured })
    }

    /// Returns the domain of the site.
    pub fn into_domain(self) -> String {
        self.id
    }

    /// Returns the options to register a credential of a user who has the `known` ones
    /// (`PublicKeyCredentialCreationOptionsJSON`). `lifetime_seconds` is how long the challenge is valid.
    pub fn creation_options(
        &self,
        user: UserId,
        name: &str,
        known: &[Passkey],
        challenge: &[u8],
        lifetime_seconds: i64,
    ) -> Value {
        let parameters = ALGORITHMS.map(|algorithm| json!({ "type": "public-key", "alg": algorithm }));
        let known: Vec<Value> = known.iter().map(|passkey| describe_credential(&passkey.credential_id)).collect();
        json!({
            "rp": { "id": self.id, "name": SITE_NAME },
            "user": { "id": URL_SAFE_NO_PAD.encode(user_handle(user)), "name": name, "displayName": name },
            "challenge": URL_SAFE_NO_PAD.encode(challenge),
            "pubKeyCredParams": parameters,
            "timeout": lifetime_seconds * 1000,
            "excludeCredentials": known,
            // The authenticator has to store the credential, and so finds it when nobody has said who signs in.
            "authenticatorSelection": {
                "residentKey": "required",
                "requireResidentKey": true,
                "userVerification": "required",
            },
            "attestation": "none",
        })
    }

    /// Returns the options to sign in with any credential of this site (`PublicKeyCredentialRequestOptionsJSON`).
    pub fn request_options(&self, challenge: &[u8], lifetime_seconds: i64) -> Value {
        json!({
            "challenge": URL_SAFE_NO_PAD.encode(challenge),
            "timeout": lifetime_seconds * 1000,
            "rpId": self.id,
            "userVerification": "required",
        })
    }

    /// Verifies the response to a registration.
    ///
    /// # Errors
    ///
    /// The response is malformed, or does not belong to this site and challenge.
    pub fn verify_registration(
        &self,
        response: &RegistrationResponse,
        challenge: &[u8],
    ) -> Result<NewCredential, CeremonyError> {
        let AttestationResponse { client_data, attestation_object } = &response.response;
        self.check_client_data(&client_data.0, "webauthn.create", challenge)?;
        let attestation: Cbor = ciborium::from_reader(attestation_object.0.as_slice())
            .map_err(|_| CeremonyError::Malformed("attestation object"))?;
        let data = attestation.as_map().and_then(|fields| {
            fields.iter().find(|(name, _)| name.as_text() == Some("authData")).and_then(|(_, data)| data.as_bytes())
        });
        let data = AuthenticatorData::parse(data.ok_or(CeremonyError::Malformed("attestation object"))?)?;
        self.check_authenticator_data(&data)?;
        let (id, public_key) = data.credential.ok_or(CeremonyError::Malformed("authenticator data"))?;
        // Rejected now rather than at the first sign-in.
        PasskeyPublicKey::parse(public_key)?;
        Ok(NewCredential {
            id: id.to_vec(),
            public_key: public_key.to_vec(),
            sign_count: data.sign_count,
            is_backup_eligible: data.has(BACKUP_ELIGIBLE),
        })
    }

    /// Verifies the response to a sign-in with `passkey`, and returns the signature counter of the authenticator. The
    /// caller has to compare it with the stored one.
    ///
    /// # Errors
    ///
    /// The response is malformed, does not belong to this site, challenge and passkey, or is not signed with it.
    pub fn verify_sign_in(
        &self,
        response: &SignInResponse,
        challenge: &[u8],
        passkey: &Passkey,
    ) -> Result<u32, CeremonyError> {
        let AssertionResponse { client_data, authenticator_data, signature, user_handle: handle } = &response.response;
        // A credential that the authenticator stores always comes with the handle.
        if handle.as_ref().is_none_or(|handle| handle.0 != user_handle(passkey.user)) {
            return Err(CeremonyError::WrongUser);
        }
        self.check_client_data(&client_data.0, "webauthn.get", challenge)?;
        let data = AuthenticatorData::parse(&authenticator_data.0)?;
        self.check_authenticator_data(&data)?;
        if data.has(BACKUP_ELIGIBLE) != passkey.is_backup_eligible {
            return Err(CeremonyError::ChangedProperties);
        }
        let signed = [authenticator_data.0.as_slice(), digest(&SHA256, &client_data.0).as_ref()].concat();
        if !PasskeyPublicKey::parse(&passkey.public_key)?.verify(&signed, &signature.0) {
            return Err(CeremonyError::WrongSignature);
        }
        Ok(data.sign_count)
    }

    fn check_client_data(&self, bytes: &[u8], ceremony: &str, challenge: &[u8]) -> Result<(), CeremonyError> {
        let data: ClientData = serde_json::from_slice(bytes).map_err(|_| CeremonyError::Malformed("client data"))?;
        if data.r#type != ceremony {
            return Err(CeremonyError::WrongCeremony);
        }
        if data.challenge.0 != challenge {
            return Err(CeremonyError::WrongChallenge);
        }
        if data.cross_origin || !self.is_own_origin(&data.origin) {
            return Err(CeremonyError::WrongOrigin);
        }
        Ok(())
    }

    fn is_own_origin(&self, origin: &str) -> bool {
        let Ok(url) = Url::parse(origin) else { return false };
        if !self.allows_any_port {
            return url.origin() == self.origin.origin();
        }
        url.scheme() == self.origin.scheme() && url.host() == self.origin.host()
    }

    fn check_authenticator_data(&self, data: &AuthenticatorData<'_>) -> Result<(), CeremonyError> {
        if data.site_hash != digest(&SHA256, self.id.as_bytes()).as_ref() {
            return Err(CeremonyError::WrongSite);
        }
        if !data.has(USER_PRESENT) || !data.has(USER_VERIFIED) {
            return Err(CeremonyError::UserNotVerified);
        }
        // A credential that cannot be copied cannot have been copied.
        if data.has(BACKED_UP) && !data.has(BACKUP_ELIGIBLE) {
            return Err(CeremonyError::Malformed("authenticator data"));
        }
        Ok(())
    }
}

/// Data of a ceremony from the authenticator (section 6.1).
#[derive(Debug)]
struct AuthenticatorData<'a> {
    /// SHA-256 of the domain for which the credential was created.
    site_hash: &'a [u8],
    flags: u8,
    sign_count: u32,
    /// Id and public key of a new credential.
    credential: Option<(&'a [u8], &'a [u8])>,
}

impl<'a> AuthenticatorData<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, CeremonyError> {
        const MALFORMED: CeremonyError = CeremonyError::Malformed("authenticator data");
        let (head, mut rest) = bytes.split_at_checked(DATA_HEAD_BYTES).ok_or(MALFORMED)?;
        let (site_hash, head) = head.split_at(32);
        let [flags, counter @ ..] = head else { return Err(MALFORMED) };
        let sign_count = u32::from_be_bytes(counter.try_into().map_err(|_| MALFORMED)?);
        let mut credential = None;
        if flags & HAS_CREDENTIAL != 0 {
            let (head, after) = rest.split_at_checked(AAGUID_BYTES + 2).ok_or(MALFORMED)?;
            let length = usize::from(u16::from_be_bytes([head[AAGUID_BYTES], head[AAGUID_BYTES + 1]]));
            let (id, after) = after.split_at_checked(length).ok_or(MALFORMED)?;
            if id.is_empty() || id.len() > MAX_CREDENTIAL_ID_BYTES {
                return Err(MALFORMED);
            }
            let remaining = skip_cbor(after)?;
            let key = &after[..after.len() - remaining.len()];
            credential = Some((id, key));
            rest = remaining;
        }
        if flags & HAS_EXTENSIONS != 0 {
            rest = skip_cbor(rest)?;
        }
        if !rest.is_empty() {
            return Err(MALFORMED);
        }
        Ok(Self { site_hash, flags: *flags, sign_count, credential })
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Returns what follows the CBOR value at the beginning of `bytes`.
fn skip_cbor(mut bytes: &[u8]) -> Result<&[u8], CeremonyError> {
    let _: Cbor = ciborium::from_reader(&mut bytes).map_err(|_| CeremonyError::Malformed("authenticator data"))?;
    Ok(bytes)
}

fn describe_credential(id: &[u8]) -> Value {
    json!({ "type": "public-key", "id": URL_SAFE_NO_PAD.encode(id) })
}

/// Returns the bytes by which an authenticator knows the user, as in GoTrue.
fn user_handle(user: UserId) -> Vec<u8> {
    user.to_string().into_bytes()
}
