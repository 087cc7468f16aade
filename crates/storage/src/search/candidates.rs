//! Candidates for search matches, found by their words alone, newest first.
//!
//! Full-text statements are the only ones that differ between the databases. An index over words returns all texts that
//! contain a word, however many there are. Therefore, words that are likely to occur in a user's newest texts are
//! searched there first: a frequent word then costs no more than a rare one.

use domain::UserId;
use uuid::Uuid;

use super::MAX_INDEXED_CHARACTERS;
use super::query::{SearchQuery, TermCondition};
use crate::db_macros::{postgres_read, read, sqlite_read};
use crate::named_values::query_named;
use crate::{Db, Error, Storage};

/// Number of candidates that are checked together.
pub(super) const CANDIDATES_PER_BATCH: i64 = 40;
/// PostgreSQL: number of a user's newest texts that are scanned before the index is used.
const MAX_NEWEST_SCANNED: i64 = 1_000;
/// Operator between two conditions on PostgreSQL. No term contains its characters.
pub(super) const AND: &str = " & ";
/// Number of matches among the newest texts below which the index is used: few matches mean that the word is rare.
const MIN_COMMON_MATCHES: usize = 5;
/// SQLite: number of newest messages that are checked without the index, repeatedly while there are at least [`MIN_COMMON_MATCHES`]
/// matches among them.
const NEWEST_CHECKED: i64 = 100;

#[derive(sqlx::FromRow)]
pub(super) struct TitleRow {
    pub seq: i64,
    pub session_id: Uuid,
    pub title: String,
    pub updated_at: i64,
}

#[derive(sqlx::FromRow)]
pub(super) struct MessageRow {
    pub seq: i64,
    pub session_id: Uuid,
    pub title: String,
    pub id: Uuid,
    pub role: String,
    pub content: String,
    pub created_at: i64,
}

/// Selects titles (and, below, messages) for entries `e`.
macro_rules! title {
    ($with:expr, $entries:expr, $where:literal) => {
        concat!(
            $with,
            "SELECT e.seq, e.session_id, s.title, s.updated_at FROM ",
            $entries,
            " CROSS JOIN existing_chats s WHERE s.id = e.session_id AND s.user_id = :owner ",
            $where
        )
    };
}

macro_rules! message {
    ($with:expr, $entries:expr, $where:literal) => {
        concat!(
            $with,
            "SELECT e.seq, e.session_id, s.title, m.id, m.role,
               substr(m.content, 1, CAST(:max_characters AS INTEGER)) || COALESCE((SELECT '\n' || string_agg(f.name, ' ')
                 FROM file_uses u JOIN files f ON f.id = u.file_id WHERE u.holder_id = m.id), '') AS content, m.created_at
             FROM ",
            $entries,
            " CROSS JOIN existing_chats s CROSS JOIN ai_chat_messages m
             WHERE s.id = e.session_id AND m.id = e.id AND s.user_id = :owner ",
            $where
        )
    };
}

// On SQLite, `CROSS JOIN` also fixes the order of the join: the full-text table comes first.
const SQLITE_TITLES: &str = title!(
    "",
    "search_words w CROSS JOIN search_entries e",
    "AND search_words MATCH :words AND w.rowid < :before AND e.seq = w.rowid AND e.is_title = 1
     ORDER BY w.rowid DESC LIMIT :limit"
);

const SQLITE_MESSAGES: &str = message!(
    "",
    "search_words w CROSS JOIN search_entries e",
    "AND search_words MATCH :words AND w.rowid < :before AND e.seq = w.rowid AND e.is_title = 0
     ORDER BY w.rowid DESC LIMIT :limit"
);

/// Selects the newest messages, whatever their words.
const SQLITE_NEWEST: &str = message!(
    "",
    "search_entries e",
    "AND e.user_id = :owner AND e.is_title = 0 AND e.seq < :before ORDER BY e.seq DESC LIMIT :limit"
);

