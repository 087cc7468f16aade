//! Rules for new passwords, and password hashing.

use std::sync::{Arc, LazyLock};

use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier, Version};
use tokio::sync::Semaphore;

use super::error::AuthError;
use super::gotrue_error::GoTrueError;

/// Minimum length of a new password, in characters (specification 5 and 9).
const MIN_PASSWORD_CHARS: usize = 6;
/// Maximum length of a new password, in bytes. The value is GoTrue's, where it is the limit of bcrypt.
const MAX_PASSWORD_BYTES: usize = 72;

/// Memory for a hash, in KiB. With [`HASH_PASSES`] and [`HASH_LANES`] it is the first of the Argon2id configurations
/// that the OWASP Password Storage Cheat Sheet recommends.
const MEMORY_KIB: u32 = 19 * 1024;
const HASH_PASSES: u32 = 2;
const HASH_LANES: u32 = 1;

/// Hash that a password is compared with if there is no account, so that the response takes as long. No password
/// matches it.
const DUMMY_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Rejects a new password that is too long.
pub fn check_length(password: &str) -> Result<(), AuthError> {
    if password.len() > MAX_PASSWORD_BYTES {
        return Err(GoTrueError::validation_failed("Password cannot be longer than 72 characters").into());
    }
    Ok(())
}

/// The 10,000 most common passwords with at least six characters, one per line, sorted by bytes. From Django 5.2
/// (`django/contrib/auth/common-passwords.txt.gz`), which compiled them from leaked passwords collected by Royce
/// Williams. BSD 3-Clause; the license is in the file next to the list.
const COMMON_PASSWORDS: &str = include_str!("common_passwords.txt");

/// Rules for new passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordRules {
    /// True if common passwords and the email address of the account are rejected (`CHAT_REFUSE_COMMON_PASSWORDS`).
    pub refuse_common: bool,
}

impl PasswordRules {
    /// Rejects a new password that is too short, too long or too easy to guess. `emails` are the account's current and
    /// new addresses.
    pub fn check_new(self, password: &str, emails: &[&str]) -> Result<(), AuthError> {
        check_length(password)?;
        self.weakness(password, emails).map_or(Ok(()), |weakness| Err(AuthError::WeakPassword(weakness)))
    }

    /// Returns why a password is too easy to guess, or `None` if it is not.
    pub fn weakness(self, password: &str, emails: &[&str]) -> Option<PasswordWeakness> {
        if password.chars().count() < MIN_PASSWORD_CHARS {
            return Some(PasswordWeakness {
                message: format!("Password should be at least {MIN_PASSWORD_CHARS} characters."),
                reasons: vec![WeaknessReason::Length],
            });
        }
        (self.refuse_common
            && (is_common(password) || emails.iter().any(|email| is_email_or_local_part(password, email))))
        .then(|| PasswordWeakness {
            message: "Password is known to be weak and easy to guess, please choose a different one.".to_owned(),
            reasons: vec![WeaknessReason::Pwned],
        })
    }
}

/// Returns whether a password is on the list of common ones. The case is ignored, since it adds little to guess.
fn is_common(password: &str) -> bool {
    static SORTED_COMMON_PASSWORDS: LazyLock<Vec<&str>> = LazyLock::new(|| COMMON_PASSWORDS.lines().collect());
    SORTED_COMMON_PASSWORDS.binary_search(&password.to_lowercase().as_str()).is_ok()
}

/// Returns whether a password is the email address or its part before the `@`.
fn is_email_or_local_part(password: &str, email: &str) -> bool {
    let (password, email) = (password.to_lowercase(), email.trim().to_lowercase());
    email.split_once('@').is_some_and(|(local, _)| password == email || password == local)
}

/// Reason why a password is too easy to guess.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct PasswordWeakness {
    /// Message for users.
    pub message: String,
    /// The reasons, as GoTrue names them.
    pub reasons: Vec<WeaknessReason>,
}

/// Property that makes a password easy to guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum WeaknessReason {
    /// The password is too short.
    Length,
    /// The password is a common one, or the address of the account.
    Pwned,
}

/// Password hashing on blocking threads, with at most one concurrent hash per core, because each takes 19 MiB of
/// memory.
#[derive(Debug, Clone)]
pub struct PasswordHasher {
    permits: Arc<Semaphore>,
}

