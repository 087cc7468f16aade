//! Emails that tell users what happened to their account, so that they notice what they did not do.

use std::collections::BTreeSet;

use storage::audit_events::AuditEventKind;
use storage::users::User;

use super::audit::RequestOrigin;
use super::mailer::{Email, EmailKind, SecurityNotice};
use super::{AccountService, AuthError};

/// Number of the newest audit events in which a known device is looked for.
const SEARCHED_EVENTS: i64 = 200;

/// Names of browsers, and the parts of a user agent that tell them. Browsers claim to be others, so the most specific
/// parts come first.
const BROWSERS: [(&str, &str); 7] = [
    ("Edge", "Edg"),
    ("Opera", "OPR/"),
    ("Samsung Internet", "SamsungBrowser/"),
    ("Firefox", "Firefox/"),
    ("Chrome", "Chrome/"),
    ("Chrome", "CriOS/"),
    ("Safari", "Safari/"),
];

/// Names of systems, and the parts of a user agent that tell them.
const SYSTEMS: [(&str, &str); 7] = [
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("ChromeOS", "CrOS"),
    ("Windows", "Windows NT"),
    ("macOS", "Mac OS X"),
    ("Linux", "Linux"),
];

impl AccountService {
    /// Sends a notice to the confirmed address of a user, in the background. Without a mail server, or with
    /// `CHAT_SECURITY_EMAILS=off`, nothing is sent.
    pub(super) fn notify(&self, user: &User, notice: SecurityNotice) {
        if !self.settings.security_emails || !self.can_send_email() || user.email_confirmed_at.is_none() {
            return;
        }
        let Some(to) = user.email.clone() else { return };
        let link = self.settings.site_url.join("/?settings=security").ok().map(String::from);
        let service = self.clone();
        self.send_in_background(async move {
            service.send_email(&to, Email { kind: EmailKind::Security(notice), link, code: None }).await
        });
    }

    /// Sends notices of a changed password, and of a changed address to the previous one.
    pub(super) fn notify_of_update(&self, before: &User, after: &User) {
        if before.password_hash != after.password_hash && after.password_hash.is_some() {
            self.notify(before, SecurityNotice::PasswordChanged);
        }
        if let Some(new) = after.email.as_ref().filter(|_| before.email != after.email) {
            self.notify(before, SecurityNotice::AddressChanged { new: new.clone() });
        }
    }

    /// Returns the notice of a sign-in with a device that the user has not used before; `None` if the device is known,
    /// or if no earlier one is.
    pub(super) async fn find_new_device(
        &self,
        user: &User,
        origin: &RequestOrigin,
    ) -> Result<Option<SecurityNotice>, AuthError> {
        if !self.settings.security_emails || !self.can_send_email() || user.last_sign_in_at.is_none() {
            return Ok(None);
        }
        let device = describe_device(origin.user_agent.as_deref());
        let sign_in = AuditEventKind::SignIn.as_str();
        let events = self.storage.audit_events().list_of_user(user.id, None, SEARCHED_EVENTS).await?;
        let sessions = self.storage.auth_sessions().list_devices(user.id).await?;
        let earlier = events.into_iter().filter(|event| event.kind == sign_in).map(|event| event.user_agent);
        let earlier = earlier.chain(sessions.into_iter().map(|session| session.user_agent));
        let known: BTreeSet<String> = earlier.map(|agent| describe_device(agent.as_deref())).collect();
        let is_new = !known.is_empty() && !known.contains(&device);
        Ok(is_new.then(|| SecurityNotice::NewDevice {
            device,
            address: origin.address.map(|address| address.to_canonical().to_string()),
        }))
    }
}

/// Returns browser and system of a user agent, without versions, which change with every update.
fn describe_device(user_agent: Option<&str>) -> String {
    let text = user_agent.unwrap_or_default();
    let find =
        |names: &[(&'static str, &str)]| names.iter().find(|(_, part)| text.contains(part)).map(|(name, _)| *name);
    match (find(&BROWSERS), find(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => "an unknown program".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_described_without_versions() {
        let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 \
                      Safari/537.36";
        assert_eq!(describe_device(Some(chrome)), "Chrome on Windows");
        assert_eq!(describe_device(Some(&chrome.replace("131", "140"))), "Chrome on Windows");
        assert_eq!(describe_device(Some(&format!("{chrome} Edg/131.0.0.0"))), "Edge on Windows");
        let safari =
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Safari/604.1";
        assert_eq!(describe_device(Some(safari)), "Safari on iPhone");
        assert_eq!(describe_device(Some("node")), "an unknown program");
        assert_eq!(describe_device(None), "an unknown program");
    }
}
