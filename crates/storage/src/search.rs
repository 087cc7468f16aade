//! Full-text search over a user's chat titles and messages.
//!
//! Triggers mark changed texts as pending. The code here splits them into words and stores these, each prefixed with a
//! key of the owner, so that a search scans only that user's words. Names of attached files are indexed with their
//! message. The database finds candidates by words; the candidates' texts are then checked for phrases, and the
//! snippets are cut from them.

mod candidates;
mod query;
mod snippet;
mod words;

use std::fmt::Write as _;

use domain::message::Role;
use domain::{ChatId, MessageId, Timestamp, UserId};
use uuid::Uuid;

use crate::db_macros::{postgres_transaction, read, sqlite_transaction};
use crate::{Db, Error, JsonText, SearchRepository};
use candidates::{Candidates, SearchPosition, Way};
use query::{SearchQuery, TermCondition};

pub use snippet::Marked;

/// Maximum number of title hits.
const MAX_TITLE_HITS: usize = 10;
/// Maximum number of message hits per page.
const MAX_MESSAGE_HITS: usize = 30;
/// Maximum number of candidate batches per search. A candidate that is no hit costs a text comparison.
const MAX_BATCHES: usize = 12;
/// Number of characters of a text that are indexed.
const MAX_INDEXED_CHARACTERS: i64 = 100_000;
/// Maximum number of pending texts of a user that are indexed before a search. The rest is left to the background job.
const MAX_PENDING_BEFORE_SEARCH: i64 = 400;

/// A chat whose title matches.
#[derive(Debug, Clone)]
pub struct TitleHit {
    /// Id of the chat.
    pub chat: ChatId,
    /// Title with the matches marked.
    pub title: Marked,
    /// Time of the last message.
    pub updated_at: Timestamp,
}

/// A message that matches.
#[derive(Debug, Clone)]
pub struct MessageHit {
    /// Id of the chat.
    pub chat: ChatId,
    /// Title of the chat.
    pub title: String,
    /// Id of the message.
    pub message: MessageId,
    /// Author.
    pub role: Role,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Excerpt around the first match.
    pub snippet: Marked,
}

/// The results of [`SearchRepository::query`](crate::SearchRepository::query), newest first.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Chats whose titles match; on the first page only.
    pub titles: Vec<TitleHit>,
    /// Messages that match.
    pub messages: Vec<MessageHit>,
    /// Position of the next page; `None` on the last one.
    pub next: Option<i64>,
}

// Sorted like the partial index on pending entries, so that neither database uses the larger index on all entries of a
// user.
const ANY_PENDING: &str = "SELECT seq FROM search_entries WHERE pending AND user_id = $1 ORDER BY seq DESC LIMIT 1";

/// Selects pending texts of one user (`$1`) or of all users.
macro_rules! pending {
    ($whose:literal, $lock:literal) => {
        concat!(
            "SELECT e.seq, e.is_title, e.user_id, substr(COALESCE(m.content, s.title), 1, CAST($2 AS INTEGER)) ||
               COALESCE((SELECT '\n' || string_agg(f.name, ' ') FROM file_uses u JOIN files f ON f.id = u.file_id
                WHERE u.holder_id = m.id), '') AS text
             FROM search_entries e JOIN existing_chats s ON s.id = e.session_id
             LEFT JOIN ai_chat_messages m ON m.id = e.id AND e.is_title = (1 = 0)
             WHERE e.pending AND ",
            $whose,
            " ORDER BY e.seq DESC LIMIT $3 ",
            $lock
        )
    };
}

/// Stores the words of texts on SQLite. `$1` is a JSON list of pairs: `seq` of the entry and words.
const READ_SQLITE: [&str; 3] = [
    // A full-text table of SQLite has no upsert.
    "DELETE FROM search_words WHERE rowid IN (SELECT value ->> 0 FROM json_each($1))",
    "INSERT INTO search_words (rowid, words) SELECT value ->> 0, value ->> 1 FROM json_each($1)",
    // In the transaction that read the texts, so that a later change marks them as pending again.
    "UPDATE search_entries SET pending = 0 WHERE seq IN (SELECT value ->> 0 FROM json_each($1))",
];

