//! Push messages: tell the browsers of a user that an answer is done or that a tool asks, also while no page is open.
//!
//! A message names the chat and what happened. It contains nothing of the conversation. The node that runs the turn sends
//! it, once, to every subscribed browser; a browser that shows the page drops it.

mod encryption;
mod vapid;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::json::to_json_text;
use domain::message::MessageStatus;
use domain::{AuthSessionId, AwaitedInteraction, ChatId, Clock, PushSubscriptionId, TurnId, UserId};
use mcp::net::GuardedHttp;
use platform::secret_sealing::SealError;
use platform::{BackgroundTasks, SecretSealer};
use serde::{Deserialize, Serialize};
use storage::Storage;
use storage::push::{PushDevice, PushSubscription};
use tokio::sync::Semaphore;
use url::Url;

use encryption::{BrowserKeys, encrypt};
use vapid::VapidKey;

/// Maximum number of subscriptions of a user.
pub const MAX_SUBSCRIPTIONS: i64 = 20;
/// Maximum length of a chat's title in a message, in characters. Titles have no limit, and a message has one.
const MAX_TITLE_CHARS: usize = 100;
/// Maximum length of the URL of a push service, in bytes.
const MAX_ENDPOINT_BYTES: usize = 2_000;
/// Seconds for which a push service keeps a message for a browser that is not reachable.
const TIME_TO_LIVE_SECONDS: u32 = 12 * 3600;
/// Time limit of a request to a push service.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// Pauses before further attempts to deliver a message.
const RETRY_DELAYS: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(10), Duration::from_mins(1)];
/// Maximum number of simultaneous requests to push services.
const MAX_REQUESTS: usize = 32;
/// Maximum number of HTTP clients that are kept, one for each push service.
const MAX_CLIENTS: usize = 64;

/// Push messages of all users. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PushService(Arc<Inner>);

/// Services that [`PushService`] uses.
#[derive(Debug)]
pub struct PushDependencies {
    /// Database.
    pub storage: Storage,
    /// Encryption of stored keys and addresses.
    pub secrets: Arc<SecretSealer>,
    /// Clock.
    pub clock: Arc<dyn Clock>,
    /// Background tasks, in which messages are sent.
    pub tasks: BackgroundTasks,
    /// HTTP client that enforces the network policy: the addresses come from browsers.
    pub http: GuardedHttp,
}

#[derive(Debug)]
struct Inner {
    dependencies: PushDependencies,
    key: VapidKey,
    requests: Semaphore,
    /// HTTP clients by origin.
    clients: Mutex<HashMap<String, reqwest::Client>>,
}

/// Address and keys of a subscription, as a browser's `PushManager` returned them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PushTarget {
    /// URL of the push service. With it and the server's key, anyone can send messages.
    pub endpoint: Url,
    /// Public key of the browser, in base64url.
    pub p256dh: String,
    /// Secret that the browser shares with this server, in base64url.
    pub auth: String,
}

/// A change of a turn that is reported to its user.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase", tag = "state", rename_all_fields = "camelCase")]
pub enum TurnNews {
    /// The turn waits for its user.
    Waiting {
        /// What it waits for.
        waiting_for: AwaitedInteraction,
    },
    /// The turn has ended.
    Ended {
        /// How it ended.
        outcome: MessageStatus,
    },
}

/// A push message, as the browser reads it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Message<'a> {
    session_id: ChatId,
    turn_id: TurnId,
    /// Title of the chat.
    title: &'a str,
    #[serde(flatten)]
    news: &'a TurnNews,
}

/// Reason why a browser cannot be subscribed.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    /// The keys are not those of a browser, or the URL is too long.
    #[error("endpoint and keys must be those of a push subscription of a browser")]
    InvalidTarget,
    /// The network policy does not allow the push service, or it has no TLS.
    #[error("the server does not send to this push service; {0}")]
    AddressNotAllowed(String),
    /// The user has too many.
    #[error("you receive notifications on {MAX_SUBSCRIPTIONS} devices; remove one of them first")]
    TooMany,
    /// The target could not be encrypted.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] storage::Error),
}

/// Outcome of an attempt to deliver a message.
#[derive(Debug, PartialEq, Eq)]
enum Delivery {
    Accepted,
    /// The browser is no longer subscribed.
    Gone,
    /// The push service does not take the message. The status tells why.
    Rejected(u16),
    /// Another attempt may succeed.
    Failed(String),
}

