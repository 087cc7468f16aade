//! Network policy for URLs that users, servers or models name, and the HTTP client that enforces it.
//!
//! A product inside a network is a stepping stone into it (server-side request forgery). A URL is therefore refused if
//! its address is not public, unless the administrator allowed it. Names are resolved once, and the connection goes to
//! the addresses that were checked: a name that resolves differently the second time (DNS rebinding) gains nothing.

mod address_class;
mod dns;
mod policy;
mod ssrf_client;

pub use dns::DnsResolver;
pub use policy::{NetworkPolicy, PolicyViolation};
pub use ssrf_client::GuardedHttp;
