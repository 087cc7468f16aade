//! The auth API over HTTP, on all databases.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod account;
mod admin;
mod admin_links;
mod anonymous;
mod audit_log;
pub mod authenticator;
mod caller;
mod email_tokens;
mod emails;
mod mfa;
pub mod oidc;
mod passkeys;
mod protocol;
mod proven_addresses;
mod rate_limits;
mod recovery_codes;
mod refresh;
mod registration_tokens;
mod security_keys;
mod session_lifetimes;
mod sign_in;
mod sign_up;
mod sign_up_policy;
mod signing_keys;
mod step_up;
mod unsupported;
