//! URLs of MCP servers whose query holds secrets (`?api_key=…`).
//!
//! A URL is stored and shown in its masked form, in which [`HIDDEN_VALUE`] replaces every value of the query. The query itself
//! is stored encrypted in a column of its own. These functions work on the text, so that a URL is restored exactly as
//! the user wrote it.

/// Replacement for a hidden value. A value that really is `***` can be written as `%2A%2A%2A`.
pub const HIDDEN_VALUE: &str = "***";

/// Splits a URL into its masked form and its query. Returns `None` if the query holds no values; such a URL is stored
/// unchanged.
pub fn split_query(url: &str) -> Option<(String, String)> {
    let (before, query, fragment) = parts(url)?;
    if query.split('&').all(str::is_empty) {
        return None;
    }
    let masked: Vec<String> = query.split('&').map(mask_parameter).collect();
    Some((format!("{before}?{}{fragment}", masked.join("&")), query.to_owned()))
}

/// Returns the masked form of a URL. Masking a masked URL does not change it.
pub fn mask_query(url: &str) -> String {
    split_query(url).map_or_else(|| url.to_owned(), |(masked, _)| masked)
}

/// Returns whether a URL has a masked value, so that its real query is unknown.
pub fn has_masked_values(url: &str) -> bool {
    // A parameter may consist of a value alone: `?***`.
    let is_masked = |parameter: &str| parameter.split_once('=').map_or(parameter, |(_, value)| value) == HIDDEN_VALUE;
    parts(url).is_some_and(|(_, query, _)| query.split('&').any(is_masked))
}

/// Replaces the query of a masked URL by `query`.
pub fn with_query(masked: &str, query: &str) -> String {
    match parts(masked) {
        Some((before, _, fragment)) => format!("{before}?{query}{fragment}"),
        None => masked.to_owned(),
    }
}

/// Returns the text before the query, the query, and the fragment with its `#`.
fn parts(url: &str) -> Option<(&str, &str, &str)> {
    // The fragment is split off first: a `?` in it does not start a query.
    let (address, fragment) = url.split_at(url.find('#').unwrap_or(url.len()));
    let (before, query) = address.split_once('?')?;
    Some((before, query, fragment))
}

fn mask_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        _ if parameter.is_empty() => String::new(),
        // A key in Base64 may end with `=`, so a parameter without a value may itself be the secret.
        Some((name, value)) if !value.trim_start_matches('=').is_empty() => format!("{name}={HIDDEN_VALUE}"),
        _ => HIDDEN_VALUE.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn masks_every_value_of_the_query() {
        for (url, masked) in [
            ("https://a.example/mcp?api_key=s3cret", "https://a.example/mcp?api_key=***"),
            ("https://a.example/?a=1&b=2&&c==3#part", "https://a.example/?a=***&b=***&&c=***#part"),
            ("https://a.example/mcp?s3cret", "https://a.example/mcp?***"),
            ("https://a.example/mcp?c2VjcmV0cw==", "https://a.example/mcp?***"),
            ("https://a.example/mcp?a=1;b=2?c=3", "https://a.example/mcp?a=***"),
            ("https://a.example?k=\tv", "https://a.example?k=***"),
        ] {
            assert_eq!(mask_query(url), masked);
            assert!(has_masked_values(masked) && !has_masked_values(url), "{url}");
        }
    }

    #[test]
    fn leaves_urls_without_values_as_they_are() {
        for url in
            ["https://a.example/mcp", "https://a.example/mcp?", "https://a.example/#a?b=c", "ws://a/?&", "no URL"]
        {
            assert_eq!(split_query(url), None, "{url}");
            assert_eq!(mask_query(url), url);
            assert!(!has_masked_values(url), "{url}");
        }
    }

    #[test]
    fn an_encoded_mask_is_a_value_like_any_other() {
        assert!(!has_masked_values("https://a.example/?k=%2A%2A%2A"));
        assert!(has_masked_values("https://a.example/?team=new&k=***"));
    }

    proptest! {
        #[test]
        fn split_urls_are_put_together_to_the_letter(url in "https://a[a-z/]{0,5}[?&=#*a-z]{0,20}") {
            match split_query(&url) {
                None => prop_assert_eq!(mask_query(&url), url),
                Some((masked, query)) => {
                    prop_assert_eq!(mask_query(&masked), masked.clone());
                    prop_assert!(has_masked_values(&masked));
                    prop_assert_eq!(with_query(&masked, &query), url);
                }
            }
        }
    }
}
