//! Search over the titles and messages of a person.
//!
//! Triggers note which texts have changed; their words are read here and stored beside them, each with its owner's key in
//! front, so that a search walks through one person's words and no other's. The names of files that go with a message are
//! read behind its words. The database finds candidates by words; what
//! it found is then looked at as a text: phrases, places, and the piece that is shown.

mod candidates;
mod question;
mod snippet;
mod words;

use std::fmt::Write as _;

use domain::message::Role;
use domain::{ChatId, MessageId, Timestamp, UserId};
use uuid::Uuid;

use crate::dispatch::{in_turn, read, within};
use crate::{Db, Error, JsonText, Store};
use candidates::{Candidates, Place, Way};
use question::{Condition, Question};

pub use snippet::Marked;

/// Titles of one answer at most.
const TITLES: usize = 10;
/// Messages of one answer at most.
const MESSAGES: usize = 30;
/// How often candidates are looked at: what is found by its words and is no hit costs a look.
const BATCHES: usize = 12;
/// Characters of a text that are searched.
const SEARCHED: i64 = 100_000;
/// Texts of a person that are read at most before a search of theirs; others wait for the background.
const FRESH: i64 = 400;

/// A chat whose title is a hit.
#[derive(Debug, Clone)]
pub struct TitleHit {
    /// The chat.
    pub chat: ChatId,
    /// Its title.
    pub title: Marked,
    /// When something was last said in it.
    pub updated_at: Timestamp,
}

/// A message that is a hit.
#[derive(Debug, Clone)]
pub struct MessageHit {
    /// Its chat.
    pub chat: ChatId,
    /// The title of the chat.
    pub title: String,
    /// The message.
    pub message: MessageId,
    /// Who said it.
    pub role: Role,
    /// When.
    pub created_at: Timestamp,
    /// The piece around the first place.
    pub snippet: Marked,
}

/// What was found, the newest first.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Chats by their titles; of the first page only.
    pub titles: Vec<TitleHit>,
    /// Messages.
    pub messages: Vec<MessageHit>,
    /// From where to go on; `None` at the end.
    pub next: Option<i64>,
}

// In the order of the index of what is pending, so that no database takes the one of all texts of a person.
const ANY_PENDING: &str =
    "SELECT number FROM search_entries WHERE pending AND user_id = $1 ORDER BY number DESC LIMIT 1";

/// A person's texts whose words are to be read, or everybody's.
macro_rules! pending {
    ($whose:literal, $lock:literal) => {
        concat!(
            "SELECT e.number, e.is_title, e.user_id, substr(COALESCE(m.content, s.title), 1, CAST($2 AS INTEGER)) ||
               COALESCE((SELECT '\n' || string_agg(f.name, ' ') FROM file_uses u JOIN files f ON f.id = u.file_id
                WHERE u.holder_id = m.id), '') AS text
             FROM search_entries e JOIN ai_chat_sessions s ON s.id = e.session_id
             LEFT JOIN ai_chat_messages m ON m.id = e.id AND e.is_title = (1 = 0)
             WHERE e.pending AND ",
            $whose,
            " ORDER BY e.number DESC LIMIT $3 ",
            $lock
        )
    };
}

/// Stores the words of texts: pairs of a number and words.
const READ_SQLITE: [&str; 3] = [
    "DELETE FROM search_words WHERE rowid IN (SELECT value ->> 0 FROM json_each($1))",
    "INSERT INTO search_words (rowid, words) SELECT value ->> 0, value ->> 1 FROM json_each($1)",
    "UPDATE search_entries SET pending = 0 WHERE number IN (SELECT value ->> 0 FROM json_each($1))",
];

/// The same with the numbers and the words each as a list.
const READ_POSTGRES: &str = "UPDATE search_entries e
    SET pending = false, words = array_to_tsvector(array_remove(string_to_array(n.words, ' '), ''))
    FROM unnest($1, $2) AS n (number, words) WHERE e.number = n.number";

#[derive(sqlx::FromRow)]
struct PendingRow {
    number: i64,
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
        .bind(SEARCHED)
        .bind($limit)
        .fetch_all(&mut *$tx)
        .await?
    };
}

impl Store {
    /// What of a person's titles and messages has the words that were typed: words by their beginnings, phrases in
    /// quotation marks whole. `before` is where the last page ended.
    pub async fn search(&self, owner: UserId, typed: &str, before: Option<i64>) -> Result<Found, Error> {
        let Some(question) = Question::parse(typed) else { return Ok(Found::default()) };
        let pending = read!(self, |c| sqlx::query_scalar::<_, i64>(ANY_PENDING).bind(owner.0).fetch_optional(c).await)?;
        if pending.is_some() {
            self.index_pending(Some(owner), FRESH).await?;
        }
        let titles = if before.is_none() { self.search_titles(owner, &question).await? } else { Vec::new() };
        let (messages, next) = self.search_messages(owner, &question, before.unwrap_or(i64::MAX)).await?;
        Ok(Found { titles, messages, next })
    }

