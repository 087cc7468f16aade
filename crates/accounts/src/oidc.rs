//! Sign-in at an organisation's identity provider: OpenID Connect Core 1.0 with the authorization code flow and PKCE.
//!
//! [`sign_in`] begins and completes the flow, [`id_token`] verifies what the provider says about the user, and
//! [`account`] finds or creates the user's account. [`identity_link`]
//! links an account at the provider to that of a user who is signed in. [`logout`] ends the user's session at the provider, and [`back_channel_logout`] those here. [`discovery`] and [`keys`] hold the provider's metadata and keys.

mod account;
mod back_channel_logout;
mod discovery;
mod error;
mod http;
mod id_token;
mod identity_link;
mod keys;
mod logout;
mod profile;
mod sign_in;
mod token_request;

use std::sync::Arc;

use domain::Clock;
use platform::config::OidcSettings;
use url::Url;

use discovery::MetadataCache;
use http::ProviderHttp;
use keys::KeyCache;

pub use back_channel_logout::LogoutOutcome;
pub use sign_in::{BegunSignIn, ProviderCallback, SIGN_IN_LIFETIME_SECONDS, SignInOutcome, SignInTarget};

/// Name of the provider in GoTrue's API: `signInWithOAuth({ provider: "oidc" })`.
pub const PROVIDER: &str = "oidc";
/// Path to which the provider redirects the browser.
const CALLBACK_PATH: &str = "/auth/v1/callback";

/// Path of the sign-in screen.
const SIGN_IN_SCREEN_PATH: &str = "/auth";

/// The identity provider of this installation.
#[derive(Debug)]
pub struct IdentityProvider {
    settings: OidcSettings,
    redirect_uri: Url,
    /// Where the browser arrives after a logout at the provider.
    sign_in_screen: Url,
    clock: Arc<dyn Clock>,
    http: ProviderHttp,
    metadata: MetadataCache,
    keys: KeyCache,
}

impl IdentityProvider {
    /// Creates the provider of a site. Nothing is requested before the first sign-in, so that an outage of the provider
    /// does not prevent the start.
    ///
    /// # Errors
    ///
    /// The site URL cannot be a base.
    pub fn new(settings: OidcSettings, site: &Url, clock: &Arc<dyn Clock>) -> Result<Self, url::ParseError> {
        Ok(Self {
            settings,
            redirect_uri: site.join(CALLBACK_PATH)?,
            sign_in_screen: site.join(SIGN_IN_SCREEN_PATH)?,
            clock: Arc::clone(clock),
            http: ProviderHttp::default(),
            metadata: MetadataCache::default(),
            keys: KeyCache::default(),
        })
    }
}
