//! Listings of tools: changes that an open connection announces, and the stored listing of each server.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::UserId;
use domain::json::to_json;
use serde_json::Value;
use storage::servers::Server;
use storage::tool_lists::CachedToolList;
use tokio::time::Sleep;

use super::ConnectionPool;
use super::entry::{ConnectionEntry, ConnectionState, random_jitter};
use crate::connection_dto::parse_stored_tools;

/// Time after a listing in which a server's tools are not listed again. Changes that are announced meanwhile lead to one
/// more listing after it.
const RELIST_INTERVAL: Duration = Duration::from_secs(2);

impl ConnectionPool {
    /// Follows an open connection in the background: lists the tools again when they change, and records its end. This
    /// does not keep the connection open.
    pub(super) fn follow(&self, entry: Arc<ConnectionEntry>, connection: &mcp::Connection) {
        let pool = self.clone();
        let mut changed = connection.tools_changed();
        // Changes between the first listing and now count, too.
        if *changed.borrow() > 0 {
            changed.mark_changed();
        }
        // Both subscriptions exist without the connection, so that this task does not keep it open once the pool has
        // dropped it.
        let end = connection.closed_owned();
        self.tasks.spawn("follow connection", async move {
            let mut end = std::pin::pin!(end);
            let mut pause: Option<Pin<Box<Sleep>>> = None;
            loop {
                let has_ended = tokio::select! {
                    () = pool.tasks.shutdown_token().cancelled() => return,
                    () = entry.closed.cancelled() => return,
                    () = &mut end => true,
                    // The channel holds the last of the changes that are announced during the pause.
                    Ok(()) = async {
                        if let Some(pause) = &mut pause {
                            pause.as_mut().await;
                        }
                        changed.changed().await
                    } => false,
                };
                // If this connection was closed or replaced by this server, the reason is recorded already.
                let current = entry.state().connection.filter(|open| open.tools_changed().same_channel(&changed));
                let Some(connection) = current else { return };
                if has_ended {
                    let reason = "closed the connection; it is opened again when it is needed";
                    entry.record_disconnected(reason, pool.clock.now());
                    pool.publish_current(&entry).await;
                    return;
                }
                pool.relist(&entry, &connection).await;
                pause = Some(Box::pin(tokio::time::sleep(RELIST_INTERVAL)));
            }
        });
    }

    /// Lists a server's tools again. If that fails, the previous listing is kept, and is shown as outdated.
    pub(super) async fn relist(&self, entry: &ConnectionEntry, connection: &mcp::Connection) {
        let listed = connection.list_tools().await;
        // Of a connection that was closed or replaced meanwhile, the result says nothing about the present one.
        if !entry.state().connection.is_some_and(|current| current.is_same(connection)) {
            return;
        }
        let now = self.clock.now();
        match listed {
            Ok(tools) => {
                drop(self.record_tools(entry, connection.clone(), tools, now));
                self.store_listing(entry).await;
            }
            Err(error) => entry.update(|state| {
                // Calls in progress continue: the connection closes when the last of them releases it.
                state.record_failure(format!("could not be asked for its tools again: it {error}"), now);
                state.backoff.record_failure(now, random_jitter());
            }),
        }
        self.publish_current(entry).await;
    }

    /// Stores the listing of a server, for the next start and for when the server is unreachable.
    pub(super) async fn store_listing(&self, entry: &ConnectionEntry) {
        let state = entry.state();
        // Fallback tools are not stored: after a restart they would pass for tools of the server.
        let Some(listed_at) = state.listed_at.filter(|_| !state.is_fallback) else { return };
        let listing = CachedToolList {
            server: entry.server,
            url: entry.config_key.url.clone(),
            tools: to_json(&*state.tools),
            server_info: state.info.as_ref().map(to_json),
            listed_at,
        };
        if let Err(error) = self.storage.connections().set_tool_list(entry.owner, &listing).await {
            tracing::error!(%error, "could not store the tools of a server");
        }
    }

    /// Loads the stored tools of a user's connections, where nothing newer is known.
    pub async fn load_stored_tools(&self, user: UserId, servers: &[Server]) -> Result<(), storage::Error> {
        let entries: Vec<_> = servers.iter().map(|server| self.entry(user, server)).collect();
        // The usual case, in which a list of connections costs no second query.
        if entries.iter().all(|entry| entry.state().has_loaded_tools) {
            return Ok(());
        }
        let listings = self.storage.connections().list_tool_lists(user).await?;
        for (entry, server) in entries.iter().zip(servers) {
            if !entry.state().has_loaded_tools {
                let listing = listings.iter().find(|one| one.server == server.id);
                self.use_stored_listing(server, entry, listing).await?;
            }
        }
        Ok(())
    }

    /// Loads the stored tools of one connection.
    pub(super) async fn load_stored_tools_of(&self, server: &Server, entry: &ConnectionEntry) {
        if entry.state().has_loaded_tools {
            return;
        }
        let loaded = async {
            let listing = self.storage.connections().get_tool_list(entry.owner, entry.server).await?;
            self.use_stored_listing(server, entry, listing.as_ref()).await
        };
        if let Err(error) = loaded.await {
            tracing::error!(%error, "could not read the stored tools of a server");
        }
    }

    /// Uses a stored listing, if the URL has not changed since. Without one, uses the tools that were stored when the
    /// connection was created.
    async fn use_stored_listing(
        &self,
        server: &Server,
        entry: &ConnectionEntry,
        listing: Option<&CachedToolList>,
    ) -> Result<(), storage::Error> {
        let listing = listing.filter(|listing| listing.url == server.url);
        let initial_tools = match listing {
            // The tools of the row may be many, so they are read only where they are needed.
            Some(_) => Value::Null,
            None => self.storage.connections().get_tools(entry.owner, entry.server).await?,
        };
        entry.update(|state| self.apply_stored_tools(state, server, listing, initial_tools));
        Ok(())
    }

    fn apply_stored_tools(
        &self,
        state: &mut ConnectionState,
        server: &Server,
        listing: Option<&CachedToolList>,
        initial_tools: Value,
    ) {
        // Another caller may have loaded them during the query, and a listing by the server is newer than any stored
        // one.
        if std::mem::replace(&mut state.has_loaded_tools, true) || state.listed_at.is_some() {
            return;
        }
        let stored = listing.map_or(initial_tools, |listing| listing.tools.clone());
        let tools = parse_stored_tools(stored);
        // A connection that was created while its server had no tools was stored with the fallback tools.
        if self.is_fallback(&tools) {
            state.initial_tools = Arc::new(tools);
        } else if !tools.is_empty() {
            state.tools = Arc::new(tools);
            state.info = listing.and_then(|listing| serde_json::from_value(listing.server_info.clone()?).ok());
            state.listed_at = Some(listing.map_or(server.created_at, |listing| listing.listed_at));
        }
    }
}
