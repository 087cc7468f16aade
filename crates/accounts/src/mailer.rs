//! Mail: one letter at a time to a person, over SMTP.

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

pub use templates::{Letter, Subject};

/// Maximum time of the mail server for one step of the conversation.
const STEP_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time to send a mail.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);

/// Why a letter was not taken. Says nothing about the person: answers of mail servers repeat addresses.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// No mail server there, or none that can be spoken to.
    #[error("the mail server cannot be reached: {0}")]
    Unreachable(String),
    /// The mail server answered, and said no.
    #[error("the mail server refused the mail: status {0}")]
    Refused(String),
    /// It did not answer in time.
    #[error("the mail server did not answer in time")]
    TimedOut,
    /// The letter could not be written.
    #[error("cannot compose the mail: {0}")]
    Unwritable(String),
}

/// Where letters are handed in.
#[derive(Debug)]
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl Mailer {
    /// `url` is `smtp://` or `smtps://`, with a user and a password where they are needed, as lettre reads it. Letters come
    /// from `from`, or from `no-reply` at the host of `site`.
    pub fn new(url: &SecretString, from: Option<&Mailbox>, site: &Url) -> anyhow::Result<Self> {
        let host = site.host_str().unwrap_or("localhost");
        // What is wrong with it is not repeated: the password stands in it.
        let mut transport =
            AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose_secret()).ok().context(UNREADABLE_URL)?;
        // The path of the URL is the EHLO name in lettre. Its default is the loopback address, which strict mail servers
        // reject.
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

    /// Greets the mail server, and gives it nothing.
    pub async fn reach(&self) -> Result<(), MailError> {
        within(self.transport.test_connection()).await?.then_some(()).ok_or(MailError::TimedOut)
    }

    /// Hands a letter in.
    pub async fn send(&self, to: &str, letter: &Letter, now: Timestamp) -> Result<(), MailError> {
        let message = self.write(to, letter, now).map_err(|error| MailError::Unwritable(format!("{error:#}")))?;
        within(self.transport.send(message)).await?;
        Ok(())
    }

    fn write(&self, to: &str, letter: &Letter, now: Timestamp) -> anyhow::Result<Message> {
        // An address is not repeated in an error.
        let to: Address = to.parse().ok().context("the recipient is no address")?;
        // Set here because lettre would take the system time, and tests move the application's clock.
        let date = SystemTime::UNIX_EPOCH + Duration::from_micros(now.0.unsigned_abs());
        let id = format!("<{}@{}>", domain::ids::fresh().simple(), self.from.email.domain());
        let message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(letter.title())
            .date(date)
            .message_id(Some(id))
            .multipart(MultiPart::alternative_plain_html(letter.plain(), html::of(letter)))?;
        Ok(message)
    }
}

const UNREADABLE_URL: &str =
    "SMTP_URL is invalid: it must be smtp://[user:password@]host[:port][?tls=required] or smtps://…";

async fn within<T>(
    conversation: impl Future<Output = Result<T, lettre::transport::smtp::Error>>,
) -> Result<T, MailError> {
    match tokio::time::timeout(SEND_TIMEOUT, conversation).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) if error.is_timeout() => Err(MailError::TimedOut),
        Ok(Err(error)) => Err(match error.status() {
            Some(status) => MailError::Refused(status.to_string()),
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
    async fn letters_come_from_the_site_unless_another_sender_is_named() {
        let sender = |url, from| {
            let Mailbox { name, email } = mailer(url, from).unwrap().from;
            (name, email.to_string())
        };
        let product = Some("AI Chat MCP".to_owned());
        assert_eq!(sender("smtp://h", None), (product, "no-reply@chat.example.com".to_owned()));
        assert_eq!(sender("smtps://h", Some("a@b.c")), (None, "a@b.c".to_owned()));
    }

    #[tokio::test]
    async fn what_is_wrong_with_the_url_is_said_without_its_password() {
        for url in ["http://u:hunter2@h", "smtp://u:hunter2@h?tls=sometimes", "hunter2"] {
            let error = format!("{:#}", mailer(url, None).unwrap_err());
            assert!(error.starts_with("SMTP_URL is invalid") && !error.contains("hunter2"), "{error}");
        }
    }
}
