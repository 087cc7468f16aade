//! Security keys as second factors: WebAuthn credentials that are asked for after another proof of identity, on the
//! routes of GoTrue's clients (`mfa.webauthn`). Which site the credentials belong to is the server's setting; a client
//! that names another one is rejected.

use std::net::IpAddr;

use domain::{ChallengeId, FactorId, UserId};
use platform::secret_sealing::random_bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use storage::auth_sessions::AuthSession;
use storage::factors::{Factor, NewFactor};
use storage::security_keys::KeyCredential;
use storage::users::User;

use super::{CHALLENGE_LIFETIME_SECONDS, ChallengeAnswer, EnrolledFactor, IssuedChallenge};
use crate::gotrue_error::{
    CHALLENGE_ADDRESS_MISMATCH, CHALLENGE_NOT_FOUND, FACTOR_NOT_FOUND, GoTrueError, PASSKEY_EXISTS,
    SECURITY_KEY_INVALID, SESSION_NOT_FOUND, WEBAUTHN_FACTOR_DISABLED, WEBAUTHN_VERIFICATION_DISABLED,
};
use crate::webauthn::ceremony::{
    AuthenticationResponse, CredentialPurpose, KnownCredential, Registration, RegistrationResponse, RelyingParty,
};
use crate::webauthn::{log_rejection, parse_response};
use crate::{AccountService, AuthError, Claims};

/// What is asked of a security key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum KeyCeremony {
    /// To create a credential, for an unverified factor.
    Create,
    /// To sign with one, for a verified factor.
    Request,
}

/// The site that a client wants the response of a security key for: that of the server.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "WebAuthnSite")]
pub struct ClientSite {
    /// Domain of the site.
    #[serde(rename = "rpId")]
    domain: Option<String>,
    /// Origins of its pages.
    #[serde(rename = "rpOrigins")]
    origins: Option<Vec<String>>,
}

/// Operation for a security key, as options of the browser's WebAuthn API.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WebAuthnChallenge")]
pub struct KeyChallenge {
    r#type: KeyCeremony,
    /// `publicKey` is JSON for `PublicKeyCredential.parseCreationOptionsFromJSON` or `parseRequestOptionsFromJSON`.
    #[schemars(with = "Map<String, Value>")]
    credential_options: Value,
}

/// The response of a security key.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "WebAuthnAnswer")]
pub struct KeyAnswer {
    #[serde(flatten)]
    site: ClientSite,
    #[schemars(required, extend("enum" = ["create", "request"]))]
    r#type: Option<String>,
    /// JSON of the browser's `PublicKeyCredential`.
    #[schemars(required, with = "Map<String, Value>")]
    credential_response: Option<Value>,
}

impl AccountService {
    /// Enrolls a security key as a factor of the caller. It creates its credential when it answers the first challenge.
    ///
    /// # Errors
    ///
    /// [`WEBAUTHN_FACTOR_DISABLED`] where browsers use no security keys, or only the identity provider may sign in.
    pub async fn enroll_security_key(
        &self,
        claims: Claims,
        user: &User,
        friendly_name: String,
    ) -> Result<EnrolledFactor, AuthError> {
        if !self.has_passkeys() {
            return Err(WEBAUTHN_FACTOR_DISABLED.into());
        }
        let friendly_name = self.check_enrollment(claims, user, friendly_name).await?;
        let id = FactorId::fresh();
        self.insert_factor(user.id, &NewFactor { id, friendly_name: friendly_name.clone(), secret: None }).await?;
        Ok(EnrolledFactor { id, friendly_name, totp: None })
    }

