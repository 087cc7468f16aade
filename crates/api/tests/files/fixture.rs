//! A user with a chat and a model, and test files.

use reqwest::{Method, Response};
use serde_json::{Value, json};
use testkit::{Database, Person, S3Server, ScriptedModel, Step, TestApp};

/// A PNG of one pixel.
pub const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
    4, 0, 0, 0, 0xb5, 0x1c, 0x0c, 0x02, 0, 0, 0, 11, b'I', b'D', b'A', b'T', 0x78, 0xda, 0x63, 0x64, 0x60, 0x60, 0, 0,
    0, 6, 0, 2, 0x30, 0x81, 0xd0, 0x2f, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

pub struct Fixture {
    pub model: ScriptedModel,
    pub app: TestApp,
    pub person: Person,
    pub chat: String,
}

impl Fixture {
    pub async fn new(database: Database) -> Self {
        Self::with(database, &[]).await
    }

    pub async fn with(database: Database, settings: &[(&str, &str)]) -> Self {
        let model = ScriptedModel::start([]).await;
        let mut builder = TestApp::builder().database(database).set("OPENAI_BASE_URL", &model.base_url);
        for (name, value) in settings {
            builder = builder.set(name, *value);
        }
        let app = builder.start().await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        Self { model, app, person, chat }
    }

    /// Starts the server with files in object storage.
    pub async fn in_object_storage(database: Database, s3: &S3Server) -> Self {
        let settings = s3.settings();
        let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Self::with(database, &settings).await
    }

    /// Uploads a file and returns its id.
    pub async fn upload(&self, name: &str, bytes: &[u8]) -> String {
        let (status, taken) = upload(&self.person, &format!("name={name}"), "application/octet-stream", bytes).await;
        assert_eq!(status, 201, "{taken}");
        taken["id"].as_str().unwrap().to_owned()
    }

    /// Sends a message with files; the model answers yes.
    pub async fn send(&self, message: &str, attachments: &[&str]) -> (u16, Value) {
        self.send_as(json!({ "message": message, "sessionId": self.chat, "attachments": attachments })).await
    }

    pub async fn send_as(&self, body: Value) -> (u16, Value) {
        self.model.push(Step::Text("Yes.".into()));
        let (status, answer) = self.person.post("/functions/v1/ai-chat", &body).await;
        (status.as_u16(), answer)
    }

    /// Returns the messages of the last request to the model.
    pub fn read(&self) -> Vec<Value> {
        let request = self.model.requests().pop().unwrap();
        request["messages"].as_array().unwrap().clone()
    }

    /// Returns what the model read of the last message: its text, and the images in the form of the provider's API.
    pub fn read_last(&self) -> (String, Vec<String>) {
        pieces(&self.read().pop().unwrap()["content"])
    }
}

/// Returns the text of a message in the provider's API, and the URLs or names of its images and documents.
pub fn pieces(content: &Value) -> (String, Vec<String>) {
    if let Some(text) = content.as_str() {
        return (text.to_owned(), Vec::new());
    }
    let pieces = content.as_array().unwrap();
    let text: Vec<&str> = pieces.iter().filter_map(|piece| piece["text"].as_str()).collect();
    let url = |piece: &Value| {
        let url = piece["image_url"]["url"].as_str().or(piece["file"]["file_data"].as_str());
        url.map(str::to_owned)
    };
    (text.join("\n"), pieces.iter().filter_map(url).collect())
}

pub async fn upload(person: &Person, query: &str, kind: &str, bytes: &[u8]) -> (u16, Value) {
    let request = person.request(Method::POST, &format!("/v1/files?{query}"));
    let answer = request.header("content-type", kind).body(bytes.to_vec()).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

pub async fn fetch(person: &Person, id: &str) -> Response {
    person.request(Method::GET, &format!("/v1/files/{id}")).send().await.unwrap()
}

/// Returns the bytes of a file, or the status of the error.
pub async fn bytes(person: &Person, id: &str) -> Result<Vec<u8>, u16> {
    let answer = fetch(person, id).await;
    match answer.status().as_u16() {
        200 => Ok(answer.bytes().await.unwrap().to_vec()),
        status => Err(status),
    }
}

pub async fn delete(person: &Person, path: &str) -> u16 {
    person.request(Method::DELETE, path).send().await.unwrap().status().as_u16()
}
