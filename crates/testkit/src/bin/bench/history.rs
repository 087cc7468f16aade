//! What a long history costs: a database with many chats, and the calls with which the page lists, opens and searches
//! them, over HTTP, each after the other.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Database, Person, TestApp, databases};

/// People in the database. The first has a tenth of everything.
const PEOPLE: usize = 100;
/// Messages of a chat.
const MESSAGES: usize = 10;
/// Words of a message, and different words there are.
const LENGTH: usize = 30;
const VOCABULARY: u64 = 20_000;
/// Rows of one request.
const ROWS: usize = 1_000;
/// People whose chats are made at the same time.
const FILLING: usize = 2;
/// Times that each call is made.
const CALLS: usize = 100;

/// Fills each database with so many chats, and prints the figures.
pub async fn measure(chats: usize) {
    println!("\n{chats} chats, {} messages, {PEOPLE} people; ms over HTTP, {CALLS} calls each\n", chats * MESSAGES);
    println!("| database | person with | call | p50 | p99 | most |\n|---|---|---|---|---|---|");
    for database in databases() {
        on(database, chats).await;
    }
}

async fn on(database: Database, chats: usize) {
    let app = TestApp::on(database).await;
    let mut people = Vec::with_capacity(PEOPLE);
    for _ in 0..PEOPLE {
        people.push(app.person().await);
    }
    let heavy = chats / 10;
    let light = (chats - heavy) / (PEOPLE - 1);
    let began = Instant::now();
    let filling = people.chunks(FILLING).enumerate();
    let mut last = Vec::new();
    for (index, some) in filling {
        let fills = some.iter().enumerate().map(|(at, person)| {
            fill(person, if index == 0 && at == 0 { heavy } else { light }, (index * FILLING + at) as u64)
        });
        last.extend(join_all(fills).await);
    }
    let filled = began.elapsed();
    while app.app.store.count_pending().await.unwrap() > 0 {
        server::chats::upkeep::round(&app.app).await.unwrap();
    }
    let read = began.elapsed().checked_sub(filled).unwrap_or_default();
    eprintln!("{database:?}: filled in {filled:.1?}, words read in {read:.1?} more");
    for (person, chat, count) in [(&people[0], &last[0], heavy), (&people[7], &last[7], light)] {
        for (name, path) in calls(person, chat) {
            let mut times = Vec::with_capacity(CALLS);
            for _ in 0..CALLS {
                let began = Instant::now();
                let answer = person.request(Method::GET, &path).send().await.unwrap();
                assert_eq!(answer.status(), 200, "{path}");
                answer.bytes().await.unwrap();
                times.push(began.elapsed());
            }
            times.sort();
            let ms = |at: usize| Duration::as_secs_f64(&times[at]) * 1e3;
            let (middle, late, most) = (ms(CALLS / 2), ms(CALLS * 99 / 100), ms(CALLS - 1));
            println!("| {database:?} | {count} chats | {name} | {middle:.1} | {late:.1} | {most:.1} |");
        }
    }
    app.stop().await;
}

/// The calls of the page.
fn calls(person: &Person, chat: &str) -> Vec<(&'static str, String)> {
    let list = format!("/rest/v1/ai_chat_sessions?select=*&user_id=eq.{}&order=updated_at.desc", person.id);
    let open = format!("/rest/v1/ai_chat_messages?select=*&session_id=eq.{chat}&order=created_at.desc&limit=30");
    let search = |question: &str| format!("/api/search?q={question}");
    vec![
        ("list (1,000 at most)", list),
        ("marks", "/api/sessions/marks".to_owned()),
        ("open", open),
        ("search, a word in few messages", search(&word(VOCABULARY - 3))),
        ("search, a word in most messages", search(&word(0))),
        ("search, one letter", search("k")),
        ("search, three words", search(&format!("{}+{}+{}", word(0), word(1), word(2)))),
        ("search, a phrase that is nowhere", search(&format!("%22{0}+{0}+{0}+{0}%22", word(1)))),
        ("search, two characters of Chinese", search("%E6%9D%B1%E4%BA%AC")),
        ("search, nothing", search("qqqqqq")),
    ]
}

/// Makes a person's chats and returns the last.
async fn fill(person: &Person, chats: usize, seed: u64) -> String {
    let mut random = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut ids: Vec<String> = Vec::with_capacity(chats);
    for at in (0..chats).step_by(ROWS) {
        let rows: Vec<Value> = (at..chats.min(at + ROWS))
            .map(|n| {
                let id = domain::ids::fresh().to_string();
                ids.push(id.clone());
                json!({ "id": id, "user_id": person.id, "title": format!("Chat {n} {}", text(&mut random, 4)) })
            })
            .collect();
        insert(person, "ai_chat_sessions", &rows).await;
    }
    for some in ids.chunks(ROWS / MESSAGES) {
        let messages = some.iter().flat_map(|chat| (0..MESSAGES).map(move |n| (chat, n)));
        let rows: Vec<Value> = messages
            .map(|(chat, n)| {
                let role = if n % 2 == 0 { "user" } else { "assistant" };
                json!({ "session_id": chat, "role": role, "content": text(&mut random, LENGTH) })
            })
            .collect();
        insert(person, "ai_chat_messages", &rows).await;
    }
    ids.pop().unwrap_or_default()
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

/// Words as they are spread in texts: few of them make up most.
fn text(random: &mut u64, length: usize) -> String {
    let words = (0..length).map(|_| {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let number = *random % VOCABULARY;
        if number == 7 {
            "東京都".to_owned()
        } else {
            word((number * (*random >> 40) % VOCABULARY) >> (*random >> 60))
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A word that can be said.
fn word(mut number: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["ka", "le", "mi", "no", "ru", "sa", "te", "vi", "do", "be", "fu", "go", "ha", "ji", "pe", "zu"];
    let mut word = String::new();
    loop {
        word.push_str(SYLLABLES[usize::try_from(number % 16).unwrap_or(0)]);
        number /= 16;
        if number == 0 {
            return word;
        }
    }
}
