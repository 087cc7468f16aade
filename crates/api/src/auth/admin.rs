//! `/admin/users`: management of accounts by the administrator.

mod links;

use std::sync::Arc;

use accounts::admin::AdminUserParams;
use accounts::deletion::AccountDeletionHandler;
use accounts::email_address::MAX_ADDRESS_BYTES;
use accounts::gotrue_error::{
    ADMIN_USER_NOT_FOUND, FACTOR_ID_MALFORMED, FACTOR_NOT_FOUND, GoTrueError, NO_AUTHORIZATION, USER_ID_MALFORMED,
};
use accounts::tokens::AUTHENTICATED_ROLE;
use accounts::{AccountService, AuthError};
use axum::Json;
use axum::extract::{FromRef, FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, NoContent, Response};
use domain::{FactorId, UserId};
use http_server::extract::{NamedTwo, bearer};
use http_server::openapi::{Operation, OperationInput, OperationOutput};
use http_server::route::{Access, Route, delete, get, post, put};
use http_server::routes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use storage::Storage;
use storage::users::User;
use uuid::Uuid;

use super::dto::{EmptyObject, FactorBody, UserBody};
use super::error::AuthApiError;
use super::extract::{AuthJsonBody, AuthQuery, OptionalAuthJsonBody};
use super::passkeys::{PasskeyBody, parse_id};
use super::unsupported::{NO_OAUTH_SERVER, describe_unsupported};
use crate::AppState;

/// Returns the routes of the administrator.
pub fn routes() -> Vec<Route<AppState>> {
    let mut routes = routes! {
        /// Lists accounts, newest first. The headers have the number of all accounts, and the addresses of the next and
        /// the last page.
        get("/admin/users", Access::Admin, list_users),
        /// Creates an account.
        post("/admin/users", Access::Admin, create_user),
        /// Returns an account.
        get("/admin/users/{id}", Access::Admin, get_user),
        /// Changes an account. A new password ends the account's sessions.
        put("/admin/users/{id}", Access::Admin, update_user),
        /// Deletes an account with all its data, or anonymizes it.
        delete("/admin/users/{id}", Access::Admin, delete_user),
        /// Ends all sessions of an account.
        post("/admin/users/{id}/logout", Access::Admin, sign_out_user),
        /// Lists the second factors of an account.
        get("/admin/users/{id}/factors", Access::Admin, list_factors),
        /// Deletes a second factor of an account.
        delete("/admin/users/{id}/factors/{factor}", Access::Admin, delete_factor),
        /// Lists the passkeys of an account, oldest first.
        get("/admin/users/{id}/passkeys", Access::Admin, list_passkeys),
        /// Deletes a passkey of an account.
        delete("/admin/users/{id}/passkeys/{passkey}", Access::Admin, delete_passkey),
        /// Creates a link that an email would contain, without sending it.
        post("/admin/generate_link", Access::Admin, links::generate_link),
        /// Creates an account and invites its user by email.
        post("/invite", Access::Admin, links::invite_user),
    };
    routes.extend(describe_unsupported(
        "Not supported: an OAuth server.",
        [
            get("/admin/oauth/clients", Access::Admin, reject_oauth_clients),
            post("/admin/oauth/clients", Access::Admin, reject_oauth_clients),
            get("/admin/oauth/clients/{id}", Access::Admin, reject_oauth_clients),
            put("/admin/oauth/clients/{id}", Access::Admin, reject_oauth_clients),
            delete("/admin/oauth/clients/{id}", Access::Admin, reject_oauth_clients),
            post("/admin/oauth/clients/{id}/regenerate_secret", Access::Admin, reject_oauth_clients),
        ],
    ));
    routes.extend(describe_unsupported(
        "Not supported: custom OAuth providers.",
        [
            get("/admin/custom-providers", Access::Admin, reject_custom_providers),
            post("/admin/custom-providers", Access::Admin, reject_custom_providers),
            get("/admin/custom-providers/{id}", Access::Admin, reject_custom_providers),
            put("/admin/custom-providers/{id}", Access::Admin, reject_custom_providers),
            delete("/admin/custom-providers/{id}", Access::Admin, reject_custom_providers),
        ],
    ));
    routes
}

