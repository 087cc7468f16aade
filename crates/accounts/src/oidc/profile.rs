//! What the identity provider says about a user.

use serde_json::{Map, Value, json};

use storage::auth_sessions::ProviderSession;
use storage::identities::GROUPS;

use super::error::OidcError;
use crate::email_address;

/// Maximum length of a subject, in bytes (OpenID Connect Core 1.0, section 2).
const MAX_SUBJECT_BYTES: usize = 255;
/// Maximum length of the id of a session at the provider, in bytes. The specification names none; ids are a few hundred bytes
/// at most, and the database has an index over them.
const MAX_SESSION_ID_BYTES: usize = 1_000;
/// Maximum length of a name that is stored, in characters. Names are part of every access token.
const MAX_NAME_CHARS: usize = 200;

/// Maximum number of groups that are stored. Entra ID leaves the claim out above 200.
const MAX_GROUPS: usize = 1_000;
/// Maximum length of a group that is stored, in bytes.
const MAX_GROUP_BYTES: usize = 255;

/// A user as the identity provider describes them.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderProfile {
    /// Issuer identifier of the provider.
    pub issuer: String,
    /// Id of the user at the provider.
    pub subject: String,
    /// Email address in lower case.
    pub email: Option<String>,
    /// True if the provider states that the address is the user's.
    pub is_email_verified: bool,
    /// Full name.
    pub name: Option<String>,
    /// Groups of the user; `None` if the provider states none.
    pub groups: Option<Vec<String>>,
    /// Id of the user's session at the provider, if the ID token names one.
    pub session_id: Option<String>,
}

impl ProviderProfile {
    /// Reads the claims of a verified ID token. `groups_claim` is the name of the one with the user's
    /// groups; without it, they are not read.
    pub fn from_claims(
        issuer: &str,
        claims: &Map<String, Value>,
        groups_claim: Option<&str>,
    ) -> Result<Self, OidcError> {
        let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
        if subject.is_empty() || subject.len() > MAX_SUBJECT_BYTES {
            return Err(OidcError::IdToken("it has no valid subject"));
        }
        let mut profile = Self {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
            email: None,
            is_email_verified: false,
            name: None,
            groups: None,
            session_id: claims.get("sid").and_then(Value::as_str).filter(|id| is_session_id(id)).map(str::to_owned),
        };
        profile.add_claims(claims, groups_claim);
        Ok(profile)
    }

    /// Adds the address, the name and the groups from other claims of the same subject, as far as they are missing.
    pub fn add_claims(&mut self, claims: &Map<String, Value>, groups_claim: Option<&str>) {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        if self.email.is_none() {
            self.email = text("email").and_then(|email| email_address::normalize(email).ok());
            // `xms_edov` is Entra ID's statement about the address, which has no `email_verified`.
            self.is_email_verified = ["email_verified", "xms_edov"].iter().any(|name| is_true(claims.get(*name)));
        }
        if self.name.is_none() {
            let name = text("name").or_else(|| text("preferred_username"));
            self.name = name.map(|name| name.chars().take(MAX_NAME_CHARS).collect());
        }
        if self.groups.is_none() {
            self.groups = groups_claim.and_then(|name| claims.get(name)).map(read_groups);
        }
    }

    /// Returns the user's session at the provider.
    pub fn session(&self) -> Option<ProviderSession> {
        let id = self.session_id.clone()?;
        Some(ProviderSession { issuer: self.issuer.clone(), id })
    }

    /// Returns the claims that are stored with the identity: those of [`identity_data`](Self::identity_data), and the groups.
    /// Users' access tokens do not contain the groups, which can be many.
    pub fn stored_claims(&self) -> Map<String, Value> {
        let mut data = self.identity_data();
        if let Some(groups) = &self.groups {
            data.insert(GROUPS.to_owned(), json!(groups));
        }
        data
    }

