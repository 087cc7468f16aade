//! `/admin/generate_link` and `/invite`.

use accounts::AccountService;
use accounts::admin::{GenerateLinkParams, GeneratedLink};
use accounts::email_address::MAX_ADDRESS_BYTES;
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Admin;
use crate::auth::dto::UserBody;
use crate::auth::error::AuthApiError;
use crate::auth::extract::{AuthJsonBody, AuthQuery, EmailLinkQuery};

/// The requested link. As in GoTrue, `null` counts as a field that is left out.
#[derive(Deserialize, JsonSchema)]
pub struct GenerateLinkBody {
    #[serde(rename = "type")]
    #[schemars(
        required,
        extend("enum" = ["signup", "invite", "magiclink", "recovery", "email_change_current", "email_change_new"])
    )]
    purpose: Option<String>,
    /// Address of the account.
    #[schemars(required)]
    email: Option<String>,
    /// New address of the account, for a change of address.
    new_email: Option<String>,
    /// Password of a new account.
    password: Option<String>,
    /// Metadata of a new account.
    data: Option<Map<String, Value>>,
    /// Target of the link. It takes precedence over the one in the query.
    redirect_to: Option<String>,
}

/// A link and its code, in one object with the fields of the account.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "GeneratedLink")]
pub struct LinkBody {
    #[serde(flatten)]
    user: UserBody,
    /// URL of the link.
    action_link: String,
    /// Code that can be used instead of the link.
    email_otp: String,
    /// Token of the link, for clients that verify it themselves.
    hashed_token: String,
    /// Type to verify the link with. A magic link for an unknown address becomes a sign-up link.
    verification_type: &'static str,
    redirect_to: String,
}

impl From<GeneratedLink> for LinkBody {
    fn from(made: GeneratedLink) -> Self {
        Self {
            user: made.user.into(),
            action_link: made.link.into(),
            email_otp: made.code,
            hashed_token: made.token,
            verification_type: made.purpose,
            redirect_to: made.redirect.into(),
        }
    }
}

/// Creates a link that an email would contain, without sending it (`POST /admin/generate_link`).
pub async fn generate_link(
    State(accounts): State<AccountService>,
    _: Admin,
    AuthQuery(query): AuthQuery<EmailLinkQuery>,
    AuthJsonBody(body): AuthJsonBody<GenerateLinkBody>,
) -> Result<Json<LinkBody>, AuthApiError> {
    let params = GenerateLinkParams {
        purpose: body.purpose.unwrap_or_default(),
        email: body.email.unwrap_or_default(),
        new_email: body.new_email,
        password: body.password,
        data: body.data.unwrap_or_default(),
        redirects: [body.redirect_to, query.redirect_to].into_iter().flatten().collect(),
    };
    Ok(Json(accounts.generate_link(params).await?.into()))
}

/// The invited user. As in GoTrue, `null` counts as a field that is left out.
#[derive(Deserialize, JsonSchema)]
pub struct InviteBody {
    #[schemars(required, length(max = MAX_ADDRESS_BYTES))]
    email: Option<String>,
    /// Metadata of the account.
    data: Option<Map<String, Value>>,
}

/// Creates an account and invites its user by email (`POST /invite?redirect_to=…`).
pub async fn invite_user(
    State(accounts): State<AccountService>,
    _: Admin,
    AuthQuery(query): AuthQuery<EmailLinkQuery>,
    AuthJsonBody(body): AuthJsonBody<InviteBody>,
) -> Result<Json<UserBody>, AuthApiError> {
    let (email, data) = (body.email.unwrap_or_default(), body.data.unwrap_or_default());
    Ok(Json(accounts.invite_user(&email, data, query.redirect_to.as_deref()).await?.into()))
}
