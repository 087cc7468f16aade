//! Google Drive as an MCP server: three tools over the Drive API, with the calling user's own authorisation.

mod definitions;
mod error;
mod files;
mod http;
mod link;
mod stored_tokens;
mod token_endpoint;

use std::sync::Arc;

use domain::tool::ToolResult;
use domain::{Clock, UserId, tool_arguments};
use platform::config::{GoogleClient, GoogleEndpoints};
use platform::{AuditLog, BackgroundTasks, SecretSealer};
use serde_json::{Map, Value};
use storage::Storage;
use tokio::sync::{Mutex, MutexGuard};
use url::Url;

use http::GoogleHttp;

pub use definitions::definitions;
pub use error::DriveError;
pub use link::{LINK_LIFETIME_SECONDS, LinkError, PendingLink};

/// Name under which authorisations at Google are stored.
const PROVIDER: &str = "google";
/// Number of locks for renewing tokens. Each user has one of them.
const RENEWAL_LOCKS: usize = 64;

/// Settings of [`GoogleDrive`].
#[derive(Debug, Clone)]
pub struct GoogleDriveSettings {
    /// OAuth client of this installation. Without it, no user can link a Google Drive.
    pub client: Option<GoogleClient>,
    /// Addresses of Google's services.
    pub endpoints: GoogleEndpoints,
    /// Public origin of this installation, to which Google redirects browsers.
    pub site_url: Url,
}

/// The Google Drives of the users: linking, and the tools. Cheap to clone.
#[derive(Debug, Clone)]
pub struct GoogleDrive {
    settings: Arc<GoogleDriveSettings>,
    storage: Storage,
    secrets: Arc<SecretSealer>,
    clock: Arc<dyn Clock>,
    tasks: BackgroundTasks,
    audit: AuditLog,
    http: Arc<GoogleHttp>,
    renewal_locks: Arc<[Mutex<()>; RENEWAL_LOCKS]>,
}

impl GoogleDrive {
    /// Creates the service of an installation.
    pub fn new(
        settings: GoogleDriveSettings,
        storage: &Storage,
        secrets: &Arc<SecretSealer>,
        clock: &Arc<dyn Clock>,
        tasks: &BackgroundTasks,
        audit: &AuditLog,
    ) -> Self {
        Self {
            settings: Arc::new(settings),
            storage: storage.clone(),
            secrets: Arc::clone(secrets),
            clock: Arc::clone(clock),
            tasks: tasks.clone(),
            audit: audit.clone(),
            http: Arc::default(),
            renewal_locks: Arc::new(std::array::from_fn(|_| Mutex::new(()))),
        }
    }

    /// Returns whether this installation has an OAuth client at Google, so that users can link their Google Drive.
    pub fn is_configured(&self) -> bool {
        self.settings.client.is_some()
    }

    /// Runs a tool for a user. Failures are part of the result.
    pub async fn call_tool(&self, user: UserId, name: &str, arguments: Map<String, Value>) -> ToolResult {
        let result = match name {
            "google_drive_list_files" => match tool_arguments::parse(arguments) {
                Ok(input) => self.list_files(user, input).await,
                Err(error) => Err(DriveError::Arguments(error.to_string())),
            },
            "google_drive_read_file" => match tool_arguments::parse(arguments) {
                Ok(input) => self.read_file(user, input).await,
                Err(error) => Err(DriveError::Arguments(error.to_string())),
            },
            "google_drive_create_file" => match tool_arguments::parse(arguments) {
                Ok(input) => self.create_file(user, input).await,
                Err(error) => Err(DriveError::Arguments(error.to_string())),
            },
            _ => Err(DriveError::Arguments(format!("There is no tool {name:?}."))),
        };
        result.unwrap_or_else(|error| {
            error.log();
            ToolResult::error(error.to_string())
        })
    }

    /// Locks the renewal of a user's token. Two users may share a lock, so that one waits for the other.
    async fn lock_renewal(&self, user: UserId) -> MutexGuard<'_, ()> {
        // The low bits of a UUID of version 7 are random, so the users spread evenly.
        let index = (user.0.as_u128() % RENEWAL_LOCKS as u128) as usize;
        self.renewal_locks[index].lock().await
    }
}