    async fn search_titles(&self, owner: UserId, question: &Question) -> Result<Vec<TitleHit>, Error> {
        let wanted = self.wanted(owner, true, &question.conditions());
        let mut hits = Vec::new();
        let mut before = i64::MAX;
        for _ in 0..BATCHES {
            let Candidates { rows, more } = self.title_candidates(Place { owner, before }, &wanted).await?;
            for row in rows {
                before = row.number;
                let Some(places) = question.find(&row.title) else { continue };
                hits.push(TitleHit {
                    chat: ChatId(row.session_id),
                    title: snippet::whole(&row.title, &places),
                    updated_at: Timestamp(row.updated_at),
                });
            }
            if !more || hits.len() >= TITLES {
                break;
            }
        }
        hits.sort_by_key(|hit| std::cmp::Reverse(hit.updated_at));
        hits.truncate(TITLES);
        Ok(hits)
    }

    async fn search_messages(
        &self,
        owner: UserId,
        question: &Question,
        mut before: i64,
    ) -> Result<(Vec<MessageHit>, Option<i64>), Error> {
        let mut hits = Vec::new();
        let mut way = self.first_way(question);
        for _ in 0..BATCHES {
            let place = Place { owner, before };
            let Candidates { rows, more } = match &way {
                Way::Newest => self.newest_messages(place).await?,
                Way::Words(conditions) => {
                    self.message_candidates(place, &self.wanted(owner, false, conditions)).await?
                }
            };
            let found_before = hits.len();
            for row in &rows {
                before = row.number;
                let Some(places) = question.find(&row.content) else { continue };
                hits.push(MessageHit {
                    chat: ChatId(row.session_id),
                    title: row.title.clone(),
                    message: MessageId(row.id),
                    role: if row.role == "user" { Role::User } else { Role::Assistant },
                    created_at: Timestamp(row.created_at),
                    snippet: snippet::around(&row.content, &places),
                });
                if hits.len() == MESSAGES {
                    return Ok((hits, Some(before)));
                }
            }
            if !more {
                return Ok((hits, None));
            }
            way = way.next(question, &rows, hits.len() - found_before);
        }
        Ok((hits, Some(before)))
    }

    /// Reads the words of texts that have changed: of a person, or of everybody, which crosses owners and is for the
    /// background. At most `limit` of them, the newest first; says how many there were.
    pub async fn index_pending(&self, owner: Option<UserId>, limit: i64) -> Result<usize, Error> {
        match &self.db {
            Db::Sqlite { write, .. } => in_turn!(self, write, |tx| {
                let rows = fetch_pending!(tx, owner, limit, "");
                let words: Vec<(i64, String)> = rows.iter().map(|row| (row.number, spaced(row))).collect();
                let words = JsonText(words);
                for statement in READ_SQLITE {
                    sqlx::query(statement).bind(&words).execute(&mut *tx).await?;
                }
                Ok(rows.len())
            }),
            Db::Postgres(connections) => {
                within!(self, connections, |tx| {
                    let rows = fetch_pending!(tx, owner, limit, "FOR UPDATE OF e SKIP LOCKED");
                    let numbers: Vec<i64> = rows.iter().map(|row| row.number).collect();
                    let words: Vec<String> = rows.iter().map(spaced).collect();
                    sqlx::query(READ_POSTGRES).bind(numbers).bind(words).execute(&mut *tx).await?;
                    Ok(rows.len())
                })
            }
        }
    }

    /// How many texts wait for their words to be read. Crosses owners.
    pub async fn count_pending(&self) -> Result<i64, Error> {
        let sql = "SELECT COUNT(*) FROM search_entries WHERE pending";
        Ok(read!(self, |c| sqlx::query_scalar::<_, i64>(sql).fetch_one(c).await)?)
    }

    /// The conditions in the database's own words. Terms are letters and digits only, so that nothing in them has a
    /// meaning for it.
    fn wanted(&self, owner: UserId, is_title: bool, conditions: &[Condition]) -> String {
        let key = key(owner, is_title);
        let mut wanted = String::new();
        for Condition { text, open } in conditions {
            if !wanted.is_empty() {
                wanted.push_str(if matches!(self.db, Db::Sqlite { .. }) { " AND " } else { candidates::AND });
            }
            // Writing to a string cannot fail.
            let _ = match (&self.db, open) {
                (Db::Sqlite { .. }, true) => write!(wanted, "\"{key}{text}\"*"),
                (Db::Sqlite { .. }, false) => write!(wanted, "\"{key}{text}\""),
                (Db::Postgres(_), true) => write!(wanted, "'{key}{text}':*"),
                (Db::Postgres(_), false) => write!(wanted, "'{key}{text}'"),
            };
        }
        wanted
    }
}

/// What stands before each word of a person's titles or messages. Two people may have the same key: it narrows a search,
/// and whose a row is, is asked of the row.
fn key(owner: UserId, is_title: bool) -> String {
    let id = owner.0.simple().to_string();
    format!("{}{}", if is_title { 't' } else { 'm' }, &id[id.len() - 10..])
}

fn spaced(row: &PendingRow) -> String {
    let key = key(UserId(row.user_id), row.is_title);
    let keyed: Vec<String> = words::terms(&row.text).into_iter().map(|term| format!("{key}{term}")).collect();
    keyed.join(" ")
}
