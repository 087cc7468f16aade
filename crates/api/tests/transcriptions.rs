//! Transcription of dictated messages, with a provider that records what it receives.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Background, Person, TestApp, databases};
use tokio::sync::Semaphore;

const WEBM: &[u8] = b"\x1a\x45\xdf\xa3\r\n--\xff\0\r\n";

/// Received requests: headers and bodies.
type Received = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

/// A provider with a model that transcribes.
struct Provider {
    received: Received,
    /// Permits to respond.
    gate: Arc<Semaphore>,
    server: Background,
}

impl Provider {
    /// Starts a provider that responds with this status and body.
    async fn start(status: u16, response: Value) -> Self {
        let (received, gate) = (Received::default(), Arc::new(Semaphore::new(1_000)));
        let list = json!({ "data": [{ "id": "large" }, { "id": "whisper-1" }, { "id": "gpt-4o-mini-transcribe" }] });
        let transcribe =
            async move |State((received, gate)): State<(Received, Arc<Semaphore>)>, head: HeaderMap, body: Bytes| {
                received.lock().unwrap().push((head, body));
                gate.acquire().await.unwrap().forget();
                (StatusCode::from_u16(status).unwrap(), axum::Json(response.clone()))
            };
        let routes = Router::new()
            .route("/v1/models", get(async || axum::Json(list)))
            .route("/v1/audio/transcriptions", post(transcribe))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state((Arc::clone(&received), Arc::clone(&gate)));
        Self { received, gate, server: Background::serve(routes).await }
    }

    fn base_url(&self) -> String {
        format!("{}/v1", self.server.origin)
    }

    fn requests(&self) -> Vec<(HeaderMap, Bytes)> {
        self.received.lock().unwrap().clone()
    }
}

