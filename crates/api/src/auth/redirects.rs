//! Redirects that carry the result of a sign-in to the page that began it, in GoTrue's form.

use accounts::AuthError;
use accounts::sessions::UserSession;
use url::{Url, form_urlencoded};

/// Codes of errors that are OAuth's `access_denied`, whatever their status.
const DENIALS: [&str; 5] = [
    "signup_disabled",
    "user_banned",
    "provider_email_needs_verification",
    "email_address_not_authorized",
    "email_exists",
];

/// Adds the session to the URL as its fragment, which browsers do not send to servers. `kind` is the type of the link.
pub fn with_session(mut target: Url, sign_in: &UserSession, kind: Option<&str>) -> Url {
    let (expires_at, expires_in) = (sign_in.expires_at.to_string(), sign_in.expires_in.to_string());
    let mut pairs = vec![
        ("access_token", sign_in.access_token.as_str()),
        ("expires_at", expires_at.as_str()),
        ("expires_in", expires_in.as_str()),
        ("refresh_token", sign_in.refresh_token.as_str()),
        // GoTrue marks its own redirects with this parameter.
        ("sb", ""),
        ("token_type", "bearer"),
    ];
    pairs.extend(kind.map(|kind| ("type", kind)));
    target.set_fragment(Some(&encode_form(&pairs)));
    target
}

/// Adds an error to the URL as its fragment, and with `in_query` also as its query.
pub fn with_error(target: Url, error: &AuthError, in_query: bool) -> Url {
    let (oauth_code, description) = (oauth_error_code(error), error.to_string());
    let pairs = [("error", oauth_code), ("error_code", error.code()), ("error_description", &description)];
    with_message(target, &pairs, in_query)
}

/// Adds a message to the URL as its fragment, and with `in_query` also as its query, where clients that use PKCE look.
pub fn with_message(target: Url, pairs: &[(&str, &str)], in_query: bool) -> Url {
    let mut target = if in_query { with_query(target, pairs) } else { target };
    target.set_fragment(Some(&encode_form(&[pairs, &[("sb", "")]].concat())));
    target
}

/// Adds parameters to the query of the URL.
pub fn with_query(mut target: Url, pairs: &[(&str, &str)]) -> Url {
    // A client must not read an earlier value of the same name from its own address.
    let kept: Vec<(String, String)> = target
        .query_pairs()
        .filter(|(name, _)| pairs.iter().all(|(new, _)| new != name))
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    target.query_pairs_mut().clear().extend_pairs(kept).extend_pairs(pairs);
    target
}

fn encode_form(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// Returns OAuth's code for an error (RFC 6749 section 4.1.2.1), as GoTrue does.
fn oauth_error_code(error: &AuthError) -> &'static str {
    match error.status() {
        _ if DENIALS.contains(&error.code()) => "access_denied",
        401 => "unauthorized_client",
        403 => "access_denied",
        500.. => "server_error",
        _ => "invalid_request",
    }
}
