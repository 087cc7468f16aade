//! Settings of the sign-in at an organisation's identity provider (OpenID Connect).

use secrecy::SecretString;
use url::Url;

use super::SignUps;
use super::source::{ConfigError, Source, parse_url};
use crate::url_host::is_loopback;

/// Scopes that are requested by default.
const DEFAULT_SCOPES: [&str; 3] = ["openid", "email", "profile"];
/// Name of the provider where the operator gives none.
const DEFAULT_NAME: &str = "SSO";
/// Maximum length of the provider's name, in characters. A button on a phone has no room for more.
const MAX_NAME_CHARS: usize = 40;

/// The identity provider of the organisation, and how its users come in.
#[derive(Debug, Clone)]
pub struct OidcSettings {
    /// `CHAT_OIDC_ISSUER`: the issuer identifier, exactly as the provider spells it.
    pub issuer: String,
    /// `CHAT_OIDC_CLIENT_ID`: id of this installation at the provider.
    pub client_id: String,
    /// `CHAT_OIDC_CLIENT_SECRET`: its secret. `None` for a public client.
    pub client_secret: Option<SecretString>,
    /// `CHAT_OIDC_SCOPES`: scopes to request. Default: `openid email profile`.
    pub scopes: Vec<String>,
    /// `CHAT_OIDC_NAME`: name of the provider, for the button on the sign-in screen.
    pub name: String,
    /// `CHAT_OIDC_ONLY`: whether the provider is the only way to sign in. Default: off.
    pub is_only: bool,
    /// `CHAT_OIDC_LINK_BY_EMAIL`: whether a user gets the existing account with the address that the provider has
    /// verified. Default: off.
    pub links_by_email: bool,
    /// `CHAT_OIDC_LOGOUT`: whether users who sign out are signed out at the provider, too. Default: off.
    pub signs_out: bool,
    /// `CHAT_OIDC_GROUPS_CLAIM`: name of the claim with the user's groups. Default: they are not read.
    pub groups_claim: Option<String>,
}

/// Settings of accounts on which those of the provider depend.
pub(super) struct AccountPolicy<'a> {
    /// Whether new addresses count as confirmed.
    pub autoconfirm: bool,
    /// Whether users can sign in anonymously.
    pub anonymous_sign_in: bool,
    /// Sign-up policy.
    pub sign_ups: &'a SignUps,
}

impl OidcSettings {
    /// Reads `CHAT_OIDC_…`. Without an issuer, no other of these settings may be set.
    pub(super) fn read(source: &mut Source, policy: &AccountPolicy<'_>) -> Result<Option<Self>, ConfigError> {
        let issuer = source.text("CHAT_OIDC_ISSUER");
        let client_id = source.text("CHAT_OIDC_CLIENT_ID");
        let client_secret = source.secret("CHAT_OIDC_CLIENT_SECRET")?;
        let scopes: Vec<String> = source.list("CHAT_OIDC_SCOPES", "scopes")?;
        let name = source.text("CHAT_OIDC_NAME");
        let is_only = source.switch("CHAT_OIDC_ONLY")?;
        let links_by_email = source.switch("CHAT_OIDC_LINK_BY_EMAIL")?;
        let signs_out = source.switch("CHAT_OIDC_LOGOUT")?;
        let groups_claim = source.text("CHAT_OIDC_GROUPS_CLAIM");
        let Some(issuer) = issuer else {
            let set = [
                ("CHAT_OIDC_CLIENT_ID", client_id.is_some()),
                ("CHAT_OIDC_CLIENT_SECRET", client_secret.is_some()),
                ("CHAT_OIDC_SCOPES", !scopes.is_empty()),
                ("CHAT_OIDC_NAME", name.is_some()),
                ("CHAT_OIDC_ONLY", is_only.is_some()),
                ("CHAT_OIDC_LINK_BY_EMAIL", links_by_email.is_some()),
                ("CHAT_OIDC_LOGOUT", signs_out.is_some()),
                ("CHAT_OIDC_GROUPS_CLAIM", groups_claim.is_some()),
            ];
            // An operator who sets one of them, `CHAT_OIDC_ONLY` above all, expects that it has an effect.
            return match set.iter().find(|(_, is_set)| *is_set) {
                Some((name, _)) => Err(bad(name, "it has no effect without CHAT_OIDC_ISSUER")),
                None => Ok(None),
            };
        };
        check_issuer(&issuer)?;
        let client_id = client_id.ok_or_else(|| bad("CHAT_OIDC_ISSUER", "it needs CHAT_OIDC_CLIENT_ID"))?;
        let scopes = if scopes.is_empty() { DEFAULT_SCOPES.map(str::to_owned).to_vec() } else { scopes };
        if !scopes.iter().any(|scope| scope == "openid") {
            return Err(bad("CHAT_OIDC_SCOPES", "it must contain openid"));
        }
        let name = name.unwrap_or_else(|| DEFAULT_NAME.to_owned());
        // It is part of the page's settings, which stand in an element of its HTML.
        if name.chars().count() > MAX_NAME_CHARS || name.contains(['<', '>', '&']) || name.contains(char::is_control) {
            return Err(bad("CHAT_OIDC_NAME", "it must be a name of at most 40 characters, without <, > and &"));
        }
        let (is_only, links_by_email) = (is_only.unwrap_or(false), links_by_email.unwrap_or(false));
        if is_only && policy.anonymous_sign_in {
            return Err(bad("CHAT_OIDC_ONLY", "CHAT_ANONYMOUS_SIGN_IN lets users in without the provider"));
        }
        // Anybody could create an account with the address of a colleague, who would then share it.
        if links_by_email && policy.sign_ups.admit_unproven_addresses(policy.autoconfirm, is_only) {
            let reason = "accounts do not prove their addresses here; set CHAT_OIDC_ONLY, CHAT_SIGNUPS or \
                          CHAT_AUTOCONFIRM=off";
            return Err(bad("CHAT_OIDC_LINK_BY_EMAIL", reason));
        }
        let signs_out = signs_out.unwrap_or(false);
        Ok(Some(Self {
            issuer,
            client_id,
            client_secret,
            scopes,
            name,
            is_only,
            links_by_email,
            signs_out,
            groups_claim,
        }))
    }
}