const NO_CUSTOM_PROVIDERS: GoTrueError =
    GoTrueError::unsupported(404, "feature_disabled", "Custom OAuth providers are disabled");

const TOTAL_COUNT: HeaderName = HeaderName::from_static("x-total-count");
/// Default number of accounts on a page.
const PER_PAGE: u64 = 50;
/// Maximum number of accounts on a page.
const MOST_PER_PAGE: u64 = 1000;

/// The administrator, who authenticates with the service role key or with a token of that role that this server signed.
pub struct Admin;

impl<S> FromRequestParts<S> for Admin
where
    AccountService: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = AuthApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, AuthApiError> {
        let token = bearer(parts).ok_or(NO_AUTHORIZATION)?;
        AccountService::from_ref(state).verify_admin(token).await?;
        Ok(Self)
    }
}

/// The route's [`Access`] describes the token.
impl OperationInput for Admin {
    fn describe(operation: &mut Operation<'_>) {
        AuthApiError::describe(operation);
    }
}

/// The administrator, and the account that the first path parameter names.
pub struct AdminForUser(pub User);

impl<S> FromRequestParts<S> for AdminForUser
where
    AccountService: FromRef<S>,
    Storage: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = AuthApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, AuthApiError> {
        // First, so that other callers do not learn from the error which accounts exist.
        let _admin = Admin::from_request_parts(parts, state).await?;
        // As a list of pairs, since some of the routes have a second parameter.
        let ids = Path::<Vec<(String, String)>>::from_request_parts(parts, state).await.ok();
        let id = ids.and_then(|Path(ids)| Uuid::parse_str(&ids.first()?.1).ok()).ok_or(USER_ID_MALFORMED)?;
        Ok(Self(Storage::from_ref(state).users().get(UserId(id)).await?.ok_or(ADMIN_USER_NOT_FOUND)?))
    }
}

/// The path of the route describes the parameter.
impl OperationInput for AdminForUser {
    fn describe(operation: &mut Operation<'_>) {
        AuthApiError::describe(operation);
    }
}

/// Attributes of an account. As in GoTrue, `null` and an empty text count as a field that is left out.
#[derive(Deserialize, JsonSchema)]
pub struct UserAttributes {
    /// Id of a new account, a UUID.
    id: Option<String>,
    /// Only `authenticated` is supported.
    aud: Option<String>,
    /// Only `authenticated` is supported.
    role: Option<String>,
    #[schemars(length(max = MAX_ADDRESS_BYTES))]
    email: Option<String>,
    /// Not supported: phone numbers are rejected.
    phone: Option<String>,
    password: Option<String>,
    /// Not supported: hashes are rejected.
    password_hash: Option<String>,
    /// True to mark the address as confirmed.
    email_confirm: Option<bool>,
    /// Ignored, because accounts have no phone numbers.
    #[serde(rename = "phone_confirm")]
    _phone_confirm: Option<bool>,
    /// Merged into the stored value; null removes a key.
    user_metadata: Option<Map<String, Value>>,
    /// Merged into the stored value; null removes a key.
    app_metadata: Option<Map<String, Value>>,
    /// Duration of a ban, such as `24h`; `none` lifts it.
    ban_duration: Option<String>,
}

impl UserAttributes {
    fn into_params(self) -> AdminUserParams {
        let present = |text: Option<String>| text.filter(|text| !text.is_empty());
        AdminUserParams {
            id: present(self.id),
            email: present(self.email),
            phone: present(self.phone),
            password: self.password,
            password_hash: present(self.password_hash),
            roles: [present(self.role), present(self.aud)].into_iter().flatten().collect(),
            email_confirm: self.email_confirm.unwrap_or_default(),
            user_metadata: self.user_metadata.unwrap_or_default(),
            app_metadata: self.app_metadata.unwrap_or_default(),
            ban_duration: present(self.ban_duration),
        }
    }
}

