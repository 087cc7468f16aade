//! `/admin/generate_link` and `/invite`.

use accounts::AccountService;
use accounts::admin::{GenerateLinkParams, GeneratedLink};
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Admin;
use crate::auth::dto::UserBody;
use crate::auth::error::AuthApiError;
use crate::auth::extract::{JsonBody, query_value};

/// Request body of [`generate_link`]. As in GoTrue, `null` counts as a field that is left out.
#[derive(Deserialize)]
pub struct GenerateLinkBody {
    #[serde(rename = "type")]
    purpose: Option<String>,
    email: Option<String>,
    new_email: Option<String>,
    password: Option<String>,
    data: Option<Map<String, Value>>,
    redirect_to: Option<String>,
}

/// A link and its code, in one object with the fields of the account.
#[derive(Serialize)]
pub struct LinkBody {
    #[serde(flatten)]
    user: UserBody,
    action_link: String,
    email_otp: String,
    hashed_token: String,
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
    uri: Uri,
    JsonBody(body): JsonBody<GenerateLinkBody>,
) -> Result<Json<LinkBody>, AuthApiError> {
    let params = GenerateLinkParams {
        purpose: body.purpose.unwrap_or_default(),
        email: body.email.unwrap_or_default(),
        new_email: body.new_email,
        password: body.password,
        data: body.data.unwrap_or_default(),
        redirects: [body.redirect_to, query_value(uri.query(), "redirect_to")].into_iter().flatten().collect(),
    };
    Ok(Json(accounts.generate_link(params).await?.into()))
}

#[derive(Deserialize)]
pub struct InviteBody {
    email: Option<String>,
    data: Option<Map<String, Value>>,
}

/// Creates an account and invites its user by email (`POST /invite?redirect_to=…`).
pub async fn invite_user(
    State(accounts): State<AccountService>,
    _: Admin,
    uri: Uri,
    JsonBody(body): JsonBody<InviteBody>,
) -> Result<Json<UserBody>, AuthApiError> {
    let redirect = query_value(uri.query(), "redirect_to");
    let (email, data) = (body.email.unwrap_or_default(), body.data.unwrap_or_default());
    Ok(Json(accounts.invite_user(&email, data, redirect.as_deref()).await?.into()))
}