/// Rejects an issuer that is not an HTTPS URL, or HTTP on loopback.
fn check_issuer(issuer: &str) -> Result<(), ConfigError> {
    let url = parse_url("CHAT_OIDC_ISSUER", issuer)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("CHAT_OIDC_ISSUER", "it must not have a query or fragment"));
    }
    if !is_protected(&url) {
        return Err(bad("CHAT_OIDC_ISSUER", "it must be an https:// URL"));
    }
    Ok(())
}

/// Returns whether requests to the URL are encrypted or stay on this machine.
pub fn is_protected(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
}

fn bad(name: &str, reason: &str) -> ConfigError {
    ConfigError::Bad { name: name.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    const ISSUER: (&str, &str) = ("CHAT_OIDC_ISSUER", "https://id.example.com/realms/staff");
    const CLIENT: (&str, &str) = ("CHAT_OIDC_CLIENT_ID", "chat");

    fn read(values: &[(&str, &str)]) -> Result<Option<OidcSettings>, String> {
        let source = values.iter().fold(Source::default(), |source, (name, value)| source.with(name, *value));
        Config::from_source(source).map(|config| config.oidc).map_err(|error| error.to_string())
    }

    #[test]
    fn issuer_and_client_are_enough() {
        assert!(read(&[]).unwrap().is_none());
        let settings = read(&[ISSUER, CLIENT]).unwrap().unwrap();
        assert_eq!(settings.issuer, ISSUER.1, "not normalized: it is compared with the provider's own spelling");
        assert_eq!(settings.scopes, ["openid", "email", "profile"]);
        assert!(settings.client_secret.is_none() && !settings.is_only && !settings.links_by_email);
    }

    #[test]
    fn rejects_settings_that_would_not_protect() {
        let error = |values: &[(&str, &str)]| read(&[&[CLIENT], values].concat()).unwrap_err();
        assert!(error(&[]).starts_with("CHAT_OIDC_CLIENT_ID is invalid: it has no effect"));
        assert!(read(&[("CHAT_OIDC_ONLY", "off")]).unwrap_err().contains("no effect"));
        assert!(read(&[ISSUER]).unwrap_err().contains("needs CHAT_OIDC_CLIENT_ID"));
        assert!(error(&[("CHAT_OIDC_ISSUER", "http://id.example.com")]).contains("https://"));
        assert!(error(&[("CHAT_OIDC_ISSUER", "https://id.example.com/?a=b")]).contains("query"));
        assert!(read(&[CLIENT, ("CHAT_OIDC_ISSUER", "http://127.0.0.1:9000")]).is_ok());
        assert!(error(&[ISSUER, ("CHAT_OIDC_SCOPES", "email profile")]).contains("openid"));
        assert!(error(&[ISSUER, ("CHAT_OIDC_NAME", "</script>")]).contains("CHAT_OIDC_NAME"));
        let anonymous = [ISSUER, ("CHAT_OIDC_ONLY", "on"), ("CHAT_ANONYMOUS_SIGN_IN", "on")];
        assert!(error(&anonymous).contains("CHAT_ANONYMOUS_SIGN_IN"));
    }

    #[test]
    fn links_only_where_accounts_prove_their_addresses() {
        let linking = [ISSUER, CLIENT, ("CHAT_OIDC_LINK_BY_EMAIL", "on")];
        assert!(read(&linking).unwrap_err().starts_with("CHAT_OIDC_LINK_BY_EMAIL is invalid"));
        for (name, value) in [
            ("CHAT_OIDC_ONLY", "on"),
            ("CHAT_SIGNUPS", "closed"),
            ("CHAT_AUTOCONFIRM", "off"),
            ("SMTP_URL", "smtp://mail.example.com"),
        ] {
            assert!(read(&[&linking[..], &[(name, value)]].concat()).unwrap().unwrap().links_by_email, "{name}");
        }
    }
}
