//! Rules that state which users may use which of the configured models.

use std::str::FromStr;

/// Attributes of a user that decide which rules apply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessAttributes {
    /// Domain of the email address, in lower case, if the address is proven.
    pub domain: Option<String>,
    /// Groups at the identity provider, as of the last sign-in there.
    pub groups: Vec<String>,
}

/// Rules such as `*=built-in/*; example.com=openai/*; group:research=*`. A user may use the models of every rule that
/// applies to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRules(Vec<ModelRule>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct ModelRule {
    applies_to: RuleSubject,
    models: Vec<ModelPattern>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleSubject {
    All,
    Domain(String),
    Group(String),
}

/// Names of models, as `provider/name`, in which `*` stands for any text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ModelPattern(String);

/// The configured models that a user may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedModels(Option<Vec<ModelPattern>>);

/// Error of a text that is not a list of rules. The rule is given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a rule such as example.com=openai/*, group:research=* or *=built-in/*")]
pub struct InvalidModelRule(String);

impl FromStr for ModelRules {
    type Err = InvalidModelRule;

    fn from_str(text: &str) -> Result<Self, InvalidModelRule> {
        let rules = text.split(';').map(str::trim).filter(|rule| !rule.is_empty());
        let rules = rules.map(|rule| ModelRule::parse(rule).ok_or_else(|| InvalidModelRule(rule.to_owned())));
        match rules.collect::<Result<Vec<_>, _>>()? {
            rules if rules.is_empty() => Err(InvalidModelRule(text.to_owned())),
            rules => Ok(Self(rules)),
        }
    }
}

impl ModelRules {
    /// Returns whether a rule is about a group.
    pub fn name_groups(&self) -> bool {
        self.0.iter().any(|rule| matches!(rule.applies_to, RuleSubject::Group(_)))
    }

    /// Returns whether a rule is about a domain.
    pub fn name_domains(&self) -> bool {
        self.0.iter().any(|rule| matches!(rule.applies_to, RuleSubject::Domain(_)))
    }

    /// Returns the models that a user may use: none if no rule applies to them.
    pub fn allowed(&self, user: &AccessAttributes) -> AllowedModels {
        let rules = self.0.iter().filter(|rule| rule.applies_to.contains(user));
        AllowedModels(Some(rules.flat_map(|rule| rule.models.iter().cloned()).collect()))
    }
}

impl ModelRule {
    fn parse(text: &str) -> Option<Self> {
        // A group may contain `=`, a model cannot.
        let (subject, models) = text.rsplit_once('=')?;
        let applies_to = match subject.trim() {
            "" => return None,
            "*" => RuleSubject::All,
            subject => match subject.strip_prefix("group:") {
                Some(group) => RuleSubject::Group(Some(group.trim()).filter(|group| !group.is_empty())?.to_owned()),
                None if subject.contains(['@', ':', '*', ' ', ',']) => return None,
                None => RuleSubject::Domain(subject.to_lowercase()),
            },
        };
        let patterns = models.split(',').map(|pattern| ModelPattern::parse(pattern.trim()));
        Some(Self { applies_to, models: patterns.collect::<Option<_>>()? })
    }
}

impl RuleSubject {
    fn contains(&self, user: &AccessAttributes) -> bool {
        match self {
            Self::All => true,
            Self::Domain(domain) => user.domain.as_ref() == Some(domain),
            Self::Group(group) => user.groups.contains(group),
        }
    }
}

impl ModelPattern {
    fn parse(text: &str) -> Option<Self> {
        (text == "*" || text.contains('/')).then(|| Self(text.to_owned()))
    }

    fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        // Splitting always yields a first part.
        let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
        let mut parts = parts.peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return rest.ends_with(part);
            }
            // The first occurrence leaves the most for the parts that follow.
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.is_empty()
    }
}

impl AllowedModels {
    /// Every configured model.
    pub const ALL: Self = Self(None);

    /// Returns whether a model is one of them. `name` is `provider/name`.
    pub fn contains(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|patterns| patterns.iter().any(|pattern| pattern.matches(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_any_text_at_each_asterisk() {
        for (pattern, name, matches) in [
            ("*", "openai/gpt-5", true),
            ("openai/*", "openai/gpt-5", true),
            ("openai/*", "openai-like/gpt-5", false),
            ("openai/gpt-5", "openai/gpt-5", true),
            ("openai/gpt-5", "openai/gpt-5-mini", false),
            ("openai/*-mini", "openai/gpt-5-mini", true),
            ("openai/*-mini", "openai/gpt-5", false),
            ("*/llama*b", "ollama/llama3:8b", true),
            ("*/llama*b", "ollama/llama3:8b-q4", false),
            ("a/*a", "a/a", true),
            ("a/a*a", "a/a", false),
        ] {
            assert_eq!(ModelPattern(pattern.to_owned()).matches(name), matches, "{pattern} {name}");
        }
    }

    #[test]
    fn a_user_may_use_the_models_of_all_rules_that_apply() {
        let rules: ModelRules =
            "* = built-in/* ; Example.com=openai/gpt-5-mini, openai/gpt-5-nano;group:cn=research=*;".parse().unwrap();
        let may = |user: &AccessAttributes, name| rules.allowed(user).contains(name);
        let anyone = AccessAttributes::default();
        let employee = AccessAttributes { domain: Some("example.com".to_owned()), ..AccessAttributes::default() };
        let researcher = AccessAttributes { groups: vec!["cn=research".to_owned()], ..AccessAttributes::default() };
        assert_eq!((may(&anyone, "built-in/a"), may(&anyone, "openai/gpt-5-mini")), (true, false));
        assert_eq!((may(&employee, "openai/gpt-5-nano"), may(&employee, "openai/gpt-5")), (true, false));
        assert!(may(&employee, "built-in/a") && may(&researcher, "openai/gpt-5"));
        let few: ModelRules = "example.com=*".parse().unwrap();
        assert!(!few.allowed(&anyone).contains("built-in/a"), "none if no rule applies");
    }

    #[test]
    fn rejects_what_is_no_rule() {
        for text in
            ["", ";", "openai/*", "=openai/*", "example.com=", "example.com=gpt-5", "group:=*", "a@b.com=*", "*="]
        {
            assert!(text.parse::<ModelRules>().is_err(), "{text}");
        }
    }
}
