//! Claims of the JWTs that the server signs.

use domain::{AuthSessionId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use storage::auth_sessions::{AuthMethod, AuthSession};
use storage::users::User;
use url::Url;

use super::gotrue_error::{BAD_JWT, EXPIRED_JWT, GoTrueError};
use super::signing_keys::{InvalidSignature, SigningKeys};

/// Lifetime of an access token, in seconds.
pub const ACCESS_TOKEN_SECONDS: i64 = 3600;

/// Audience of access tokens, and the role that they grant.
pub const AUTHENTICATED_ROLE: &str = "authenticated";

/// Claims of a new access token, in GoTrue's format.
#[derive(Debug, Serialize)]
pub struct AccessTokenPayload<'a> {
    iss: &'a str,
    sub: UserId,
    aud: &'static str,
    exp: i64,
    iat: i64,
    email: &'a str,
    phone: &'static str,
    app_metadata: &'a Map<String, Value>,
    user_metadata: &'a Map<String, Value>,
    role: &'static str,
    aal: &'a str,
    amr: &'a [AuthMethod],
    session_id: AuthSessionId,
    is_anonymous: bool,
}

impl<'a> AccessTokenPayload<'a> {
    /// Creates the claims for a user's session.
    pub fn new(issuer: &'a str, user: &'a User, session: &'a AuthSession, now: Timestamp) -> Self {
        Self {
            iss: issuer,
            sub: user.id,
            aud: AUTHENTICATED_ROLE,
            exp: now.as_seconds() + ACCESS_TOKEN_SECONDS,
            iat: now.as_seconds(),
            email: user.email.as_deref().unwrap_or_default(),
            // Empty, as GoTrue writes it for a user without a phone number; clients expect the field.
            phone: "",
            app_metadata: &user.app_metadata,
            user_metadata: &user.user_metadata,
            role: AUTHENTICATED_ROLE,
            aal: &session.aal,
            amr: &session.amr,
            session_id: session.id,
            is_anonymous: user.is_anonymous,
        }
    }

    /// Limits the expiry to the end of the session.
    #[must_use]
    pub fn until(self, session_end: Option<Timestamp>) -> Self {
        let exp = session_end.map_or(self.exp, |end| self.exp.min(end.as_seconds()));
        Self { exp, ..self }
    }

    /// Returns the expiry, in seconds since 1970.
    pub fn expires_at(&self) -> i64 {
        self.exp
    }
}

/// Claims of a valid access token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claims {
    /// User.
    pub user: UserId,
    /// Session.
    pub session: AuthSessionId,
    /// Time of issue, in seconds since 1970.
    pub issued_at: i64,
    /// Expiry, in seconds since 1970.
    pub expires_at: i64,
    /// True if the user has a verified second factor that this session has not passed. Assumed to be true until the
    /// session is loaded.
    pub lacks_factor: bool,
}

#[derive(Deserialize)]
struct AccessTokenFields {
    sub: UserId,
    iss: String,
    aud: String,
    role: String,
    exp: i64,
    iat: i64,
    nbf: Option<i64>,
    session_id: AuthSessionId,
}

/// The `iss` claim of access tokens.
#[derive(Debug)]
pub struct IssuerUrl {
    url: Url,
    /// True if the site URL is not configured. Its port is then the one that the server listens on, which may change on
    /// a restart.
    accepts_any_port: bool,
}

impl IssuerUrl {
    /// Creates the issuer of a site. `is_configured` is true if the operator configured the site URL.
    ///
    /// # Errors
    ///
    /// The site URL cannot be a base.
    pub fn new(site: &Url, is_configured: bool) -> Result<Self, url::ParseError> {
        Ok(Self { url: site.join("/auth/v1")?, accepts_any_port: !is_configured })
    }