    /// Creates a challenge for a security key. Any verified security key of the user may answer that of a verified one.
    pub(super) async fn challenge_security_key(
        &self,
        user: &User,
        factor: &Factor,
        address: IpAddr,
        client: Option<ClientSite>,
    ) -> Result<IssuedChallenge, AuthError> {
        let site = self.security_key_site(&client.unwrap_or_default())?;
        let bytes = random_bytes::<32>().map_err(AuthError::internal)?;
        let known = self.storage.factors().list_key_credentials(user.id).await?;
        let known: Vec<Vec<u8>> = known.into_iter().map(|credential| credential.credential_id).collect();
        let ceremony = ceremony_of(factor);
        let options = match ceremony {
            KeyCeremony::Create => site.creation_options(&Registration {
                purpose: CredentialPurpose::SecondFactor,
                user_handle: &user_handle(factor.id),
                name: user.email.as_deref().unwrap_or_default(),
                known: &known,
                challenge: &bytes,
                lifetime_seconds: CHALLENGE_LIFETIME_SECONDS,
            }),
            KeyCeremony::Request => {
                site.request_options(CredentialPurpose::SecondFactor, &known, &bytes, CHALLENGE_LIFETIME_SECONDS)
            }
        };
        let issued = self.store_challenge_of(user.id, factor, address, Some(&bytes)).await?;
        let challenge = KeyChallenge { r#type: ceremony, credential_options: json!({ "publicKey": options }) };
        Ok(IssuedChallenge { webauthn: Some(challenge), ..issued })
    }

    /// Verifies the response of a security key, and raises the session. It uses up the challenge. Attempts are not
    /// throttled like those of codes, because signatures cannot be guessed.
    pub(super) async fn verify_security_key(
        &self,
        claims: Claims,
        factor: &Factor,
        address: IpAddr,
        answer: ChallengeAnswer,
    ) -> Result<AuthSession, AuthError> {
        let KeyAnswer { site, r#type, credential_response } =
            answer.webauthn.ok_or(GoTrueError::validation_failed("WebAuthn config required"))?;
        let ceremony = match r#type.as_deref() {
            Some("create") => KeyCeremony::Create,
            Some("request") => KeyCeremony::Request,
            _ => return Err(GoTrueError::validation_failed("WebAuthn type must be create or request").into()),
        };
        if ceremony != ceremony_of(factor) {
            return Err(GoTrueError::validation_failed("WebAuthn type must be that of the challenge").into());
        }
        let response = credential_response.ok_or(GoTrueError::validation_failed("credential_response required"))?;
        let site = self.security_key_site(&site)?;
        let challenge = self.take_key_challenge(claims.user, factor.id, answer.challenge, address).await?;
        let verified = match ceremony {
            KeyCeremony::Create => self.add_key(claims, factor, address, &site, &challenge, response).await,
            KeyCeremony::Request => self.use_key(claims, &site, &challenge, response).await,
        };
        if matches!(verified, Err(AuthError::GoTrue(SECURITY_KEY_INVALID))) {
            self.audit_failed_factor(claims.user, address).await?;
        }
        verified
    }

    /// Stores the credential that a security key has created.
    async fn add_key(
        &self,
        claims: Claims,
        factor: &Factor,
        address: IpAddr,
        site: &RelyingParty,
        challenge: &[u8],
        response: Value,
    ) -> Result<AuthSession, AuthError> {
        let response: RegistrationResponse = parse_response(response).ok_or(RESPONSE_INVALID)?;
        let created = site.verify_registration(CredentialPurpose::SecondFactor, &response, challenge);
        let created = created.map_err(|error| {
            log_rejection(error);
            SECURITY_KEY_INVALID
        })?;
        let credential = KeyCredential {
            factor: factor.id,
            credential_id: created.id,
            public_key: created.public_key,
            sign_count: created.sign_count,
            is_backup_eligible: created.is_backup_eligible,
        };
        let events = self.addition_events(claims.user, factor, address);
        let factors = self.storage.factors();
        match factors.verify_key(claims.user, claims.session, &credential, self.clock.now(), &events).await {
            Ok(session) => Ok(session.ok_or(FACTOR_NOT_FOUND)?),
            Err(storage::Error::Conflict(_)) => Err(PASSKEY_EXISTS.into()),
            Err(storage::Error::NotFound) => Err(SESSION_NOT_FOUND.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Verifies the signature of one of the caller's security keys.
    async fn use_key(
        &self,
        claims: Claims,
        site: &RelyingParty,
        challenge: &[u8],
        response: Value,
    ) -> Result<AuthSession, AuthError> {
        let response: AuthenticationResponse = parse_response(response).ok_or(RESPONSE_INVALID)?;
        let factors = self.storage.factors();
        let credentials = factors.list_key_credentials(claims.user).await?;
        let credential = credentials.into_iter().find(|known| known.credential_id == response.credential_id.0);
        let credential = credential.ok_or(SECURITY_KEY_INVALID)?;
        let known = KnownCredential {
            purpose: CredentialPurpose::SecondFactor,
            user_handle: &user_handle(credential.factor),
            public_key: &credential.public_key,
            is_backup_eligible: credential.is_backup_eligible,
        };
        let counter = site.verify_authentication(&response, challenge, &known).map_err(|error| {
            log_rejection(error);
            SECURITY_KEY_INVALID
        })?;
        let factor = credential.factor;
        match factors.record_key_use(claims.user, claims.session, factor, counter, self.clock.now()).await {
            Ok(Some(session)) => Ok(session),
            Ok(None) => {
                tracing::warn!(%factor, "a security key was rejected because its counter went back: it may be a copy");
                Err(SECURITY_KEY_INVALID.into())
            }
            Err(storage::Error::NotFound) => Err(SESSION_NOT_FOUND.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Uses up a challenge for a security key, and returns its random bytes.
    async fn take_key_challenge(
        &self,
        owner: UserId,
        factor: FactorId,
        id: ChallengeId,
        address: IpAddr,
    ) -> Result<Vec<u8>, AuthError> {
        let challenge = self.get_open_challenge(owner, factor, id, address).await?;
        if !self.storage.factors().answer_challenge(owner, factor, id, self.clock.now()).await? {
            return Err(CHALLENGE_ADDRESS_MISMATCH.into());
        }
        Ok(challenge.bytes.ok_or(CHALLENGE_NOT_FOUND)?)
    }

    /// Returns the site of the server, unless the client names another one. Security keys that were added before only the
    /// identity provider may sign in are still asked for: without them their users would be locked out.
    fn security_key_site(&self, client: &ClientSite) -> Result<RelyingParty, AuthError> {
        let site = self.webauthn_site().ok_or(WEBAUTHN_VERIFICATION_DISABLED)?;
        if let Some(domain) = client.domain.as_ref().filter(|domain| *domain != site.domain()) {
            return Err(wrong_site(format!("rpId is {domain:?}, but this server is {:?}", site.domain())));
        }
        if let Some(origin) = client.origins.iter().flatten().find(|origin| !site.is_own_origin(origin)) {
            return Err(wrong_site(format!("rpOrigins contains {origin:?}, which is no origin of this server")));
        }
        Ok(site)
    }
}

/// A response that has not the expected shape.
const RESPONSE_INVALID: GoTrueError = GoTrueError::validation_failed("Invalid credential_response");

fn wrong_site(message: String) -> AuthError {
    AuthError::GoTrueWithMessage { status: 400, code: "validation_failed", message }
}

fn ceremony_of(factor: &Factor) -> KeyCeremony {
    if factor.is_verified { KeyCeremony::Request } else { KeyCeremony::Create }
}

/// Returns the bytes by which a security key knows its owner. They are not those of [passkeys](crate::passkeys), which an
/// authenticator that stores all credentials would replace.
fn user_handle(factor: FactorId) -> Vec<u8> {
    factor.to_string().into_bytes()
}