impl PushService {
    /// Loads the key of this server, or creates it. `site_url` is where push services find out whose messages they are.
    ///
    /// # Errors
    ///
    /// The database is unreachable, or the key is damaged.
    pub async fn start(dependencies: PushDependencies, site_url: &Url) -> anyhow::Result<Self> {
        let PushDependencies { storage, secrets, clock, .. } = &dependencies;
        let key = VapidKey::load_or_create(storage, secrets, site_url, clock.now()).await?;
        let (requests, clients) = (Semaphore::new(MAX_REQUESTS), Mutex::default());
        Ok(Self(Arc::new(Inner { dependencies, key, requests, clients })))
    }

    /// Returns the key that browsers subscribe with, in base64url.
    pub fn public_key(&self) -> String {
        self.0.key.public_key()
    }

    /// Returns the devices of a user that receive push messages, newest first.
    ///
    /// # Errors
    ///
    /// Fails if the database is unreachable.
    pub async fn list_devices(&self, owner: UserId) -> Result<Vec<PushDevice>, storage::Error> {
        self.0.dependencies.storage.push().list_devices(owner).await
    }

    /// Subscribes the browser of a sign-in, in place of its earlier subscription. Returns the id.
    ///
    /// # Errors
    ///
    /// See [`SubscribeError`]. Nothing is changed in that case.
    pub async fn subscribe(
        &self,
        owner: UserId,
        session: AuthSessionId,
        target: &PushTarget,
    ) -> Result<PushSubscriptionId, SubscribeError> {
        let PushDependencies { storage, secrets, clock, http, .. } = &self.0.dependencies;
        let policy = http.policy();
        policy.check_url(&target.endpoint).map_err(|error| SubscribeError::AddressNotAllowed(format!("it {error}")))?;
        if !policy.is_confidential(&target.endpoint) {
            return Err(SubscribeError::AddressNotAllowed("its URL must start with https://".to_owned()));
        }
        if target.endpoint.as_str().len() > MAX_ENDPOINT_BYTES || target.encrypt(b"{}").is_none() {
            return Err(SubscribeError::InvalidTarget);
        }
        let id = PushSubscriptionId::fresh();
        let subscription = PushSubscription {
            id,
            session,
            endpoint_hash: endpoint_hash(&target.endpoint),
            target: secrets.seal(&seal_context(owner, id), to_json_text(target).as_bytes())?,
            created_at: clock.now(),
        };
        let is_stored = storage.push().insert(owner, &subscription, MAX_SUBSCRIPTIONS).await?;
        if is_stored { Ok(id) } else { Err(SubscribeError::TooMany) }
    }

    /// Removes a subscription. Returns whether it existed.
    ///
    /// # Errors
    ///
    /// Fails if the database is unreachable.
    pub async fn unsubscribe(&self, owner: UserId, id: PushSubscriptionId) -> Result<bool, storage::Error> {
        self.0.dependencies.storage.push().delete(owner, id).await
    }

    /// Sends a message to all subscribed browsers of a user, in the background.
    pub fn notify(&self, owner: UserId, chat: ChatId, turn: TurnId, news: TurnNews) {
        let service = self.clone();
        self.0.dependencies.tasks.spawn("push messages", async move {
            let sending = service.send_to_all(owner, chat, turn, &news);
            let shutdown = service.0.dependencies.tasks.shutdown_token();
            if let Some(Err(error)) = shutdown.run_until_cancelled(sending).await {
                tracing::warn!(%error, turn_id = %turn, "push messages could not be sent");
            }
        });
    }

    async fn send_to_all(
        &self,
        owner: UserId,
        chat: ChatId,
        turn: TurnId,
        news: &TurnNews,
    ) -> Result<(), storage::Error> {
        let PushDependencies { storage, secrets, clock, .. } = &self.0.dependencies;
        let targets = storage.push().list_targets(owner, clock.now()).await?;
        if targets.is_empty() {
            return Ok(());
        }
        // A chat that was deleted meanwhile has nothing to tell.
        let Some(found) = storage.chats().get(owner, chat).await? else { return Ok(()) };
        let title: String = found.title.chars().take(MAX_TITLE_CHARS).collect();
        let message = to_json_text(&Message { session_id: chat, turn_id: turn, title: &title, news });
        let deliveries = targets.into_iter().map(|(id, sealed)| {
            let target = secrets
                .open(&seal_context(owner, id), &sealed)
                .ok()
                .and_then(|json| serde_json::from_slice::<PushTarget>(&json).ok());
            self.deliver(owner, id, target, chat, &message)
        });
        futures_util::future::join_all(deliveries).await;
        Ok(())
    }

