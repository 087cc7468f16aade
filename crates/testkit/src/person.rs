//! A user with an account, whose actions are requests.

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::{StreamEvent, TestApp, events_of};

/// A signed-in user of a [`TestApp`] or of a server elsewhere.
#[derive(Debug, Clone)]
pub struct Person {
    /// The user's id.
    pub id: String,
    /// The email address.
    pub email: String,
    /// The access token.
    pub token: String,
    /// The refresh token.
    pub refresh_token: String,
    url: String,
    http: reqwest::Client,
}

impl Person {
    /// Creates an account with a new email address and the password `correct horse`.
    pub async fn sign_up(app: &TestApp) -> Self {
        Self::sign_up_at(&app.url, &app.http).await
    }

    /// Like [`sign_up`](Self::sign_up), on the server at the origin `url`, which has no trailing slash.
    pub async fn sign_up_at(url: &str, http: &reqwest::Client) -> Self {
        // Unique, so that tests can share a server.
        let email = format!("{}@example.com", domain::ids::fresh().simple());
        Self::enter("signup", email, url, http).await
    }

    /// Signs in to an existing account on the server at the origin `url`.
    pub async fn sign_in_at(email: &str, url: &str, http: &reqwest::Client) -> Self {
        Self::enter("token?grant_type=password", email.to_owned(), url, http).await
    }

    /// Calls an endpoint of the auth API that returns a session.
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

    /// Sends requests to another server from now on, which has the data of the previous one.
    pub fn move_to(&mut self, app: &TestApp) {
        self.url.clone_from(&app.url);
    }

    /// Signs in again, after the access token has expired.
    pub async fn sign_in_again(&mut self) {
        let url = format!("{}/auth/v1/token?grant_type=password", self.url);
        let body = json!({ "email": self.email, "password": "correct horse" });
        let session: Value = self.http.post(url).json(&body).send().await.unwrap().json().await.unwrap();
        session["access_token"].as_str().unwrap().clone_into(&mut self.token);
        session["refresh_token"].as_str().unwrap().clone_into(&mut self.refresh_token);
    }

    /// Returns a request with the user's access token.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    /// Sends a GET request and returns the JSON response.
    pub async fn get(&self, path: &str) -> Value {
        json_of(self.request(Method::GET, path).send().await.unwrap()).await
    }

    /// Sends a POST request and returns status and JSON response.
    pub async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let answer = self.request(Method::POST, path).json(body).send().await.unwrap();
        (answer.status(), json_of(answer).await)
    }

    /// Creates a chat and returns its id.
    pub async fn new_chat(&self) -> String {
        let row = self.insert("ai_chat_sessions", &json!({ "user_id": self.id, "title": "New Chat" })).await;
        row["id"].as_str().unwrap().to_owned()
    }

    /// Stores a connection as the web app does with the response of `mcp-proxy`.
    pub async fn connect(&self, name: &str, url: &str, tools: Value) -> Value {
        let row = json!({ "user_id": self.id, "name": name, "url": url, "tools": tools, "status": "connected" });
        self.insert("mcp_servers", &row).await
    }

    /// Connects to a server as the web app does, and returns the connection's id.
    pub async fn connect_to(&self, name: &str, url: &str) -> String {
        let (_, found) = self.post("/functions/v1/mcp-proxy", &json!({ "url": url })).await;
        assert_eq!(found["success"], true, "{found}");
        let row = self.connect(name, url, found["data"].clone()).await;
        row["id"].as_str().unwrap().to_owned()
    }

    /// Sets the permission of a tool (`ask`, `always` or `never`).
    pub async fn allow(&self, connection: &str, tool: &str, permission: &str) -> (StatusCode, Value) {
        let body = json!({ "connectionId": connection, "tool": tool, "permission": permission });
        let answer = self.request(Method::PUT, "/api/tools/permissions").json(&body).send().await.unwrap();
        (answer.status(), json_of(answer).await)
    }

    /// Decides a pending approval.
    pub async fn decide(&self, chat: &str, approval: &Value, body: &Value) -> (StatusCode, Value) {
        self.post(&format!("/api/sessions/{chat}/approvals/{}", approval.as_str().unwrap()), body).await
    }

    /// Returns the events of a chat's running turn, each as a [`StreamEvent`], from its start to its end.
    pub async fn follow(&self, chat: &str) -> Vec<StreamEvent> {
        let answer = self.request(Method::GET, &format!("/api/sessions/{chat}/stream")).send().await.unwrap();
        events_of(&answer.text().await.unwrap())
    }

    /// Inserts a row through the rest API and returns it.
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

    /// Returns the messages of a chat, in order.
    pub async fn messages(&self, chat: &str) -> Vec<Value> {
        let path = format!("/rest/v1/ai_chat_messages?select=*&session_id=eq.{chat}&order=created_at.asc");
        self.get(&path).await.as_array().unwrap().clone()
    }

    /// Sends a message and waits for the end of the turn.
    pub async fn ask(&self, chat: &str, message: &str, tools: Value) -> (StatusCode, Value) {
        let body = json!({ "message": message, "sessionId": chat, "tools": tools });
        self.post("/functions/v1/ai-chat", &body).await
    }

    /// Sends a message and returns the response whose body is the event stream.
    pub async fn ask_streaming(&self, chat: &str, message: &str, tools: Value) -> Response {
        self.request(Method::POST, "/functions/v1/ai-chat")
            .header("accept", "text/event-stream")
            .json(&json!({ "message": message, "sessionId": chat, "tools": tools }))
            .send()
            .await
            .unwrap()
    }

    /// Sends a message and returns the events of the turn, each as a [`StreamEvent`].
    pub async fn ask_for_events(&self, chat: &str, message: &str, tools: Value) -> Vec<StreamEvent> {
        events_of(&self.ask_streaming(chat, message, tools).await.text().await.unwrap())
    }
}

/// Parses a response's body; an empty one is `null`.
async fn json_of(answer: Response) -> Value {
    let text = answer.text().await.unwrap();
    // A response such as 204 has no body.
    if text.is_empty() { Value::Null } else { serde_json::from_str(&text).expect("the answer is JSON") }
}
