//! The database with the long history: made once, and kept where a folder is named.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, StreamExt as _};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Database, Person, TestApp};

use super::texts::Chance;

/// Messages of a chat.
pub const MESSAGES: usize = 10;
/// Of all chats one person has half, and a few and very many people a quarter each.
const FEW_PEOPLE: usize = 10;
const MANY_PEOPLE: usize = 500;
/// Chats of one request.
const CHATS: usize = 10;
/// Requests at a time.
const AT_ONCE: usize = 3;
/// Texts that are read as one.
const READ: i64 = 2_000;

/// A database, and of each kind of its people one.
pub struct History {
    pub database: Database,
    /// Of the database.
    pub url: String,
    /// The data folder of the program.
    pub folder: PathBuf,
    /// The one with half of all, one with much, and one with little.
    pub people: Vec<Somebody>,
}

/// A person by what the bench needs of them.
pub struct Somebody {
    pub email: String,
    pub chats: usize,
    /// One of their chats, neither the oldest nor the newest.
    pub chat: String,
}

impl History {
    /// The one that was kept, or a new one.
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

    fn read(database: Database, note: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let people = note["people"].as_array()?.iter().map(|person| {
            let chats = usize::try_from(person["chats"].as_u64()?).ok()?;
            Some(Somebody { email: text(&person["email"])?, chats, chat: text(&person["chat"])? })
        });
        let people = people.collect::<Option<_>>()?;
        Some(Self { database, url: text(&note["url"])?, folder: text(&note["folder"])?.into(), people })
    }

    fn note(&self) -> Value {
        let person =
            |somebody: &Somebody| json!({ "email": somebody.email, "chats": somebody.chats, "chat": somebody.chat });
        let people: Vec<Value> = self.people.iter().map(person).collect();
        json!({ "url": self.url, "folder": self.folder, "people": people })
    }

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
        while app.app.store.index_pending(None, READ).await.unwrap() > 0 {}
        let read = began.elapsed().checked_sub(filled).unwrap_or_default();
        eprintln!("{database:?}: filled in {filled:.1?}, words read in {read:.1?} more");
        let mut people = Vec::new();
        for owner in [0, 1, 1 + FEW_PEOPLE] {
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

/// Whose piece of their chats comes when: as people write at the same time, what one has is spread over all.
fn in_disorder(owners: &[(Person, usize)]) -> Vec<(usize, std::ops::Range<usize>)> {
    let mut pieces: Vec<_> = owners
        .iter()
        .enumerate()
        .flat_map(|(owner, (_, share))| (0..*share).step_by(CHATS).map(move |at| (owner, at..(at + CHATS).min(*share))))
        .collect();
    let mut chance = Chance::new(0);
    for at in (1..pieces.len()).rev() {
        let other = usize::try_from(chance.below(at as u64 + 1)).unwrap_or(0);
        pieces.swap(at, other);
    }
    pieces
}

/// Makes some of a person's chats, and returns the last.
async fn fill(person: &Person, chats: std::ops::Range<usize>) -> String {
    let seed = person.id.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    let mut chance = Chance::new(seed.wrapping_add(chats.start as u64));
    let mut last = String::new();
    let (mut rows, mut messages) = (Vec::new(), Vec::new());
    for chat in chats {
        let id = domain::ids::fresh().to_string();
        rows.push(json!({ "id": id, "user_id": person.id, "title": chance.title(chat) }));
        messages.extend((0..MESSAGES).map(|n| {
            let role = if n % 2 == 0 { "user" } else { "assistant" };
            json!({ "session_id": id, "role": role, "content": chance.message(chat, n % 2 == 0) })
        }));
        last = id;
    }
    insert(person, "ai_chat_sessions", &rows).await;
    insert(person, "ai_chat_messages", &messages).await;
    last
}

async fn insert(person: &Person, table: &str, rows: &[Value]) {
    loop {
        let request = person.request(Method::POST, &format!("/rest/v1/{table}")).header("prefer", "return=minimal");
        let status = request.json(rows).send().await.unwrap().status();
        // On a slow machine the others may hold the one writer for long.
        if status != 503 {
            assert_eq!(status, 201);
            return;
        }
    }
}