    /// Returns the profile in the form of GoTrue's `identity_data`.
    pub fn identity_data(&self) -> Map<String, Value> {
        let fields = [
            ("iss", Some(json!(self.issuer))),
            ("sub", Some(json!(self.subject))),
            ("provider_id", Some(json!(self.subject))),
            ("email", self.email.as_ref().map(|email| json!(email))),
            ("email_verified", Some(json!(self.is_email_verified))),
            ("phone_verified", Some(json!(false))),
            ("name", self.name.as_ref().map(|name| json!(name))),
            ("full_name", self.name.as_ref().map(|name| json!(name))),
        ];
        fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// Returns whether a text can be stored as the id of a session at the provider.
pub(super) fn is_session_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_SESSION_ID_BYTES && !text.contains(char::is_control)
}

/// Reads a claim with groups: a list of texts, or a single text.
fn read_groups(claim: &Value) -> Vec<String> {
    let groups = match claim {
        Value::Array(groups) => groups.iter().filter_map(Value::as_str).collect(),
        Value::String(group) => vec![group.as_str()],
        _ => Vec::new(),
    };
    let groups = groups.into_iter().filter(|group| !group.is_empty() && group.len() <= MAX_GROUP_BYTES);
    groups.take(MAX_GROUPS).map(str::to_owned).collect()
}

/// Returns whether a claim is true. Some providers write it as a text or a number.
fn is_true(claim: Option<&Value>) -> bool {
    match claim {
        Some(Value::Bool(is_true)) => *is_true,
        Some(Value::String(text)) => matches!(text.as_str(), "true" | "1"),
        Some(Value::Number(number)) => number.as_i64() == Some(1),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(claims: &Value) -> ProviderProfile {
        ProviderProfile::from_claims("https://id.example", claims.as_object().unwrap(), Some("roles")).unwrap()
    }

    #[test]
    fn counts_addresses_as_verified_only_where_the_provider_says_so() {
        for (claim, is_verified) in [
            (json!({}), false),
            (json!({ "email_verified": false }), false),
            (json!({ "email_verified": "false" }), false),
            (json!({ "email_verified": null }), false),
            (json!({ "email_verified": true }), true),
            (json!({ "email_verified": "true" }), true),
            (json!({ "xms_edov": 1 }), true),
            (json!({ "xms_edov": "0" }), false),
        ] {
            let mut claims = json!({ "sub": "1", "email": "Ann@Example.com" });
            claims.as_object_mut().unwrap().extend(claim.as_object().unwrap().clone());
            let profile = profile(&claims);
            assert_eq!((profile.email.as_deref(), profile.is_email_verified), (Some("ann@example.com"), is_verified));
        }
    }

    #[test]
    fn groups_are_texts_of_the_named_claim() {
        let groups = |claims: Value| profile(&claims).groups;
        let two = Some(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(groups(json!({ "sub": "1", "roles": ["a", 1, "", "b", ["c"]], "groups": ["d"] })), two);
        assert_eq!(groups(json!({ "sub": "1", "roles": "a" })), Some(vec!["a".to_owned()]));
        assert_eq!(groups(json!({ "sub": "1", "roles": { "a": true } })), Some(Vec::new()));
        assert_eq!(groups(json!({ "sub": "1" })), None);
        let mut later = profile(&json!({ "sub": "1" }));
        later.add_claims(json!({ "roles": ["a", "b"] }).as_object().unwrap(), Some("roles"));
        assert_eq!(later.groups, two);
        assert!(later.stored_claims().contains_key("groups") && !later.identity_data().contains_key("groups"));
    }

    #[test]
    fn verification_belongs_to_the_address_next_to_it() {
        let mut profile = profile(&json!({ "sub": "1", "email": "ann@example.com" }));
        profile.add_claims(
            json!({ "email": "eve@example.com", "email_verified": true }).as_object().unwrap(),
            Some("roles"),
        );
        assert_eq!((profile.email.as_deref(), profile.is_email_verified), (Some("ann@example.com"), false));
    }

    #[test]
    fn session_id_is_a_text_of_limited_length() {
        let session_id = |sid: Value| profile(&json!({ "sub": "1", "sid": sid })).session_id;
        let longest = "s".repeat(1_000);
        assert_eq!(session_id(json!(longest)), Some(longest));
        for sid in [json!(null), json!(""), json!(7), json!("a\u{0}b"), json!("s".repeat(1_001))] {
            assert_eq!(session_id(sid.clone()), None, "{sid}");
        }
        let mut later = profile(&json!({ "sub": "1" }));
        later.add_claims(json!({ "sid": "s" }).as_object().unwrap(), None);
        assert_eq!(later.session_id, None, "only the ID token is about the session");
    }

    #[test]
    fn rejects_missing_and_oversized_subjects() {
        for claims in [json!({}), json!({ "sub": "" }), json!({ "sub": 7 }), json!({ "sub": "x".repeat(256) })] {
            assert!(ProviderProfile::from_claims("https://id.example", claims.as_object().unwrap(), None).is_err());
        }
    }
}