/// The requested page of accounts.
#[derive(Deserialize, JsonSchema)]
pub struct UserListQuery {
    /// Number of the page, from 1.
    #[schemars(with = "Option<u64>")]
    page: Option<String>,
    /// Number of accounts on a page: 50 by default, at most 1000.
    #[schemars(with = "Option<u64>")]
    per_page: Option<String>,
    #[schemars(skip)]
    filter: Option<String>,
    #[schemars(skip)]
    sort: Option<String>,
}

/// A page of accounts, with the audience of their tokens.
#[derive(Serialize, JsonSchema)]
pub struct UserList {
    users: Vec<UserBody>,
    aud: &'static str,
}

/// A [`UserList`], with the number of all accounts and the links to other pages as headers.
pub struct UserListResponse {
    list: UserList,
    total: u64,
    links: HeaderValue,
}

impl IntoResponse for UserListResponse {
    fn into_response(self) -> Response {
        let headers = [(TOTAL_COUNT, HeaderValue::from(self.total)), (header::LINK, self.links)];
        (headers, Json(self.list)).into_response()
    }
}

impl OperationOutput for UserListResponse {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_json::<UserList>(StatusCode::OK);
        operation.add_response_header(StatusCode::OK, "X-Total-Count");
        operation.add_response_header(StatusCode::OK, "Link");
    }
}

/// Lists accounts, newest first (`GET /admin/users?page=…&per_page=…`).
pub async fn list_users(
    State(storage): State<Storage>,
    _: Admin,
    AuthQuery(query): AuthQuery<UserListQuery>,
) -> Result<UserListResponse, AuthApiError> {
    if [query.filter, query.sort].into_iter().flatten().any(|value| !value.is_empty()) {
        return Err(GoTrueError::validation_failed(
            "This server lists accounts newest first and supports neither sort nor filter",
        )
        .into());
    }
    let page = parse_number(query.page, "page")?.unwrap_or(1).max(1);
    let per_page = match parse_number(query.per_page, "per_page")? {
        None | Some(0) => PER_PAGE,
        Some(wanted) => wanted.min(MOST_PER_PAGE),
    };
    // `LIMIT` and `OFFSET` are signed in SQL.
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let total = u64::try_from(storage.users().count().await?).unwrap_or_default();
    let users = storage.users().list(signed(per_page), signed((page - 1).saturating_mul(per_page))).await?;
    let list = UserList { users: users.into_iter().map(UserBody::from).collect(), aud: AUTHENTICATED_ROLE };
    Ok(UserListResponse { list, total, links: link_header(page, per_page, total)? })
}

/// Parses a number of the query; an empty text counts as none.
fn parse_number(text: Option<String>, name: &str) -> Result<Option<u64>, AuthError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let refused = |_| AuthError::GoTrueWithMessage {
        status: 400,
        code: "validation_failed",
        message: format!("Bad Pagination Parameters: {name} is not a number from 0 on"),
    };
    text.parse().map(Some).map_err(refused)
}

/// Returns the `Link` header with the next and the last page (RFC 8288). `page` is the first parameter, where clients
/// look for it.
fn link_header(page: u64, per_page: u64, total: u64) -> Result<HeaderValue, AuthError> {
    let last = total.div_ceil(per_page);
    let link = |page: u64, rel: &str| format!("</auth/v1/admin/users?page={page}&per_page={per_page}>; rel=\"{rel}\"");
    let text =
        if page < last { format!("{}, {}", link(page + 1, "next"), link(last, "last")) } else { link(last, "last") };
    HeaderValue::try_from(text).map_err(AuthError::internal)
}

/// Creates an account (`POST /admin/users`).
pub async fn create_user(
    State(accounts): State<AccountService>,
    _: Admin,
    AuthJsonBody(attributes): AuthJsonBody<UserAttributes>,
) -> Result<Json<UserBody>, AuthApiError> {
    Ok(Json(accounts.create_user(attributes.into_params()).await?.into()))
}

/// Returns an account (`GET /admin/users/{id}`).
pub async fn get_user(AdminForUser(user): AdminForUser) -> Json<UserBody> {
    Json(user.into())
}

