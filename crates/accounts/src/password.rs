//! Passwords: the rules for new ones, and their hashes.

use std::sync::{Arc, LazyLock};

use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use tokio::sync::Semaphore;

use super::error::AuthError;
use super::gotrue_error::Refusal;

/// Minimum length of a new password, in characters (specification 5 and 9).
const MIN_PASSWORD_CHARS: usize = 6;
/// The most bytes of a new password: the protocol's, which has it from bcrypt.
const LONGEST_BYTES: usize = 72;

/// Memory in KiB: 19 MiB, with [`HASH_PASSES`] and [`HASH_LANES`] the first of the equal choices for Argon2id in the OWASP Password
/// Storage Cheat Sheet.
const MEMORY_KIB: u32 = 19 * 1024;
const HASH_PASSES: u32 = 2;
const HASH_LANES: u32 = 1;

/// Hash that a password is compared with when there is no account, so that the response takes as long. No password has
/// it.
const DUMMY_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Refuses a new password that is too long.
pub fn check_length(password: &str) -> Result<(), AuthError> {
    if password.len() > LONGEST_BYTES {
        return Err(Refusal::invalid("Password cannot be longer than 72 characters").into());
    }
    Ok(())
}

/// The 10,000 most common passwords of six characters and more, one a line, in the order of their bytes. From Django 5.2
/// (`django/contrib/auth/common-passwords.txt.gz`), which took them from lists of stolen passwords by Royce Williams. BSD
/// 3-Clause; the licence is in the file beside the list.
const COMMON_PASSWORDS: &str = include_str!("common_passwords.txt");

/// Which new passwords are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasswordRules {
    /// Common passwords and the email address of the account are refused: `CHAT_REFUSE_COMMON_PASSWORDS`.
    pub refuse_common: bool,
}

impl PasswordRules {
    /// Refuses a new password that is too short, too long or too easy to guess. `emails` are the addresses of the account.
    pub fn check_new(self, password: &str, emails: &[&str]) -> Result<(), AuthError> {
        check_length(password)?;
        self.weakness(password, emails).map_or(Ok(()), |weakness| Err(AuthError::WeakPassword(weakness)))
    }

    /// Returns what makes a password too easy to guess, if anything does. One that an administrator chose may be.
    pub fn weakness(self, password: &str, emails: &[&str]) -> Option<Weakness> {
        if password.chars().count() < MIN_PASSWORD_CHARS {
            return Some(Weakness {
                message: format!("Password should be at least {MIN_PASSWORD_CHARS} characters."),
                reasons: vec!["length"],
            });
        }
        (self.refuse_common && (is_common(password) || emails.iter().any(|email| is_address(password, email)))).then(
            || Weakness {
                message: "Password is known to be weak and easy to guess, please choose a different one.".to_owned(),
                reasons: vec!["pwned"],
            },
        )
    }
}

/// Capital letters do not make a common password rare.
fn is_common(password: &str) -> bool {
    static SORTED_COMMON_PASSWORDS: LazyLock<Vec<&str>> = LazyLock::new(|| COMMON_PASSWORDS.lines().collect());
    SORTED_COMMON_PASSWORDS.binary_search(&password.to_lowercase().as_str()).is_ok()
}

/// Whether the password is the address or the part of it before the `@`.
fn is_address(password: &str, email: &str) -> bool {
    let (password, email) = (password.to_lowercase(), email.trim().to_lowercase());
    email.split_once('@').is_some_and(|(local, _)| password == email || password == local)
}

/// Why a password is too easy to guess.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Weakness {
    /// What people read.
    pub message: String,
    /// The protocol's words: `length`, `characters` or `pwned`.
    pub reasons: Vec<&'static str>,
}

/// Hashes and compares, on threads of their own and no more at once than there are cores: each takes 19 MiB.
#[derive(Debug, Clone)]
pub struct Passwords {
    turns: Arc<Semaphore>,
}

