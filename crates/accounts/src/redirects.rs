//! Allowlist of redirect URLs for emailed links. The redirect carries the tokens of the new session, so it must never
//! lead to a site that an attacker controls.

use platform::url_host::{ip_address, is_loopback};
use url::Url;

/// Allowlist of redirect URLs.
#[derive(Debug)]
pub struct RedirectAllowlist {
    site: Url,
    allowed: Vec<String>,
}

impl RedirectAllowlist {
    /// Creates an allowlist of the site itself and the configured patterns.
    pub fn new(site: &Url, allowed: &[String]) -> Self {
        Self { site: site.clone(), allowed: allowed.to_vec() }
    }

    /// Returns the first of the requested URLs that is allowed, or the site URL.
    pub fn select<'a>(&self, asked: impl IntoIterator<Item = &'a str>) -> Url {
        asked.into_iter().find_map(|asked| self.allowed(asked)).unwrap_or_else(|| self.site.clone())
    }

    fn allowed(&self, asked: &str) -> Option<Url> {
        let url = Url::parse(asked).ok()?;
        // User information before the `@` can disguise the real host: `https://site@evil.com/`.
        if !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        if self.is_site(&url) {
            return Some(url);
        }
        let on_loopback = is_loopback(&url);
        // GoTrue's rule: IP addresses other than loopback are rejected even if a pattern matches them.
        if ip_address(&url).is_some() && !on_loopback {
            return None;
        }
        // For a site without TLS, loopback addresses are allowed: in development, clients run on the same machine. A
        // public site must not redirect there by default, because the tokens would go to any program that listens on
        // the machine where the link is opened.
        if on_loopback && self.site.scheme() != "https" && ip_address(&url).is_some() {
            return Some(url);
        }
        let is_public = self.site.scheme() == "https" && !is_loopback(&self.site);
        let host = url.host_str().unwrap_or_default();
        let matches = |text: &str| {
            let text = text.split('#').next().unwrap_or_default();
            self.allowed.iter().any(|pattern| {
                // A wildcard pattern does not include loopback; the pattern has to name it.
                let may_match = !on_loopback || !is_public || pattern.contains(host);
                may_match && matches(pattern.as_bytes(), text.as_bytes())
            })
        };
        // Patterns may match the URL as it was sent or in its normal form, which ends with a slash after the host.
        (matches(asked) || matches(url.as_str())).then_some(url)
    }

    /// Returns whether the URL is on the site's origin. On loopback the port may differ, since native apps listen on
    /// any free port (RFC 8252 section 7.3).
    fn is_site(&self, url: &Url) -> bool {
        let same_port = url.port_or_known_default() == self.site.port_or_known_default();
        url.scheme() == self.site.scheme() && url.host() == self.site.host() && (same_port || is_loopback(url))
    }
}

