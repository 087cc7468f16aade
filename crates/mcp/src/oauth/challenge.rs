//! Challenges in the `WWW-Authenticate` header (RFC 6750, RFC 9728).

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;
use serde::{Deserialize, Serialize};

/// Maximum length of the header; longer ones are ignored.
const MAX_HEADER_BYTES: usize = 8 * 1024;

/// Challenge of a server that requires a sign-in. Empty if the server gave no details.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthChallenge {
    /// URL of the protected resource metadata (RFC 9728).
    pub resource_metadata: Option<String>,
    /// Required scopes, separated by spaces.
    pub scope: Option<String>,
    /// Error code of RFC 6750, such as `insufficient_scope`.
    pub error: Option<String>,
}

impl AuthChallenge {
    /// Parses the `Bearer` challenge in the headers of a response.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        values.filter(|value| value.len() <= MAX_HEADER_BYTES).find_map(parse_header).unwrap_or_default()
    }

    /// Returns whether the token was valid but lacks a scope.
    pub(crate) fn requires_more_scopes(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// Returns the required scopes.
    pub(super) fn scopes(&self) -> Vec<String> {
        split_scopes(self.scope.as_deref().unwrap_or_default())
    }
}

/// Splits a list of scopes at its spaces and removes duplicates.
pub(super) fn split_scopes(list: &str) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for scope in list.split_ascii_whitespace() {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

/// Parses the first `Bearer` challenge in a header, which may hold challenges of other schemes as well.
fn parse_header(header: &str) -> Option<AuthChallenge> {
    let mut challenge = None;
    let mut rest = header.trim();
    while !rest.is_empty() {
        let (word, after) = split_token(rest);
        if word.is_empty() {
            // Commas separate both challenges and parameters (RFC 9110, 11.6.1), so they say nothing about where one
            // ends.
            rest = rest[1..].trim_start();
            continue;
        }
        let after = after.trim_start();
        if let Some(after) = after.strip_prefix('=') {
            let (value, after) = split_value(after.trim_start());
            rest = after.trim_start();
            let Some(challenge) = challenge.as_mut() else { continue };
            let AuthChallenge { resource_metadata, scope, error } = challenge;
            let field = match word.to_ascii_lowercase().as_str() {
                "resource_metadata" => resource_metadata,
                "scope" => scope,
                "error" => error,
                _ => continue,
            };
            // The first value counts; a parameter must not occur twice (RFC 9110, 11.2).
            field.get_or_insert(value);
        } else {
            // A token without a value begins the next challenge.
            if challenge.is_some() {
                return challenge;
            }
            if word.eq_ignore_ascii_case("bearer") {
                challenge = Some(AuthChallenge::default());
            }
            rest = after;
        }
    }
    challenge
}

/// Splits a token (RFC 9110, 5.6.2) from the beginning of the text.
fn split_token(text: &str) -> (&str, &str) {
    let part = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c);
    text.split_at(text.find(|c| !part(c)).unwrap_or(text.len()))
}

/// Splits a parameter value, a token or a quoted string, from the beginning of the text.
fn split_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(headers: &[&str]) -> (String, String, String) {
        let headers: HeaderMap = headers.iter().map(|value| (WWW_AUTHENTICATE, value.parse().unwrap())).collect();
        let AuthChallenge { resource_metadata, scope, error } = AuthChallenge::from_headers(&headers);
        (resource_metadata.unwrap_or_default(), scope.unwrap_or_default(), error.unwrap_or_default())
    }

    fn said(metadata: &str, scope: &str, error: &str) -> (String, String, String) {
        (metadata.to_owned(), scope.to_owned(), error.to_owned())
    }

    #[test]
    fn parses_challenges_in_every_notation() {
        assert_eq!(
            read(&[r#"Bearer resource_metadata="https://a.example/m?x=1,2", scope="a b", error="invalid_token""#]),
            said("https://a.example/m?x=1,2", "a b", "invalid_token")
        );
        assert_eq!(read(&["bearer SCOPE=a ,error = insufficient_scope"]), said("", "a", "insufficient_scope"));
        assert_eq!(read(&[r#"Bearer realm="x \" scope=\"no", scope="yes""#]), said("", "yes", ""));
        assert_eq!(read(&["Bearer"]), said("", "", ""));
        assert_eq!(read(&[r#"Basic realm="a", Bearer scope="b", Digest scope="c""#]), said("", "b", ""));
        assert_eq!(read(&["Negotiate abc==", r#"Bearer scope="b""#]), said("", "b", ""));
        assert_eq!(read(&["Basic scope=\"no\""]), said("", "", ""));
        assert_eq!(read(&[]), said("", "", ""));
    }

    #[test]
    fn removes_duplicate_scopes() {
        assert_eq!(split_scopes(" a  b a "), ["a", "b"]);
    }

    proptest! {
        #[test]
        fn parses_any_header_without_panic(header in "[ -~]{0,80}") {
            parse_header(&header);
        }
    }
}
