//! What a page may do, decided here and carried, sealed, in the address of the sandbox that it is shown in. The page knows
//! that address and cannot make another one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::domains;
use platform::SecretSealer;

/// Where the seal is good for.
const PLACE: &str = "apps/frame";

/// What a page may do beyond running its own scripts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Frame {
    /// Where it may send requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// Where its scripts, styles, pictures, sounds and fonts may come from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// Which pages it may show inside itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
    /// What its relative addresses may be relative to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub base_uri_domains: Vec<String>,
    /// What of the browser it asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Feature>,
}

/// What of the browser a page can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Feature {
    /// Pictures of the person.
    Camera,
    /// Their voice.
    Microphone,
    /// Where they are.
    Geolocation,
    /// To put something where they paste from.
    ClipboardWrite,
}

impl Feature {
    const ALL: [Self; 4] = [Self::Camera, Self::Microphone, Self::Geolocation, Self::ClipboardWrite];

    /// The protocol's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Camera => "camera",
            Self::Microphone => "microphone",
            Self::Geolocation => "geolocation",
            Self::ClipboardWrite => "clipboardWrite",
        }
    }

    /// The browser's word for it.
    fn policy(self) -> &'static str {
        match self {
            Self::ClipboardWrite => "clipboard-write",
            other => other.as_str(),
        }
    }
}

impl Frame {
    /// What the `_meta.ui` of a page asks for, as far as it is granted. `may` judges single addresses, and whether they
    /// stand for all hosts below them.
    pub fn of(about: &Value, may: impl Fn(&Url, bool) -> bool) -> Self {
        let list = |name: &str| about.get("csp").and_then(|csp| csp.get(name));
        let web = ["https", "http"];
        let asks = |feature: &Feature| {
            about.get("permissions").and_then(|all| all.get(feature.as_str())).is_some_and(Value::is_object)
        };
        Self {
            connect_domains: domains::read(list("connectDomains"), &["https", "http", "wss", "ws"], &may),
            resource_domains: domains::read(list("resourceDomains"), &web, &may),
            frame_domains: domains::read(list("frameDomains"), &web, &may),
            base_uri_domains: domains::read(list("baseUriDomains"), &web, &may),
            features: Feature::ALL.into_iter().filter(asks).collect(),
        }
    }

    /// The content security policy of the page: the protocol's own, without `'self'`, because nothing of ours is the page's.
    /// `embedder` is who may show it, `flags` what the sandbox leaves open.
    pub fn content_security_policy(&self, embedder: &str, flags: &str) -> String {
        let or_none = |places: &[String]| if places.is_empty() { "'none'".to_owned() } else { places.join(" ") };
        let resources: String = self.resource_domains.iter().flat_map(|place| [" ", place]).collect();
        [
            "default-src 'none'".to_owned(),
            format!("script-src 'unsafe-inline'{resources}"),
            format!("style-src 'unsafe-inline'{resources}"),
            format!("img-src data: blob:{resources}"),
            format!("font-src data:{resources}"),
            format!("media-src data: blob:{resources}"),
            format!("connect-src {}", or_none(&self.connect_domains)),
            format!("frame-src {}", or_none(&self.frame_domains)),
            format!("base-uri {}", or_none(&self.base_uri_domains)),
            "object-src 'none'".to_owned(),
            // Of CSP 3; no browser follows it yet, and those that do not know it pass over it.
            "webrtc 'block'".to_owned(),
            "form-action 'none'".to_owned(),
            format!("frame-ancestors {embedder}"),
            format!("sandbox {flags}"),
        ]
        .join("; ")
    }

    /// The permissions policy of the page: what it did not ask for is off, and so is everything else that is worth it.
    pub fn permissions_policy(&self) -> String {
        let asked = Feature::ALL.map(|feature| {
            let allowed = if self.features.contains(&feature) { "*" } else { "()" };
            format!("{}={allowed}", feature.policy())
        });
        let off =
            ["display-capture", "payment", "usb", "serial", "hid", "bluetooth", "midi", "publickey-credentials-get"];
        asked.into_iter().chain(off.map(|name| format!("{name}=()"))).collect::<Vec<_>>().join(", ")
    }

    /// As a piece of an address.
    pub fn seal(&self, secrets: &SecretSealer) -> anyhow::Result<String> {
        Ok(URL_SAFE_NO_PAD.encode(secrets.seal(PLACE, &serde_json::to_vec(self)?)?))
    }

    /// What [`Frame::seal`] has made; nothing else.
    pub fn open(secrets: &SecretSealer, text: &str) -> Option<Self> {
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        serde_json::from_slice(&secrets.open(PLACE, &sealed).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_that_says_nothing_reaches_nothing() {
        let frame = Frame::of(&json!({}), |_, _| true);
        assert_eq!(
            frame.content_security_policy("'self'", "allow-scripts"),
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; \
             font-src data:; media-src data: blob:; connect-src 'none'; frame-src 'none'; base-uri 'none'; \
             object-src 'none'; webrtc 'block'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
        );
        let policy = frame.permissions_policy();
        assert!(policy.starts_with("camera=(), microphone=(), geolocation=(), clipboard-write=()"), "{policy}");
    }

    #[test]
    fn a_page_gets_what_it_names_and_no_more() {
        let about = json!({
            "csp": {
                "connectDomains": ["https://api.example", "wss://live.example"], "frameDomains": ["https://video.example"],
                "resourceDomains": ["https://*.cdn.example"], "baseUriDomains": ["https://cdn.example"],
            },
            "permissions": { "camera": {}, "clipboardWrite": {}, "midi": {}, "microphone": null },
        });
        let frame = Frame::of(&about, |_, _| true);
        let csp = frame.content_security_policy("https://chat.example", "allow-scripts");
        for part in [
            "script-src 'unsafe-inline' https://*.cdn.example;",
            "img-src data: blob: https://*.cdn.example;",
            "connect-src https://api.example wss://live.example;",
            "frame-src https://video.example;",
            "base-uri https://cdn.example;",
            "frame-ancestors https://chat.example;",
        ] {
            assert!(csp.contains(part), "{part} in {csp}");
        }
        assert_eq!(frame.features, [Feature::Camera, Feature::ClipboardWrite]);
        assert!(frame.permissions_policy().starts_with("camera=*, microphone=(), geolocation=(), clipboard-write=*"));
    }

    #[test]
    fn what_is_sealed_is_read_back_and_what_is_changed_is_not() {
        let secrets = SecretSealer::from_base64("test", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
        let frame = Frame { connect_domains: vec!["https://a.example".into()], ..Frame::default() };
        let sealed = frame.seal(&secrets).unwrap();
        assert_eq!(Frame::open(&secrets, &sealed), Some(frame));
        for index in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            assert_eq!(Frame::open(&secrets, str::from_utf8(&changed).unwrap()), None, "{index}");
        }
        assert_eq!(Frame::open(&secrets, ""), None);
    }
}
