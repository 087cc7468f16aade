//! The setting of who may use which of the configured models.

use domain::model::ModelRules;

use super::sign_ups::PROVE_ADDRESSES;
use super::source::{ConfigError, Source};

/// Settings on which rules depend.
pub(super) struct RulePolicy {
    /// Whether the groups of users are read.
    pub reads_groups: bool,
    /// Whether users can sign up with an address that they need not prove.
    pub admits_unproven_addresses: bool,
}

/// Reads `CHAT_MODEL_ACCESS`.
pub(super) fn read(source: &mut Source, policy: &RulePolicy) -> Result<Option<ModelRules>, ConfigError> {
    let name = "CHAT_MODEL_ACCESS";
    let Some(text) = source.text(name) else { return Ok(None) };
    let bad = |reason: String| ConfigError::Bad { name: name.to_owned(), reason };
    let rules: ModelRules = text.parse().map_err(|error| bad(format!("{error}")))?;
    // Without the claim, such a rule would never apply, and nobody would learn why.
    if rules.name_groups() && !policy.reads_groups {
        return Err(bad("rules for groups need CHAT_OIDC_GROUPS_CLAIM".to_owned()));
    }
    // They would apply to almost nobody: an address that nobody has proven gives access to nothing.
    if rules.name_domains() && policy.admits_unproven_addresses {
        return Err(bad(format!("rules for domains need proven addresses; {PROVE_ADDRESSES}")));
    }
    Ok(Some(rules))
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<bool, String> {
        let source = settings.iter().fold(Source::default(), |source, (name, value)| source.with(name, *value));
        Config::from_source(source).map(|config| config.model_access.is_some()).map_err(|error| error.to_string())
    }

    #[test]
    fn rules_for_domains_need_proven_addresses() {
        let rule = ("CHAT_MODEL_ACCESS", "*=built-in/*; example.com=*");
        let refused = read(&[rule]).unwrap_err();
        assert!(refused.starts_with("CHAT_MODEL_ACCESS is invalid: rules for domains"), "{refused}");
        assert!(refused.contains("CHAT_AUTOCONFIRM=off"), "{refused}");
        let provider = [("CHAT_OIDC_ISSUER", "https://id.example.com"), ("CHAT_OIDC_CLIENT_ID", "chat")];
        assert!(read(&[&[rule][..], &provider].concat()).is_err(), "passwords still work");
        for setting in [
            ("CHAT_OIDC_ONLY", "on"),
            ("CHAT_SIGNUPS", "closed"),
            ("CHAT_SIGNUPS", "invite"),
            ("CHAT_AUTOCONFIRM", "off"),
            ("SMTP_URL", "smtp://mail.example.com"),
        ] {
            assert_eq!(read(&[&[rule, setting][..], &provider].concat()), Ok(true), "{setting:?}");
        }
        let mail = [rule, ("SMTP_URL", "smtp://mail.example.com"), ("CHAT_AUTOCONFIRM", "on")];
        assert!(read(&mail).is_err());
    }

    #[test]
    fn rules_for_groups_need_the_claim_with_groups() {
        assert_eq!(read(&[]), Ok(false));
        assert_eq!(read(&[("CHAT_MODEL_ACCESS", "*=built-in/*")]), Ok(true));
        assert!(read(&[("CHAT_MODEL_ACCESS", "everything")]).unwrap_err().contains("\"everything\" is not a rule"));
        let rule = ("CHAT_MODEL_ACCESS", "group:research=*");
        let provider = [("CHAT_OIDC_ISSUER", "https://id.example.com"), ("CHAT_OIDC_CLIENT_ID", "chat")];
        assert!(read(&[&[rule][..], &provider].concat()).unwrap_err().contains("CHAT_OIDC_GROUPS_CLAIM"));
        assert_eq!(read(&[&[rule, ("CHAT_OIDC_GROUPS_CLAIM", "groups")][..], &provider].concat()), Ok(true));
    }
}
