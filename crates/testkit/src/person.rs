//! Somebody with an account: what they do are requests.

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::{StreamEvent, TestApp, events_of};

/// A signed-in person.
#[derive(Debug, Clone)]
pub struct Person {
    /// The id of the account.
    pub id: String,
    /// The address.
    pub email: String,
    /// The access token.
    pub token: String,
    /// The refresh token.
    pub refresh_token: String,
    url: String,
    http: reqwest::Client,
}

impl Person {
    /// Makes an account with a new address and the password `correct horse`.
    pub async fn sign_up(app: &TestApp) -> Self {
        Self::sign_up_at(&app.url, &app.http).await
    }

    /// The same at a program that runs elsewhere; its address has no slash at the end.
    pub async fn sign_up_at(url: &str, http: &reqwest::Client) -> Self {
        let email = format!("{}@example.com", domain::ids::fresh().simple());
        Self::enter("signup", email, url, http).await
    }

    /// Signs in somebody who has signed up before, at a program that runs elsewhere.
    pub async fn sign_in_at(email: &str, url: &str, http: &reqwest::Client) -> Self {
        Self::enter("token?grant_type=password", email.to_owned(), url, http).await
    }

    async fn enter(way: &str, email: String, url: &str, http: &reqwest::Client) -> Self {
        let answer = http
            .post(format!("{url}/auth/v1/{way}"))
            .json(&json!({ "email": email, "password": "correct horse" }))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        let session: Value = answer.json().await.unwrap();
        let text = |pointer: &str| session.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
        Self {
            id: text("/user/id"),
            token: text("/access_token"),
            refresh_token: text("/refresh_token"),
            email,
            url: url.to_owned(),
            http: http.clone(),
        }
    }

    /// From now on calls this app, which has the data of the former one.
    pub fn move_to(&mut self, app: &TestApp) {
        self.url.clone_from(&app.url);
    }

    /// Signs in once more, when time has passed the end of the token.
    pub async fn sign_in_again(&mut self) {
        let url = format!("{}/auth/v1/token?grant_type=password", self.url);
        let body = json!({ "email": self.email, "password": "correct horse" });
        let session: Value = self.http.post(url).json(&body).send().await.unwrap().json().await.unwrap();
        session["access_token"].as_str().unwrap().clone_into(&mut self.token);
        session["refresh_token"].as_str().unwrap().clone_into(&mut self.refresh_token);
    }

    /// A request with the person's token.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    /// A GET, and its JSON answer.
    pub async fn get(&self, path: &str) -> Value {
        json_of(self.request(Method::GET, path).send().await.unwrap()).await
    }

    /// A POST, with its status and JSON answer.
    pub async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let answer = self.request(Method::POST, path).json(body).send().await.unwrap();
        (answer.status(), json_of(answer).await)
    }

    /// Makes a chat and returns its id.
    pub async fn new_chat(&self) -> String {
        let row = self.insert("ai_chat_sessions", &json!({ "user_id": self.id, "title": "New Chat" })).await;
        row["id"].as_str().unwrap().to_owned()
    }

    /// Stores a connection, as the page does after `mcp-proxy` has answered.
    pub async fn connect(&self, name: &str, url: &str, tools: Value) -> Value {
        let row = json!({ "user_id": self.id, "name": name, "url": url, "tools": tools, "status": "connected" });
        self.insert("mcp_servers", &row).await
    }

    /// Connects a server as the page does, and returns the connection's id.
    pub async fn connect_to(&self, name: &str, url: &str) -> String {
        let (_, found) = self.post("/functions/v1/mcp-proxy", &json!({ "url": url })).await;
        assert_eq!(found["success"], true, "{found}");
        let row = self.connect(name, url, found["data"].clone()).await;
        row["id"].as_str().unwrap().to_owned()
    }

    /// Allows a tool of a connection (`ask`, `always` or `never`), with the status and the answer.
    pub async fn allow(&self, connection: &str, tool: &str, permission: &str) -> (StatusCode, Value) {
        let body = json!({ "connectionId": connection, "tool": tool, "permission": permission });
        let answer = self.request(Method::PUT, "/api/tools/permissions").json(&body).send().await.unwrap();
        (answer.status(), json_of(answer).await)
    }

    /// Decides about a call that waits.
    pub async fn decide(&self, chat: &str, approval: &Value, body: &Value) -> (StatusCode, Value) {
        self.post(&format!("/api/sessions/{chat}/approvals/{}", approval.as_str().unwrap()), body).await
    }

    /// The chunks of a chat's running turn, from its start to its end.
    pub async fn follow(&self, chat: &str) -> Vec<StreamEvent> {
        let answer = self.request(Method::GET, &format!("/api/sessions/{chat}/stream")).send().await.unwrap();
        events_of(&answer.text().await.unwrap())
    }

    /// Inserts one row through the data API and returns it.
    pub async fn insert(&self, table: &str, row: &Value) -> Value {
        let answer = self
            .request(Method::POST, &format!("/rest/v1/{table}?select=*"))
            .header("prefer", "return=representation")
            .json(row)
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), StatusCode::CREATED);
        let rows: Value = answer.json().await.unwrap();
        rows[0].clone()
    }

    /// The messages of a chat, in order.
    pub async fn messages(&self, chat: &str) -> Vec<Value> {
        let path = format!("/rest/v1/ai_chat_messages?select=*&session_id=eq.{chat}&order=created_at.asc");
        self.get(&path).await.as_array().unwrap().clone()
    }

    /// Asks, and waits for the end.
    pub async fn ask(&self, chat: &str, message: &str, tools: Value) -> (StatusCode, Value) {
        let body = json!({ "message": message, "sessionId": chat, "tools": tools });
        self.post("/functions/v1/ai-chat", &body).await
    }

    /// Asks, and returns the answer whose body is the stream.
    pub async fn ask_streaming(&self, chat: &str, message: &str, tools: Value) -> Response {
        self.request(Method::POST, "/functions/v1/ai-chat")
            .header("accept", "text/event-stream")
            .json(&json!({ "message": message, "sessionId": chat, "tools": tools }))
            .send()
            .await
            .unwrap()
    }

    /// Asks, and reads the stream to its end.
    pub async fn ask_for_events(&self, chat: &str, message: &str, tools: Value) -> Vec<StreamEvent> {
        events_of(&self.ask_streaming(chat, message, tools).await.text().await.unwrap())
    }
}

async fn json_of(answer: Response) -> Value {
    let text = answer.text().await.unwrap();
    if text.is_empty() { Value::Null } else { serde_json::from_str(&text).expect("the answer is JSON") }
}