impl Default for Passwords {
    /// With as many turns as the machine has cores.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { turns: Arc::new(Semaphore::new(cores)) }
    }
}

impl Passwords {
    /// The hash of a password, as a PHC string with a salt of its own.
    pub async fn hash(&self, password: String) -> Result<String, AuthError> {
        self.work(move || Ok(argon2()?.hash_password(password.as_bytes())?.to_string())).await
    }

    /// Whether the password has this hash. Without a hash the answer is no, after the same time.
    pub async fn matches(&self, password: String, hash: Option<String>) -> Result<bool, AuthError> {
        self.work(move || {
            let hash = hash.as_deref().unwrap_or(DUMMY_HASH);
            match argon2()?.verify_password(password.as_bytes(), hash) {
                Ok(()) => Ok(true),
                // Any other error means that the stored hash is damaged. Reporting it as a wrong password would hide
                // that.
                Err(argon2::password_hash::Error::PasswordInvalid) => Ok(false),
                Err(error) => Err(error.into()),
            }
        })
        .await
    }

    /// The turn is held by the work itself: a caller who goes away does not let another one in early.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> Result<T, AuthError> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(AuthError::internal)?;
        let done = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(turn);
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
    async fn a_password_matches_its_own_hash_and_no_other() {
        let passwords = Passwords::default();
        let hash = passwords.hash("correct horse".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(passwords.matches("correct horse".into(), Some(hash.clone())).await.unwrap());
        assert!(!passwords.matches("correct hors".into(), Some(hash.clone())).await.unwrap());
        assert_ne!(hash, passwords.hash("correct horse".into()).await.unwrap(), "every hash has its own salt");
    }

    #[tokio::test]
    async fn nobody_costs_the_same_work_and_never_matches() {
        let passwords = Passwords::default();
        assert!(!passwords.matches("anything".into(), None).await.unwrap());
        assert_eq!(DUMMY_HASH.rsplitn(3, '$').nth(2).unwrap(), "$argon2id$v=19$m=19456,t=2,p=1");
    }

    #[tokio::test]
    async fn a_damaged_hash_is_our_fault_not_a_wrong_password() {
        assert!(matches!(
            Passwords::default().matches("x".into(), Some("plain".into())).await,
            Err(AuthError::Internal(_))
        ));
    }

    #[test]
    fn new_passwords_have_six_characters_and_at_most_seventy_two_bytes() {
        let check_new = |password: &str| PasswordRules { refuse_common: false }.check_new(password, &[]);
        assert!(check_new("123456").is_ok() && check_new("ééé123").is_ok() && check_new(&"a".repeat(72)).is_ok());
        let short = check_new("12345").unwrap_err();
        assert_eq!((short.code(), short.status()), ("weak_password", 422));
        assert_eq!(short.to_string(), "Password should be at least 6 characters.");
        assert_eq!(check_new(&"é".repeat(37)).unwrap_err().code(), "validation_failed");
    }

    #[test]
    fn refuses_common_passwords_and_the_address() {
        let rules = PasswordRules { refuse_common: true };
        let refused = |password: &str| rules.weakness(password, &["Ada.Byron@example.com"]);
        for password in ["123456", "password1", "PassWord", "iloveyou", "ada.byron", "ADA.Byron@Example.com"] {
            assert_eq!(refused(password).unwrap().reasons, ["pwned"], "{password}");
        }
        for password in ["correct horse battery", "ada.byron!", "example.com", "7hq2-xkd9"] {
            assert_eq!(refused(password), None, "{password}");
        }
        assert_eq!(refused("12345").unwrap().reasons, ["length"], "the minimum comes first");
    }

    #[test]
    fn list_of_common_passwords_can_be_searched() {
        let lines: Vec<&str> = COMMON_PASSWORDS.lines().collect();
        assert_eq!(lines.len(), 10_000);
        assert!(lines.is_sorted());
        assert!(lines.iter().all(|line| line.chars().count() >= MIN_PASSWORD_CHARS && line.to_lowercase() == **line));
    }
}
