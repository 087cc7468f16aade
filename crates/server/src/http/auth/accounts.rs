//! `/signup` and `/user`.

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::body::{SessionBody, UserBody};
use super::extract::{Address, Caller, JsonBody, UserAgent, landing};
use crate::app::App;
use crate::auth::accounts::{Change, NewAccount, SignedUp};
use crate::auth::confirmation::Waiting;
use crate::auth::limits::Limit;
use crate::auth::password;
use crate::auth::refusal::{
    ANONYMOUS_DISABLED, CONFLICT, NOT_ADMIN, PHONE_CHANGE_DISABLED, PHONE_SIGNUP_DISABLED, Refusal, SIGNUP_DISABLED,
};
use crate::auth::{AuthError, phone};

/// The protocol takes null for a field that is left out.
#[derive(Deserialize)]
pub struct SignUp {
    email: Option<String>,
    phone: Option<String>,
    password: Option<String>,
    data: Option<Map<String, Value>>,
    code_challenge: Option<String>,
    code_challenge_method: Option<String>,
}

#[derive(Deserialize)]
pub struct Update {
    email: Option<String>,
    phone: Option<String>,
    password: Option<String>,
    current_password: Option<String>,
    nonce: Option<String>,
    data: Option<Map<String, Value>>,
    app_metadata: Option<Value>,
    code_challenge: Option<String>,
    code_challenge_method: Option<String>,
}

/// `POST /signup`
pub async fn sign_up(
    State(app): State<App>,
    Address(address): Address,
    UserAgent(user_agent): UserAgent,
    uri: Uri,
    JsonBody(body): JsonBody<SignUp>,
) -> Result<Response, AuthError> {
    let email = body.email.unwrap_or_default();
    let phone = body.phone.unwrap_or_default();
    let password = body.password.unwrap_or_default();
    if email.is_empty() && phone.is_empty() {
        if !app.config.anonymous_sign_in {
            return Err(ANONYMOUS_DISABLED.into());
        }
        app.auth.limits().check(Limit::Anonymous, address)?;
        let sign_in = app.auth.sign_in_anonymously(&app, body.data.unwrap_or_default(), user_agent).await?;
        return Ok(Json(SessionBody::from(sign_in)).into_response());
    }
    app.auth.limits().check(Limit::SignUp, address)?;
    check_new_account(&app, &email, &phone, &password)?;
    let landing = landing(&app, &uri, body.code_challenge, body.code_challenge_method)?;
    let account = NewAccount { email, password, data: body.data.unwrap_or_default(), landing };
    Ok(match app.auth.sign_up(&app, account, user_agent).await? {
        SignedUp::In(sign_in) => Json(SessionBody::from(sign_in)).into_response(),
        SignedUp::Waiting(Waiting::Account(user)) => Json(UserBody::from(user)).into_response(),
        SignedUp::Waiting(Waiting::Hidden(user)) => Json(UserBody::without_identities(user)).into_response(),
    })
}

/// In the order in which the protocol looks at a request.
fn check_new_account(app: &App, email: &str, phone: &str, password: &str) -> Result<(), AuthError> {
    if !app.auth.takes_new_accounts(app) {
        return Err(SIGNUP_DISABLED.into());
    }
    if password.is_empty() {
        return Err(Refusal::invalid("Signup requires a valid password").into());
    }
    password::check_new(password)?;
    match (email.is_empty(), phone.is_empty()) {
        (_, true) => Ok(()),
        (true, false) => Err(PHONE_SIGNUP_DISABLED.into()),
        (false, false) => {
            Err(Refusal::invalid("Only an email address or phone number should be provided on signup.").into())
        }
    }
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
    uri: Uri,
    JsonBody(body): JsonBody<Update>,
) -> Result<Json<UserBody>, AuthError> {
    app.auth.limits().check(Limit::UpdateUser, address)?;
    if let Some(number) = body.phone.filter(|phone| !phone.is_empty()) {
        phone::check(&number)?;
        return Err(PHONE_CHANGE_DISABLED.into());
    }
    if body.app_metadata.is_some() {
        return Err(NOT_ADMIN.into());
    }
    let landing = landing(&app, &uri, body.code_challenge, body.code_challenge_method)?;
    let change = Change {
        email: body.email,
        password: body.password,
        current_password: body.current_password,
        nonce: body.nonce,
        data: body.data,
        landing,
    };
    let worker = app.clone();
    let work = async move { worker.auth.update_user(&worker, claims, change).await };
    // A letter that is on its way promises what is stored after it, also when the caller has gone away meanwhile.
    let user = app.tasks.complete("change of an account", work).await.unwrap_or(Err(CONFLICT.into()))?;
    Ok(Json(user.into()))
}
