//! The stored tokens: sealed, renewed ahead of their end, one renewal at a time.

use domain::UserId;
use tokio::sync::oneshot;

use super::PROVIDER;
use super::error::DriveError;
use super::token::{self, Token};
use crate::app::App;

/// An access token that may be sent now. One that Google has just refused is `refused`; another is got in its place.
pub async fn access(app: &App, user: UserId, refused: Option<&str>) -> Result<String, DriveError> {
    if app.config.google.is_none() {
        return Err(DriveError::NotConfigured);
    }
    let stored = load(app, user).await?;
    if let Some(access) = usable(app, &stored.token, refused) {
        return Ok(access);
    }
    // A task of its own: the caller may go away while Google answers with a new refresh token, which must not be lost.
    let (tell, told) = oneshot::channel();
    let (inner, refused) = (app.clone(), refused.map(str::to_owned));
    app.tasks.spawn("google token", async move {
        // Nobody may be waiting any more.
        drop(tell.send(renew(&inner, user, refused.as_deref()).await));
    });
    told.await.map_err(|_| DriveError::Unreachable("the server is stopping".into()))?
}

async fn renew(app: &App, user: UserId, refused: Option<&str>) -> Result<String, DriveError> {
    let _one_at_a_time = app.google_drive.renewal(user).await;
    let old = load(app, user).await?;
    if let Some(access) = usable(app, &old.token, refused) {
        return Ok(access);
    }
    let now = app.clock.now();
    let Some(new) = token::renew(&app.google_drive.http, &app.config, &old.token, now).await? else {
        // Unless another node has put a newer one in its place, the link is over.
        if app.store.delete_credential(user, PROVIDER, &old.sealed).await? {
            return Err(DriveError::LinkEnded);
        }
        return load(app, user).await.map(|stored| stored.token.access);
    };
    // Stored before it is used: the old refresh token may be void by now.
    let sealed = seal(app, user, &new)?;
    if app.store.replace_credential(user, PROVIDER, &old.sealed, &sealed, now).await? {
        return Ok(new.access);
    }
    load(app, user).await.map(|stored| stored.token.access)
}

struct Stored {
    token: Token,
    sealed: Vec<u8>,
}

async fn load(app: &App, user: UserId) -> Result<Stored, DriveError> {
    let sealed = app.store.get_credential(user, PROVIDER).await?.ok_or(DriveError::NotLinked)?;
    Ok(Stored { token: open(app, user, &sealed)?, sealed })
}

fn usable(app: &App, token: &Token, refused: Option<&str>) -> Option<String> {
    (token.is_fresh(app.clock.now()) && refused != Some(token.access.as_str())).then(|| token.access.clone())
}

/// Seals a token for its place in the database.
pub fn seal(app: &App, user: UserId, token: &Token) -> Result<Vec<u8>, DriveError> {
    let plain = serde_json::to_vec(token).map_err(|error| DriveError::Internal(error.into()))?;
    Ok(app.secrets.seal(&place(user), &plain)?)
}

/// Opens what [`seal`] sealed.
pub fn open(app: &App, user: UserId, sealed: &[u8]) -> Result<Token, DriveError> {
    let plain = app.secrets.open(&place(user), sealed)?;
    serde_json::from_slice(&plain).map_err(|error| DriveError::Internal(error.into()))
}

fn place(user: UserId) -> String {
    format!("credentials/secret/{user}/{PROVIDER}")
}