async fn transcribe(person: &Person, query: &str, recording: &[u8]) -> (u16, Value) {
    let request = person.request(Method::POST, &format!("/api/transcriptions{query}"));
    let response = request.header("content-type", "audio/webm").body(recording.to_vec()).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

/// Returns the fields of a form, each with its headers and its content.
fn fields(head: &HeaderMap, body: &[u8]) -> Vec<(String, Vec<u8>)> {
    let boundary = head["content-type"].to_str().unwrap().strip_prefix("multipart/form-data; boundary=").unwrap();
    let find = |text: &[u8], part: &[u8]| text.windows(part.len()).position(|window| window == part);
    let (first, between) = (format!("--{boundary}\r\n"), format!("\r\n--{boundary}"));
    let mut rest = body.strip_prefix(first.as_bytes()).unwrap();
    let mut fields = Vec::new();
    loop {
        let end = find(rest, between.as_bytes()).unwrap();
        let head_end = find(rest, b"\r\n\r\n").unwrap();
        fields.push((String::from_utf8(rest[..head_end].to_vec()).unwrap(), rest[head_end + 4..end].to_vec()));
        rest = &rest[end + between.len()..];
        if rest == b"--\r\n" {
            return fields;
        }
        rest = rest.strip_prefix(b"\r\n").unwrap();
    }
}

fn said(text: &str) -> Value {
    json!({ "text": text, "usage": { "type": "tokens", "input_tokens": 14, "output_tokens": 3, "total_tokens": 17 } })
}

#[tokio::test]
async fn recording_is_sent_as_form() {
    for database in databases() {
        let provider = Provider::start(200, said(" Milch kaufen.\n")).await;
        let app = TestApp::builder()
            .database(database)
            .set("OPENAI_BASE_URL", provider.base_url())
            .set("OPENAI_API_KEY", "sk-transcriptions")
            .start()
            .await;
        let person = app.person().await;
        assert_eq!(person.get("/api/models").await["transcription"], "openai/gpt-4o-mini-transcribe");
        let answer = transcribe(&person, "?language=de", WEBM).await;
        assert_eq!(answer, (200, json!({ "text": "Milch kaufen." })));
        let requests = provider.requests();
        let [(head, body)] = requests.as_slice() else { panic!("{requests:?}") };
        assert_eq!(head["authorization"], "Bearer sk-transcriptions");
        assert_eq!(head["content-length"].to_str().unwrap(), body.len().to_string());
        let field = |name: &str, value: &str| {
            (format!("Content-Disposition: form-data; name=\"{name}\""), value.as_bytes().to_vec())
        };
        let file = "Content-Disposition: form-data; name=\"file\"; filename=\"audio.webm\"\r\nContent-Type: audio/webm";
        let expected = [
            field("model", "gpt-4o-mini-transcribe"),
            field("response_format", "json"),
            field("language", "de"),
            (file.to_owned(), WEBM.to_vec()),
        ];
        assert_eq!(fields(head, body), expected);

        // Without a language the model detects it.
        assert_eq!(transcribe(&person, "", b"OggS\0\x02").await.0, 200);
        let (head, body) = provider.requests().pop().unwrap();
        assert_eq!(fields(&head, &body).len(), 3);
        // Recorded in tasks, which the end of the server waits for.
        let (folder, url) = app.stop().await;
        let app = TestApp::builder().on_data_of(&folder, &url).start().await;
        let mut person = person;
        person.move_to(&app);
        let day = &person.get("/api/usage").await["days"][0];
        assert_eq!((&day["model"], &day["calls"]), (&json!("openai/gpt-4o-mini-transcribe"), &json!(2)), "{day}");
        assert_eq!((&day["inputTokens"], &day["outputTokens"]), (&json!(28), &json!(6)), "{day}");
        app.stop().await;
    }
}

#[tokio::test]
async fn configured_model_transcribes() {
    let provider = Provider::start(200, json!({ "text": "" })).await;
    let app = TestApp::builder()
        .set("OPENAI_BASE_URL", provider.base_url())
        .set("CHAT_TRANSCRIPTION_MODEL", "openai/large/v3")
        .start()
        .await;
    let person = app.person().await;
    assert_eq!(person.get("/api/models").await["transcription"], "openai/large/v3");
    assert_eq!(transcribe(&person, "", b"RIFF\x24\0\0\0WAVEfmt ").await, (200, json!({ "text": "" })));
    let (head, body) = provider.requests().pop().unwrap();
    assert_eq!(fields(&head, &body)[0].1, b"large/v3");
    app.stop().await;
}

#[tokio::test]
async fn bad_recordings_are_not_sent() {
    let provider = Provider::start(200, said("Hi")).await;
    let app = TestApp::builder().set("OPENAI_BASE_URL", provider.base_url()).start().await;
    let person = app.person().await;
    let large = [WEBM, &vec![0; 25_000_000]].concat();
    for (query, recording, status, code) in [
        ("", b"".as_slice(), 400, "bad_request"),
        ("?language=German", WEBM, 400, "bad_request"),
        ("?language=d%0d", WEBM, 400, "bad_request"),
        ("", b"ID3\x04 an MP3 file", 415, "unsupported_media_type"),
        ("", b"<script>alert(1)</script>", 415, "unsupported_media_type"),
        ("", &large, 413, "recording_too_large"),
    ] {
        let (found, error) = transcribe(&person, query, recording).await;
        assert_eq!((found, &error["error"]["code"]), (status, &json!(code)), "{error}");
    }
    let anonymous = app.http.post(format!("{}/api/transcriptions", app.url)).body(WEBM).send().await.unwrap();
    assert_eq!(anonymous.status(), 401);
    assert!(provider.requests().is_empty());
    app.stop().await;
}

#[tokio::test]
async fn provider_without_transcriptions_is_not_asked() {
    let provider = Provider::start(200, said("Hi")).await;
    for (name, value) in [("OPENAI_BASE_URL", "off"), ("ANTHROPIC_BASE_URL", "")] {
        let app = TestApp::builder()
            .set(name, if name == "OPENAI_BASE_URL" { provider.base_url() } else { provider.server.origin.clone() })
            .set("CHAT_TRANSCRIPTION_MODEL", value)
            .start()
            .await;
        let person = app.person().await;
        assert_eq!(person.get("/api/models").await["transcription"], Value::Null, "{name}");
        let (status, error) = transcribe(&person, "", WEBM).await;
        assert_eq!((status, &error["error"]["code"]), (422, &json!("no_transcription_model")), "{error}");
        app.stop().await;
    }
    assert!(provider.requests().is_empty());
}

#[tokio::test]
async fn error_of_provider_comes_with_advice_and_without_key() {
    let refusal = json!({ "error": { "message": "Incorrect API key provided: sk-transcriptions." } });
    let provider = Provider::start(401, refusal).await;
    let app = TestApp::builder()
        .set("OPENAI_BASE_URL", provider.base_url())
        .set("OPENAI_API_KEY", "sk-transcriptions")
        .start()
        .await;
    let person = app.person().await;
    let (status, error) = transcribe(&person, "", WEBM).await;
    assert_eq!((status, &error["error"]["code"]), (502, &json!("transcription_failed")), "{error}");
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("renew the key") && !message.contains("sk-transcriptions"), "{message}");
    app.stop().await;
}

