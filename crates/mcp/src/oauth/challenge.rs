//! What a server says when it turns a request away: the `WWW-Authenticate` header.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;
use serde::{Deserialize, Serialize};

/// Longer headers are not read.
const HEADER: usize = 8 * 1024;

/// What a server wants before it does what was asked. Empty if it did not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// Where the server describes who signs people in.
    pub resource_metadata: Option<String>,
    /// The scopes that are needed, separated by spaces.
    pub scope: Option<String>,
    /// The error code of RFC 6750, such as `insufficient_scope`.
    pub error: Option<String>,
}

impl Challenge {
    /// Reads the `Bearer` challenge among the headers of an answer.
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        values.filter(|value| value.len() <= HEADER).find_map(parse).unwrap_or_default()
    }

    /// Whether the token was good, but not for this.
    pub(crate) fn wants_more_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    pub(super) fn scopes(&self) -> Vec<String> {
        scopes(self.scope.as_deref().unwrap_or_default())
    }
}

/// The scopes in a list that is separated by spaces, each once.
pub(super) fn scopes(list: &str) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for scope in list.split_ascii_whitespace() {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

/// The parameters of the first `Bearer` challenge in a header, which may hold challenges of other schemes as well.
fn parse(header: &str) -> Option<Challenge> {
    let mut challenge = None;
    let mut rest = header.trim();
    while !rest.is_empty() {
        let (word, after) = split_token(rest);
        if word.is_empty() {
            rest = rest[1..].trim_start();
            continue;
        }
        let after = after.trim_start();
        if let Some(after) = after.strip_prefix('=') {
            let (value, after) = split_value(after.trim_start());
            rest = after.trim_start();
            let Some(challenge) = challenge.as_mut() else { continue };
            let Challenge { resource_metadata, scope, error } = challenge;
            let field = match word.to_ascii_lowercase().as_str() {
                "resource_metadata" => resource_metadata,
                "scope" => scope,
                "error" => error,
                _ => continue,
            };
            field.get_or_insert(value);
        } else {
            // A word without a value is the next scheme.
            if challenge.is_some() {
                return challenge;
            }
            if word.eq_ignore_ascii_case("bearer") {
                challenge = Some(Challenge::default());
            }
            rest = after;
        }
    }
    challenge
}

fn split_token(text: &str) -> (&str, &str) {
    let part = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c);
    text.split_at(text.find(|c| !part(c)).unwrap_or(text.len()))
}

/// A token, or a quoted text with its escapes undone.
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
        let Challenge { resource_metadata, scope, error } = Challenge::read(&headers);
        (resource_metadata.unwrap_or_default(), scope.unwrap_or_default(), error.unwrap_or_default())
    }

    fn said(metadata: &str, scope: &str, error: &str) -> (String, String, String) {
        (metadata.to_owned(), scope.to_owned(), error.to_owned())
    }

    #[test]
    fn a_challenge_is_read_in_all_its_spellings() {
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
    fn a_scope_counts_once() {
        assert_eq!(scopes(" a  b a "), ["a", "b"]);
    }

    proptest! {
        #[test]
        fn no_header_is_too_strange(header in "[ -~]{0,80}") {
            parse(&header);
        }
    }
}