/// Selects a user's newest texts of a kind. The comparison of rows makes PostgreSQL read them in the order of the index
/// on owners, never of the index on all entries.
macro_rules! newest {
    ($is_title:literal, $window:literal) => {
        concat!(
            "SELECT user_id, is_title, seq, id, session_id, words FROM search_entries
             WHERE (user_id, is_title, seq) >= (:owner, ",
            $is_title,
            ", 0) AND (user_id, is_title, seq) < (:owner, ",
            $is_title,
            ", :before) ORDER BY user_id DESC, is_title DESC, seq DESC LIMIT ",
            $window
        )
    };
}

/// Selects those of the newest texts that contain the words, until there are enough.
macro_rules! among_newest {
    ($is_title:literal, $window:literal) => {
        concat!(
            "(SELECT seq, id, session_id FROM (",
            newest!($is_title, $window),
            ") newest WHERE words @@ :words::tsquery ORDER BY user_id DESC, is_title DESC, seq DESC LIMIT :limit) e"
        )
    };
}

/// Selects texts by the index. Of several conditions only the rare ones are used, because for a frequent word the index
/// collects all its texts. `MATERIALIZED` keeps the planner, which cannot know how rare a word is, from using other
/// indexes.
macro_rules! by_words {
    ($is_title:literal, $terms:literal) => {
        concat!(
            "WITH newest AS MATERIALIZED (",
            newest!($is_title, "1000"),
            "), rare AS MATERIALIZED (SELECT string_agg(term, ' & ') FROM unnest(",
            $terms,
            "::text[]) term WHERE cardinality(",
            $terms,
            "::text[]) = 1 OR (SELECT COUNT(*) FROM newest WHERE words @@ term::tsquery) < 20),
             found AS MATERIALIZED (SELECT user_id, is_title, seq, id, session_id, words FROM search_entries
               WHERE words @@ COALESCE((SELECT * FROM rare), :words)::tsquery) "
        )
    };
}

macro_rules! found {
    ($is_title:literal) => {
        concat!(
            "(SELECT seq, id, session_id FROM found WHERE words @@ :words::tsquery AND user_id = :owner AND is_title = ",
            $is_title,
            " AND seq < :before ORDER BY seq DESC LIMIT :limit) e"
        )
    };
}

const POSTGRES_TITLES: &str = title!(by_words!("true", ":terms"), found!("true"), "ORDER BY e.seq DESC");

const POSTGRES_MESSAGES: &str = message!(by_words!("false", ":terms"), found!("false"), "ORDER BY e.seq DESC");

const POSTGRES_NEWEST_TITLES: &str = title!("", among_newest!("true", ":window"), "ORDER BY e.seq DESC");

const POSTGRES_NEWEST_MESSAGES: &str = message!("", among_newest!("false", ":window"), "ORDER BY e.seq DESC");

/// A batch of candidates.
pub(super) struct Candidates<Row> {
    pub rows: Vec<Row>,
    pub more: bool,
}

impl<Row> Candidates<Row> {
    fn of(rows: Vec<Row>, most: i64) -> Self {
        let more = rows.len() as i64 == most;
        Self { rows, more }
    }
}

/// The position of a search in the order of entries.
#[derive(Clone, Copy)]
pub(super) struct SearchPosition {
    pub owner: UserId,
    /// The search continues with entries of a lower `seq`.
    pub before: i64,
}

/// The method by which the next messages are found.
pub(super) enum Way {
    /// Checks the newest messages one after the other.
    Newest,
    /// Uses the index: messages with all of these words.
    Words(Vec<TermCondition>),
}

impl Way {
    /// Returns the method for the next batch, after `found` matches among `rows`.
    pub(super) fn next(self, query: &SearchQuery, rows: &[MessageRow], found: usize) -> Self {
        match self {
            Self::Newest if found < MIN_COMMON_MATCHES => {
                Self::Words(query.selective_conditions(rows.iter().map(|row| row.content.as_str())))
            }
            way => way,
        }
    }
}

/// Returns how many of the newest texts to scan next, after `found` matches among the last scan, or `None` if the index
/// should be used.
fn wider(looked_at: i64, found: usize) -> Option<i64> {
    // Twice the number that would contain a batch on average.
    (looked_at == MAX_NEWEST_SCANNED && found >= MIN_COMMON_MATCHES)
        .then(|| MAX_NEWEST_SCANNED * 2 * CANDIDATES_PER_BATCH / found as i64)
}

impl Storage {
    pub(super) async fn title_candidates(
        &self,
        at: SearchPosition,
        wanted: &str,
    ) -> Result<Candidates<TitleRow>, Error> {
        let SearchPosition { owner, before } = at;
        macro_rules! query {
            ($sql:ident $($rest:tt)*) => {
                query_named!(
                    sqlx::query_as::<_, TitleRow>,
                    $sql,
                    owner = owner.0,
                    words = wanted,
                    before = before,
                    limit = CANDIDATES_PER_BATCH
                    $($rest)*
                )
            };
        }
        let rows = match &self.db {
            Db::Sqlite { read, .. } => sqlite_read!(read, |c| query!(SQLITE_TITLES).fetch_all(c).await)?,
            Db::Postgres(connections) => {
                let mut window = Some(MAX_NEWEST_SCANNED);
                while let Some(texts) = window {
                    // Scans a growing number of the newest texts, and uses the index only if that finds too few.
                    let newest = query!(POSTGRES_NEWEST_TITLES, window = texts);
                    let newest = postgres_read!(self, connections, |c| newest.fetch_all(c).await)?;
                    if newest.len() as i64 == CANDIDATES_PER_BATCH {
                        return Ok(Candidates { rows: newest, more: true });
                    }
                    window = wider(texts, newest.len());
                }
                let terms: Vec<&str> = wanted.split(AND).collect();
                let all = query!(POSTGRES_TITLES, terms = terms);
                postgres_read!(self, connections, |c| all.fetch_all(c).await)?
            }
        };
        Ok(Candidates::of(rows, CANDIDATES_PER_BATCH))
    }

    /// Returns the method for the first batch. PostgreSQL scans the newest texts within its statements.
    pub(super) fn first_way(&self, query: &SearchQuery) -> Way {
        match &self.db {
            Db::Sqlite { .. } => Way::Newest,
            Db::Postgres(_) => Way::Words(query.conditions()),
        }
    }

    /// Returns a user's newest messages. SQLite only.
    pub(super) async fn newest_messages(&self, at: SearchPosition) -> Result<Candidates<MessageRow>, Error> {
        let SearchPosition { owner, before } = at;
        let rows = read!(self, |c| query_named!(
            sqlx::query_as::<_, MessageRow>,
            SQLITE_NEWEST,
            owner = owner.0,
            before = before,
            limit = NEWEST_CHECKED,
            max_characters = MAX_INDEXED_CHARACTERS
        )
        .fetch_all(c)
        .await)?;
        Ok(Candidates::of(rows, NEWEST_CHECKED))
    }

    pub(super) async fn message_candidates(
        &self,
        at: SearchPosition,
        wanted: &str,
    ) -> Result<Candidates<MessageRow>, Error> {
        let SearchPosition { owner, before } = at;
        macro_rules! query {
            ($sql:ident $($rest:tt)*) => {
                query_named!(
                    sqlx::query_as::<_, MessageRow>,
                    $sql,
                    owner = owner.0,
                    words = wanted,
                    before = before,
                    limit = CANDIDATES_PER_BATCH,
                    max_characters = MAX_INDEXED_CHARACTERS
                    $($rest)*
                )
            };
        }
        let rows = match &self.db {
            Db::Sqlite { read, .. } => sqlite_read!(read, |c| query!(SQLITE_MESSAGES).fetch_all(c).await)?,
            Db::Postgres(connections) => {
                let mut window = Some(MAX_NEWEST_SCANNED);
                while let Some(texts) = window {
                    // As for titles: the newest texts first, then the index.
                    let newest = query!(POSTGRES_NEWEST_MESSAGES, window = texts);
                    let newest = postgres_read!(self, connections, |c| newest.fetch_all(c).await)?;
                    if newest.len() as i64 == CANDIDATES_PER_BATCH {
                        return Ok(Candidates { rows: newest, more: true });
                    }
                    window = wider(texts, newest.len());
                }
                let terms: Vec<&str> = wanted.split(AND).collect();
                let all = query!(POSTGRES_MESSAGES, terms = terms);
                postgres_read!(self, connections, |c| all.fetch_all(c).await)?
            }
        };
        Ok(Candidates::of(rows, CANDIDATES_PER_BATCH))
    }
}