/// Changes an account (`PUT /admin/users/{id}`).
pub async fn update_user(
    State(accounts): State<AccountService>,
    AdminForUser(user): AdminForUser,
    AuthJsonBody(attributes): AuthJsonBody<UserAttributes>,
) -> Result<Json<UserBody>, AuthApiError> {
    Ok(Json(accounts.update_user_as_admin(user.id, attributes.into_params()).await?.into()))
}

/// Options of the deletion of an account.
#[derive(Deserialize, JsonSchema)]
pub struct DeleteUserBody {
    /// True to anonymize the account instead of deleting it.
    should_soft_delete: Option<bool>,
}

/// Deletes or anonymises an account (`DELETE /admin/users/{id}`). The body may be left out.
pub async fn delete_user(
    State(accounts): State<AccountService>,
    State(account_deletion): State<Arc<dyn AccountDeletionHandler>>,
    AdminForUser(user): AdminForUser,
    OptionalAuthJsonBody(removal): OptionalAuthJsonBody<DeleteUserBody>,
) -> Result<Json<EmptyObject>, AuthApiError> {
    if removal.is_some_and(|removal| removal.should_soft_delete == Some(true)) {
        accounts.anonymize_user(&user, &*account_deletion).await?;
    } else {
        accounts.remove_account(user.id, &*account_deletion).await?;
    }
    Ok(Json(EmptyObject {}))
}

/// Ends all sessions of an account (`POST /admin/users/{id}/logout`).
pub async fn sign_out_user(
    State(accounts): State<AccountService>,
    AdminForUser(user): AdminForUser,
) -> Result<NoContent, AuthApiError> {
    accounts.sign_out_as_admin(user.id).await?;
    Ok(NoContent)
}

/// Lists the second factors of an account (`GET /admin/users/{id}/factors`).
pub async fn list_factors(AdminForUser(user): AdminForUser) -> Json<Vec<FactorBody>> {
    Json(user.factors.into_iter().map(FactorBody::from).collect())
}

/// Deletes a second factor (`DELETE /admin/users/{id}/factors/{factor}`).
pub async fn delete_factor(
    State(accounts): State<AccountService>,
    AdminForUser(user): AdminForUser,
    NamedTwo(_, factor): NamedTwo,
) -> Result<Json<FactorBody>, AuthApiError> {
    let id: FactorId = factor.parse().map_err(|_| FACTOR_ID_MALFORMED)?;
    let factor = user.factors.iter().find(|factor| factor.id == id).cloned().ok_or(FACTOR_NOT_FOUND)?;
    accounts.remove_factor_as_admin(&user, id).await?;
    Ok(Json(factor.into()))
}

/// Rejects the management of OAuth clients (`/admin/oauth/clients`).
pub async fn reject_oauth_clients(_: Admin) -> AuthApiError {
    NO_OAUTH_SERVER.into()
}

/// Rejects the management of OAuth providers (`/admin/custom-providers`).
pub async fn reject_custom_providers(_: Admin) -> AuthApiError {
    NO_CUSTOM_PROVIDERS.into()
}

/// Lists the passkeys of an account (`GET /admin/users/{id}/passkeys`).
pub async fn list_passkeys(
    State(accounts): State<AccountService>,
    AdminForUser(user): AdminForUser,
) -> Result<Json<Vec<PasskeyBody>>, AuthApiError> {
    let passkeys = accounts.list_passkeys(user.id).await?;
    Ok(Json(passkeys.into_iter().map(PasskeyBody::from).collect()))
}

/// Deletes a passkey of an account (`DELETE /admin/users/{id}/passkeys/{passkey}`).
pub async fn delete_passkey(
    State(accounts): State<AccountService>,
    AdminForUser(user): AdminForUser,
    NamedTwo(_, passkey): NamedTwo,
) -> Result<NoContent, AuthApiError> {
    accounts.remove_passkey_as_admin(&user, parse_id(&passkey)?).await?;
    Ok(NoContent)
}
