//! Which addresses may be reached for a user, a server or a model, and the HTTP client that keeps to it.
//!
//! A server inside a network is a good stepping stone into it, so an address that somebody typed is refused when it
//! is not public, unless the administrator allowed it. Names are resolved once, and the connection goes to exactly the
//! addresses that were checked: a name that answers differently the second time gains nothing.

mod address;
mod allow;
mod guard;
mod names;
mod policy;
mod tls;

pub use allow::{Allow, AllowError};
pub use guard::GuardedHttp;
pub use names::Names;
pub use policy::{Policy, Refused};
