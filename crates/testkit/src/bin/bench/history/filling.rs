//! Creation of the database with the long history. It is created once and reused if a folder is named.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, StreamExt as _};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Database, Person, TestApp};

use crate::texts::Chance;

/// Messages per chat.
pub const MESSAGES_PER_CHAT: usize = 10;
/// One user has half of the chats; a few users and very many users have a quarter each.
const FEW_PEOPLE: usize = 10;
const MANY_PEOPLE: usize = 500;
/// Chats per request while filling.
const CHATS_PER_REQUEST: usize = 10;
/// Simultaneous requests while filling.
const AT_ONCE: usize = 3;
/// Messages that are added to the search index in one batch.
const INDEX_BATCH_MESSAGES: i64 = 2_000;

/// A filled database, with one user of each group.
pub struct History {
    pub database: Database,
    /// URL of the database.
    pub url: String,
    /// The server's data folder.
    pub folder: PathBuf,
    /// A user with half of all chats, one with many, and one with few.
    pub people: Vec<Somebody>,
}

/// A user of the filled database.
pub struct Somebody {
    pub email: String,
    pub chats: usize,
    /// A chat of the user, neither the oldest nor the newest.
    pub chat: String,
}

impl History {
    /// Returns the [`History`] that an earlier run left in the folder, or creates one.
    pub async fn of(database: Database, chats: usize, folder: &Path) -> Self {
        let note = folder.join(format!("{database:?}-{chats}.json"));
        if let Some(kept) =
            fs::read(&note).ok().and_then(|text| Self::read(database, &serde_json::from_slice(&text).unwrap()))
        {
            return kept;
        }
        let made = Self::make(database, chats, folder).await;
        fs::write(&note, made.note().to_string()).unwrap();
        made
    }

    /// Reads the note of an earlier run; `None` if it is incomplete.
    fn read(database: Database, note: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let people = note["people"].as_array()?.iter().map(|person| {
            let chats = usize::try_from(person["chats"].as_u64()?).ok()?;
            Some(Somebody { email: text(&person["email"])?, chats, chat: text(&person["chat"])? })
        });
        let people = people.collect::<Option<_>>()?;
        Some(Self { database, url: text(&note["url"])?, folder: text(&note["folder"])?.into(), people })
    }

    /// Returns the note for later runs.
    fn note(&self) -> Value {
        let person =
            |somebody: &Somebody| json!({ "email": somebody.email, "chats": somebody.chats, "chat": somebody.chat });
        let people: Vec<Value> = self.people.iter().map(person).collect();
        json!({ "url": self.url, "folder": self.folder, "people": people })
    }

    /// Creates and fills a database.
    async fn make(database: Database, chats: usize, folder: &Path) -> Self {
        let own = TempDir::new_in(folder).unwrap();
        let url = database.create(&own);
        let app = TestApp::builder().on_data_of(&Arc::new(own), &url).start().await;
        let began = Instant::now();
        let mut owners = Vec::new();
        let shares = [(1, chats / 2), (FEW_PEOPLE, chats / 4 / FEW_PEOPLE), (MANY_PEOPLE, chats / 4 / MANY_PEOPLE)];
        for (people, share) in shares {
            for _ in 0..people {
                owners.push((app.person().await, share));
            }
        }
        eprintln!("{database:?}: {} people in {:.1?}", owners.len(), began.elapsed());
        let pieces = stream::iter(in_disorder(&owners));
        let mut made: Vec<(usize, String)> = pieces
            .map(|(owner, piece)| {
                let person = &owners[owner].0;
                async move { (owner, fill(person, piece).await) }
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        let filled = began.elapsed();
        // Indexing runs in the background; the benchmark must not measure it.
        while app.state.storage.search().index_pending(None, INDEX_BATCH_MESSAGES).await.unwrap() > 0 {}
        let read = began.elapsed().checked_sub(filled).unwrap_or_default();
        eprintln!("{database:?}: filled in {filled:.1?}, words read in {read:.1?} more");
        let mut people = Vec::new();
        // One user of each group, in the order in which they were created.
        for owner in [0, 1, 1 + FEW_PEOPLE] {
            // A stable sort: the chats of this owner come first, in the order of their creation.
            made.sort_by_key(|(whose, _)| *whose != owner);
            let of_owner = made.iter().filter(|(whose, _)| *whose == owner).count();
            let (person, chats) = &owners[owner];
            people.push(Somebody { email: person.email.clone(), chats: *chats, chat: made[of_owner / 2].1.clone() });
        }
        let (folder, url) = app.stop().await;
        let folder = Arc::into_inner(folder).unwrap().keep();
        Self { database, url, folder, people }
    }
}

/// Returns the owners' batches of chats in random order, since rows of many users are interleaved in a real table.
fn in_disorder(owners: &[(Person, usize)]) -> Vec<(usize, std::ops::Range<usize>)> {
    let mut pieces: Vec<_> = owners
        .iter()
        .enumerate()
        .flat_map(|(owner, (_, share))| {
            (0..*share).step_by(CHATS_PER_REQUEST).map(move |at| (owner, at..(at + CHATS_PER_REQUEST).min(*share)))
        })
        .collect();
    let mut chance = Chance::new(0);
    // A Fisher–Yates shuffle.
    for at in (1..pieces.len()).rev() {
        let other = usize::try_from(chance.below(at as u64 + 1)).unwrap_or(0);
        pieces.swap(at, other);
    }
    pieces
}

/// Creates some chats of a user, and returns the id of the last one.
async fn fill(person: &Person, chats: std::ops::Range<usize>) -> String {
    // Derived from the user and the chats, so that all texts differ and every run has the same.
    let seed = person.id.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    let mut chance = Chance::new(seed.wrapping_add(chats.start as u64));
    let mut last = String::new();
    let (mut rows, mut messages) = (Vec::new(), Vec::new());
    for chat in chats {
        let id = domain::ids::fresh().to_string();
        rows.push(json!({ "id": id, "user_id": person.id, "title": chance.title(chat) }));
        messages.extend((0..MESSAGES_PER_CHAT).map(|n| {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            json!({ "session_id": id, "role": role, "content": chance.message(chat, n % 2 == 0) })
        }));
        last = id;
    }
    insert(person, "ai_chat_sessions", &rows).await;
    insert(person, "ai_chat_messages", &messages).await;
    last
}

/// Inserts rows through the rest API.
async fn insert(person: &Person, table: &str, rows: &[Value]) {
    loop {
        let request = person.request(Method::POST, &format!("/rest/v1/{table}")).header("prefer", "return=minimal");
        let status = request.json(rows).send().await.unwrap().status();
        // On a slow machine, the other requests can occupy the single writer for a long time.
        if status != 503 {
            assert_eq!(status, 201);
            return;
        }
    }
}