    /// Returns the value of `iss`.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    fn matches(&self, iss: &str) -> bool {
        if !self.accepts_any_port {
            return iss == self.url.as_str();
        }
        let own = (self.url.scheme(), self.url.host_str(), self.url.path());
        Url::parse(iss).is_ok_and(|url| (url.scheme(), url.host_str(), url.path()) == own)
    }
}

/// Verifies an access token's signature, issuer, audience, role and times, and returns its claims.
pub fn verify_access_token(
    keys: &SigningKeys,
    issuer: &IssuerUrl,
    token: &str,
    now: Timestamp,
) -> Result<Claims, GoTrueError> {
    let fields: AccessTokenFields = keys.verify(token, now).map_err(|InvalidSignature| BAD_JWT)?;
    let is_ours = issuer.matches(&fields.iss) && fields.aud == AUTHENTICATED_ROLE && fields.role == AUTHENTICATED_ROLE;
    if !is_ours || fields.nbf.is_some_and(|not_before| not_before > now.as_seconds()) {
        return Err(BAD_JWT);
    }
    if fields.exp <= now.as_seconds() {
        return Err(EXPIRED_JWT);
    }
    Ok(Claims {
        user: fields.sub,
        session: fields.session_id,
        issued_at: fields.iat,
        expires_at: fields.exp,
        lacks_factor: true,
    })
}

/// Role of a token that need not belong to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenRole {
    /// True if it is one of GoTrue's administrator roles.
    pub is_admin: bool,
    /// True if the token names a session.
    pub has_session: bool,
}

#[derive(Deserialize)]
struct RoleFields {
    role: Option<String>,
    exp: Option<i64>,
    session_id: Option<String>,
}

/// Roles of administrators in GoTrue.
const ADMIN_ROLES: [&str; 2] = ["service_role", "supabase_admin"];

/// Verifies the signature and expiry of any token, and returns its role. Tokens of administrators need not expire.
pub fn verify_role(keys: &SigningKeys, token: &str, now: Timestamp) -> Result<TokenRole, GoTrueError> {
    let fields: RoleFields = keys.verify(token, now).map_err(|InvalidSignature| BAD_JWT)?;
    if fields.exp.is_some_and(|exp| exp <= now.as_seconds()) {
        return Err(EXPIRED_JWT);
    }
    Ok(TokenRole {
        is_admin: fields.role.is_some_and(|role| ADMIN_ROLES.contains(&role.as_str())),
        has_session: fields.session_id.is_some_and(|id| !id.is_empty()),
    })
}

/// Service of this server that accepts internal tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The built-in MCP servers, which use the user's own authorisations.
    Mcp,
}

impl Audience {
    fn word(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
        }
    }
}

#[derive(Serialize, Deserialize)]
struct InternalTokenPayload {
    sub: UserId,
    aud: String,
    exp: i64,
    iat: i64,
}

/// Signs a token for one service of this server, which expires after `seconds`. It is not accepted as an access token,
/// which needs another audience and a session.
pub fn sign_internal_token(
    keys: &SigningKeys,
    user: UserId,
    audience: Audience,
    seconds: i64,
    now: Timestamp,
) -> Result<String, jsonwebtoken::errors::Error> {
    let iat = now.as_seconds();
    keys.sign(&InternalTokenPayload { sub: user, aud: audience.word().to_owned(), exp: iat + seconds, iat })
}

/// Verifies a token of [`sign_internal_token`] for the same audience, and returns its user.
pub fn verify_internal_token(
    keys: &SigningKeys,
    token: &str,
    audience: Audience,
    now: Timestamp,
) -> Result<UserId, GoTrueError> {
    let fields: InternalTokenPayload = keys.verify(token, now).map_err(|InvalidSignature| BAD_JWT)?;
    if fields.aud != audience.word() {
        return Err(BAD_JWT);
    }
    if fields.exp <= now.as_seconds() { Err(EXPIRED_JWT) } else { Ok(fields.sub) }
}

#[cfg(test)]
mod tests;
