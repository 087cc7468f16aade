//! What processes that share a PostgreSQL database tell each other. It only hastens what each finds out by itself within a
//! second: nothing is lost with a piece of news.

use domain::{NodeId, RunId};
use sqlx::postgres::PgListener;

use crate::dispatch::write;
use crate::{Db, Error, Store};

const CHANNEL: &str = "ai_chat_mcp";

/// Tells the others. PostgreSQL only.
pub(crate) const NOTIFY: &str = "SELECT pg_notify('ai_chat_mcp', $1)";

/// Bytes of one piece of news: PostgreSQL takes less than 8000.
const MOST: usize = 7_900;

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

fn read(payload: &str, own: NodeId) -> Option<News> {
    if payload == ORDERS {
        return Some(News::Orders);
    }
    if let Some(run) = payload.strip_prefix("run ") {
        return run.parse().ok().map(News::Run);
    }
    let (from, text) = payload.strip_prefix("text ")?.split_once(' ')?;
    (from != own.to_string()).then(|| News::Text(text.to_owned()))
}

/// Hears what the others tell.
#[derive(Debug)]
pub struct Listener {
    inner: PgListener,
    own: NodeId,
}

impl Listener {
    /// The next piece of news. Nothing when the connection was lost and made anew: something may have been missed.
    pub async fn next(&mut self) -> Result<Option<News>, Error> {
        loop {
            let Some(told) = self.inner.try_recv().await? else { return Ok(None) };
            if let Some(news) = read(told.payload(), self.own) {
                return Ok(Some(news));
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
        Ok(Some(Listener { inner, own: self.node }))
    }

    /// Tells the other processes something, if it is not too long. `false` when it is.
    pub async fn tell_nodes(&self, text: &str) -> Result<bool, Error> {
        let payload = format!("text {} {text}", self.node);
        if !self.is_shared() || payload.len() > MOST {
            return Ok(!self.is_shared());
        }
        write!(self, |c| sqlx::query(NOTIFY).bind(&payload).execute(c).await.map(|done| done.rows_affected()))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_read_as_it_was_told_and_ones_own_words_are_not() {
        let (own, other, run) = (NodeId::fresh(), NodeId::fresh(), RunId::fresh());
        assert_eq!(read(&of_run(run), own), Some(News::Run(run)));
        assert_eq!(read(ORDERS, own), Some(News::Orders));
        assert_eq!(read(&format!("text {other} a b"), own), Some(News::Text("a b".to_owned())));
        assert_eq!(read(&format!("text {own} a b"), own), None);
        assert_eq!(read("something of a later version", own), None);
    }
}