#[tokio::test]
async fn own_provider_transcribes_for_its_user_alone() {
    for database in databases() {
        let provider = Provider::start(200, said("Hi")).await;
        let app = TestApp::on(database).await;
        let (person, stranger) = (app.person().await, app.person().await);
        let own =
            json!({ "kind": "compatible", "name": "Mine", "baseUrl": provider.base_url(), "key": "sk-own-provider" });
        assert_eq!(person.post("/api/model-providers", &own).await.0, 201);
        assert_eq!(person.get("/api/models").await["transcription"], "my-mine/gpt-4o-mini-transcribe");
        assert_eq!(transcribe(&person, "", WEBM).await, (200, json!({ "text": "Hi" })));
        assert_eq!(provider.requests()[0].0["authorization"], "Bearer sk-own-provider");
        assert_eq!(transcribe(&stranger, "", WEBM).await.0, 422);
        assert_eq!(provider.requests().len(), 1);
        app.stop().await;
    }
}

#[tokio::test]
async fn transcriptions_are_limited_per_user() {
    let provider = Provider::start(200, said("Hi")).await;
    provider.gate.forget_permits(1_000);
    let app =
        TestApp::builder().set("OPENAI_BASE_URL", provider.base_url()).set("CHAT_TOKENS_PER_DAY", "5000").start().await;
    let (person, other) = (app.person().await, app.person().await);
    let gate = Arc::clone(&provider.gate);
    let third = async {
        while provider.requests().len() < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let refused = transcribe(&person, "", WEBM).await;
        gate.add_permits(3);
        (refused, transcribe(&other, "", WEBM).await)
    };
    let (first, second, ((status, error), other)) =
        tokio::join!(transcribe(&person, "", WEBM), transcribe(&person, "", WEBM), third);
    assert_eq!((first.0, second.0, other.0), (200, 200, 200));
    assert_eq!((status, &error["error"]["code"]), (429, &json!("too_many_transcriptions")), "{error}");

    assert_eq!(provider.requests().len(), 3);
    app.stop().await;
}

#[tokio::test]
async fn transcription_reserves_what_it_may_use() {
    for database in databases() {
        let provider = Provider::start(200, said("Hi")).await;
        provider.gate.forget_permits(1_000);
        let app = TestApp::builder()
            .database(database)
            .set("OPENAI_BASE_URL", provider.base_url())
            .set("CHAT_TOKENS_PER_DAY", "1000")
            .start()
            .await;
        let person = app.person().await;
        let second = async {
            while provider.requests().is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            let refused = transcribe(&person, "", WEBM).await;
            provider.gate.add_permits(1_000);
            refused
        };
        let (first, (status, error)) = tokio::join!(transcribe(&person, "", WEBM), second);
        assert_eq!(first.0, 200);
        assert!(status == 429 && error.to_string().contains("reserved"), "{error}");
        while person.get("/api/quotas").await["quotas"][0]["used"] != 17.0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(transcribe(&person, "", WEBM).await.0, 200, "what was not used is free again");
        app.stop().await;
    }
}

#[tokio::test]
async fn transcription_without_reported_tokens_counts_an_estimate() {
    let provider = Provider::start(200, json!({ "text": "Hello there." })).await;
    let app =
        TestApp::builder().set("OPENAI_BASE_URL", provider.base_url()).set("CHAT_TOKENS_PER_DAY", "1000").start().await;
    let person = app.person().await;
    // 100 s at 128 kbit/s, of which OpenAI counts ten tokens a second.
    let recording = [WEBM, &vec![0; 1_600_000 - WEBM.len()]].concat();
    assert_eq!(transcribe(&person, "", &recording).await.0, 200);
    while person.get("/api/usage").await["days"].as_array().unwrap().is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let day = &person.get("/api/usage").await["days"][0];
    let expected = (&json!(1_000), &json!(3), &json!(1));
    assert_eq!((&day["inputTokens"], &day["outputTokens"], &day["estimatedCalls"]), expected, "{day}");
    let (status, error) = transcribe(&person, "", WEBM).await;
    assert!(status == 429 && error.to_string().contains("midnight"), "{error}");
    assert_eq!(provider.requests().len(), 1);
    app.stop().await;
}