/// Stores the words of texts on PostgreSQL. `$1` is the list of `seq` of the entrys, `$2` the list of words.
const READ_POSTGRES: &str = "UPDATE search_entries e
    SET pending = false, words = array_to_tsvector(array_remove(string_to_array(n.words, ' '), ''))
    FROM unnest($1, $2) AS n (seq, words) WHERE e.seq = n.seq";

#[derive(sqlx::FromRow)]
struct PendingRow {
    seq: i64,
    is_title: bool,
    user_id: Uuid,
    text: String,
}

macro_rules! fetch_pending {
    ($tx:expr, $owner:expr, $limit:expr, $lock:literal) => {
        sqlx::query_as::<_, PendingRow>(if $owner.is_some() {
            pending!("e.user_id = $1", $lock)
        } else {
            pending!("$1 IS NULL", $lock)
        })
        .bind($owner.map(|owner: UserId| owner.0))
        .bind(MAX_INDEXED_CHARACTERS)
        .bind($limit)
        .fetch_all(&mut *$tx)
        .await?
    };
}

impl SearchRepository<'_> {
    /// Searches a user's titles and messages. Words match by prefix, phrases in quotation marks exactly. `before` is
    /// the end of the previous page, see [`Found::next`].
    pub async fn query(self, owner: UserId, typed: &str, before: Option<i64>) -> Result<Found, Error> {
        let Some(query) = SearchQuery::parse(typed) else { return Ok(Found::default()) };
        let pending =
            read!(self.storage, |c| sqlx::query_scalar::<_, i64>(ANY_PENDING).bind(owner.0).fetch_optional(c).await)?;
        // Texts that changed since the last run of the background job must be found as well.
        if pending.is_some() {
            self.index_pending(Some(owner), MAX_PENDING_BEFORE_SEARCH).await?;
        }
        let titles = if before.is_none() { self.search_titles(owner, &query).await? } else { Vec::new() };
        let (messages, next) = self.search_messages(owner, &query, before.unwrap_or(i64::MAX)).await?;
        Ok(Found { titles, messages, next })
    }

    async fn search_titles(self, owner: UserId, query: &SearchQuery) -> Result<Vec<TitleHit>, Error> {
        let wanted = self.wanted(owner, true, &query.conditions());
        let mut hits = Vec::new();
        let mut before = i64::MAX;
        for _ in 0..MAX_BATCHES {
            let Candidates { rows, more } =
                self.storage.title_candidates(SearchPosition { owner, before }, &wanted).await?;
            for row in rows {
                before = row.seq;
                let Some(places) = query.find(&row.title) else { continue };
                hits.push(TitleHit {
                    chat: ChatId(row.session_id),
                    title: snippet::whole(&row.title, &places),
                    updated_at: Timestamp(row.updated_at),
                });
            }
            if !more || hits.len() >= MAX_TITLE_HITS {
                break;
            }
        }
        // Candidates come in the order of entries, not of the last message in each chat.
        hits.sort_by_key(|hit| std::cmp::Reverse(hit.updated_at));
        hits.truncate(MAX_TITLE_HITS);
        Ok(hits)
    }

    async fn search_messages(
        self,
        owner: UserId,
        query: &SearchQuery,
        mut before: i64,
    ) -> Result<(Vec<MessageHit>, Option<i64>), Error> {
        let mut hits = Vec::new();
        let mut way = self.storage.first_way(query);
        // Bounded, because a phrase whose words are frequent can have any number of candidates. The next page continues
        // there.
        for _ in 0..MAX_BATCHES {
            let position = SearchPosition { owner, before };
            let Candidates { rows, more } = match &way {
                Way::Newest => self.storage.newest_messages(position).await?,
                Way::Words(conditions) => {
                    self.storage.message_candidates(position, &self.wanted(owner, false, conditions)).await?
                }
            };
            let found_before = hits.len();
            for row in &rows {
                before = row.seq;
                // The index knows words only: whether a phrase occurs, the text decides.
                let Some(places) = query.find(&row.content) else { continue };
                hits.push(MessageHit {
                    chat: ChatId(row.session_id),
                    title: row.title.clone(),
                    message: MessageId(row.id),
                    role: if row.role == "user" { Role::User } else { Role::Assistant },
                    created_at: Timestamp(row.created_at),
                    snippet: snippet::around(&row.content, &places),
                });
                if hits.len() == MAX_MESSAGE_HITS {
                    return Ok((hits, Some(before)));
                }
            }
            if !more {
                return Ok((hits, None));
            }
            // The next batch depends on how many candidates of this one were hits.
            way = way.next(query, &rows, hits.len() - found_before);
        }
        Ok((hits, Some(before)))
    }

    /// Indexes pending texts of one user, or of all users if `owner` is `None`, at most `limit`, newest first. Returns
    /// how many were indexed.
    pub async fn index_pending(self, owner: Option<UserId>, limit: i64) -> Result<usize, Error> {
        match &self.storage.db {
            Db::Sqlite { write, .. } => sqlite_transaction!(self.storage, write, |tx| {
                let rows = fetch_pending!(tx, owner, limit, "");
                let words: Vec<(i64, String)> = rows.iter().map(|row| (row.seq, spaced(row))).collect();
                // One parameter for all texts: a list of variable length would need another statement for each length.
                let words = JsonText(words);
                for statement in READ_SQLITE {
                    sqlx::query(statement).bind(&words).execute(&mut *tx).await?;
                }
                Ok(rows.len())
            }),
            Db::Postgres(connections) => {
                postgres_transaction!(self.storage, connections, |tx| {
                    // `SKIP LOCKED`: another node may be indexing the same texts.
                    let rows = fetch_pending!(tx, owner, limit, "FOR UPDATE OF e SKIP LOCKED");
                    let seqs: Vec<i64> = rows.iter().map(|row| row.seq).collect();
                    let words: Vec<String> = rows.iter().map(spaced).collect();
                    sqlx::query(READ_POSTGRES).bind(seqs).bind(words).execute(&mut *tx).await?;
                    Ok(rows.len())
                })
            }
        }
    }

    /// Returns the number of texts that are not indexed yet. Not limited to one owner.
    pub async fn count_pending(self) -> Result<i64, Error> {
        let sql = "SELECT COUNT(*) FROM search_entries WHERE pending";
        Ok(read!(self.storage, |c| sqlx::query_scalar::<_, i64>(sql).fetch_one(c).await)?)
    }

    /// Builds the full-text query in the syntax of the database. Terms consist of letters and digits only, so that none
    /// contains an operator.
    fn wanted(self, owner: UserId, is_title: bool, conditions: &[TermCondition]) -> String {
        let key = key(owner, is_title);
        let mut wanted = String::new();
        for TermCondition { text, is_prefix } in conditions {
            if !wanted.is_empty() {
                wanted.push_str(if matches!(self.storage.db, Db::Sqlite { .. }) { " AND " } else { candidates::AND });
            }
            // Writing to a `String` cannot fail.
            let _ = match (&self.storage.db, is_prefix) {
                (Db::Sqlite { .. }, true) => write!(wanted, "\"{key}{text}\"*"),
                (Db::Sqlite { .. }, false) => write!(wanted, "\"{key}{text}\""),
                (Db::Postgres(_), true) => write!(wanted, "'{key}{text}':*"),
                (Db::Postgres(_), false) => write!(wanted, "'{key}{text}'"),
            };
        }
        wanted
    }
}

/// Returns the prefix of the indexed words of a user's titles or messages. Two users may have the same prefix: it only
/// narrows the search, and each statement checks the owner of the row.
fn key(owner: UserId, is_title: bool) -> String {
    let id = owner.0.simple().to_string();
    format!("{}{}", if is_title { 't' } else { 'm' }, &id[id.len() - 10..])
}

fn spaced(row: &PendingRow) -> String {
    let key = key(UserId(row.user_id), row.is_title);
    let keyed: Vec<String> = words::terms(&row.text).into_iter().map(|term| format!("{key}{term}")).collect();
    keyed.join(" ")
}
