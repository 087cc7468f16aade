//! The setting of who may use which of the configured models.

use domain::model::ModelRules;

use super::OidcSettings;
use super::source::{ConfigError, Source};

/// Reads `CHAT_MODEL_ACCESS`.
pub(super) fn read(source: &mut Source, oidc: Option<&OidcSettings>) -> Result<Option<ModelRules>, ConfigError> {
    let name = "CHAT_MODEL_ACCESS";
    let Some(text) = source.text(name) else { return Ok(None) };
    let bad = |reason: String| ConfigError::Bad { name: name.to_owned(), reason };
    let rules: ModelRules = text.parse().map_err(|error| bad(format!("{error}")))?;
    // Without the claim, such a rule would never apply, and nobody would learn why.
    if rules.name_groups() && oidc.is_none_or(|oidc| oidc.groups_claim.is_none()) {
        return Err(bad("rules for groups need CHAT_OIDC_GROUPS_CLAIM".to_owned()));
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
    fn rules_for_groups_need_the_claim_with_groups() {
        assert_eq!(read(&[]), Ok(false));
        assert_eq!(read(&[("CHAT_MODEL_ACCESS", "*=built-in/*; example.com=*")]), Ok(true));
        assert!(read(&[("CHAT_MODEL_ACCESS", "everything")]).unwrap_err().contains("\"everything\" is not a rule"));
        let rule = ("CHAT_MODEL_ACCESS", "group:research=*");
        let provider = [("CHAT_OIDC_ISSUER", "https://id.example.com"), ("CHAT_OIDC_CLIENT_ID", "chat")];
        assert!(read(&[&[rule][..], &provider].concat()).unwrap_err().contains("CHAT_OIDC_GROUPS_CLAIM"));
        assert_eq!(read(&[&[rule, ("CHAT_OIDC_GROUPS_CLAIM", "groups")][..], &provider].concat()), Ok(true));
    }
}