    /// Delivers a message to one browser, with retries, and removes the subscription if it has ended.
    async fn deliver(
        &self,
        owner: UserId,
        id: PushSubscriptionId,
        target: Option<PushTarget>,
        chat: ChatId,
        message: &str,
    ) {
        let Some(target) = target else {
            tracing::warn!(subscription_id = %id, "a push subscription was stored under another master key");
            return;
        };
        let mut delays = RETRY_DELAYS.into_iter();
        loop {
            let reason = match self.send(&target, chat, message.as_bytes()).await {
                Delivery::Accepted => return,
                Delivery::Gone => {
                    if let Err(error) = self.unsubscribe(owner, id).await {
                        tracing::warn!(%error, subscription_id = %id, "a push subscription could not be removed");
                    }
                    return;
                }
                Delivery::Rejected(status) => {
                    tracing::warn!(status, subscription_id = %id, "a push service rejected a message");
                    return;
                }
                Delivery::Failed(reason) => reason,
            };
            let Some(delay) = delays.next() else {
                tracing::warn!(reason, subscription_id = %id, "a push message could not be delivered");
                return;
            };
            tokio::time::sleep(delay).await;
        }
    }

    /// Makes one attempt to deliver a message.
    async fn send(&self, target: &PushTarget, chat: ChatId, message: &[u8]) -> Delivery {
        let Some(body) = target.encrypt(message) else { return Delivery::Rejected(0) };
        let authorization = match self.0.key.authorization(&target.endpoint, self.0.dependencies.clock.now()) {
            Ok(authorization) => authorization,
            Err(error) => return Delivery::Failed(error.to_string()),
        };
        let client = match self.client_for(&target.endpoint) {
            Ok(client) => client,
            Err(error) => return Delivery::Failed(error.to_string()),
        };
        let _request = self.0.requests.acquire().await;
        let sent = client
            .post(target.endpoint.clone())
            .header("authorization", authorization)
            .header("content-encoding", "aes128gcm")
            .header("content-type", "application/octet-stream")
            .header("ttl", TIME_TO_LIVE_SECONDS)
            .header("urgency", "high")
            // A browser that was not reachable gets only the latest message of each chat.
            .header("topic", URL_SAFE_NO_PAD.encode(chat.0.as_bytes()))
            .timeout(REQUEST_TIMEOUT)
            .body(body)
            .send()
            .await;
        match sent.map(|response| response.status().as_u16()) {
            Ok(200..=299) => Delivery::Accepted,
            Ok(404 | 410) => Delivery::Gone,
            Ok(status @ (408 | 429 | 500..=599)) => Delivery::Failed(format!("status {status}")),
            Ok(status) => Delivery::Rejected(status),
            // Without its URL, which is a secret of the browser.
            Err(error) => Delivery::Failed(error.without_url().to_string()),
        }
    }

    fn client_for(&self, endpoint: &Url) -> Result<reqwest::Client, mcp::Error> {
        let origin = endpoint.origin().ascii_serialization();
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&origin) {
            return Ok(client.clone());
        }
        let client = self.0.dependencies.http.client_for(endpoint)?;
        if clients.len() >= MAX_CLIENTS {
            // Browsers use a handful of push services.
            clients.clear();
        }
        clients.insert(origin, client.clone());
        Ok(client)
    }
}

impl PushTarget {
    /// Encrypts a message for the browser; `None` if its keys are invalid.
    fn encrypt(&self, message: &[u8]) -> Option<Vec<u8>> {
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let (public_key, auth_secret) = (decode(&self.p256dh)?, decode(&self.auth)?);
        encrypt(BrowserKeys { public_key: &public_key, auth_secret: &auth_secret }, message).ok()
    }
}

fn endpoint_hash(endpoint: &Url) -> Vec<u8> {
    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, endpoint.as_str().as_bytes()).as_ref().to_vec()
}

/// Returns the context in which a target is encrypted.
fn seal_context(owner: UserId, id: PushSubscriptionId) -> String {
    format!("push_subscriptions/target/{owner}/{id}")
}