/// Returns whether a text matches a pattern. As in GoTrue, `*` matches any characters except `.` and `/`, `**` matches
/// any characters, and `?` matches one character except `.` and `/`. Runs in O(pattern × text), without backtracking.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // reached[n]: the pattern so far matches the first n bytes of the text.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    let mut rest = pattern;
    while let Some((&first, after)) = rest.split_first() {
        let is_double_star = rest.starts_with(b"**");
        let mut next = vec![false; text.len() + 1];
        for (at, &was) in reached.iter().enumerate() {
            let byte = at.checked_sub(1).map(|before| text[before]);
            let is_plain = |byte: u8| byte != b'.' && byte != b'/';
            next[at] = match first {
                b'*' => was || byte.is_some_and(|byte| next[at - 1] && (is_double_star || is_plain(byte))),
                b'?' => byte.is_some_and(|byte| reached[at - 1] && is_plain(byte)),
                exact => byte.is_some_and(|byte| reached[at - 1] && byte == exact),
            };
        }
        reached = next;
        rest = if is_double_star { &rest[2..] } else { after };
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(site: &str, allowed: &[&str], asked: &str) -> String {
        let allowed: Vec<String> = allowed.iter().map(|&pattern| pattern.to_owned()).collect();
        RedirectAllowlist::new(&Url::parse(site).unwrap(), &allowed).select(Some(asked)).to_string()
    }

    #[test]
    fn allows_only_the_site_by_default() {
        let site = "https://chat.example.com";
        for own in ["https://chat.example.com/auth?x=1#y", "https://chat.example.com:443/", "HTTPS://CHAT.example.com/"]
        {
            assert_eq!(selected(site, &[], own), Url::parse(own).unwrap().as_str());
        }
        let others = [
            "http://chat.example.com/",
            "https://chat.example.com:8443/",
            "https://example.com/",
            "https://evil.chat.example.com/",
            "https://chat.example.com.evil.com/",
            "https://chat.example.com@evil.com/",
            "https://user@chat.example.com/",
            "https://192.0.2.1/",
            "https://3221225985/",
            "https://0xc0000201/",
            "https://[2001:db8::1]/",
            "javascript:alert(1)",
            "data:text/html,x",
            "//evil.com/",
            "/auth",
            "chat.example.com",
            "",
        ];
        for other in others {
            assert_eq!(selected(site, &[], other), "https://chat.example.com/", "{other}");
        }
    }

    #[test]
    fn allows_every_port_on_loopback() {
        for own in ["http://localhost:5173/auth", "http://localhost/", "http://127.0.0.1:9/", "http://[::1]:8/"] {
            assert_eq!(selected("http://localhost:3000", &[], own), own);
        }
        assert_eq!(selected("http://localhost:3000", &[], "https://localhost:3000/"), "http://localhost:3000/");
        assert_eq!(selected("http://localhost:3000", &[], "http://localhost.evil.com/"), "http://localhost:3000/");
    }

    #[test]
    fn patterns_allow_further_urls() {
        let table = [
            ("https://app.example.org/**", "https://app.example.org/a/b.html?c=d", true),
            ("https://app.example.org/**", "https://app.example.org/", true),
            ("https://app.example.org/*", "https://app.example.org/a", true),
            ("https://app.example.org/*", "https://app.example.org/a/b", false),
            ("https://*.example.org/", "https://app.example.org/", true),
            ("https://*.example.org/", "https://a.b.example.org/", false),
            ("https://*.example.org/", "https://evil.com/.example.org/", false),
            ("https://app?.example.org/", "https://app1.example.org/#x", true),
            ("https://app?.example.org/", "https://app.example.org/", false),
            ("https://app.example.org", "https://app.example.org", true),
            ("https://app.example.org", "https://app.example.org/x", false),
            ("https://app.example.org**", "https://app.example.org@evil.com/", false),
            ("my.app://callback", "my.app://callback", true),
            ("my.app://callback", "my.app://other", false),
            ("**", "https://192.0.2.1/", false),
        ];
        for (pattern, asked, allowed) in table {
            let selected = selected("https://chat.example.com", &[pattern], asked);
            assert_eq!(selected != "https://chat.example.com/", allowed, "{pattern} {asked}: {selected}");
        }
    }

    #[test]
    fn https_site_allows_loopback_only_by_name() {
        let site = "https://chat.example.com";
        for asked in ["http://127.0.0.1:8080/", "http://[::1]/", "http://localhost:3000/", "https://127.0.0.1/"] {
            assert_eq!(selected(site, &[], asked), "https://chat.example.com/", "{asked}");
            assert_eq!(selected(site, &["**"], asked), "https://chat.example.com/", "{asked}");
        }
        assert_eq!(selected(site, &["http://127.0.0.1:8080/"], "http://127.0.0.1:8080/"), "http://127.0.0.1:8080/");
        assert_eq!(selected(site, &["http://localhost:*/"], "http://localhost:3000/"), "http://localhost:3000/");
        assert_eq!(selected("http://chat.example.com", &[], "http://127.0.0.1:8080/"), "http://127.0.0.1:8080/");
    }

    #[test]
    fn matching_time_is_bounded() {
        assert!(!matches("**a".repeat(50).as_bytes(), &b"a".repeat(49)));
        assert!(matches("**a".repeat(50).as_bytes(), &b"a".repeat(5000)));
    }
}
