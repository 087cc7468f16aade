//! Signing in to MCP servers with OAuth.
//!
//! [`OAuth`] finds out where a server wants its people to sign in, brings them there and back, keeps what they were
//! given, and renews it. A sign-in has two halves with a browser between them: [`OAuth::start`] gives the address to
//! open and a [`Pending`] to keep (sealed, for this person, until the answer comes), [`OAuth::complete`] takes the
//! answer. After that [`OAuth::session`], given to a [`Target`](crate::Target), puts the token on every request.
//!
//! When a sign-in is needed, or a larger one, connections and calls fail with an error that has a [`Challenge`]
//! ([`Error::challenge`](crate::Error::challenge)), which goes into the next `start`.
//!
//! Own code and not the protocol library's, because the library stores no client secrets, goes on without PKCE, does
//! no step-up, and leaves the network policy out for servers that it finds on its way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use domain::clock::Clock;
use tokio_util::task::TaskTracker;
use url::Url;

use crate::net::GuardedHttp;

mod assertion;
mod challenge;
mod client;
mod credentials;
mod discovery;
mod documents;
mod error;
mod fetch;
mod session;
mod sign_in;
mod token;

pub use challenge::Challenge;
pub use client::{ClientKey, RegisteredClient};
pub use credentials::{CredentialStore, Credentials, Owner, Secret, StoreError};
pub use error::SignInError;
pub use session::Session;
pub(crate) use session::bearer;
pub use sign_in::{Callback, Pending, SignIn, Started};

/// What authorization servers are told about the product.
#[derive(Debug, Clone)]
pub struct App {
    /// Its name, as people see it on the consent page.
    pub name: String,
    /// Where people come back to.
    pub redirect_uri: Url,
    /// Where [`metadata`](Self::metadata) is served to everybody, if that is an `https` address that authorization
    /// servers can reach. It is the client id at servers that take such.
    pub metadata_url: Option<Url>,
}

impl App {
    /// The client id metadata document, to be served as JSON at [`metadata_url`](Self::metadata_url).
    pub fn metadata(&self) -> serde_json::Value {
        let mut document = client::description(self, "none");
        document["client_id"] = self.metadata_url.as_ref().map(Url::as_str).into();
        document
    }
}

/// Signs people in to servers. Clones share it.
#[derive(Debug, Clone)]
pub struct OAuth(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    guard: GuardedHttp,
    app: App,
    store: Arc<dyn CredentialStore>,
    clock: Arc<dyn Clock>,
    /// Held by whoever changes the credentials of an owner.
    changing: Mutex<HashMap<Owner, Weak<tokio::sync::Mutex<()>>>>,
    tasks: TaskTracker,
}

impl OAuth {
    /// Reaches what `guard` permits, and keeps credentials in `store`.
    pub fn new(guard: GuardedHttp, app: App, store: Arc<dyn CredentialStore>, clock: Arc<dyn Clock>) -> Self {
        let (changing, tasks) = (Mutex::default(), TaskTracker::new());
        Self(Arc::new(Inner { guard, app, store, clock, changing, tasks }))
    }

    /// What the product says about itself.
    pub fn app(&self) -> &App {
        &self.0.app
    }

    /// The tokens of `owner` for the server at `url`, for use in a [`Target`](crate::Target). There need not be any
    /// yet.
    pub fn session(&self, owner: Owner, url: Url) -> Session {
        Session::new(self.clone(), owner, url)
    }

    /// Waits for renewals in progress, so that no new token is lost.
    pub async fn close(&self) {
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// The lock on the credentials of an owner: within this process, and wherever else the store is used.
    async fn change(&self, owner: Owner) -> Result<impl Send + use<>, StoreError> {
        let lock = {
            let mut changing = self.0.changing.lock().unwrap_or_else(PoisonError::into_inner);
            changing.retain(|_, lock| lock.strong_count() > 0);
            let lock = changing.get(&owner).and_then(Weak::upgrade).unwrap_or_default();
            changing.insert(owner, Arc::downgrade(&lock));
            lock
        };
        let here = lock.lock_owned().await;
        let everywhere = self.0.store.lock(owner).await?;
        Ok((everywhere, here))
    }
}
