//! Google Drive: three tools over its API, with the person's own authorisation.

mod definitions;
mod error;
mod files;
mod http;
mod link;
mod token;
mod tokens;

use domain::UserId;
use domain::tool::ToolResult;
use domain::tool_arguments;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, MutexGuard};

use crate::app::App;

pub use definitions::definitions;
pub use error::DriveError;
pub use link::{Begun, LIFETIME as LINK_LIFETIME, LinkError, begin, complete, is_linked, revoke, take, unlink};

/// The service, where authorisations are stored.
const PROVIDER: &str = "google";
/// How many people's tokens may be renewed at the same time.
const RENEWALS: usize = 64;

/// What all calls share.
#[derive(Debug)]
pub struct GoogleDrive {
    http: http::Http,
    renewals: [Mutex<()>; RENEWALS],
}

impl Default for GoogleDrive {
    fn default() -> Self {
        Self { http: http::Http::default(), renewals: std::array::from_fn(|_| Mutex::new(())) }
    }
}

impl GoogleDrive {
    /// One renewal at a time for each person. Two people may share a lock, which only makes one of them wait.
    async fn renewal(&self, user: UserId) -> MutexGuard<'_, ()> {
        let lock = (user.0.as_u128() % RENEWALS as u128) as usize;
        self.renewals[lock].lock().await
    }
}

/// Runs a tool for a person. What goes wrong is told in the result.
pub async fn call(app: &App, user: UserId, name: &str, arguments: Map<String, Value>) -> ToolResult {
    let result = match name {
        "google_drive_list_files" => match tool_arguments::parse(arguments) {
            Ok(input) => files::list::list(app, user, input).await,
            Err(why) => Err(DriveError::Arguments(why)),
        },
        "google_drive_read_file" => match tool_arguments::parse(arguments) {
            Ok(input) => files::read::read(app, user, input).await,
            Err(why) => Err(DriveError::Arguments(why)),
        },
        "google_drive_create_file" => match tool_arguments::parse(arguments) {
            Ok(input) => files::create::create(app, user, input).await,
            Err(why) => Err(DriveError::Arguments(why)),
        },
        _ => Err(DriveError::Arguments(format!("There is no tool {name:?}."))),
    };
    result.unwrap_or_else(|error| {
        error.log();
        ToolResult::error(error.to_string())
    })
}
