//! What processes that share a PostgreSQL database tell each other. It only hastens what each finds out by itself within a
//! second: nothing is lost with a piece of news.

use domain::{NodeId, RunId, Timestamp};
use sqlx::postgres::PgListener;
use uuid::Uuid;

use crate::dispatch::{read, transaction, write};
use crate::{Db, Error, Store};

const CHANNEL: &str = "ai_chat_mcp";

/// Tells the others. PostgreSQL only.
pub(crate) const NOTIFY: &str = "SELECT pg_notify('ai_chat_mcp', $1)";

/// The same for several pieces of news, a line each.
pub(crate) const NOTIFY_ALL: &str =
    "SELECT pg_notify('ai_chat_mcp', news) FROM unnest(string_to_array($1, chr(10))) AS news";

/// Bytes of one piece of news: PostgreSQL takes less than 8000. A longer one waits in a row.
const MOST: usize = 7_900;

const KEEP: &str = "INSERT INTO node_news (id, text, told_at) VALUES ($1, $2, $3)";

const GET: &str = "SELECT text FROM node_news WHERE id = $1";

const PURGE: &str = "DELETE FROM node_news WHERE told_at < $1";

/// A piece of news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A turn said something, or ended.
    Run(RunId),
    /// Somebody wants something of a turn.
    Orders,
    /// Whatever the house wants to tell itself.
    Text(String),
}

pub(crate) fn of_run(run: RunId) -> String {
    format!("run {run}")
}

pub(crate) const ORDERS: &str = "orders";

/// What was told, or the id of the row in which it waits.
#[derive(Debug, PartialEq, Eq)]
enum Payload {
    News(News),
    Row(Uuid),
}

fn read_payload(payload: &str, own: NodeId) -> Option<Payload> {
    if payload == ORDERS {
        return Some(Payload::News(News::Orders));
    }
    if let Some(run) = payload.strip_prefix("run ") {
        return run.parse().ok().map(|run| Payload::News(News::Run(run)));
    }
    let (kind, rest) = payload.split_once(' ')?;
    let (from, what) = rest.split_once(' ')?;
    match kind {
        _ if from == own.to_string() => None,
        "text" => Some(Payload::News(News::Text(what.to_owned()))),
        "row" => what.parse().ok().map(Payload::Row),
        _ => None,
    }
}

/// Hears what the others tell.
#[derive(Debug)]
pub struct Listener {
    inner: PgListener,
    store: Store,
}

impl Listener {
    /// The next piece of news. Nothing when the connection was lost and made anew: something may have been missed.
    pub async fn next(&mut self) -> Result<Option<News>, Error> {
        loop {
            let Some(told) = self.inner.try_recv().await? else { return Ok(None) };
            match read_payload(told.payload(), self.store.node) {
                Some(Payload::News(news)) => return Ok(Some(news)),
                Some(Payload::Row(id)) => {
                    if let Some(text) = self.store.get_news(id).await? {
                        return Ok(Some(News::Text(text)));
                    }
                }
                None => {}
            }
        }
    }
}

impl Store {
    /// Begins to hear what other processes tell; nothing on a database that cannot be shared.
    pub async fn listen(&self) -> Result<Option<Listener>, Error> {
        let Db::Postgres(pool) = &self.db else { return Ok(None) };
        let mut inner = PgListener::connect_with(pool).await?;
        inner.listen(CHANNEL).await?;
        Ok(Some(Listener { inner, store: self.clone() }))
    }

    /// Tells the other processes something of any length.
    pub async fn tell_nodes(&self, text: &str, now: Timestamp) -> Result<(), Error> {
        if !self.is_shared() {
            return Ok(());
        }
        let payload = format!("text {} {text}", self.node);
        if payload.len() <= MOST {
            write!(self, |c| sqlx::query(NOTIFY).bind(&payload).execute(c).await.map(|done| done.rows_affected()))?;
            return Ok(());
        }
        let id = domain::ids::fresh();
        let payload = format!("row {} {id}", self.node);
        transaction!(self, |tx| {
            sqlx::query(KEEP).bind(id).bind(text).bind(now.0).execute(&mut *tx).await?;
            sqlx::query(NOTIFY).bind(&payload).execute(&mut *tx).await?;
            Ok(())
        })
    }

    async fn get_news(&self, id: Uuid) -> Result<Option<String>, Error> {
        Ok(read!(self, |c| sqlx::query_scalar(GET).bind(id).fetch_optional(c).await)?)
    }

    /// Forgets long pieces of news that were told before a time: who has not read them by then loads afresh.
    pub async fn purge_news(&self, before: Timestamp) -> Result<(), Error> {
        write!(self, |c| sqlx::query(PURGE).bind(before.0).execute(c).await.map(|done| done.rows_affected()))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_read_as_it_was_told_and_ones_own_words_are_not() {
        let (own, other, run) = (NodeId::fresh(), NodeId::fresh(), RunId::fresh());
        let news = |payload: &str| match read_payload(payload, own) {
            Some(Payload::News(news)) => Some(news),
            _ => None,
        };
        assert_eq!(news(&of_run(run)), Some(News::Run(run)));
        assert_eq!(news(ORDERS), Some(News::Orders));
        assert_eq!(news(&format!("text {other} a b")), Some(News::Text("a b".to_owned())));
        assert_eq!(read_payload(&format!("text {own} a b"), own), None);
        let row = domain::ids::fresh();
        assert_eq!(read_payload(&format!("row {other} {row}"), own), Some(Payload::Row(row)));
        assert_eq!(read_payload(&format!("row {own} {row}"), own), None);
        assert_eq!(read_payload("something of a later version", own), None);
    }
}
