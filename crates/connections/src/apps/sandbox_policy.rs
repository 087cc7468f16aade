//! The policy of an app's page. It is decided here and sealed into the URL of the sandbox that shows the page, so that the
//! page cannot choose another one.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use platform::SecretSealer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::content_sources::parse_sources;

/// Context that a sealed policy is bound to.
const SEAL_CONTEXT: &str = "apps/frame";

/// Permissions of a page in addition to running its own scripts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxPolicy {
    /// Origins that it may send requests to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// Origins of its scripts, styles, images, media and fonts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// Origins of pages that it may embed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
    /// Origins of the base URL of its relative URLs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub base_uri_domains: Vec<String>,
    /// Browser features that it may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<BrowserFeature>,
}

/// A browser feature that a page can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BrowserFeature {
    /// The camera.
    Camera,
    /// The microphone.
    Microphone,
    /// The location of the user.
    Geolocation,
    /// Writing to the clipboard.
    ClipboardWrite,
}

impl BrowserFeature {
    const ALL: [Self; 4] = [Self::Camera, Self::Microphone, Self::Geolocation, Self::ClipboardWrite];

    /// Returns the name in MCP Apps.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Camera => "camera",
            Self::Microphone => "microphone",
            Self::Geolocation => "geolocation",
            Self::ClipboardWrite => "clipboardWrite",
        }
    }

    /// Returns the name in permissions policies.
    fn policy_name(self) -> &'static str {
        match self {
            Self::ClipboardWrite => "clipboard-write",
            other => other.as_str(),
        }
    }
}

impl SandboxPolicy {
    /// Returns the permitted part of what the `_meta.ui` of a page requests. `is_allowed` decides on a URL, and whether it
    /// stands for all subdomains of its host, too.
    pub fn from_ui_meta(ui_meta: &Value, is_allowed: impl Fn(&Url, bool) -> bool) -> Self {
        let list = |name: &str| ui_meta.get("csp").and_then(|csp| csp.get(name));
        let web = ["https", "http"];
        let is_requested = |feature: &BrowserFeature| {
            ui_meta.get("permissions").and_then(|all| all.get(feature.as_str())).is_some_and(Value::is_object)
        };
        Self {
            connect_domains: parse_sources(list("connectDomains"), &["https", "http", "wss", "ws"], &is_allowed),
            resource_domains: parse_sources(list("resourceDomains"), &web, &is_allowed),
            frame_domains: parse_sources(list("frameDomains"), &web, &is_allowed),
            base_uri_domains: parse_sources(list("baseUriDomains"), &web, &is_allowed),
            // In a fixed order, and only known ones: the names become part of a header.
            features: BrowserFeature::ALL.into_iter().filter(is_requested).collect(),
        }
    }

    /// Returns the content security policy of the page: that of MCP Apps without `'self'`, because nothing of this server
    /// belongs to the page. `embedder` is the origin that may show the page, `flags` what its sandbox permits.
    pub fn content_security_policy(&self, embedder: &str, flags: &str) -> String {
        let or_none = |sources: &[String]| if sources.is_empty() { "'none'".to_owned() } else { sources.join(" ") };
        let resources: String = self.resource_domains.iter().flat_map(|source| [" ", source]).collect();
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
            // Of CSP 3. No browser implements it yet, and browsers ignore unknown directives.
            "webrtc 'block'".to_owned(),
            "form-action 'none'".to_owned(),
            format!("frame-ancestors {embedder}"),
            format!("sandbox {flags}"),
        ]
        .join("; ")
    }

    /// Returns the permissions policy of the page. All sensitive features are off that it did not request.
    pub fn permissions_policy(&self) -> String {
        let requested = BrowserFeature::ALL.map(|feature| {
            let allowed = if self.features.contains(&feature) { "*" } else { "()" };
            format!("{}={allowed}", feature.policy_name())
        });
        let off =
            ["display-capture", "payment", "usb", "serial", "hid", "bluetooth", "midi", "publickey-credentials-get"];
        requested.into_iter().chain(off.map(|name| format!("{name}=()"))).collect::<Vec<_>>().join(", ")
    }

    /// Seals the policy into a segment of a URL.
    pub fn seal(&self, secrets: &SecretSealer) -> anyhow::Result<String> {
        Ok(URL_SAFE_NO_PAD.encode(secrets.seal(SEAL_CONTEXT, &serde_json::to_vec(self)?)?))
    }

    /// Opens what [`seal`](Self::seal) sealed. Returns `None` for anything else.
    pub fn open(secrets: &SecretSealer, text: &str) -> Option<Self> {
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        serde_json::from_slice(&secrets.open(SEAL_CONTEXT, &sealed).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn default_policy_permits_nothing() {
        let policy = SandboxPolicy::from_ui_meta(&json!({}), |_, _| true);
        assert_eq!(
            policy.content_security_policy("'self'", "allow-scripts"),
            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; \
             font-src data:; media-src data: blob:; connect-src 'none'; frame-src 'none'; base-uri 'none'; \
             object-src 'none'; webrtc 'block'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
        );
        let permissions = policy.permissions_policy();
        let none = "camera=(), microphone=(), geolocation=(), clipboard-write=()";
        assert!(permissions.starts_with(none), "{permissions}");
    }

    #[test]
    fn policy_permits_requested_sources_only() {
        let ui_meta = json!({
            "csp": {
                "connectDomains": ["https://api.example", "wss://live.example"], "frameDomains": ["https://video.example"],
                "resourceDomains": ["https://*.cdn.example"], "baseUriDomains": ["https://cdn.example"],
            },
            "permissions": { "camera": {}, "clipboardWrite": {}, "midi": {}, "microphone": null },
        });
        let policy = SandboxPolicy::from_ui_meta(&ui_meta, |_, _| true);
        let csp = policy.content_security_policy("https://chat.example", "allow-scripts");
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
        assert_eq!(policy.features, [BrowserFeature::Camera, BrowserFeature::ClipboardWrite]);
        assert!(policy.permissions_policy().starts_with("camera=*, microphone=(), geolocation=(), clipboard-write=*"));
    }

    #[test]
    fn opens_sealed_policies_only() {
        let secrets = SecretSealer::from_base64("test", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
        let policy = SandboxPolicy { connect_domains: vec!["https://a.example".into()], ..SandboxPolicy::default() };
        let sealed = policy.seal(&secrets).unwrap();
        assert_eq!(SandboxPolicy::open(&secrets, &sealed), Some(policy));
        for index in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[index] = if changed[index] == b'A' { b'B' } else { b'A' };
            assert_eq!(SandboxPolicy::open(&secrets, str::from_utf8(&changed).unwrap()), None, "{index}");
        }
        assert_eq!(SandboxPolicy::open(&secrets, ""), None);
    }
}
