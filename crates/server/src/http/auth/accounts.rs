//! `/signup` and `/user`.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::body::{SessionBody, UserBody};
use super::extract::{Address, Caller, JsonBody, UserAgent};
use crate::app::App;
use crate::auth::AuthError;
use crate::auth::accounts::{Change, NewAccount};
use crate::auth::limits::Limit;
use crate::auth::password;
use crate::auth::refusal::{
    ANONYMOUS_DISABLED, NOT_ADMIN, PHONE_CHANGE_DISABLED, PHONE_SIGNUP_DISABLED, Refusal, SIGNUP_DISABLED,
};

/// The protocol takes null for a field that is left out.
#[derive(Deserialize)]
pub struct SignUp {
    email: Option<String>,
    phone: Option<String>,
    password: Option<String>,
    data: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
pub struct Update {
    email: Option<String>,
    phone: Option<String>,
    password: Option<String>,
    current_password: Option<String>,
    data: Option<Map<String, Value>>,
    app_metadata: Option<Value>,
}

/// `POST /signup`
pub async fn sign_up(
    State(app): State<App>,
    Address(address): Address,
    UserAgent(user_agent): UserAgent,
    JsonBody(body): JsonBody<SignUp>,
) -> Result<Json<SessionBody>, AuthError> {
    let email = body.email.unwrap_or_default();
    let phone = body.phone.unwrap_or_default();
    let password = body.password.unwrap_or_default();
    if email.is_empty() && phone.is_empty() {
        if !app.config.anonymous_sign_in {
            return Err(ANONYMOUS_DISABLED.into());
        }
        app.auth.limits().check(Limit::Anonymous, address)?;
        let sign_in = app.auth.sign_in_anonymously(&app, body.data.unwrap_or_default(), user_agent).await?;
        return Ok(Json(sign_in.into()));
    }
    app.auth.limits().check(Limit::SignUp, address)?;
    if !phone.is_empty() {
        return Err(refuse_phone(&app, &email, &password));
    }
    let account = NewAccount { email, password, data: body.data.unwrap_or_default() };
    let sign_in = app.auth.sign_up(&app, account, user_agent).await?;
    Ok(Json(sign_in.into()))
}

/// In the order in which the protocol looks at the rest of the request first.
fn refuse_phone(app: &App, email: &str, password: &str) -> AuthError {
    if !app.config.autoconfirm {
        return SIGNUP_DISABLED.into();
    }
    if password.is_empty() {
        return Refusal::invalid("Signup requires a valid password").into();
    }
    if let Err(error) = password::check_new(password) {
        return error;
    }
    if !email.is_empty() {
        return Refusal::invalid("Only an email address or phone number should be provided on signup.").into();
    }
    PHONE_SIGNUP_DISABLED.into()
}

/// `GET /user`
pub async fn show(State(app): State<App>, Caller(claims): Caller) -> Result<Json<UserBody>, AuthError> {
    Ok(Json(app.auth.user(&app, claims).await?.into()))
}

/// `PUT /user`
pub async fn update(
    State(app): State<App>,
    Caller(claims): Caller,
    Address(address): Address,
    JsonBody(body): JsonBody<Update>,
) -> Result<Json<UserBody>, AuthError> {
    app.auth.limits().check(Limit::UpdateUser, address)?;
    if body.phone.is_some_and(|phone| !phone.is_empty()) {
        return Err(PHONE_CHANGE_DISABLED.into());
    }
    if body.app_metadata.is_some() {
        return Err(NOT_ADMIN.into());
    }
    let change =
        Change { email: body.email, password: body.password, current_password: body.current_password, data: body.data };
    Ok(Json(app.auth.update_user(&app, claims, change).await?.into()))
}
