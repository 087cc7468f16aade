//! Response types: accounts, sessions and factors in GoTrue's shape.

use accounts::oidc::PROVIDER;
use accounts::password::PasswordWeakness;
use accounts::sessions::UserSession;
use accounts::tokens::AUTHENTICATED_ROLE;
use domain::{FactorId, Timestamp, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};
use storage::factors::Factor;
use storage::identities::Identity;
use storage::users::User;
use uuid::Uuid;

/// A session with its tokens.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AuthSession")]
pub struct SessionBody {
    access_token: String,
    #[schemars(extend("const" = "bearer"))]
    token_type: &'static str,
    /// Lifetime of the access token, in seconds.
    expires_in: i64,
    /// Expiry of the access token, in seconds since 1970.
    expires_at: i64,
    refresh_token: String,
    user: UserBody,
    /// Reasons to change the password that began the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    weak_password: Option<PasswordWeakness>,
}

impl From<UserSession> for SessionBody {
    fn from(sign_in: UserSession) -> Self {
        Self {
            access_token: sign_in.access_token,
            token_type: "bearer",
            expires_in: sign_in.expires_in,
            expires_at: sign_in.expires_at,
            refresh_token: sign_in.refresh_token,
            user: sign_in.user.into(),
            weak_password: None,
        }
    }
}

impl SessionBody {
    /// Adds the reasons why the password that began the session is weak.
    pub fn with_weakness(self, weak_password: Option<PasswordWeakness>) -> Self {
        Self { weak_password, ..self }
    }
}

/// An account. Times that are not set are left out; a missing address or number is an empty text.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "User")]
pub struct UserBody {
    id: UserId,
    aud: &'static str,
    role: &'static str,
    email: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    email_confirmed_at: Option<Timestamp>,
    phone: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmation_sent_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_sent_at: Option<Timestamp>,
    /// Address that has yet to be confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    email_change_sent_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reauthentication_sent_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invited_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    banned_until: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sign_in_at: Option<Timestamp>,
    /// Metadata that only the administrator changes.
    app_metadata: Map<String, Value>,
    /// Metadata that the user changes.
    user_metadata: Map<String, Value>,
    identities: Vec<IdentityBody>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    factors: Vec<FactorBody>,
    created_at: Timestamp,
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<Timestamp>,
    is_anonymous: bool,
}

/// A second factor.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Factor")]
pub struct FactorBody {
    id: FactorId,
    /// Name that the user has chosen; left out if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    friendly_name: String,
    #[schemars(extend("enum" = ["totp", "webauthn"]))]
    factor_type: &'static str,
    #[schemars(extend("enum" = ["verified", "unverified"]))]
    status: &'static str,
    /// Always empty: no factor is a phone.
    phone: &'static str,
    last_challenged_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<Factor> for FactorBody {
    fn from(factor: Factor) -> Self {
        Self {
            id: factor.id,
            friendly_name: factor.friendly_name,
            factor_type: factor.kind.as_str(),
            status: if factor.is_verified { "verified" } else { "unverified" },
            phone: "",
            last_challenged_at: factor.last_challenged_at,
            created_at: factor.created_at,
            updated_at: factor.updated_at,
        }
    }
}

/// A way to sign in to an account.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Identity")]
struct IdentityBody {
    identity_id: Uuid,
    /// Id of the user at the provider.
    id: String,
    user_id: UserId,
    #[schemars(with = "Map<String, Value>")]
    identity_data: Value,
    provider: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sign_in_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Left out if the provider names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
}

impl From<User> for UserBody {
    fn from(user: User) -> Self {
        Self {
            identities: email_identity(&user)
                .into_iter()
                .chain(user.identities.into_iter().map(IdentityBody::from))
                .collect(),
            factors: user.factors.into_iter().map(FactorBody::from).collect(),
            id: user.id,
            aud: AUTHENTICATED_ROLE,
            role: AUTHENTICATED_ROLE,
            email: user.email.unwrap_or_default(),
            email_confirmed_at: user.email_confirmed_at,
            phone: "",
            confirmation_sent_at: user.confirmation_sent_at,
            // In GoTrue the earlier confirmation of address and phone; accounts here have no phone.
            confirmed_at: user.email_confirmed_at,
            recovery_sent_at: user.recovery_sent_at,
            new_email: user.new_email,
            email_change_sent_at: user.email_change_sent_at,
            reauthentication_sent_at: user.reauthentication_sent_at,
            invited_at: user.invited_at,
            banned_until: user.banned_until,
            last_sign_in_at: user.last_sign_in_at,
            app_metadata: user.app_metadata,
            user_metadata: user.user_metadata,
            created_at: user.created_at,
            updated_at: user.updated_at,
            deleted_at: user.deleted_at,
            is_anonymous: user.is_anonymous,
        }
    }
}

fn email_identity(user: &User) -> Option<IdentityBody> {
    // A user who came from the identity provider has only its identity.
    let providers = user.app_metadata.get("providers").and_then(Value::as_array);
    if providers.is_some_and(|providers| !providers.iter().any(|provider| provider == "email")) {
        return None;
    }
    let email = user.email.clone()?;
    Some(IdentityBody {
        identity_id: user.identity_id,
        // The user's id at the provider, which for the provider `email` is the user's own id.
        id: user.id.to_string(),
        user_id: user.id,
        identity_data: json!({
            "sub": user.id,
            "email": email,
            "email_verified": user.email_confirmed_at.is_some(),
            "phone_verified": false,
        }),
        provider: "email",
        last_sign_in_at: user.last_sign_in_at,
        created_at: user.created_at,
        updated_at: user.updated_at,
        email: Some(email),
    })
}

impl From<Identity> for IdentityBody {
    fn from(identity: Identity) -> Self {
        Self {
            identity_id: identity.id,
            user_id: identity.user,
            email: identity.data.get("email").and_then(Value::as_str).map(str::to_owned),
            identity_data: Value::Object(identity.data),
            id: identity.subject,
            provider: PROVIDER,
            last_sign_in_at: Some(identity.last_sign_in_at),
            created_at: identity.created_at,
            updated_at: identity.updated_at,
        }
    }
}

/// An empty object.
#[derive(Serialize, JsonSchema)]
pub struct EmptyObject {}