impl Default for PasswordHasher {
    /// Creates a hasher with one permit per core.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { permits: Arc::new(Semaphore::new(cores)) }
    }
}

impl PasswordHasher {
    /// Hashes a password with a random salt. Returns a PHC string.
    pub async fn hash(&self, password: String) -> Result<String, AuthError> {
        self.run_blocking(move || Ok(argon2()?.hash_password(password.as_bytes())?.to_string())).await
    }

    /// Returns whether a password matches a hash. Without a hash it returns false, after the same time.
    pub async fn matches(&self, password: String, hash: Option<String>) -> Result<bool, AuthError> {
        self.run_blocking(move || {
            let hash = hash.as_deref().unwrap_or(DUMMY_HASH);
            match argon2()?.verify_password(password.as_bytes(), hash) {
                Ok(()) => Ok(true),
                // Any other error means that the stored hash is damaged, which must not look like a wrong password.
                Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
                Err(error) => Err(error.into()),
            }
        })
        .await
    }

    /// Runs work on a blocking thread. The permit moves into the work, because the work continues when the caller is
    /// dropped.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, AuthError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(AuthError::internal)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        });
        done.await.map_err(AuthError::internal)?.map_err(AuthError::internal)
    }
}

fn argon2() -> anyhow::Result<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, HASH_PASSES, HASH_LANES, None).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn password_matches_its_own_hash_only() {
        let passwords = PasswordHasher::default();
        let hash = passwords.hash("correct horse".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(passwords.matches("correct horse".into(), Some(hash.clone())).await.unwrap());
        assert!(!passwords.matches("correct hors".into(), Some(hash.clone())).await.unwrap());
        assert_ne!(hash, passwords.hash("correct horse".into()).await.unwrap(), "every hash has its own salt");
    }

    #[tokio::test]
    async fn missing_hash_costs_the_same_work_and_never_matches() {
        let passwords = PasswordHasher::default();
        assert!(!passwords.matches("anything".into(), None).await.unwrap());
        assert_eq!(DUMMY_HASH.rsplitn(3, '$').nth(2).unwrap(), "$argon2id$v=19$m=19456,t=2,p=1");
    }

    #[tokio::test]
    async fn damaged_hash_is_an_internal_error() {
        assert!(matches!(
            PasswordHasher::default().matches("x".into(), Some("plain".into())).await,
            Err(AuthError::Internal(_))
        ));
    }

    #[test]
    fn limits_length_of_new_passwords() {
        let check_new = |password: &str| PasswordRules { refuse_common: false }.check_new(password, &[]);
        assert!(check_new("123456").is_ok() && check_new("ééé123").is_ok() && check_new(&"a".repeat(72)).is_ok());
        let short = check_new("12345").unwrap_err();
        assert_eq!((short.code(), short.status()), ("weak_password", 422));
        assert_eq!(short.to_string(), "Password should be at least 6 characters.");
        assert_eq!(check_new(&"é".repeat(37)).unwrap_err().code(), "validation_failed");
    }

    #[test]
    fn rejects_common_passwords_and_the_email_address() {
        let rules = PasswordRules { refuse_common: true };
        let weakness = |password: &str| rules.weakness(password, &["Ada.Byron@example.com"]);
        for password in ["123456", "password1", "PassWord", "iloveyou", "ada.byron", "ADA.Byron@Example.com"] {
            assert_eq!(weakness(password).unwrap().reasons, [WeaknessReason::Pwned], "{password}");
        }
        for password in ["correct horse battery", "ada.byron!", "example.com", "7hq2-xkd9"] {
            assert_eq!(weakness(password), None, "{password}");
        }
        assert_eq!(weakness("12345").unwrap().reasons, [WeaknessReason::Length], "the length is checked first");
    }

    #[test]
    fn list_of_common_passwords_is_sorted_and_lower_case() {
        let lines: Vec<&str> = COMMON_PASSWORDS.lines().collect();
        assert_eq!(lines.len(), 10_000);
        assert!(lines.is_sorted());
        assert!(lines.iter().all(|line| line.chars().count() >= MIN_PASSWORD_CHARS && line.to_lowercase() == **line));
    }
}
