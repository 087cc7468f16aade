//! The two ceremonies of WebAuthn (W3C Web Authentication, level 3): registration of a credential, section 7.1, and
//! authentication with it, section 7.2.
//!
//! Attestation is not asked for, and not verified where an authenticator sends one: any authenticator may be used, so
//! its maker proves nothing that matters here.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ciborium::Value as Cbor;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use url::{Host, Url};

use super::public_key::{ALGORITHMS, CredentialPublicKey};

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
    /// The authenticator was not touched.
    #[error("the authenticator was not touched")]
    UserNotPresent,
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

/// The response to an authentication (`AuthenticationResponseJSON`), without the parts that are not used.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationResponse {
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

/// Purpose of a credential, which decides what its authenticator has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialPurpose {
    /// The identity of its user, in place of address and password: the authenticator has to store the credential and to
    /// verify its user.
    SignIn,
    /// Possession of the authenticator, after another proof of identity: a touch is enough.
    SecondFactor,
}

/// A credential that is to be created.
#[derive(Debug)]
pub struct Registration<'a> {
    /// What it proves.
    pub purpose: CredentialPurpose,
    /// Bytes by which the authenticator knows its owner. It replaces a credential that it stores for the same ones.
    pub user_handle: &'a [u8],
    /// Name of the account in the dialogues of browsers.
    pub name: &'a str,
    /// Ids of the user's credentials. Their authenticators create no second one.
    pub known: &'a [Vec<u8>],
    /// Random bytes.
    pub challenge: &'a [u8],
    /// Time for which the challenge is valid.
    pub lifetime_seconds: i64,
}

/// A credential that was registered before.
#[derive(Debug)]
pub struct KnownCredential<'a> {
    /// What it proves.
    pub purpose: CredentialPurpose,
    /// [`Registration::user_handle`].
    pub user_handle: &'a [u8],
    /// Public key, as a COSE key.
    pub public_key: &'a [u8],
    /// Whether the authenticator may copy it to other devices.
    pub is_backup_eligible: bool,
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
    pub fn domain(&self) -> &str {
        &self.id
    }

    /// Returns whether pages of an origin belong to this site.
    pub fn is_own_origin(&self, origin: &str) -> bool {
        let Ok(url) = Url::parse(origin) else { return false };
        if !self.allows_any_port {
            return url.origin() == self.origin.origin();
        }
        url.scheme() == self.origin.scheme() && url.host() == self.origin.host()
    }

    /// Returns the options to register a credential (`PublicKeyCredentialCreationOptionsJSON`).
    pub fn creation_options(&self, registration: &Registration<'_>) -> Value {
        let Registration { purpose, user_handle, name, known, challenge, lifetime_seconds } = registration;
        let parameters = ALGORITHMS.map(|algorithm| json!({ "type": "public-key", "alg": algorithm }));
        let known: Vec<Value> = known.iter().map(|id| describe_credential(id)).collect();
        let mut options = json!({
            "rp": { "id": self.id, "name": SITE_NAME },
            "user": { "id": URL_SAFE_NO_PAD.encode(user_handle), "name": name, "displayName": name },
            "challenge": URL_SAFE_NO_PAD.encode(challenge),
            "pubKeyCredParams": parameters,
            "timeout": lifetime_seconds * 1000,
            "excludeCredentials": known,
            "attestation": "none",
        });
        options["authenticatorSelection"] = match purpose {
            // The authenticator has to store the credential, and so finds it when nobody has said who signs in.
            CredentialPurpose::SignIn => json!({
                "residentKey": "required",
                "requireResidentKey": true,
                "userVerification": "required",
            }),
            // The page names the credential, so that it needs no place on the key, where it would pass for a passkey.
            CredentialPurpose::SecondFactor => json!({
                "authenticatorAttachment": "cross-platform",
                "residentKey": "discouraged",
                "requireResidentKey": false,
                "userVerification": "discouraged",
            }),
        };
        if *purpose == CredentialPurpose::SecondFactor {
            options["hints"] = json!(["security-key"]);
        }
        options
    }

    /// Returns the options to authenticate with one of the `allowed` credentials, or with any of this site if there are
    /// none (`PublicKeyCredentialRequestOptionsJSON`). `lifetime_seconds` is how long the challenge is valid.
    pub fn request_options(
        &self,
        purpose: CredentialPurpose,
        allowed: &[Vec<u8>],
        challenge: &[u8],
        lifetime_seconds: i64,
    ) -> Value {
        let mut options = json!({
            "challenge": URL_SAFE_NO_PAD.encode(challenge),
            "timeout": lifetime_seconds * 1000,
            "rpId": self.id,
            "userVerification": if purpose == CredentialPurpose::SignIn { "required" } else { "discouraged" },
        });
        if !allowed.is_empty() {
            options["allowCredentials"] = allowed.iter().map(|id| describe_credential(id)).collect();
        }
        options
    }

    /// Verifies the response to a registration.
    ///
    /// # Errors
    ///
    /// The response is malformed, or does not belong to this site and challenge.
    pub fn verify_registration(
        &self,
        purpose: CredentialPurpose,
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
        self.check_authenticator_data(purpose, &data)?;
        let (id, public_key) = data.credential.ok_or(CeremonyError::Malformed("authenticator data"))?;
        // Rejected now rather than at the first sign-in.
        CredentialPublicKey::parse(public_key)?;
        Ok(NewCredential {
            id: id.to_vec(),
            public_key: public_key.to_vec(),
            sign_count: data.sign_count,
            is_backup_eligible: data.has(BACKUP_ELIGIBLE),
        })
    }

    /// Verifies the response to an authentication with `credential`, and returns the signature counter of the
    /// authenticator. The caller has to compare it with the stored one.
    ///
    /// # Errors
    ///
    /// The response is malformed, does not belong to this site, challenge and credential, or is not signed with it.
    pub fn verify_authentication(
        &self,
        response: &AuthenticationResponse,
        challenge: &[u8],
        credential: &KnownCredential<'_>,
    ) -> Result<u32, CeremonyError> {
        let AssertionResponse { client_data, authenticator_data, signature, user_handle } = &response.response;
        let is_of_owner = match user_handle {
            Some(handle) => handle.0 == credential.user_handle,
            // A credential that the authenticator stores always comes with the handle, another may.
            None => credential.purpose == CredentialPurpose::SecondFactor,
        };
        if !is_of_owner {
            return Err(CeremonyError::WrongUser);
        }
        self.check_client_data(&client_data.0, "webauthn.get", challenge)?;
        let data = AuthenticatorData::parse(&authenticator_data.0)?;
        self.check_authenticator_data(credential.purpose, &data)?;
        if data.has(BACKUP_ELIGIBLE) != credential.is_backup_eligible {
            return Err(CeremonyError::ChangedProperties);
        }
        let signed = [authenticator_data.0.as_slice(), digest(&SHA256, &client_data.0).as_ref()].concat();
        if !CredentialPublicKey::parse(credential.public_key)?.verify(&signed, &signature.0) {
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

    fn check_authenticator_data(
        &self,
        purpose: CredentialPurpose,
        data: &AuthenticatorData<'_>,
    ) -> Result<(), CeremonyError> {
        if data.site_hash != digest(&SHA256, self.id.as_bytes()).as_ref() {
            return Err(CeremonyError::WrongSite);
        }
        if !data.has(USER_PRESENT) {
            return Err(CeremonyError::UserNotPresent);
        }
        if purpose == CredentialPurpose::SignIn && !data.has(USER_VERIFIED) {
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
