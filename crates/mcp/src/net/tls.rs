//! Whom to believe when a server shows a certificate.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// Trusts the certificate authorities of the web, which are built in so that a bare container can connect, and those
/// of the system, so that a company's own authority works. HTTP and WebSocket share it.
pub(super) fn client_config() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
