//! Where a mailed link may lead once it is confirmed. The sign-in stands in the address that the browser is sent to, so a
//! stranger's address must never be among them.

use platform::url_host::{ip_address, is_loopback};
use url::Url;

/// Where links may lead.
#[derive(Debug)]
pub struct Redirects {
    site: Url,
    allowed: Vec<String>,
}

impl Redirects {
    /// To the site itself, and to what the administrator's patterns allow.
    pub fn new(site: &Url, allowed: &[String]) -> Self {
        Self { site: site.clone(), allowed: allowed.to_vec() }
    }

    /// The first of the addresses asked for that is allowed, and the site otherwise.
    pub fn target<'a>(&self, asked: impl IntoIterator<Item = &'a str>) -> Url {
        asked.into_iter().find_map(|asked| self.allowed(asked)).unwrap_or_else(|| self.site.clone())
    }

    fn allowed(&self, asked: &str) -> Option<Url> {
        let url = Url::parse(asked).ok()?;
        // User information before the `@` makes an address look like another host's.
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
        // Beside a site on this machine, programs on this machine are the person's own. A link of a public site that leads
        // there hands its sign-in to whatever listens on the machine where it is opened.
        if on_loopback && self.site.scheme() != "https" && ip_address(&url).is_some() {
            return Some(url);
        }
        let is_public = self.site.scheme() == "https" && !is_loopback(&self.site);
        let host = url.host_str().unwrap_or_default();
        let matches = |text: &str| {
            let text = text.split('#').next().unwrap_or_default();
            self.allowed.iter().any(|pattern| {
                // Loopback has to be named: a pattern for many hosts does not mean it.
                let may_match = !on_loopback || !is_public || pattern.contains(host);
                may_match && matches(pattern.as_bytes(), text.as_bytes())
            })
        };
        // Patterns may be written for the text as it was sent or for its normal form, which ends with a slash after the
        // host.
        (matches(asked) || matches(url.as_str())).then_some(url)
    }

    /// Programs on the person's own machine listen where there is room (RFC 8252 section 7.3).
    fn is_site(&self, url: &Url) -> bool {
        let same_port = url.port_or_known_default() == self.site.port_or_known_default();
        url.scheme() == self.site.scheme() && url.host() == self.site.host() && (same_port || is_loopback(url))
    }
}

/// Whether a text is what a pattern describes: `*` is anything but `.` and `/`, `**` is anything, `?` is one character but
/// those two.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // reached[n]: the pattern so far describes the first n bytes.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    let mut rest = pattern;
    while let Some((&first, after)) = rest.split_first() {
        let deep = rest.starts_with(b"**");
        let mut next = vec![false; text.len() + 1];
        for (at, &was) in reached.iter().enumerate() {
            let byte = at.checked_sub(1).map(|before| text[before]);
            let plain = |byte: u8| byte != b'.' && byte != b'/';
            next[at] = match first {
                b'*' => was || byte.is_some_and(|byte| next[at - 1] && (deep || plain(byte))),
                b'?' => byte.is_some_and(|byte| reached[at - 1] && plain(byte)),
                exact => byte.is_some_and(|byte| reached[at - 1] && byte == exact),
            };
        }
        reached = next;
        rest = if deep { &rest[2..] } else { after };
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lead(site: &str, allowed: &[&str], asked: &str) -> String {
        let allowed: Vec<String> = allowed.iter().map(|&pattern| pattern.to_owned()).collect();
        Redirects::new(&Url::parse(site).unwrap(), &allowed).target(Some(asked)).to_string()
    }

    #[test]
    fn links_lead_to_the_site_and_to_nobody_elses() {
        let site = "https://chat.example.com";
        for own in ["https://chat.example.com/auth?x=1#y", "https://chat.example.com:443/", "HTTPS://CHAT.example.com/"]
        {
            assert_eq!(lead(site, &[], own), Url::parse(own).unwrap().as_str());
        }
        let strangers = [
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
        for stranger in strangers {
            assert_eq!(lead(site, &[], stranger), "https://chat.example.com/", "{stranger}");
        }
    }

    #[test]
    fn on_loopback_every_port_is_the_persons_own() {
        for own in ["http://localhost:5173/auth", "http://localhost/", "http://127.0.0.1:9/", "http://[::1]:8/"] {
            assert_eq!(lead("http://localhost:3000", &[], own), own);
        }
        assert_eq!(lead("http://localhost:3000", &[], "https://localhost:3000/"), "http://localhost:3000/");
        assert_eq!(lead("http://localhost:3000", &[], "http://localhost.evil.com/"), "http://localhost:3000/");
    }

    #[test]
    fn patterns_add_addresses() {
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
            let lead = lead("https://chat.example.com", &[pattern], asked);
            assert_eq!(lead != "https://chat.example.com/", allowed, "{pattern} {asked}: {lead}");
        }
    }

    #[test]
    fn https_site_leads_to_loopback_only_by_name() {
        let site = "https://chat.example.com";
        for asked in ["http://127.0.0.1:8080/", "http://[::1]/", "http://localhost:3000/", "https://127.0.0.1/"] {
            assert_eq!(lead(site, &[], asked), "https://chat.example.com/", "{asked}");
            assert_eq!(lead(site, &["**"], asked), "https://chat.example.com/", "{asked}");
        }
        assert_eq!(lead(site, &["http://127.0.0.1:8080/"], "http://127.0.0.1:8080/"), "http://127.0.0.1:8080/");
        assert_eq!(lead(site, &["http://localhost:*/"], "http://localhost:3000/"), "http://localhost:3000/");
        assert_eq!(lead("http://chat.example.com", &[], "http://127.0.0.1:8080/"), "http://127.0.0.1:8080/");
    }

    #[test]
    fn a_long_text_does_not_take_long() {
        assert!(!matches("**a".repeat(50).as_bytes(), &b"a".repeat(49)));
        assert!(matches("**a".repeat(50).as_bytes(), &b"a".repeat(5000)));
    }
}
