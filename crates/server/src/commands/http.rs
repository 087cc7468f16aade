//! HTTP client for addresses that the operator names.

use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};

/// Returns a client that follows no redirect. Requests take at most `timeout`.
pub fn operator_client(timeout: Duration, uses_proxy: bool) -> reqwest::Result<Client> {
    let builder = || builder(timeout, uses_proxy);
    // Without any certificates on the system, which is common in containers, plain HTTP works all the same.
    builder().build().or_else(|_| builder().tls_certs_only([]).build())
}

fn builder(timeout: Duration, uses_proxy: bool) -> ClientBuilder {
    #[expect(clippy::disallowed_methods, reason = "the operator names the address")]
    let builder = Client::builder().redirect(Policy::none()).timeout(timeout);
    if uses_proxy { builder } else { builder.no_proxy() }
}

/// Returns the innermost cause of an error, which names the reason.
pub fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
