//! Sending of emails over SMTP.

mod html;
mod templates;

use std::time::{Duration, SystemTime};

use anyhow::Context;
use domain::Timestamp;
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

pub use templates::{Email, EmailKind, SecurityNotice};

/// Maximum time of the mail server for one step of the conversation.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time to send an email.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);

/// Error of the mail server. It contains no response text, in which mail servers repeat addresses.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The mail server cannot be reached, or the SMTP session failed.
    #[error("the mail server cannot be reached: {0}")]
    Unreachable(String),
    /// The mail server rejected the email.
    #[error("the mail server refused the mail: status {0}")]
    Rejected(String),
    /// The mail server did not respond in time.
    #[error("the mail server did not answer in time")]
    TimedOut,
    /// The message could not be built.
    #[error("cannot compose the mail: {0}")]
    InvalidMessage(String),
}

/// Client of the mail server.
#[derive(Debug)]
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    /// Creates a client. `url` is an `smtp://` or `smtps://` URL, optionally with user and password, in lettre's
    /// format. Emails are sent from `from`, or by default from `no-reply` at the host of `site`.
    pub fn new(url: &SecretString, from: Option<&Mailbox>, site: &Url) -> anyhow::Result<Self> {
        let host = site.host_str().unwrap_or("localhost");
        // The library's error is dropped, because it may contain the password.
        let mut transport =
            AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose_secret()).ok().context(INVALID_URL_MESSAGE)?;
        // lettre takes the EHLO name from the path of the URL. Its default is the loopback address, which strict mail
        // servers reject.
        let named = Url::parse(url.expose_secret()).is_ok_and(|url| url.path().len() > 1);
        if !named {
            transport = transport.hello_name(ClientId::Domain(host.to_owned()));
        }
        let from = match from {
            Some(from) => from.clone(),
            None => Mailbox::new(Some(templates::PRODUCT_NAME.to_owned()), Address::new("no-reply", host)?),
        };
        Ok(Self { transport: transport.timeout(Some(STEP_TIMEOUT)).build(), from })
    }

    /// Checks that the mail server accepts connections, without sending anything.
    pub async fn check_connection(&self) -> Result<(), MailError> {
        with_timeout(self.transport.test_connection()).await?.then_some(()).ok_or(MailError::TimedOut)
    }

    /// Sends an email. Returns when the mail server has accepted it.
    pub async fn send(&self, to: &str, email: &Email, now: Timestamp) -> Result<(), MailError> {
        let message =
            self.build_message(to, email, now).map_err(|error| MailError::InvalidMessage(format!("{error:#}")))?;
        with_timeout(self.transport.send(message)).await?;
        Ok(())
    }

    fn build_message(&self, to: &str, email: &Email, now: Timestamp) -> anyhow::Result<Message> {
        // The library's error is dropped, because it contains the address.
        let to: Address = to.parse().ok().context("the recipient is no address")?;
        // Set explicitly: lettre would use the system time, but the application's clock may be a test's.
        let date = SystemTime::UNIX_EPOCH + Duration::from_micros(now.0.unsigned_abs());
        let id = format!("<{}@{}>", domain::ids::fresh().simple(), self.from.email.domain());
        let message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(email.title())
            .date(date)
            .message_id(Some(id))
            .multipart(MultiPart::alternative_plain_html(email.plain(), html::render(email)))?;
        Ok(message)
    }
}

const INVALID_URL_MESSAGE: &str =
    "SMTP_URL is invalid: it must be smtp://[user:password@]host[:port][?tls=required] or smtps://…";

async fn with_timeout<T>(
    conversation: impl Future<Output = Result<T, lettre::transport::smtp::Error>>,
) -> Result<T, MailError> {
    match tokio::time::timeout(SEND_TIMEOUT, conversation).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) if error.is_timeout() => Err(MailError::TimedOut),
        Ok(Err(error)) => Err(match error.status() {
            Some(status) => MailError::Rejected(status.to_string()),
            None => MailError::Unreachable(format!("{:#}", anyhow::Error::new(error))),
        }),
        Err(_) => Err(MailError::TimedOut),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailer(url: &str, from: Option<&str>) -> anyhow::Result<Mailer> {
        let from: Option<Mailbox> = from.map(|from| from.parse().unwrap());
        Mailer::new(&url.into(), from.as_ref(), &Url::parse("https://chat.example.com").unwrap())
    }

    #[tokio::test]
    async fn sends_from_the_site_unless_a_sender_is_configured() {
        let sender = |url, from| {
            let Mailbox { name, email } = mailer(url, from).unwrap().from;
            (name, email.to_string())
        };
        let product = Some("AI Chat MCP".to_owned());
        assert_eq!(sender("smtp://h", None), (product, "no-reply@chat.example.com".to_owned()));
        assert_eq!(sender("smtps://h", Some("a@b.c")), (None, "a@b.c".to_owned()));
    }

    #[tokio::test]
    async fn url_error_does_not_contain_the_password() {
        for url in ["http://u:hunter2@h", "smtp://u:hunter2@h?tls=sometimes", "hunter2"] {
            let error = format!("{:#}", mailer(url, None).unwrap_err());
            assert!(error.starts_with("SMTP_URL is invalid") && !error.contains("hunter2"), "{error}");
        }
    }
}
